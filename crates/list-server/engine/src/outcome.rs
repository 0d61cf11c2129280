//! What came of what was begun: what a session's host said, what was written, and what follows for
//! each recipient.

use crate::attempt::{Attempt, expired, gathered, said};
use crate::event::{
    BatchId, Deferral, Effect, Entry, MessageId, Operation, Outcome, Record, Refusal, SessionId,
    Task,
};
use crate::ids::{DestinationId, EnvelopeId, RecipientIndex};
use crate::journal::Waiting;
use crate::message::{DeliveryBatch, Wish};
use crate::policy::checkpoint::Checkpoint;
use crate::policy::retry::{Retry, RetryInput, chance};
use crate::reason::{End, Reason, status};
use crate::session::{Closed, Resume, Sending, Session, SessionEvent, Transaction};
use crate::{Engine, Moment};
use sojourn_core::Span;
use sojourn_smtp::client::{Output, Step, Tls, Verdict};
use sojourn_smtp::wait_named;
use std::collections::BTreeMap;

impl Engine {
    pub(super) fn session_alarm(&mut self, at: Moment, id: SessionId) {
        let limits = &self.config.limits;
        let Some(step) = self.sessions.ring(at, id, limits, &mut self.clock) else { return };
        if step == Step::Idle {
            return self.quit(id);
        }
        self.effects.push(Effect::Close(id));
        let (end, reason) = self.sessions[id].time_out(step);
        self.end(id, end, reason);
    }

    /// Something happened to the connection of a session.
    pub(super) fn heard(&mut self, id: SessionId, event: SessionEvent<'_>) {
        if self.sessions.get(id).is_none() {
            return;
        }
        let mut outputs = self.sessions.outputs();
        let session = &mut self.sessions[id];
        let heard = session.take(event, &mut outputs);
        self.hosts[session.host].established += u32::from(heard.greets);
        if heard.renews {
            self.set_deadline(id, !matches!(event, SessionEvent::Written(_)));
        }
        self.perform(id, outputs);
        if heard.frees {
            self.begin_early(id);
        }
    }

    /// Does what the client's side of a session wants done.
    pub(super) fn perform(&mut self, id: SessionId, mut outputs: Vec<Output>) {
        for output in outputs.drain(..) {
            match output {
                Output::Send(bytes) => self.effects.push(Effect::Send(id, bytes)),
                Output::Body(framing) => {
                    self.sessions[id].hold_text(framing);
                    self.send_text(id);
                }
                Output::StartTls => self.effects.push(Effect::StartTls(id)),
                Output::Settled(verdicts) => self.settled(id, verdicts),
                Output::Ready => self.session_ready(id),
                Output::Lost(loss, verdicts) => {
                    self.effects.push(Effect::Close(id));
                    let (end, reason) = End::of(&loss);
                    self.end_with(id, end, reason, verdicts);
                }
                Output::Close => {
                    self.effects.push(Effect::Close(id));
                    self.end(id, End::Quit, Reason::new(status::LOST, "it was ended"));
                }
            }
        }
        self.sessions.take_back(outputs);
    }

    /// Sends the text that the session is to send, where it need not wait.
    fn send_text(&mut self, id: SessionId) {
        let Some((framing, message, only)) = self.sessions[id].take_text() else { return };
        let own = only.filter(|_| self.queue.names_recipients(message, &self.config));
        self.effects.push(Effect::SendBody(id, message, own, framing));
        self.set_deadline(id, true);
    }

    fn session_ready(&mut self, id: SessionId) {
        let session = &self.sessions[id];
        let can = session.client.extensions();
        self.hosts[session.host].takes_whole = can.pipelining && can.chunking;
        self.go_on(id);
    }

