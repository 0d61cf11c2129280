//! What came of an attempt, and what follows from it.

use crate::event::{
    Deferral, Delays, Effect, Entry, MessageId, Obstacle, Outcome, Record, Relay, SessionId, Task,
};
use crate::ids::{DestinationId, EnvelopeId, HostId, RecipientIndex};
use crate::message::{DeliveryBatch, State, Wish};
use crate::policy::checkpoint::Checkpoint;
use crate::policy::retry::{Retry, RetryInput};
use crate::reason::{End, Reason, status};
use crate::session::{Sending, Session, SessionState, Transaction};
use crate::{Engine, Timer};
use sojourn_core::{Span, Time};
use sojourn_smtp::client::{Loss, Tls, Verdict};
use sojourn_smtp::{Reply, wait_named};
use std::sync::Arc;

impl Engine {
    /// A transaction is over and the session goes on.
    pub(super) fn settled(&mut self, id: SessionId, verdicts: Vec<Verdict>) {
        let session = self.sessions.get_mut(id).expect("an event names an open session");
        let over = session.answer();
        let (host, destination) = (session.host, session.destination);
        let probe = std::mem::take(&mut session.probe);
        session.has_answered(self.now.since(over.began));
        self.destinations[destination].soon_free += u32::from(session.is_soon_free());
        let attempt = self.attempt(&self.sessions[id].relay, &over);
        self.destinations[destination].took(attempt.took);
        let (mark, batch) = (self.journal.mark(), over.batch);
        let again = self.judge(&batch, verdicts, &attempt);
        if again.len() == batch.recipients.len() {
            // It refused the transaction because it came before the answer to the one before.
            self.hosts[host].no_pipelining = true;
        } else {
            self.sessions.get_mut(id).expect("an event names an open session").pipelines |=
                over.early;
        }
        if !again.is_empty() && again.len() < batch.recipients.len() {
            // The server said where its limit is: so many in one transaction.
            let fitted = (batch.recipients.len() - again.len()) as u32;
            let most = &mut self.destinations[destination].most_recipients;
            *most = fitted.clamp(1, *most);
        }
        self.hand_back(destination, &batch, again);
        if self.config.checkpoint.holds() && self.journal.is_waiting() {
            self.journal.await_write(id);
            self.sessions.get_mut(id).expect("an event names an open session").await_write();
        }
        self.saved(batch.envelope, mark);
        let was_down = self.hosts[host].failures > 0;
        if self.hosts[host].answered(self.now, &self.config.limits) {
            self.wake_host_line(host);
        }
        if was_down {
            self.host_is_up(host);
        }
        if probe {
            self.probe_ended();
        }
    }

    /// A batch of an envelope is done, and the journal has had `mark` records before that: they are
    /// left there, or kept with the envelope until there are enough, and it waits for their write.
    /// A recipient that is tried again has left the envelope: that is not kept.
    fn saved(&mut self, envelope: EnvelopeId, mark: usize) {
        let Some(enough) = self.config.checkpoint.file() else { return self.done(envelope) };
        let records = self.journal.since(mark);
        let progress = &mut self.envelopes[envelope];
        for record in records {
            match record {
                Record::Deferred(..) => self.journal.push(self.now, record),
                _ => progress.unsaved.push(record),
            }
        }
        if progress.unsaved.len() < enough as usize && !self.stopping {
            return self.done(envelope);
        }
        let records = std::mem::take(&mut progress.unsaved);
        match records.is_empty() {
            true => self.done(envelope),
            false => self.journal.push_file(records, Some(envelope)),
        }
    }

    /// The session ended by what the server said.
    pub(super) fn lost(&mut self, id: SessionId, loss: Loss, verdicts: Vec<Verdict>) {
        let (end, reason) = match &loss {
            Loss::Unavailable(reply) | Loss::NoHello(reply) => (End::Refused, Reason::reply(reply)),
            Loss::NoTls => (End::Refused, Reason::new(status::LOST, loss.to_string())),
            Loss::Garbage(_) | Loss::OutOfTurn => {
                (End::Dropped, Reason::new(status::LOST, loss.to_string()))
            }
        };
        self.end_with(id, end, reason, verdicts);
    }

    /// The session is over.
    pub(super) fn end(&mut self, id: SessionId, end: End, reason: Reason) {
        let verdicts =
            self.sessions.get_mut(id).expect("an event names an open session").client.closed();
        self.end_with(id, end, reason, verdicts);
    }

