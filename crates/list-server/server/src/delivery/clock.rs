//! The engine's clock: it never goes back, whatever happens to the calendar's.

use sojourn_mail_engine::Moment;
use sojourn_mail_spool::Epoch;
use tokio::time::{Duration, Instant};

/// What says the milliseconds since 1970.
pub(crate) type Calendar = fn() -> i64;

/// The engine's time, from tokio's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// The engine's time when it began.
    at: Moment,
    calendar: Calendar,
}

/// Calendars that differ by less from ours are left alone.
const STEP_MS: i64 = 1000;

impl Clock {
    /// A clock that begins now, at the engine's time `at`; and what that is on the calendar.
    pub(crate) fn start(at: Moment, calendar: Calendar) -> (Clock, Epoch) {
        let since_ms = Duration::from_nanos(at.ns()).as_millis() as i64;
        let epoch = Epoch { unix_ms: calendar() - since_ms };
        (Clock { began: Instant::now(), at, calendar }, epoch)
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::from_ns(self.at.ns() + self.began.elapsed().as_nanos() as u64)
    }

    /// When the engine's time is `time`.
    pub(crate) fn instant(&self, time: Moment) -> Instant {
        self.began + Duration::from_nanos(time.ns().saturating_sub(self.at.ns()))
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Span;
    use std::sync::atomic::AtomicI64;
    use std::sync::atomic::Ordering::Relaxed;

    static SET: AtomicI64 = AtomicI64::new(0);

    fn settable() -> i64 {
        SET.load(Relaxed)
    }

    /// Four years, a few times a day: the engine's time goes on, and its calendar is right.
    #[test]
    fn it_lasts_for_years() {
        const STEPS: u32 = 4 * 365 * 3;
        let third = Duration::from_secs(8 * 3600) + Duration::from_millis(7);
        let begin = Moment::ZERO + Span::from_s(500_000);
        SET.store(1_700_000_000_000, Relaxed);
        let (mut clock, epoch) = Clock::start(begin, settable);
        let mut last = clock.now();
        for step in 1..=STEPS {
            clock.pretend(third);
            let passed = i64::from(step) * third.as_millis() as i64;
            SET.store(1_700_000_000_000 + passed, Relaxed);
            let now = clock.now();
            assert!(now.since(last) >= Span::from_s(8 * 3600), "{now:?} after {last:?}");
            assert!(clock.instant(now) <= Instant::now());
            assert_eq!(clock.stepped_ms(epoch), 0);
            last = now;
        }
        assert!(last.ns() >= (third * STEPS).as_nanos() as u64);
        // The calendar is set: a little is let pass.
        let right = epoch.unix_ms(clock.now());
        for (by, stepped) in [(-500, 0), (-7200, -7200), (7200, 7200), (500, 0)] {
            SET.store(right + by, Relaxed);
            let found = clock.stepped_ms(epoch);
            assert!((found - stepped).abs() < 400, "{found} for {by}");
        }
    }
}
