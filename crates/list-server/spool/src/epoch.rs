//! The engine's time on the calendar.

use sojourn_core::{Span, Time};

/// Where the engine's time begins, in milliseconds since 1970.
///
/// The engine counts picoseconds in 64 bits, 213 days; storage keeps the calendar's time, which
/// outlives a process. An epoch a few days before the start precedes the messages of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Milliseconds since 1970.
    pub unix_ms: i64,
}

const MS: u64 = Span::from_ms(1).ps();

impl Epoch {
    /// The engine's time at `unix_ms`: the beginning, for what was before it; the end, for what is
    /// beyond it.
    pub fn time(self, unix_ms: i64) -> Time {
        let since = unix_ms.saturating_sub(self.unix_ms).max(0);
        Time::from_ps((since as u64).saturating_mul(MS))
    }

    /// The calendar's day of `time`, counted from 1970; days are those of Greenwich.
    pub fn day(self, time: Time) -> u16 {
        self.unix_ms(time).div_euclid(86_400_000).clamp(0, u16::MAX.into()) as u16
    }

    /// The calendar's time of `time`, rounded up.
    pub fn unix_ms(self, time: Time) -> i64 {
        self.unix_ms + time.ps().div_ceil(MS) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let epoch = Epoch { unix_ms: 1_700_000_000_000 };
        assert_eq!(epoch.time(1_700_000_000_002), Time::ZERO + Span::from_ms(2));
        assert_eq!(epoch.unix_ms(Time::ZERO + Span::from_ms(2)), 1_700_000_000_002);
        assert_eq!(epoch.unix_ms(Time::ZERO + Span::from_ps(1)), 1_700_000_000_001);
        assert_eq!(epoch.time(5), Time::ZERO);
        assert_eq!(epoch.time(i64::MAX), Time::NEVER);
    }
}