    fn end_with(&mut self, id: SessionId, end: End, reason: Reason, verdicts: Vec<Verdict>) {
        self.leave_idle(id);
        let mut session = self.sessions.remove(id).expect("an event names an open session");
        self.give_back(&session);
        match std::mem::replace(&mut session.state, SessionState::Quitting) {
            SessionState::Connecting | SessionState::Greeting | SessionState::Hello => {
                self.ended_before_ready(&session, &reason);
            }
            SessionState::Sending(sending) => {
                self.broke_off(&session, sending, end, reason, verdicts);
            }
            SessionState::Idle
            | SessionState::Answered { .. }
            | SessionState::AwaitingStorage { .. }
            | SessionState::Quitting => {}
        }
        self.look_at(session.destination);
    }

    /// The host was never ready for a transaction. While it has other sessions, it is not down for
    /// what becomes of one.
    fn ended_before_ready(&mut self, session: &Session, reason: &Reason) {
        if self.stopping {
            return;
        }
        let host = &mut self.hosts[session.host];
        if session.client.is_turning_to_tls() && self.config.tls == Tls::Opportunistic {
            host.tls_broken = true;
        } else if host.sessions > 0 {
            host.overloaded(self.now, &self.config.limits);
        } else {
            self.host_failed(session.host, reason);
            self.destinations[session.destination].trouble = Some(reason.clone());
        }
    }

    /// The session ended while transactions were under way. Of the first one the verdicts are known.
    fn broke_off(
        &mut self,
        session: &Session,
        sending: Sending,
        end: End,
        reason: Reason,
        verdicts: Vec<Verdict>,
    ) {
        let Sending { first, behind, .. } = sending;
        let unanswered = session.client.is_early_unheard();
        let host = &mut self.hosts[session.host];
        // It may drop commands that come before the answer to a message, if it never took any.
        host.no_pipelining |= !session.pipelines && (unanswered || !behind.is_empty());
        let others = host.sessions > 0;
        for Transaction { batch, .. } in behind.iter().rev() {
            // Nothing was heard of it.
            self.hand_back(session.destination, batch, batch.recipients.clone());
            self.done(batch.envelope);
        }
        // A server may want a new connection after some messages: one that answered before in this
        // session is sound, and the next session will show.
        let served = session.answered > 0 && (end != End::TimedOut || unanswered);
        let attempt = self.attempt(&session.relay, &first);
        if !self.stopping {
            // One that drops a transaction may take exception to this message alone.
            if others && !served && end == End::Refused {
                self.hosts[session.host].overloaded(self.now, &self.config.limits);
            } else if !others && !served && end != End::Dropped {
                self.host_failed(session.host, &reason);
                self.destinations[session.destination].trouble = Some(reason.clone());
            }
            self.destinations[session.destination].took(attempt.took);
        }
        let (batch, mark) = (&first.batch, self.journal.mark());
        let left = self.judge(batch, verdicts, &attempt);
        if self.stopping || served || (others && end == End::Refused) {
            self.hand_back(session.destination, batch, left);
        } else {
            for recipient in left {
                let task = Task { message: batch.message, recipient };
                self.defer(task, &attempt, &reason, None);
                self.log_attempt(task, &attempt, Outcome::Deferred, &reason);
            }
        }
        self.saved(batch.envelope, mark);
    }

    /// The session no longer counts; the destinations that wait for its place are dispatched.
    fn give_back(&mut self, session: &Session) {
        let host = &mut self.hosts[session.host];
        host.sessions -= 1;
        host.established -= u32::from(session.is_greeted());
        let network = &mut self.hosts.networks[session.network];
        network.sessions -= 1;
        self.ready.append(&mut network.line);
        self.wake_host_line(session.host);
        let destination = &mut self.destinations[session.destination];
        destination.sessions -= 1;
        destination.soon_free -= u32::from(session.is_soon_free());
        if session.probe {
            self.probe_ended();
        }
    }

    fn probe_ended(&mut self) {
        self.probes -= 1;
        self.ready.append(&mut self.probe_line);
    }

