//! A port that pause frames stop, and that stops the one before it: its states, in time.

use super::pauses::Pauses;
use super::port::Port;
use crate::packet::{NIL, PacketId};
use crate::queue::Queue;
use sojourn_core::{Span, Time};

/// What a port keeps of pauses.
pub(super) struct Pausing {
    /// The list of what still arrives in this window.
    pub(super) arrivals: PacketId,
    /// Its number at its switch.
    pub(super) number: u16,
    state: State,
    /// When it sends the pause again to the port before it; never where it does not stop that.
    again: Time,
    /// How long a pause lasts on its link.
    time: Span,
    pauses: Pauses,
    /// Each pause, where that is wanted.
    each: Option<Box<Each>>,
}

/// Pauses of a port that are over: from when until when.
#[derive(Debug, Default)]
pub(super) struct Each(Vec<(Time, Time)>);

/// Whether a port sends what a pause stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Since when it is stopped, and when that runs out.
    Stopped {
        since: Time,
        until: Time,
    },
    /// It was stopped for too long: it drops what it cannot send.
    Dropping {
        since: Time,
        until: Time,
    },
}

/// What is due at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The pause that stops it runs out.
    RunsOut,
    /// It was stopped for too long.
    TooLong,
    /// The pause that it has sent has to be sent again.
    Again,
}

impl Pausing {
    /// An open port, `number` of its switch, on whose link a pause lasts for `time`; it notes each if that is wanted.
    pub(super) fn new(number: u16, time: Span, notes_each: bool) -> Pausing {
        Pausing {
            arrivals: NIL,
            number,
            state: State::Open,
            again: Time::NEVER,
            time,
            pauses: Pauses::default(),
            each: notes_each.then(Box::default),
        }
    }

    /// Whether it is stopped.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.state != State::Open
    }

    /// Whether the port drops packets that arrive.
    #[inline]
    pub(super) fn drops(&self) -> bool {
        matches!(self.state, State::Dropping { .. })
    }

    /// What pauses did to it, up to `now`.
    pub(super) fn pauses(&self, now: Time) -> Pauses {
        let more = match self.state {
            State::Open => Span::ZERO,
            State::Stopped { since, .. } | State::Dropping { since, .. } => now.since(since),
        };
        Pauses { time: self.pauses.time + more, ..self.pauses }
    }

    /// Each pause, up to `now`, where they were noted.
    pub(super) fn each(&self, now: Time) -> impl Iterator<Item = (Time, Time)> {
        let lasts = match self.state {
            State::Stopped { since, .. } | State::Dropping { since, .. } => Some((since, now)),
            State::Open => None,
        };
        let over = self.each.iter().flat_map(|each| each.0.iter().copied());
        over.chain(lasts.filter(|_| self.each.is_some()))
    }

    /// Stops the port before it at `now`; it says so again after half a pause, where that is `refreshed`.
    pub(super) fn stop_before(&mut self, now: Time, refreshed: bool) {
        self.again = if refreshed { now + self.time / 2 } else { Time::NEVER };
    }

    /// When the pause that it has sent has to be sent again.
    pub(super) fn again(&self) -> Time {
        self.again
    }

    /// Lets the port before it go on.
    pub(super) fn let_go_on(&mut self) {
        self.again = Time::NEVER;
    }

    /// What is due next, and when; a stopped port drops after `watchdog`.
    #[inline]
    pub(super) fn due(&self, watchdog: Span) -> (Time, Due) {
        let own = match self.state {
            State::Open => return (self.again, Due::Again),
            State::Dropping { until, .. } => (until, Due::RunsOut),
            State::Stopped { since, until } => {
                let late = Time::from_ps(since.ps().saturating_add(watchdog.ps()));
                if late < until { (late, Due::TooLong) } else { (until, Due::RunsOut) }
            }
        };
        if self.again < own.0 { (self.again, Due::Again) } else { own }
    }
}

/// Has a pause frame of `quanta` stop `port` from `now` on, or go on. Returns whether it is stopped, where that has
/// changed.
pub(super) fn hear<D: Queue>(port: &mut Port<D, Pausing>, quanta: u32, now: Time) -> Option<bool> {
    if quanta == 0 {
        return go_on(port, now);
    }
    let end = now + port.share.time;
    match &mut port.share.state {
        State::Stopped { until, .. } | State::Dropping { until, .. } => {
            *until = end;
            None
        }
        State::Open => {
            port.share.state = State::Stopped { since: now, until: end };
            port.share.pauses.count += 1;
            port.queue.stop(true);
            Some(true)
        }
    }
}

/// Lets a port go on at `now`. Returns whether it is stopped, where that has changed.
pub(super) fn go_on<D: Queue>(port: &mut Port<D, Pausing>, now: Time) -> Option<bool> {
    if !port.share.is_stopped() {
        return None;
    }
    port.share.pauses = port.share.pauses(now);
    if let (Some(each), State::Stopped { since, .. } | State::Dropping { since, .. }) =
        (&mut port.share.each, port.share.state)
    {
        each.0.push((since, now));
    }
    port.share.state = State::Open;
    port.queue.stop(false);
    port.free = port.free.max(now);
    Some(false)
}

impl Pausing {
    /// Begins to drop what a pause stops.
    pub(super) fn begin_to_drop(&mut self) {
        if let State::Stopped { since, until } = self.state {
            self.state = State::Dropping { since, until };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// The first of a pause's end, the watchdog's time and the next pause to send.
    #[test]
    fn what_is_due_first_is_told() {
        let mut port = Pausing::new(3, Span::from_us(100), false);
        assert_eq!(port.due(Span::MAX), (Time::NEVER, Due::Again));
        port.stop_before(at(10), true);
        assert_eq!(port.due(Span::MAX), (at(60), Due::Again));
        port.state = State::Stopped { since: at(5), until: at(55) };
        assert_eq!(port.due(Span::MAX), (at(55), Due::RunsOut));
        assert_eq!(port.due(Span::from_us(40)), (at(45), Due::TooLong));
        port.begin_to_drop();
        assert_eq!(port.due(Span::from_us(40)), (at(55), Due::RunsOut));
        port.let_go_on();
        port.stop_before(at(20), false);
        assert_eq!(port.again(), Time::NEVER);
        assert_eq!(port.pauses(at(50)), Pauses { count: 0, time: Span::from_us(45) });
    }
}
