//! How long sessions hold their places: hosts that do not answer keep a bounded share of them.
//!
//! A session whose answer is overdue gives up its place where too many are. It is closed, unless its
//! host may have taken a message: the answer to that is awaited, as a copy would be sent twice, but
//! the session counts no more among those that may be open.

use crate::event::{Effect, SessionId, Task};
use crate::ids::HostId;
use crate::message::Wish;
use crate::reason::{End, Reason, status};
use crate::session::{Ring, SessionState, name_of};
use crate::{Engine, Moment};
use sojourn_smtp::client::Step;

impl Engine {
    /// Whether there are as many sessions as there may be in all.
    pub(super) fn is_full(&self) -> bool {
        let limits = &self.config.limits;
        let most = limits.sessions.get() as usize;
        let beyond = self.sessions.overdue().saturating_sub(limits.share(limits.sessions) as usize);
        self.sessions.len() - beyond.min(most) >= most
    }

    /// Counts the time of a session's present step from now on: its host has said something, or is
    /// asked anew.
    pub(super) fn set_deadline(&mut self, id: SessionId) {
        self.sessions.hear(id, self.clock.now);
        self.extend_deadline(id);
    }

    /// Counts the time of a session's present step from now on, and that without an answer goes on.
    pub(super) fn extend_deadline(&mut self, id: SessionId) {
        self.sessions.set_deadline(id, self.config.limits.idle, &mut self.clock);
    }

    pub(super) fn session_alarm(&mut self, at: Moment, id: SessionId) {
        let step = match self.sessions.ring(at, id, &mut self.clock) {
            Ring::Nothing | Ring::Later(_) => return,
            Ring::Overdue(_) if self.may_be_overdue(id) => return,
            Ring::TimeOut(Step::Idle) => return self.quit(id),
            Ring::TimeOut(_) | Ring::Overdue(_) => self.sessions[id].step(),
        };
        self.effects.push(Effect::Close(id));
        let (end, why) = match self.sessions[id].needless {
            true => (End::Needless, "its message was deleted".into()),
            false => (End::TimedOut, format!("no answer in time ({})", name_of(step))),
        };
        self.end(id, end, Reason::new(status::NO_ANSWER, why));
    }

    /// Whether a session whose answer is overdue goes on: the host may have taken a message, or few are
    /// overdue.
    fn may_be_overdue(&mut self, id: SessionId) -> bool {
        let limits = &self.config.limits;
        let session = &self.sessions[id];
        self.hosts.networks[session.network].overdue(limits);
        let few = self.sessions.overdue() <= limits.share(limits.sessions) as usize;
        few || session.client.is_sending()
    }

    /// A host has answered: those that wait for a session in its network are looked at again, where it
    /// is given one more.
    pub(super) fn wake_network_line(&mut self, host: HostId) {
        let network = self.hosts[host].network;
        let network = &mut self.hosts.networks[network];
        if network.answered(&self.config.limits) {
            self.destinations.look_at_all(&mut network.line);
        }
    }

    /// Sessions that are for nothing but what was deleted are not waited for long.
    pub(super) fn free_sessions(&mut self) {
        for id in self.sessions.ids() {
            if self.is_needless(id) {
                self.sessions[id].needless = true;
                self.extend_deadline(id);
            }
        }
    }

    fn is_needless(&self, id: SessionId) -> bool {
        let session = &self.sessions[id];
        match &session.state {
            SessionState::Connecting | SessionState::Greeting | SessionState::Hello => {
                self.destinations[session.destination].queue.is_empty()
            }
            SessionState::Sending(sending) => sending.batches().all(|batch| {
                let task = |&recipient| Task { message: batch.message, recipient };
                let mut tasks = batch.recipients.iter().map(task);
                tasks.all(|task| self.queue.recipient(task).wish == Wish::Remove)
            }),
            _ => false,
        }
    }
}
