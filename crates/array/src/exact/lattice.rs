//! Distributions on whole multiples of a step, which can be added, as those of equally likely values
//! cannot.

use super::Law;

/// The probabilities of 0, 1, 2, ... steps; they may lack what is beyond the last.
#[derive(Clone, Debug)]
pub(super) struct Lattice(Vec<f64>);

/// Sums are computed until no more probability than this is left,
const BEYOND: f64 = 1e-6;
/// or for so many steps.
const MOST: usize = 1 << 14;

impl Lattice {
    /// A law in picoseconds, each value rounded to the nearest step.
    pub(super) fn of(law: &Law, step: f64) -> Lattice {
        let values = law.values();
        let place = |value: f64| (value / step).round() as usize;
        let last = values.iter().copied().fold(0.0, f64::max);
        let mut masses = vec![0.0; place(last) + 1];
        values.iter().for_each(|&value| masses[place(value)] += 1.0 / values.len() as f64);
        Lattice(masses)
    }

    /// One of several laws, each with its probability.
    pub(super) fn one_of<'a>(laws: impl Iterator<Item = (f64, &'a Lattice)>) -> Lattice {
        let mut masses = Vec::new();
        for (share, law) in laws {
            masses.resize(law.0.len().max(masses.len()), 0.0);
            masses.iter_mut().zip(&law.0).for_each(|(sum, mass)| *sum += share * mass);
        }
        Lattice(masses)
    }

    /// The mean, in steps.
    pub(super) fn mean(&self) -> f64 {
        self.0.iter().zip(0..).map(|(mass, place)| mass * f64::from(place)).sum()
    }

    /// The distribution function: the probability of at most each number of steps.
    pub(super) fn upto(&self) -> Vec<f64> {
        let sum = |sum: &mut f64, mass: &f64| {
            *sum += mass;
            Some(*sum)
        };
        self.0.iter().scan(0.0, sum).collect()
    }

    /// The largest of `many` independent draws.
    pub(super) fn largest(&self, many: u32) -> Lattice {
        let mut before = 0.0;
        let mass = |upto: f64| {
            let now = upto.powi(many as i32);
            now - std::mem::replace(&mut before, now)
        };
        Lattice(self.upto().into_iter().map(mass).collect())
    }

    /// The residual life: what is left of a draw that is under way.
    pub(super) fn residual(&self) -> Lattice {
        let half = 0.5 / self.mean();
        let mut before = 0.0;
        let mass = |upto: f64| {
            let beyond = 1.0 - upto;
            half * (beyond + std::mem::replace(&mut before, beyond))
        };
        Lattice(self.upto().into_iter().map(mass).collect())
    }

    /// The sum of two independent draws.
    pub(super) fn plus(&self, other: &Lattice) -> Lattice {
        let mut masses = vec![0.0; (self.0.len() + other.0.len() - 1).min(MOST)];
        for (place, mass) in self.0.iter().enumerate().take(MOST) {
            masses[place..].iter_mut().zip(&other.0).for_each(|(sum, own)| *sum += mass * own);
        }
        Lattice(masses)
    }

    /// The sum of as many independent draws as trials succeed before one fails, each of which
    /// succeeds with probability `again`: by the recursion of Panjer (*Recursive evaluation of a
    /// family of compound distributions*, ASTIN Bulletin 12, 1981).
    pub(super) fn summed(&self, again: f64) -> Lattice {
        let none = 1.0 - again * self.0[0];
        let mut masses = vec![(1.0 - again) / none];
        let mut left = 1.0 - masses[0];
        while left > BEYOND && masses.len() < MOST {
            let before = masses.iter().rev().zip(&self.0[1..]);
            let mass = again / none * before.map(|(sum, own)| sum * own).sum::<f64>();
            left -= mass;
            masses.push(mass);
        }
        Lattice(masses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A geometric sum of exponential times is exponential, with none at all by chance; and what is
    /// left of one is as long as one.
    #[test]
    fn sums_of_exponential_times() {
        let exponential = |mean: f64| {
            let quantile = move |i: i32| -mean * libm::log(1.0 - (f64::from(i) + 0.5) / 100_000.0);
            Law::new((0..100_000).map(quantile).collect())
        };
        let one = Lattice::of(&exponential(100.0), 1.0);
        let near = |found: &[f64], mean: f64, share: f64| {
            for (place, upto) in (0..).zip(found).step_by(50) {
                let known = 1.0 - share * libm::exp(-(f64::from(place) + 0.5) / mean);
                assert!((upto - known).abs() < 2e-3, "{place}: {upto}, known {known}");
            }
        };
        near(&one.residual().upto(), 100.0, 1.0);
        near(&one.residual().summed(0.8).upto(), 500.0, 0.8);
        near(&one.plus(&one.summed(0.5)).upto(), 200.0, 1.0);
    }

    #[test]
    fn dice() {
        let die = Lattice::of(&Law::new((1..=6).map(f64::from).collect()), 1.0);
        assert!((die.mean() - 3.5).abs() < 1e-12);
        assert!((die.largest(2).mean() - 161.0 / 36.0).abs() < 1e-12);
        assert!((die.plus(&die).upto()[7] - 21.0 / 36.0).abs() < 1e-12);
        let either = Lattice::one_of([(0.25, &die), (0.75, &die.largest(2))].into_iter());
        assert!((either.mean() - (3.5 + 3.0 * 161.0 / 36.0) / 4.0).abs() < 1e-12);
        // Between two steps the tail is flat: 1, 5/6, ... 1/6 of the mean.
        let residual = die.residual().upto();
        assert!((residual[0] - 0.5 / 3.5).abs() < 1e-12);
        assert!((residual[1] - (1.0 + 0.5 * 5.0 / 6.0) / 3.5).abs() < 1e-12);
        assert!((residual[6] - 1.0).abs() < 1e-12);
    }
}
