//! The time of the event that is handled, what is to happen at times, and what was stored by a
//! clock that was ahead.

use crate::event::{Deferral, MessageId, Progress, SessionId, Stored};
use crate::ids::DestinationId;
use crate::moment::Moment;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is to be looked at, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Session(SessionId),
    Destination(DestinationId),
    Expiry(MessageId),
    Journal,
}

/// The time of the event that is handled, and the timers.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) now: Moment,
    /// The earliest on top; of those of one time, the one that was scheduled first.
    timers: BinaryHeap<Reverse<(Moment, u64, Timer)>>,
    /// How many timers were scheduled.
    scheduled: u64,
    /// The time of the last [`Effect::Wake`](crate::Effect::Wake).
    announced: Moment,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            now: Moment::ZERO,
            timers: BinaryHeap::new(),
            scheduled: 0,
            announced: Moment::NEVER,
        }
    }
}

impl Clock {
    /// It is `now`; a time before the last one counts as the last one.
    pub(super) fn advance(&mut self, now: Moment) {
        self.now = self.now.max(now);
    }

    pub(super) fn schedule(&mut self, at: Moment, timer: Timer) {
        self.timers.push(Reverse((at, self.scheduled, timer)));
        self.scheduled += 1;
    }

    /// The next timer whose time has come, and that time.
    pub(super) fn next_due(&mut self) -> Option<(Moment, Timer)> {
        self.next().filter(|&at| at <= self.now)?;
        self.timers.pop().map(|Reverse((at, _, timer))| (at, timer))
    }

    /// The wish to be woken was fulfilled.
    pub(super) fn wake(&mut self) {
        self.announced = Moment::NEVER;
    }

    /// When to be woken, where that is not known yet.
    pub(super) fn next_wake(&mut self) -> Option<Moment> {
        let at = self.next().filter(|&at| at != self.announced)?;
        self.announced = at;
        Some(at)
    }

    /// The time of the next timer.
    fn next(&self) -> Option<Moment> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }
}

impl Stored {
    /// One that was accepted in the future, by a clock that was ahead, is accepted `now`, and its
    /// waits begin as much earlier.
    pub(super) fn not_after(&mut self, now: Moment) {
        let ahead = self.accepted.ns().saturating_sub(now.ns());
        let earlier = |at: &mut Moment| *at = Moment::from_ns(at.ns().saturating_sub(ahead));
        earlier(&mut self.accepted);
        for progress in &mut self.progress {
            if let Progress::Deferred(Deferral { first, due, .. }) = progress {
                earlier(first);
                earlier(due);
            }
        }
    }
}