    /// The host did not answer, and serves no other session.
    fn host_failed(&mut self, number: HostId, reason: &Reason) {
        let host = &mut self.hosts[number];
        let times = host.failed(self.now);
        let first = host.first_failure;
        let until = self.now + self.host_wait("host", number.0.into(), times, first);
        let host = &mut self.hosts[number];
        host.down_until = until;
        let down = Entry::HostDown(host.address, until, reason.clone());
        self.effects.push(Effect::Log(down));
        self.wake_host_line(number);
    }

    /// Draws the conclusion for each recipient; returns those without a verdict.
    fn judge(
        &mut self,
        batch: &DeliveryBatch,
        verdicts: Vec<Verdict>,
        attempt: &Attempt,
    ) -> Vec<RecipientIndex> {
        let (mut left, mut last) = (Vec::new(), None);
        for (&recipient, verdict) in batch.recipients.iter().zip(verdicts) {
            let task = Task { message: batch.message, recipient };
            let (outcome, reason) = match verdict {
                Verdict::Again | Verdict::Unsettled => {
                    left.push(recipient);
                    continue;
                }
                Verdict::Delivered(reply) => (self.delivered(task), said(reply, &mut last)),
                Verdict::Refused(reply) => {
                    let reason = said(reply, &mut last);
                    self.fail(task, reason.clone());
                    (Outcome::Failed, reason)
                }
                Verdict::Deferred(reply) => {
                    let named = reply.lines.iter().find_map(|line| wait_named(line));
                    let reason = said(reply, &mut last);
                    (self.defer(task, attempt, reason, named), reason)
                }
            };
            self.log_attempt(task, attempt, outcome, reason);
        }
        left
    }

    /// Recipients that are to be sent to at once: they go before all others.
    fn hand_back(
        &mut self,
        destination: DestinationId,
        batch: &DeliveryBatch,
        recipients: Vec<RecipientIndex>,
    ) {
        if recipients.is_empty() {
            return;
        }
        let mut recipients = recipients;
        recipients.retain(|&recipient| {
            let task = Task { message: batch.message, recipient };
            !self.is_removed(task) && self.is_to_be_sent(task)
        });
        if recipients.is_empty() {
            return;
        }
        let progress = &mut self.envelopes[batch.envelope];
        progress.outstanding += 1;
        let DeliveryBatch { message, envelope, queued, .. } = *batch;
        let queue = &mut self.destinations[destination].queue;
        queue.push_front(DeliveryBatch { message, recipients, envelope, queued });
        self.look_at(destination);
    }

    fn delivered(&mut self, task: Task) -> Outcome {
        self.effects.push(Effect::Note(task));
        self.journal.push(self.now, Record::Delivered(task));
        let message =
            self.messages.get_mut(&task.message).expect("a message with open recipients is known");
        let recipient = &mut message.recipients[task.recipient];
        recipient.state = State::Ended;
        if recipient.refused > 0 {
            let after = self.now.since(recipient.first_refused);
            let destination = &mut self.destinations[recipient.destination];
            let shortest = destination.learned.map_or(after, |before| before.min(after));
            destination.learned = Some(shortest);
        }
        Outcome::Delivered
    }

    /// The recipient will never have it.
    pub(super) fn fail(&mut self, task: Task, reason: Reason) {
        self.set_state(task, State::Failed);
        self.journal.push(self.now, Record::Failed(task, reason));
    }

    /// Like [`Engine::fail`], for a recipient that is in no transaction.
    pub(super) fn fail_unsent(&mut self, task: Task, reason: Reason) {
        self.log_unsent(task, Outcome::Failed, &reason);
        self.fail(task, reason);
    }

    /// The recipient is tried again, if its message may live so long.
    fn defer(
        &mut self,
        task: Task,
        attempt: &Attempt,
        reason: &Reason,
        named: Option<Span>,
    ) -> Outcome {
        if self.is_removed(task) {
            return Outcome::Deferred;
        }
        let now = self.now;
        let message =
            self.messages.get_mut(&task.message).expect("a message with open recipients is known");
        let wish = message.recipients[task.recipient].wish;
        if now >= message.accepted + self.config.lifetime && wish == Wish::Send {
            self.fail(task, expired(reason));
            return Outcome::Failed;
        }
        let recipient = &mut message.recipients[task.recipient];
        if recipient.refused == 0 {
            recipient.first_refused = now;
        }
        recipient.refused += 1;
        recipient.state = State::Waiting;
        let (times, first, number) =
            (recipient.refused, recipient.first_refused, recipient.destination);
        let wait = self.config.retry.recipient(&RetryInput {
            times,
            since_first: now.since(first),
            named,
            learned: self.destinations[number].learned,
            chance: self.chance("recipient", number.0.into(), times),
        });
        let due = gathered(now + wait);
        self.set_aside(task, due);
        let deferral = Deferral { times, first, due };
        let obstacle = Box::new(attempt.obstacle(now, reason.clone()));
        self.journal.push(now, Record::Deferred(task, deferral, obstacle));
        Outcome::Deferred
    }

