//! How long attempts take, by domain.

use sojourn_core::Span;
use std::collections::BTreeMap;

/// The attempts of the present hour and the one before, by domain.
#[derive(Debug, Default)]
pub(super) struct Paces {
    hour: i64,
    now: BTreeMap<Box<str>, Pace>,
    before: BTreeMap<Box<str>, Pace>,
}

/// The attempts for one domain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    pub(super) attempts: u64,
    pub(super) delivered: u64,
    pub(super) total_s: f64,
    pub(super) worst_s: f64,
}

/// Domains that are followed in one hour; more are not.
const DOMAINS: usize = 20_000;
const HOUR_MS: i64 = 3_600_000;

impl Paces {
    pub(super) fn add(&mut self, unix_ms: i64, domain: &str, took: Span, delivered: bool) {
        let hour = unix_ms.div_euclid(HOUR_MS);
        if hour > self.hour {
            let last = std::mem::take(&mut self.now);
            self.before = if hour == self.hour + 1 { last } else { BTreeMap::new() };
            self.hour = hour;
        }
        if !self.now.contains_key(domain) {
            if self.now.len() == DOMAINS {
                return;
            }
            self.now.insert(domain.into(), Pace::default());
        }
        let pace = self.now.get_mut(domain).expect("the domain was inserted above");
        let seconds = took.seconds();
        pace.attempts += 1;
        pace.delivered += u64::from(delivered);
        pace.total_s += seconds;
        pace.worst_s = pace.worst_s.max(seconds);
    }

    /// The domains whose attempts take longest on average.
    pub(super) fn slowest(&self, count: usize) -> Vec<(&str, Pace)> {
        let mut all: BTreeMap<&str, Pace> =
            self.before.iter().map(|(domain, pace)| (&**domain, *pace)).collect();
        for (domain, pace) in &self.now {
            let sum = all.entry(domain).or_default();
            sum.attempts += pace.attempts;
            sum.delivered += pace.delivered;
            sum.total_s += pace.total_s;
            sum.worst_s = sum.worst_s.max(pace.worst_s);
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by(|(_, one), (_, other)| other.mean_s().total_cmp(&one.mean_s()));
        all.truncate(count);
        all
    }
}

impl Pace {
    pub(super) fn mean_s(self) -> f64 {
        self.total_s / self.attempts as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hours_are_remembered() {
        let mut paces = Paces::default();
        paces.add(0, "a", Span::from_s(1), true);
        paces.add(HOUR_MS, "a", Span::from_s(5), false);
        paces.add(HOUR_MS, "b", Span::from_s(2), true);
        let pace =
            |attempts, delivered, total_s, worst_s| Pace { attempts, delivered, total_s, worst_s };
        let (a, b) = (("a", pace(2, 1, 6.0, 5.0)), ("b", pace(1, 1, 2.0, 2.0)));
        assert_eq!(paces.slowest(9), [a, b]);
        assert_eq!(paces.slowest(1), [a]);
        paces.add(2 * HOUR_MS, "b", Span::from_s(2), true);
        assert_eq!(paces.slowest(9), [("a", pace(1, 0, 5.0, 5.0)), ("b", pace(2, 2, 4.0, 2.0))]);
        paces.add(4 * HOUR_MS, "c", Span::from_s(1), true);
        assert_eq!(paces.slowest(9).len(), 1);
    }
}
