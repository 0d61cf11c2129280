//! The sessions that are not closed, and their states.

mod state;
mod table;
mod transaction;

pub(crate) use state::{Resume, Sending, SessionState, Transaction};
pub(crate) use table::Sessions;

use crate::clock::rebase_clock;
use crate::event::{Effect, Relay, SessionId};
use crate::host::Host;
use crate::ids::{DestinationId, HostId, NetworkId};
use crate::policy::timeouts::Steps;
use crate::reason::{End, Reason, status};
use crate::{Engine, Timer};
use sojourn_core::{Span, Time};
use sojourn_smtp::client::{Client, Output, Step};
use transaction::QUICK;

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
    deadline: Time,
    alarm: Time,
    /// When it began, or took up work: the connection counts towards its first attempt.
    pub(super) since: Time,
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
        now: Time,
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
            deadline: Time::NEVER,
            alarm: Time::NEVER,
            since: now,
            begun: 0,
            answered: 0,
            pipelines: false,
            window: FIRST_WINDOW,
        }
    }

    pub(super) fn rebase_clock(&mut self, by: Span) {
        for time in [&mut self.deadline, &mut self.alarm, &mut self.since] {
            rebase_clock(time, by);
        }
        self.state.rebase_clock(by);
    }

    /// A transaction was answered that took so long.
    pub(super) fn has_answered(&mut self, took: Span) {
        self.answered += 1;
        self.window = if took < QUICK { self.window + 1 } else { FIRST_WINDOW };
    }
}

impl Engine {
    /// Counts the time of a session's present step from now on.
    pub(super) fn set_deadline(&mut self, id: SessionId) {
        let idle = self.config.limits.idle;
        let session = self.sessions.get_mut(id).expect("an event names an open session");
        session.deadline = self.now + session.steps.of(session.step(), idle);
        if session.deadline < session.alarm {
            session.alarm = session.deadline;
            self.timers.schedule(session.alarm, Timer::Session(id));
        }
    }

    pub(super) fn session_alarm(&mut self, at: Time, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.alarm > at {
            return;
        }
        session.alarm = Time::NEVER;
        if session.is_waiting_for_storage() {
            return;
        }
        if session.deadline > self.now {
            session.alarm = session.deadline;
            return self.timers.schedule(session.deadline, Timer::Session(id));
        }
        match session.step() {
            Step::Idle => self.quit(id),
            step => {
                self.effects.push(Effect::Close(id));
                let why = format!("no answer in time ({})", name_of(step));
                self.end(id, End::TimedOut, Reason::new(status::NO_ANSWER, why));
            }
        }
    }

    pub(super) fn connected(&mut self, id: SessionId) {
        if self.sessions.get_mut(id).is_some_and(Session::connect) {
            self.set_deadline(id);
        }
    }

