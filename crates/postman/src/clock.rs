//! The engine's clock: it never goes back, whatever happens to the calendar's.

use crate::epoch::Epoch;
use sojourn_kernel::{Span, Time};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::{Duration, Instant};

/// The engine's time, from tokio's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// The engine's time when it began.
    at: Time,
}

impl Clock {
    /// A clock that begins now, at the engine's time `at`; and what that is on the calendar.
    pub(crate) fn start(at: Time) -> (Clock, Epoch) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch =
            Epoch { unix_ms: now.as_millis() as i64 - (at.ps() / Span::from_ms(1).ps()) as i64 };
        (Clock { began: Instant::now(), at }, epoch)
    }

    pub(crate) fn now(&self) -> Time {
        self.at + Span::from_ns(self.began.elapsed().as_nanos() as u64)
    }

    /// When the engine's time is `time`.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.began + Duration::from_nanos(time.since(self.at).ps().div_ceil(1000))
    }
}
