//! The engine's time on the calendar.

use sojourn_mail_engine::Moment;

/// Where the engine's time begins, in milliseconds since 1970.
///
/// The engine's time begins anew with each process; storage keeps the calendar's time, which
/// outlives it. An epoch a few days before the start precedes the messages of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Milliseconds since 1970.
    pub unix_ms: i64,
}

/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;

impl Epoch {
    /// The engine's time at `unix_ms`: the beginning, for what was before it; the end, for what is
    /// beyond it.
    pub fn time(self, unix_ms: i64) -> Moment {
        let since = unix_ms.saturating_sub(self.unix_ms).max(0);
        Moment::from_ns((since as u64).saturating_mul(MS))
    }

    /// The calendar's day of `time`, counted from 1970; days are those of Greenwich.
    pub fn day(self, time: Moment) -> u16 {
        self.unix_ms(time).div_euclid(86_400_000).clamp(0, u16::MAX.into()) as u16
    }

    /// The calendar's time of `time`, rounded up.
    pub fn unix_ms(self, time: Moment) -> i64 {
        self.unix_ms + time.ns().div_ceil(MS) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let epoch = Epoch { unix_ms: 1_700_000_000_000 };
        assert_eq!(epoch.time(1_700_000_000_002), Moment::from_ns(2_000_000));
        assert_eq!(epoch.unix_ms(Moment::from_ns(2_000_000)), 1_700_000_000_002);
        assert_eq!(epoch.unix_ms(Moment::from_ns(1)), 1_700_000_000_001);
        assert_eq!(epoch.time(5), Moment::ZERO);
        assert_eq!(epoch.time(i64::MAX), Moment::NEVER);
    }
}