    pub(super) fn received(&mut self, id: SessionId, bytes: &[u8]) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let (before, mut outputs) = (session.step(), self.spare.pop().unwrap_or_default());
        session.client.received(bytes, &mut outputs);
        if session.greet() {
            self.hosts[session.host].established += 1;
        }
        let session = &self.sessions[id];
        // A server that lets its bytes trickle gains no time by it.
        if !outputs.is_empty() || session.step() != before {
            self.set_deadline(id);
        }
        self.perform(id, outputs);
        self.begin_early(id);
    }

    /// Some of what is to be sent is written, and so many messages wholly.
    pub(super) fn written(&mut self, id: SessionId, messages: u32) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.client.is_sending() {
            (0..messages).for_each(|_| session.client.written());
            self.set_deadline(id);
            if messages > 0 {
                self.begin_early(id);
            }
        }
    }

    pub(super) fn secured(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.client.is_securing() {
            let mut outputs = self.spare.pop().unwrap_or_default();
            session.client.secured(&mut outputs);
            self.set_deadline(id);
            self.perform(id, outputs);
        }
    }

    pub(super) fn closed(&mut self, id: SessionId, why: String) {
        if self.sessions.get(id).is_some() {
            self.end(id, End::Dropped, Reason::new(status::LOST, why));
        }
    }

    /// Does what the client's side of a session wants done.
    pub(super) fn perform(&mut self, id: SessionId, mut outputs: Vec<Output>) {
        for output in outputs.drain(..) {
            match output {
                Output::Send(bytes) => self.effects.push(Effect::Send(id, bytes)),
                Output::Body(framing) => {
                    let session =
                        self.sessions.get_mut(id).expect("an event names an open session");
                    session.hold_text(framing);
                    self.send_text(id);
                }
                Output::StartTls => self.effects.push(Effect::StartTls(id)),
                Output::Settled(verdicts) => self.settled(id, verdicts),
                Output::Ready => self.session_ready(id),
                Output::Lost(loss, verdicts) => {
                    self.effects.push(Effect::Close(id));
                    self.lost(id, loss, verdicts);
                }
                Output::Close => {
                    self.effects.push(Effect::Close(id));
                    self.end(id, End::Quit, Reason::new(status::LOST, "it was ended"));
                }
            }
        }
        self.spare.push(outputs);
    }

    /// Sends the text that the session is to send, of the transaction whose commands were sent last;
    /// unless the one before it is being written, where a crash repeats no more than one.
    pub(super) fn send_text(&mut self, id: SessionId) {
        let session = self.sessions.get_mut(id).expect("an event names an open session");
        let Some((framing, message, only)) = session.take_text() else { return };
        let own = only.filter(|_| self.names_recipients(message));
        self.effects.push(Effect::SendBody(id, message, own, framing));
        self.set_deadline(id);
    }

    fn session_ready(&mut self, id: SessionId) {
        let session = self.sessions.get_mut(id).expect("an event names an open session");
        let host = &mut self.hosts[session.host];
        // It may answer EHLO before it is asked.
        host.established += u32::from(!session.is_greeted());
        let can = session.client.extensions();
        host.takes_whole = can.pipelining && can.chunking;
        self.go_on(id);
    }

    /// A session is open and has no transaction: it begins the next, or waits.
    pub(super) fn go_on(&mut self, id: SessionId) {
        let session = self.sessions.get_mut(id).expect("an event names an open session");
        let was_soon_free = session.is_soon_free();
        if !session.make_idle() {
            return;
        }
        if was_soon_free {
            self.destinations[session.destination].soon_free -= 1;
        }
        if self.has_had_its_turn(id) {
            return self.quit(id);
        }
        while !self.journal.failing {
            let destination = self.sessions[id].destination;
            let destination = &mut self.destinations[destination];
            if destination.is_paced(self.now) {
                break;
            }
            let Some(batch) = destination.queue.pop_front() else { break };
            if let Some(batch) = self.fit(id, batch) {
                self.begin(id, batch);
                return self.begin_early(id);
            }
        }
        let destination = self.sessions[id].destination;
        self.idle.insert(id);
        let idle = &mut self.destinations[destination].idle;
        let place = idle.partition_point(|&older| older < id);
        idle.insert(place, id);
        self.set_deadline(id);
        self.look_at(destination);
    }

    /// Nothing new begins: sessions without a transaction end.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
        for progress in self.envelopes.values_mut().filter(|progress| !progress.unsaved.is_empty())
        {
            self.journal.push_file(std::mem::take(&mut progress.unsaved), None);
        }
        for id in self.sessions.ids() {
            let session = &self.sessions[id];
            if self.idle.contains(&id) {
                self.quit(id);
            } else if !session.was_ready() {
                self.effects.push(Effect::Close(id));
                self.end(id, End::Dropped, Reason::new(status::LOST, "the server is stopping"));
            }
        }
    }

    /// An idle session takes up its destination's work.
    pub(super) fn take_up(&mut self, id: SessionId) {
        self.leave_idle(id);
        self.sessions.get_mut(id).expect("an event names an open session").since = self.now;
        self.go_on(id);
    }

    pub(super) fn leave_idle(&mut self, id: SessionId) {
        if self.idle.remove(&id) {
            let destination = self.sessions[id].destination;
            self.destinations[destination].idle.retain(|&other| other != id);
        }
    }

    pub(super) fn quit(&mut self, id: SessionId) {
        self.leave_idle(id);
        let session = self.sessions.get_mut(id).expect("an event names an open session");
        session.quit();
        let mut outputs = self.spare.pop().unwrap_or_default();
        session.client.quit(&mut outputs);
        self.set_deadline(id);
        self.perform(id, outputs);
    }

    /// Whether others wait for what this session holds, and it has had it for long enough; or has
    /// no work for it now.
    pub(super) fn has_had_its_turn(&self, id: SessionId) -> bool {
        if self.stopping {
            return true;
        }
        let session = &self.sessions[id];
        let is_other = |it: &DestinationId| *it != session.destination;
        let wanted = self.hosts[session.host].line.iter().any(is_other)
            || self.hosts.networks[session.network].line.iter().any(is_other)
            || (self.is_full() && self.line.iter().any(is_other));
        let destination = &self.destinations[session.destination];
        let is_over = session.begun >= self.config.limits.turn.get();
        wanted && (is_over || destination.queue.is_empty() || destination.is_paced(self.now))
    }
}

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