    /// The recipient waits until `due`; one that is held, until it is released.
    pub(super) fn set_aside(&mut self, task: Task, due: Time) {
        let recipient = &self.messages[&task.message].recipients[task.recipient];
        if !recipient.is_waiting() {
            return;
        }
        let destination = recipient.destination;
        self.destinations[destination].later.insert((due, task));
        self.set_destination_alarm(destination);
    }

    /// The message has had its time.
    pub(super) fn expire(&mut self, id: MessageId) {
        let Some(message) = self.messages.get(&id) else { return };
        if self.now < message.accepted + self.config.lifetime {
            // The lifetime was set to be longer meanwhile.
            let expires = message.accepted + self.config.lifetime;
            return self.timers.schedule(expires, Timer::Expiry(id));
        }
        for place in message.waiting() {
            let reason = Reason::new(status::EXPIRED, "it could not be delivered in its time");
            self.fail_unsent(Task { message: id, recipient: place.recipient }, reason);
        }
    }
}

/// Those of one transaction, and of transactions close to each other, come back together.
fn gathered(due: Time) -> Time {
    let second = Span::from_s(1).ps();
    Time::from_ps(due.ps().div_ceil(second) * second)
}

/// What a reply says. Recipients of one transaction share theirs: `last` is the one before.
fn said(reply: Arc<Reply>, last: &mut Option<(Arc<Reply>, Reason)>) -> &Reason {
    let reason = match last.take() {
        Some((before, reason)) if Arc::ptr_eq(&before, &reply) => reason,
        _ => Reason::reply(&reply),
    };
    &last.insert((reply, reason)).1
}

fn expired(last: &Reason) -> Reason {
    Reason::new(status::EXPIRED, format!("it could not be delivered in its time; last: {last}"))
}

/// What the log entries of one attempt share, one for each recipient.
#[derive(Clone)]
pub(super) struct Attempt {
    relay: Option<Relay>,
    delays: Delays,
    pub(super) took: Span,
}

impl Attempt {
    /// That it did not succeed, at this time and for this reason.
    pub(super) fn obstacle(&self, at: Time, reason: Reason) -> Obstacle {
        Obstacle { at, host: self.relay.as_ref().map(|relay| Arc::clone(&relay.name)), reason }
    }
}

impl Engine {
    /// The attempt of a transaction with `relay` that is over now.
    pub(super) fn attempt(&self, relay: &Relay, transaction: &Transaction) -> Attempt {
        let Transaction { batch, since, began, .. } = transaction;
        let accepted = self.messages[&batch.message].accepted;
        let setup = (*since).clamp(batch.queued, *began);
        let delays = Delays {
            before: batch.queued.since(accepted),
            queued: setup - batch.queued,
            setup: *began - setup,
            sending: self.now - *began,
        };
        Attempt { relay: Some(relay.clone()), delays, took: self.now.since(*since) }
    }

    pub(super) fn log_attempt(
        &mut self,
        task: Task,
        attempt: &Attempt,
        outcome: Outcome,
        reason: &Reason,
    ) {
        let (Attempt { relay, delays, took }, reason) = (attempt.clone(), reason.clone());
        let entry = Entry::Attempt { task, relay, delays, took, outcome, reason };
        self.effects.push(Effect::Log(entry));
    }

    /// A recipient that is set aside, or fails, without a transaction.
    pub(super) fn log_unsent(&mut self, task: Task, outcome: Outcome, reason: &Reason) {
        let before = self.now.since(self.messages[&task.message].accepted);
        let none = Span::ZERO;
        let delays = Delays { before, queued: none, setup: none, sending: none };
        self.log_attempt(task, &Attempt { relay: None, delays, took: none }, outcome, reason);
    }
}
