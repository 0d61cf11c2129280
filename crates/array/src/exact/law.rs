//! A distribution of times as many equally likely values.

use crate::Moments;

/// A distribution of times in picoseconds, as equally likely values, least first.
#[derive(Clone, Debug)]
pub struct Law(Vec<f64>);

impl Law {
    /// The distribution of these values, at least one.
    pub fn new(mut values: Vec<f64>) -> Law {
        values.sort_unstable_by(f64::total_cmp);
        Law(values)
    }

    /// The values, least first.
    pub(super) fn values(&self) -> &[f64] {
        &self.0
    }

    /// The mean of the `power`-th power of the largest of `many` independent draws.
    pub fn of_largest(&self, many: u32, power: i32) -> f64 {
        let count = self.0.len() as f64;
        let upto = |number: usize| (number as f64 / count).powi(many as i32);
        let weighed =
            |(number, value): (usize, &f64)| (upto(number + 1) - upto(number)) * value.powi(power);
        self.0.iter().enumerate().map(weighed).sum()
    }

    /// Mean and mean square of the largest of `many` independent draws.
    pub fn largest(&self, many: u32) -> Moments {
        Moments { mean: self.of_largest(many, 1), square: self.of_largest(many, 2) }
    }

    /// The probability that the largest of `many` independent draws is at most `time`.
    pub fn within(&self, many: u32, time: f64) -> f64 {
        let upto = self.0.partition_point(|value| *value <= time);
        (upto as f64 / self.0.len() as f64).powi(many as i32)
    }

    /// The quantile of the largest of `many` independent draws: it is below with probability `share`.
    pub fn quantile_of_largest(&self, many: u32, share: f64) -> f64 {
        let each = share.powf(1.0 / f64::from(many));
        let place = (each * self.0.len() as f64) as usize;
        self.0[place.min(self.0.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_two_dice() {
        let die = Law::new(vec![6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        assert!((die.of_largest(1, 1) - 3.5).abs() < 1e-12);
        assert!((die.of_largest(2, 1) - 161.0 / 36.0).abs() < 1e-12);
        assert!((die.largest(2).square - 791.0 / 36.0).abs() < 1e-12);
        assert_eq!(die.quantile_of_largest(2, 0.24), 3.0);
        assert_eq!(die.quantile_of_largest(1, 0.99), 6.0);
    }

    #[test]
    fn the_largest_of_many_even_draws() {
        let even = Law::new((0..10_000).map(|i| (f64::from(i) + 0.5) / 10_000.0).collect());
        for many in [1, 2, 4, 8] {
            let mean = f64::from(many) / f64::from(many + 1);
            assert!((even.of_largest(many, 1) - mean).abs() < 1e-6, "{many}");
        }
        assert!((even.quantile_of_largest(4, 0.99) - 0.99_f64.powf(0.25)).abs() < 2e-4);
    }
}
