//! What happened in each bin of time, over a limited number of bins.

use std::collections::VecDeque;

/// Bins one after another, the last of them the latest.
#[derive(Debug)]
pub(super) struct Series {
    width_ms: i64,
    most: usize,
    /// The number of the first bin: its start, in widths since 1970.
    first: i64,
    bins: VecDeque<Bin>,
}

/// What happened in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bin {
    /// Messages that were taken over.
    pub(super) messages: u32,
    /// Their recipients.
    pub(super) arrived: u32,
    /// Attempts for one recipient each, and those that delivered.
    pub(super) attempted: u32,
    pub(super) delivered: u32,
}

impl Series {
    pub(super) fn new(width_ms: i64, most: usize) -> Series {
        Series { width_ms, most, first: 0, bins: VecDeque::new() }
    }

    /// The bin of this time. All begin anew where a calendar was set, to before the first of them or
    /// to as far after the last as there are bins.
    pub(super) fn at(&mut self, unix_ms: i64) -> &mut Bin {
        let number = unix_ms.div_euclid(self.width_ms);
        let end = self.first + self.bins.len() as i64;
        let apart = number < self.first || number >= end + self.most as i64;
        if self.bins.is_empty() || apart {
            self.bins.clear();
            self.first = number;
        }
        while self.first + (self.bins.len() as i64) <= number {
            if self.bins.len() == self.most {
                self.bins.pop_front();
                self.first += 1;
            }
            self.bins.push_back(Bin::default());
        }
        &mut self.bins[(number - self.first) as usize]
    }

    /// When the first of the last `count` bins began, in milliseconds since 1970, and these bins.
    pub(super) fn last(&self, count: usize) -> (i64, impl Iterator<Item = &Bin>) {
        let skipped = self.bins.len().saturating_sub(count);
        ((self.first + skipped as i64) * self.width_ms, self.bins.iter().skip(skipped))
    }

    pub(super) fn width_ms(&self) -> i64 {
        self.width_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(series: &Series, count: usize) -> (i64, Vec<u32>) {
        let (from, bins) = series.last(count);
        (from, bins.map(|bin| bin.delivered).collect())
    }

    #[test]
    fn bins_follow_the_clock() {
        let mut series = Series::new(1000, 4);
        assert_eq!(delivered(&series, 9), (0, vec![]));
        for ms in [5_000, 5_999, 7_000] {
            series.at(ms).delivered += 1;
        }
        assert_eq!(delivered(&series, 9), (5_000, vec![2, 0, 1]));
        assert_eq!(delivered(&series, 2), (6_000, vec![0, 1]));
        series.at(9_500).delivered += 1;
        assert_eq!(delivered(&series, 9), (6_000, vec![0, 1, 0, 1]));
        // A clock that was set back a little, far back, far ahead, and right again.
        series.at(6_100).delivered += 1;
        assert_eq!(delivered(&series, 9), (6_000, vec![1, 1, 0, 1]));
        for ms in [1_000, i64::from(u32::MAX) * 1000, 10_000, -1_000] {
            series.at(ms).delivered += 1;
            assert_eq!(delivered(&series, 9), (ms, vec![1]));
        }
    }
}
