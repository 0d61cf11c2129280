//! The border of two clocks: the world counts picoseconds, its engine nanoseconds.

use sojourn_core::{Span, Time};
use sojourn_mail_engine::Moment;

/// Picoseconds in a nanosecond.
const NS: u64 = Span::from_ns(1).ps();

/// What the engine's clock shows at a time of the world: the nanosecond that came last.
pub const fn shown(time: Time) -> Moment {
    Moment::from_ns(time.ps() / NS)
}

/// The time of the world at which the engine's clock shows `moment`; [`Time::NEVER`] when no run
/// comes that far.
pub const fn when(moment: Moment) -> Time {
    Time::from_ps(moment.ns().saturating_mul(NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for ns in [0, 1, 999, 1_000_000_007] {
            let time = when(Moment::from_ns(ns));
            assert_eq!(time, Time::ZERO + Span::from_ns(ns));
            for ps in [0, 1, 999] {
                assert_eq!(shown(time + Span::from_ps(ps)), Moment::from_ns(ns));
            }
        }
        assert_eq!(when(Moment::NEVER), Time::NEVER);
    }

    /// What the engine wants at a later moment than now comes later in the world too.
    #[test]
    fn a_wake_lies_ahead() {
        for ps in [0, 1, 999, 1000, 1001, 5_000_123] {
            let now = Time::from_ps(ps);
            let wake = when(shown(now) + Span::from_ps(1));
            assert!(now < wake && wake <= now + Span::from_ns(1), "{now} and {wake}");
        }
    }
}
