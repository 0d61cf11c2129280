//! A clock that begins anew: 64 bits of picoseconds last 213 days, and a server lasts longer.

use crate::Engine;
use crate::event::{Deferral, Record};
use sojourn_core::{Calendar, Span, Time};

/// `time` is so much earlier, if it is to come at all; what was before the beginning is at it.
pub(super) fn rebase_clock(time: &mut Time, by: Span) {
    if *time < Time::NEVER {
        *time = Time::from_ps(time.ps().saturating_sub(by.ps()));
    }
}

impl Engine {
    /// Counts time from a beginning that is `by` later, a whole number of seconds: what was to
    /// happen at a time happens at this time less `by`. Nothing else changes. Effects that were
    /// given before count from the old beginning.
    pub fn rebase_clock(&mut self, by: Span) {
        assert!(by.ps().is_multiple_of(Span::from_s(1).ps()), "{by} are no whole seconds");
        for time in [&mut self.now, &mut self.announced] {
            rebase_clock(time, by);
        }
        let mut timers = std::mem::replace(&mut self.timers, Calendar::new());
        while let Some((mut at, timer)) = timers.pop() {
            rebase_clock(&mut at, by);
            self.timers.schedule(at, timer);
        }
        for message in self.messages.values_mut().chain(self.offered.values_mut()) {
            message.rebase_clock(by);
        }
        self.destinations.values_mut().for_each(|it| it.rebase_clock(by));
        self.hosts.values_mut().for_each(|it| it.rebase_clock(by));
        self.sessions.values_mut().for_each(|it| it.rebase_clock(by));
        self.journal.rebase_clock(by);
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
