//! The engine's clock: it never goes back, whatever happens to the calendar's.

use sojourn_core::{Span, Time};
use sojourn_mail_spool::Epoch;
use tokio::time::{Duration, Instant};

/// What says the milliseconds since 1970.
pub(crate) type Calendar = fn() -> i64;

/// The engine's time, from tokio's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// The engine's time when it began.
    at: Time,
    calendar: Calendar,
}

/// How long it counts on before it begins anew. Its 64 bits would last 213 days; what is done every
/// day is known to work.
const DAY: Span = Span::from_s(86_400);
/// Calendars that differ by less from ours are left alone.
const STEP_MS: i64 = 1000;
const MS: u64 = Span::from_ms(1).ps();
const SECOND: u64 = Span::from_s(1).ps();

impl Clock {
    /// A clock that begins now, at the engine's time `at`; and what that is on the calendar.
    pub(crate) fn start(at: Time, calendar: Calendar) -> (Clock, Epoch) {
        let epoch = Epoch { unix_ms: calendar() - (at.ps() / MS) as i64 };
        (Clock { began: Instant::now(), at, calendar }, epoch)
    }

    pub(crate) fn now(&self) -> Time {
        self.at + Span::from_ns(self.began.elapsed().as_nanos() as u64)
    }

    /// When the engine's time is `time`.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.began + Duration::from_nanos(time.since(self.at).ps().div_ceil(1000))
    }

    /// As if so much more time had passed.
    #[cfg(test)]
    pub(crate) fn pretend(&mut self, passed: Duration) {
        self.began -= passed;
    }

    /// How far the calendar was set since `epoch` was right, in milliseconds.
    pub(crate) fn stepped_ms(&self, epoch: Epoch) -> i64 {
        let stepped = (self.calendar)() - epoch.unix_ms(self.now());
        if stepped.abs() < STEP_MS { 0 } else { stepped }
    }

    /// Begins anew at the time that it began at, where that was a day ago; how far it goes back, a
    /// whole number of seconds.
    pub(crate) fn begin_anew(&mut self) -> Span {
        let since = self.now().since(self.at);
        if since < DAY {
            return Span::ZERO;
        }
        let by = Span::from_ps(since.ps() / SECOND * SECOND);
        self.began += Duration::from_nanos(by.ps() / 1000);
        by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicI64;
    use std::sync::atomic::Ordering::Relaxed;

    static SET: AtomicI64 = AtomicI64::new(0);

    fn settable() -> i64 {
        SET.load(Relaxed)
    }

    /// Four years, a few times a day: the engine's time stays within two days of its beginning, and
    /// its calendar right.
    #[test]
    fn it_lasts_for_years() {
        let third = Duration::from_secs(8 * 3600) + Duration::from_millis(7);
        let begin = Time::ZERO + Span::from_s(500_000);
        SET.store(1_700_000_000_000, Relaxed);
        let (mut clock, mut epoch) = Clock::start(begin, settable);
        for step in 1..=4 * 365 * 3 {
            clock.pretend(third);
            let passed = step * third.as_millis() as i64;
            SET.store(1_700_000_000_000 + passed, Relaxed);
            let by = clock.begin_anew();
            epoch.unix_ms += (by.ps() / MS) as i64;
            assert_eq!(by == Span::ZERO, step % 3 != 0, "{by} after {step}");
            assert!(clock.now() >= begin && clock.now() < begin + DAY + DAY);
            assert_eq!(clock.stepped_ms(epoch), 0);
        }
        // The calendar is set: a little is let pass.
        let right = epoch.unix_ms(clock.now());
        for (by, stepped) in [(-500, 0), (-7200, -7200), (7200, 7200), (500, 0)] {
            SET.store(right + by, Relaxed);
            let found = clock.stepped_ms(epoch);
            assert!((found - stepped).abs() < 400, "{found} for {by}");
        }
    }
}
