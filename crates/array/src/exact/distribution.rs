//! Distributions of sojourn times by formulas.

use super::Law;
use super::lattice::Lattice;

/// The arrivals at each queue, and how the accesses of a request depend on each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueArrivals {
    /// Bulks a picosecond at each queue, as a Poisson process.
    pub(super) rate: f64,
    /// The mean of their sizes, which are geometric, from 1 on; 1 for single requests.
    pub(super) bulk: f64,
    pub(super) join: Join,
    /// The time that is added to every sojourn time, in picoseconds.
    pub(super) overhead: f64,
}

/// How the accesses of a request depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// Sojourn times at different disks are associated: long ones go together.
    Associated,
    /// Sojourn times at different disks depend on each other in any way.
    Any,
    /// The accesses of a request are served together, and no others with them.
    SplitMerge,
}

/// Two distribution functions between which that of sojourn times lies; equal where it is known.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Times in picoseconds, rising.
    pub times_ps: Vec<f64>,
    /// A lower bound, at each time, for the share of requests that are done by then.
    pub least: Vec<f64>,
    /// An upper bound for it.
    pub most: Vec<f64>,
    /// The formulas, for people.
    pub words: &'static str,
}

const EXACT: &str = "exactly: Pollaczek and Khinchine's transform as a geometric sum, Panjer 1981";
const ASSOCIATED: &str = "least: queues that are independent, Baccelli, Makowski and Shwartz 1989; \
                          most: one access alone, or no request waits";
const ANY: &str = "least: whatever depends on what, Frechet 1951; most: one access alone, or no request \
                   waits";

/// The number of steps that a mean service is divided into.
const STEPS: f64 = 100.0;

/// The distribution for requests of several kinds, each with its share, its number of accesses and
/// the law of an access. None where more arrives than can be served.
pub(super) fn distribution(
    parts: &[(f64, u32, Law)],
    coming: &QueueArrivals,
) -> Option<Distribution> {
    let together = coming.join == Join::SplitMerge;
    let mean: f64 = parts.iter().map(|(share, _, law)| share * law.of_largest(1, 1)).sum();
    let step = mean / STEPS;
    let service = |(_, many, law): &(f64, u32, Law)| {
        let one = Lattice::of(law, step);
        if together { one.largest(*many) } else { one }
    };
    let services: Vec<Lattice> = parts.iter().map(service).collect();
    let weights = parts.iter().map(|(share, many, _)| match together {
        true => *share,
        false => share * f64::from(*many),
    });
    let all: f64 = weights.clone().sum();
    let service = Lattice::one_of(weights.map(|weight| weight / all).zip(&services));
    let load = coming.rate * coming.bulk * service.mean() * step;
    if load >= 1.0 {
        return None;
    }
    // The requests of its bulk that are served before, and those of other bulks before these.
    let before = service.summed(1.0 - 1.0 / coming.bulk);
    let wait = service.plus(&before).residual().summed(load).plus(&before);
    let at_one: Vec<Vec<f64>> = services.iter().map(|own| wait.plus(own).upto()).collect();
    let places = at_one.iter().map(Vec::len).max()?;
    let (mut least, mut most) = (vec![0.0; places], vec![0.0; places]);
    for (((share, many, _), service), at_one) in parts.iter().zip(&services).zip(at_one) {
        let accesses = if together { 1 } else { *many as i32 };
        let alone = service.upto();
        let done = at_one[at_one.len() - 1];
        for place in 0..places {
            let one = at_one.get(place).copied().unwrap_or(done);
            let low = match coming.join {
                Join::Any => (1.0 - f64::from(accesses) * (1.0 - one)).max(0.0),
                Join::Associated | Join::SplitMerge => one.powi(accesses),
            };
            least[place] += share * low;
            let alone = alone.get(place).copied().unwrap_or(1.0);
            most[place] += share * one.min(alone.powi(accesses));
        }
    }
    let is_exact = together || parts.iter().all(|(_, many, _)| *many == 1);
    let words = match coming.join {
        _ if is_exact => EXACT,
        Join::Associated => ASSOCIATED,
        _ => ANY,
    };
    // Times that were rounded to a place lie up to half a step beyond it.
    let time = |place: usize| (place as f64 + 0.5) * step + coming.overhead;
    Some(Distribution { times_ps: (0..least.len()).map(time).collect(), least, most, words })
}
