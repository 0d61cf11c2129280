//! The engine's time, what is to happen at times, and a clock that begins anew: 64 bits of
//! picoseconds last 213 days, and a server lasts longer.

use crate::event::{Deferral, MessageId, Progress, Record, SessionId, Stored};
use crate::ids::DestinationId;
use sojourn_core::{Calendar, Span, Time};

/// What is to be looked at, at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timer {
    Session(SessionId),
    Destination(DestinationId),
    Expiry(MessageId),
    Journal,
}

/// The time of the event that is handled, and the timers.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) now: Time,
    timers: Calendar<Timer>,
    /// The time of the last [`Effect::Wake`](crate::Effect::Wake).
    announced: Time,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { now: Time::ZERO, timers: Calendar::new(), announced: Time::NEVER }
    }
}

impl Clock {
    /// It is `now`; a time before the last one counts as the last one.
    pub(super) fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    pub(super) fn schedule(&mut self, at: Time, timer: Timer) {
        self.timers.schedule(at, timer);
    }

    /// The next timer whose time has come, and that time.
    pub(super) fn next_due(&mut self) -> Option<(Time, Timer)> {
        self.timers.peek_time().filter(|&at| at <= self.now)?;
        self.timers.pop()
    }

    /// The wish to be woken was fulfilled.
    pub(super) fn wake(&mut self) {
        self.announced = Time::NEVER;
    }

    /// When to be woken, where that is not known yet.
    pub(super) fn next_wake(&mut self) -> Option<Time> {
        let at = self.timers.peek_time().filter(|&at| at != self.announced)?;
        self.announced = at;
        Some(at)
    }

    pub(super) fn rebase_clock(&mut self, by: Span) {
        for time in [&mut self.now, &mut self.announced] {
            rebase_clock(time, by);
        }
        let mut timers = std::mem::replace(&mut self.timers, Calendar::new());
        while let Some((mut at, timer)) = timers.pop() {
            rebase_clock(&mut at, by);
            self.timers.schedule(at, timer);
        }
    }
}

/// `time` is so much earlier, if it is to come at all; what was before the beginning is at it.
pub(super) fn rebase_clock(time: &mut Time, by: Span) {
    if *time < Time::NEVER {
        *time = Time::from_ps(time.ps().saturating_sub(by.ps()));
    }
}

impl Record {
    pub(super) fn rebase_clock(&mut self, by: Span) {
        if let Record::Deferred(_, Deferral { first, due, .. }, obstacle) = self {
            for time in [first, due, &mut obstacle.at] {
                rebase_clock(time, by);
            }
        }
    }
}

impl Stored {
    /// One that was accepted in the future, by a clock that was ahead, is accepted `now`, and its
    /// waits begin as much earlier.
    pub(super) fn not_after(&mut self, now: Time) {
        let ahead = self.accepted.since(now);
        let earlier = |time: &mut Time| *time = Time::from_ps(time.ps().saturating_sub(ahead.ps()));
        earlier(&mut self.accepted);
        for progress in &mut self.progress {
            if let Progress::Deferred(Deferral { first, due, .. }) = progress {
                earlier(first);
                earlier(due);
            }
        }
    }
}
