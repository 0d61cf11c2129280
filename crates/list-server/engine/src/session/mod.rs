//! The sessions that are not closed, and their states.

mod state;
mod table;

pub(crate) use state::{Resume, Sending, SessionEvent, SessionState, Transaction};
pub(crate) use table::Sessions;

use crate::destination::QUICK;
use crate::event::Relay;
use crate::host::Host;
use crate::ids::{DestinationId, HostId, NetworkId};
use crate::moment::Moment;
use crate::policy::timeouts::Steps;
use sojourn_core::Span;
use sojourn_smtp::client::{Client, Step};

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) destination: DestinationId,
    pub(super) host: HostId,
    pub(super) network: NetworkId,
    pub(super) relay: Relay,
    pub(super) state: SessionState,
    /// Whether its host did not answer last time.
    pub(super) probe: bool,
    pub(super) client: Client,
    steps: Steps,
    deadline: Moment,
    alarm: Moment,
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
            relay,
            state: SessionState::Connecting,
            probe: host.failures > 0,
            client,
            steps,
            deadline: Moment::NEVER,
            alarm: Moment::NEVER,
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
        self.deadline = now + self.steps.of(self.step(), idle);
        (self.deadline < self.alarm).then(|| {
            self.alarm = self.deadline;
            self.alarm
        })
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
        if self.deadline > now {
            self.alarm = self.deadline;
            return Ring::Later(self.deadline);
        }
        Ring::TimeOut(self.step())
    }
}

/// What the timer of a session says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ring {
    /// It was replaced, or the session waits for storage.
    Nothing,
    /// It has to ring again, at this time.
    Later(Moment),
    /// The host has had its time for this step.
    TimeOut(Step),
}

/// A step, as a reason names it.
pub(super) fn name_of(step: Step) -> &'static str {
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
