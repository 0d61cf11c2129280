//! The sessions that are not closed, and their states.

mod state;
mod table;

pub(crate) use state::{Closed, Resume, Sending, SessionEvent, Transaction};
pub(crate) use table::Sessions;

use crate::destination::QUICK;
use crate::event::Relay;
use crate::host::Host;
use crate::ids::{DestinationId, HostId, NetworkId, ShaperId};
use crate::moment::Moment;
use crate::policy::timeouts::Steps;
use crate::reason::{End, Reason, status};
use sojourn_core::Span;
use sojourn_smtp::client::{Client, Step};
use state::SessionState;
use std::sync::Arc;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) destination: DestinationId,
    pub(super) host: HostId,
    pub(super) network: NetworkId,
    /// Limits that it counts for.
    pub(super) shapers: Arc<[ShaperId]>,
    pub(super) relay: Relay,
    state: SessionState,
    /// Whether its host did not answer last time.
    pub(super) probe: bool,
    pub(super) client: Client,
    steps: Steps,
    deadline: Moment,
    alarm: Moment,
    /// When the answer of its host is overdue; never, where it is already.
    overdue_from: Moment,
    /// Whether all that it is for was deleted: its host is waited for as for the answer to QUIT, or
    /// until the answer to a message is overdue.
    pub(super) needless: bool,
    /// When it began, or took up work: the connection counts towards its first attempt.
    pub(super) since: Moment,
    /// Transactions that it has begun, and of these those that were answered.
    pub(super) begun: u32,
    pub(super) answered: u32,
    /// Whether a transaction was answered that was begun before the one before it was.
    pub(super) pipelines: bool,
    /// How many whole transactions may be under way, as far as the host was quick.
    pub(super) window: usize,
}

/// Whole transactions that a session has under way at first: each that is answered quickly allows
/// one more, as in the slow start of TCP.
const FIRST_WINDOW: usize = 4;

/// An answer is overdue after so long. RFC 5321 section 4.5.3.2 has a client wait for minutes, but few
/// hosts that answer at all take longer.
const OVERDUE: Span = Span::from_s(30);

impl Session {
    pub(super) fn new(
        destination: DestinationId,
        number: HostId,
        host: &Host,
        relay: Relay,
        steps: Steps,
        client: Client,
        now: Moment,
    ) -> Session {
        Session {
            destination,
            host: number,
            network: host.network,
            shapers: Arc::default(),
            relay,
            state: SessionState::Connecting,
            probe: host.failures > 0,
            client,
            steps,
            deadline: Moment::NEVER,
            alarm: Moment::NEVER,
            overdue_from: now + OVERDUE,
            needless: false,
            since: now,
            begun: 0,
            answered: 0,
            pipelines: false,
            window: FIRST_WINDOW,
        }
    }

    /// A transaction was answered that took so long.
    fn has_answered(&mut self, took: Span) {
        self.answered += 1;
        self.window = if took < QUICK { self.window + 1 } else { FIRST_WINDOW };
    }

    /// Counts the time of its present step from now on; when its timer is to ring, where that is sooner
    /// than it does.
    pub(super) fn set_deadline(&mut self, now: Moment, idle: Span) -> Option<Moment> {
        self.deadline = match self.needless {
            false => now + self.steps.of(self.step(), idle),
            // The log should say what became of a copy, but need not.
            true if self.is_overdue() => now,
            true if self.client.is_sending() => now.max(self.overdue_from),
            true => now + self.steps.quit,
        };
        let next = self.next_alarm();
        (next < self.alarm).then(|| {
            self.alarm = next;
            next
        })
    }

    /// Its host has said something, or is asked again.
    pub(super) fn hear(&mut self, now: Moment) {
        self.overdue_from = now + OVERDUE;
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.overdue_from == Moment::NEVER
    }

    /// When its timer has to ring.
    fn next_alarm(&self) -> Moment {
        match self.step() {
            Step::Idle => self.deadline,
            _ => self.deadline.min(self.overdue_from),
        }
    }

    /// How it ends whose time is out for a step, and why.
    pub(super) fn time_out(&self, step: Step) -> (End, Reason) {
        match self.needless {
            true => (End::Needless, Reason::new(status::LOST, "its message was deleted")),
            false => {
                let why = format!("no answer in time ({})", name_of(step));
                (End::TimedOut, Reason::new(status::NO_ANSWER, why))
            }
        }
    }

    /// Its timer rang: what its time is out for.
    pub(super) fn ring(&mut self, at: Moment, now: Moment) -> Ring {
        if self.alarm > at {
            return Ring::Nothing;
        }
        self.alarm = Moment::NEVER;
        if self.is_waiting_for_storage() {
            return Ring::Nothing;
        }
        if self.deadline <= now {
            return Ring::TimeOut(self.step());
        }
        let is_late = self.next_alarm() <= now;
        if is_late {
            self.overdue_from = Moment::NEVER;
        }
        self.alarm = self.next_alarm();
        if is_late { Ring::Overdue(self.alarm) } else { Ring::Later(self.alarm) }
    }
}

/// What the timer of a session says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ring {
    /// It was replaced, or the session waits for storage.
    Nothing,
    /// It has to ring again, at this time.
    Later(Moment),
    /// The host's answer is overdue from now on; it has to ring again, at this time.
    Overdue(Moment),
    /// The host has had its time for this step.
    TimeOut(Step),
}

/// A step, as a reason names it.
fn name_of(step: Step) -> &'static str {
    match step {
        Step::Connect => "connection",
        Step::Greeting => "greeting",
        Step::Hello => "EHLO",
        Step::Mail => "MAIL",
        Step::Rcpt => "RCPT",
        Step::Data => "DATA",
        Step::Block => "message",
        Step::Dot => "end of the message",
        Step::Rset => "RSET",
        Step::Quit => "QUIT",
        Step::Idle => "nothing",
    }
}