    /// A transaction is over and the session goes on.
    fn settled(&mut self, id: SessionId, verdicts: Vec<Verdict>) {
        let now = self.clock.now;
        let session = &mut self.sessions[id];
        let over = session.answer(now);
        let (host, destination) = (session.host, session.destination);
        let probe = std::mem::take(&mut session.probe);
        self.destinations[destination].soon_free += u32::from(session.is_soon_free());
        let attempt = Attempt::new(&session.relay, &over, &self.queue[over.batch.message], now);
        self.destinations[destination].took(attempt.took);
        let (mark, batch) = (self.journal.mark(), over.batch);
        let again = self.judge(&batch, verdicts, &attempt);
        let fitted = batch.recipients.len() - again.len();
        if fitted == 0 {
            // It refused the transaction because it came before the answer to the one before.
            self.hosts[host].no_pipelining = true;
        } else {
            self.sessions[id].pipelines |= over.early;
            if !again.is_empty() {
                self.destinations[destination].has_taken(fitted);
            }
        }
        self.hand_back(destination, &batch, again);
        if self.config.checkpoint.holds() && self.journal.is_waiting() {
            self.journal.await_write(id);
            self.sessions[id].await_write();
        }
        self.saved(batch.envelope, mark);
        let was_down = self.hosts[host].failures > 0;
        if self.hosts.answered(host, now, over.named, &self.config.limits) {
            self.wake_host_line(host);
        }
        if was_down {
            // The destinations that waited for it need not wait longer.
            for (destination, due) in self.destinations.take_all_due(host, now) {
                self.queue_again(destination, due);
            }
        }
        if probe {
            self.probe_ended();
        }
    }

    /// The session is over, if it was not before.
    pub(super) fn end(&mut self, id: SessionId, end: End, reason: Reason) {
        if let Some(session) = self.sessions.get_mut(id) {
            let verdicts = session.client.closed();
            self.end_with(id, end, reason, verdicts);
        }
    }

    fn end_with(&mut self, id: SessionId, end: End, reason: Reason, verdicts: Vec<Verdict>) {
        self.leave_idle(id);
        let mut session = self.sessions.remove(id);
        // Its place is free: the destinations that wait for that are dispatched.
        self.hosts.remove_session(session.host, session.is_greeted(), session.is_overdue());
        self.wake_host_line(session.host);
        self.destinations[session.destination].remove_session(session.is_soon_free());
        self.destinations.closed(&session);
        if session.probe {
            self.probe_ended();
        }
        match session.close() {
            Closed::BeforeReady => self.ended_before_ready(&session, end, &reason),
            Closed::Sending(sending) => self.broke_off(&session, sending, end, &reason, verdicts),
            Closed::Between => {}
        }
        self.destinations.look_at(session.destination);
    }

    fn probe_ended(&mut self) {
        self.sessions.end_probe();
        self.destinations.look_at_probes();
    }

    /// The host was never ready for a transaction. While it has other sessions, it is not down for
    /// what becomes of one.
    fn ended_before_ready(&mut self, session: &Session, end: End, reason: &Reason) {
        if self.stopping || end == End::Needless {
            return;
        }
        let host = &mut self.hosts[session.host];
        if session.client.is_turning_to_tls() && self.config.tls == Tls::Opportunistic {
            host.tls_broken = true;
        } else if host.sessions > 0 {
            host.overloaded(self.clock.now, &self.config.limits);
        } else {
            self.host_failed(session, reason);
        }
    }

    /// The session ended while transactions were under way. Of the first one the verdicts are known.
    fn broke_off(
        &mut self,
        session: &Session,
        sending: Sending,
        end: End,
        reason: &Reason,
        verdicts: Vec<Verdict>,
    ) {
        let Sending { first, behind, .. } = sending;
        let (destination, now) = (session.destination, self.clock.now);
        let unanswered = session.client.is_early_unheard();
        let is_ours = self.stopping || end == End::Needless;
        let host = &mut self.hosts[session.host];
        // It may drop commands that come before the answer to a message, if it never took any.
        host.no_pipelining |= !is_ours && !session.pipelines && (unanswered || !behind.is_empty());
        let others = host.sessions > 0;
        for Transaction { batch, .. } in behind.iter().rev() {
            // Nothing was heard of it.
            self.hand_back(destination, batch, batch.recipients.clone());
            self.done(batch.envelope);
        }
        // A server may want a new connection after some messages: one that answered before in this
        // session is sound, and the next session will show.
        let served = session.answered > 0 && (end != End::TimedOut || unanswered);
        let attempt = Attempt::new(&session.relay, &first, &self.queue[first.batch.message], now);
        if !is_ours {
            // One that drops a transaction may take exception to this message alone.
            if others && !served && end == End::Refused {
                self.hosts[session.host].overloaded(now, &self.config.limits);
            } else if served {
                self.destinations.slow_down(destination, reason, now, &mut self.effects);
            } else if !others && end != End::Dropped {
                self.host_failed(session, reason);
            }
            self.destinations[destination].took(attempt.took);
        }
        let (batch, mark) = (&first.batch, self.journal.mark());
        let left = self.judge(batch, verdicts, &attempt);
        if is_ours || served || (others && end == End::Refused) {
            self.hand_back(destination, batch, left);
        } else {
            for recipient in left {
                let task = Task { message: batch.message, recipient };
                self.defer(task, &attempt, reason, None);
                attempt.log(task, Outcome::Deferred, reason, &mut self.effects);
            }
        }
        self.saved(batch.envelope, mark);
    }

