//! Bounds that become tighter as connections become scarce.

use sojourn_core::parameters::Check;
use sojourn_core::units::Bytes;
use sojourn_core::{Span, nested, parameters};
use std::num::NonZeroU32;

parameters! {
    /// What a session may take when all connections are in use; while half of them are free it has
    /// its ordinary bounds, and between the two what is between (Postfix has two steps: its stress
    /// mode, STRESS_README).
    pub struct Stressed: "bounds under stress" {
        /// How long a command may take to come, or no octet of a message (Postfix: smtpd_timeout,
        /// 10 s under stress).
        pub command: Span = Span::from_s(10),
        /// How long a client may take to its next whole message, from its beginning or the last
        /// one, apart from the time that `rate` gives the text.
        pub message: Span = Span::from_s(60),
        /// Octets of a text that have to come in a second (Postfix: smtpd_min_data_rate, 500).
        pub rate: Bytes = Bytes(500),
        /// Commands of one session that are wrong or refused to strangers (Postfix:
        /// smtpd_hard_error_limit, 1 under stress).
        pub errors: NonZeroU32 = NonZeroU32::new(1).expect("above 0"),
        /// Commands of one session that lead to no message. Two EHLO and STARTTLS are such
        /// (Postfix: smtpd_junk_command_limit, 1 under stress, where EHLO is none).
        pub detours: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
    }
}

impl Check for Stressed {}

nested!(Stressed);

impl Stressed {
    /// How long a client may take to its next whole message, of which so many octets are here.
    pub(super) fn message(&self, octets: usize) -> Span {
        let seconds = octets as u64 / self.rate.0.max(1);
        let text = seconds.saturating_mul(Span::from_s(1).ps());
        Span::from_ps(self.message.ps().saturating_add(text))
    }
}

/// How scarce connections are, from 0 (half of them are free, or more) to 100 (none is).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stress(u8);

impl Stress {
    /// There are enough.
    pub const NONE: Stress = Stress(0);

    /// So many of `most` are in use.
    pub fn of(used: usize, most: usize) -> Stress {
        let above_half = (2 * used).saturating_sub(most);
        Stress((above_half * 100).checked_div(most).map_or(100, |it| it.min(100) as u8))
    }

    /// The bound that is as far between the ordinary one and that under stress.
    pub(super) fn span(self, ordinary: Span, stressed: Span) -> Span {
        Span::from_ps(self.between(ordinary.ps(), stressed.ps()))
    }

    /// The count that is as far between the ordinary one and that under stress.
    pub(super) fn count(self, ordinary: NonZeroU32, stressed: NonZeroU32) -> u32 {
        self.between(ordinary.get().into(), stressed.get().into()) as u32
    }

    /// Stress gives no session more than it has without.
    fn between(self, ordinary: u64, stressed: u64) -> u64 {
        let less = u128::from(ordinary.saturating_sub(stressed)) * u128::from(self.0) / 100;
        ordinary - less as u64
    }
}

impl From<u8> for Stress {
    fn from(percent: u8) -> Stress {
        Stress(percent.min(100))
    }
}

impl From<Stress> for u8 {
    fn from(stress: Stress) -> u8 {
        stress.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_shrink_from_half_on() {
        let (s, most) = (Span::from_s, 40);
        for (used, expected) in [(0, 300), (20, 300), (30, 155), (40, 10), (50, 10)] {
            assert_eq!(Stress::of(used, most).span(s(300), s(10)), s(expected), "{used}");
        }
        assert_eq!(Stress::of(40, 40).span(s(5), s(10)), s(5));
        assert_eq!(Stress::of(0, 0), Stress(100));
        let few = |n| NonZeroU32::new(n).unwrap();
        assert_eq!(Stress::of(40, 40).count(few(20), few(1)), 1);
        assert_eq!(Stress::of(30, 40).count(few(20), few(1)), 11);
    }
}
