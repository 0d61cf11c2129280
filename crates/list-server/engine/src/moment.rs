//! Points in the engine's time: whole nanoseconds in 64 bits, which last 584 years. A server runs
//! longer than the 213 days that picoseconds last.

use sojourn_core::Span;
use std::ops::{Add, AddAssign};

/// A point in the engine's time, in nanoseconds since its beginning.
///
/// Durations are [`Span`]s, whole picoseconds of up to 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

/// Picoseconds in a nanosecond.
const NS: u64 = Span::from_ns(1).ps();

impl Moment {
    /// The beginning.
    pub const ZERO: Moment = Moment(0);
    /// Later than anything that happens.
    pub const NEVER: Moment = Moment(u64::MAX);

    /// The point `ns` nanoseconds after the beginning.
    pub const fn from_ns(ns: u64) -> Moment {
        Moment(ns)
    }

    /// Nanoseconds since the beginning.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// The distance from `earlier` to here: zero when `earlier` is later, [`Span::MAX`] when it is
    /// longer than a span can be.
    pub const fn since(self, earlier: Moment) -> Span {
        Span::from_ps(self.0.saturating_sub(earlier.0).saturating_mul(NS))
    }
}

/// The span is rounded up to whole nanoseconds, so that no wait is shorter than it is set; a sum
/// beyond the end is [`Moment::NEVER`].
impl Add<Span> for Moment {
    type Output = Moment;
    fn add(self, span: Span) -> Moment {
        Moment(self.0.saturating_add(span.ps().div_ceil(NS)))
    }
}

impl AddAssign<Span> for Moment {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_shorter_than_it_is_set() {
        let began = Moment::from_ns(7);
        for (ps, ns) in [(0, 7), (1, 8), (999, 8), (1000, 8), (1001, 9)] {
            let span = Span::from_ps(ps);
            let due = began + span;
            assert_eq!(due, Moment::from_ns(ns));
            assert!(due.since(began) >= span);
        }
        assert_eq!(began.since(began + Span::from_ns(1)), Span::ZERO);
    }

    #[test]
    fn it_lasts_for_centuries() {
        let century = Span::from_s(100 * 86_400);
        let late = (0..365).fold(Moment::ZERO, |at, _| at + century);
        assert_eq!(late, Moment::from_ns(100 * 365 * 86_400 * 1_000_000_000));
        assert_eq!((late + Span::from_ns(3)).since(late), Span::from_ns(3));
        assert_eq!(late.since(Moment::ZERO), Span::MAX);
        assert_eq!(Moment::from_ns(u64::MAX - 1) + century, Moment::NEVER);
    }
}