    /// The host did not answer, and serves no other session.
    fn host_failed(&mut self, session: &Session, reason: &Reason) {
        let (id, now) = (session.host, self.clock.now);
        let times = self.hosts[id].failed(now);
        let until = now + self.host_wait("host", id.0, times, self.hosts[id].first_failure);
        let host = &mut self.hosts[id];
        host.down_until = until;
        let down = Entry::HostDown(host.address, until, reason.clone());
        self.effects.push(Effect::Log(down));
        self.wake_host_line(id);
        self.destinations[session.destination].trouble = Some(reason.clone());
        self.destinations.slow_down(session.destination, reason, now, &mut self.effects);
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
                Verdict::Delivered(reply) => (self.delivered(task), said(reply, None, &mut last)),
                Verdict::Refused(reply, asked) => {
                    let reason = said(reply, Some(asked), &mut last);
                    self.fail(task, reason.clone());
                    (Outcome::Failed, reason)
                }
                Verdict::Deferred(reply, asked) => {
                    let named = reply.lines.iter().find_map(|line| wait_named(line));
                    let reason = said(reply, Some(asked), &mut last);
                    (self.defer(task, attempt, reason, named), reason)
                }
            };
            attempt.log(task, outcome, reason, &mut self.effects);
        }
        left
    }

    /// Recipients that are to be sent to at once: they go before all others.
    fn hand_back(
        &mut self,
        destination: DestinationId,
        batch: &DeliveryBatch,
        mut recipients: Vec<RecipientIndex>,
    ) {
        let DeliveryBatch { message, envelope, queued, .. } = *batch;
        let (now, journal, effects) = (self.clock.now, &mut self.journal, &mut self.effects);
        recipients.retain(|&recipient| {
            self.queue.wait_again(Task { message, recipient }, now, journal, effects)
        });
        if !recipients.is_empty() {
            self.queue.add_batch(envelope);
            let batch = DeliveryBatch { message, recipients, envelope, queued };
            self.destinations.push_first(destination, batch);
        }
    }

    fn delivered(&mut self, task: Task) -> Outcome {
        self.effects.push(Effect::Note(task));
        self.journal.push(self.clock.now, Record::Delivered(task));
        let recipient = self.queue.recipient_mut(task);
        recipient.end();
        if recipient.refused > 0 {
            let after = self.clock.now.since(recipient.first_refused);
            self.destinations[recipient.destination].learn(after);
        }
        Outcome::Delivered
    }

    /// The recipient will never have it.
    fn fail(&mut self, task: Task, reason: Reason) {
        self.queue.recipient_mut(task).fail();
        self.journal.push(self.clock.now, Record::Failed(task, reason));
    }

    /// A recipient that is in no transaction fails.
    pub(super) fn fail_unsent(&mut self, task: Task, reason: Reason) {
        self.log_unsent(task, Outcome::Failed, &reason);
        self.fail(task, reason);
    }

    /// A recipient is set aside, or fails, without a transaction.
    pub(super) fn log_unsent(&mut self, task: Task, outcome: Outcome, reason: &Reason) {
        let before = self.clock.now.since(self.queue[task.message].accepted);
        Attempt::none(before).log(task, outcome, reason, &mut self.effects);
    }

    /// The recipient is tried again, if its message may live so long.
    fn defer(&mut self, task: Task, by: &Attempt, reason: &Reason, named: Option<Span>) -> Outcome {
        let now = self.clock.now;
        if self.queue.is_removed(task, now, &mut self.journal, &mut self.effects) {
            return Outcome::Deferred;
        }
        let is_expired = now >= self.queue[task.message].accepted + self.config.lifetime;
        let recipient = self.queue.recipient_mut(task);
        if is_expired && recipient.wish == Wish::Send {
            self.fail(task, expired(reason));
            return Outcome::Failed;
        }
        let (times, first) = recipient.refuse(now);
        let destination = recipient.destination;
        self.destinations.slow_down(destination, reason, now, &mut self.effects);
        let wait = self.config.retry.recipient(&RetryInput {
            times,
            since_first: now.since(first),
            named,
            learned: self.destinations[destination].learned,
            chance: chance(&self.streams, "recipient", destination.0, times),
        });
        let due = gathered(now + wait);
        self.set_aside(task, due);
        let deferral = Deferral { times, first, due };
        let obstacle = Box::new(by.obstacle(now, reason));
        self.journal.push(now, Record::Deferred(task, deferral, obstacle));
        Outcome::Deferred
    }

    /// The recipient waits until `due`; one that is held, until it is released.
    pub(super) fn set_aside(&mut self, task: Task, due: Moment) {
        let recipient = self.queue.recipient(task);
        if recipient.is_waiting() {
            self.destinations.set_aside(recipient.destination, task, due, &mut self.clock);
        }
    }

    /// A batch of an envelope is done, and the journal has had `mark` records before that.
    fn saved(&mut self, envelope: EnvelopeId, mark: usize) {
        let enough = self.config.checkpoint.file().map(|it| if self.stopping { 1 } else { it });
        if !enough.is_some_and(|it| self.queue.save(envelope, mark, it, &mut self.journal)) {
            self.done(envelope);
        }
    }

    pub(super) fn persisted(&mut self, batch: BatchId) {
        let Some(batch) = self.journal.written(batch) else { return };
        self.journal.failing = false;
        let mut reports: BTreeMap<MessageId, Vec<_>> = BTreeMap::new();
        for record in batch.records.iter() {
            match record {
                Record::Accepted(id) => {
                    let message = self.queue.take_offered(*id);
                    let places = message.waiting();
                    self.queue.insert(*id, message);
                    self.effects.push(Effect::Accepted(*id));
                    self.start(*id, places);
                }
                Record::Failed(task, reason) if self.queue[task.message].sender.is_some() => {
                    reports.entry(task.message).or_default().push((task.recipient, reason.clone()));
                }
                Record::Delivered(task) | Record::Reported(task) | Record::Failed(task, _) => {
                    self.settle(*task);
                }
                Record::Operated(Operation::Delete, message, recipients) => {
                    for &recipient in &recipients[..] {
                        self.settle(Task { message: *message, recipient });
                    }
                }
                Record::Deferred(..) | Record::Operated(..) => {}
            }
        }
        let reports = reports.into_iter().map(|(message, failed)| Effect::Report(message, failed));
        self.effects.extend(reports);
        match batch.waiting {
            Waiting::File(envelope) => envelope.into_iter().for_each(|it| self.done(it)),
            Waiting::Group(sessions, answers) => {
                self.effects.extend(answers);
                sessions.into_iter().for_each(|id| self.resume(id));
            }
        }
    }

    /// One of the writes that a session awaits is done.
    fn resume(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        match session.resume() {
            Resume::Nothing => {}
            Resume::Begin => self.go_on(id),
            Resume::SendText => self.send_text(id),
        }
        self.begin_early(id);
    }

    /// The end of one recipient is on stable storage.
    fn settle(&mut self, task: Task) {
        let destination = self.queue.settle(task, &mut self.effects);
        self.destinations.unwant(destination);
    }

    /// No message is taken over and no transaction begun until a write succeeds.
    pub(super) fn not_persisted(&mut self, batch: BatchId, why: String) {
        let Some(batch) = self.journal.written(batch) else { return };
        for record in batch.records.iter() {
            if let Record::Accepted(id) = record {
                self.destinations.unwant_all(&self.queue.take_offered(*id));
                self.effects.push(Effect::Refused(*id, Refusal::Storage(why.clone())));
            }
        }
        self.journal.not_written(self.clock.now, batch);
        self.effects.push(Effect::Log(Entry::NotPersisted(why)));
    }
}
