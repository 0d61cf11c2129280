//! What is to be on stable storage, and what is on the way there.

use crate::clock::rebase_clock;
use crate::event::{
    BatchId, Counts, Deferral, Effect, Entry, MessageId, Operation, Progress, Record, Refusal,
    SessionId, Stored, Submission, Task,
};
use crate::ids::{DestinationId, EnvelopeId, RecipientIndex};
use crate::message::{Message, State, Wish};
use crate::policy::checkpoint::Checkpoint;
use crate::session::Resume;
use crate::{Engine, Timer};
use sojourn_core::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Records wait to be written together; one batch is being written at a time.
#[derive(Debug, Default)]
pub(super) struct Journal {
    records: Vec<Record>,
    /// Sessions that wait for `records`.
    sessions: Vec<SessionId>,
    /// Operations that are answered when `records` are written.
    answers: Vec<(u64, Counts)>,
    /// What is to be written by itself, and the envelope that waits for it.
    files: VecDeque<(Vec<Record>, Option<EnvelopeId>)>,
    /// Since when the first of `records` waits.
    pub(super) since: Time,
    /// When its timer rings.
    pub(super) alarm: Time,
    /// Whether a session or a submitter waits for one of them.
    urgent: bool,
    writing: Option<Batch>,
    next: u64,
    /// Whether the last write failed.
    pub(super) failing: bool,
}

#[derive(Debug)]
pub(super) struct Batch {
    id: BatchId,
    pub(super) records: Arc<[Record]>,
    pub(super) sessions: Vec<SessionId>,
    pub(super) answers: Vec<(u64, Counts)>,
    /// Where it was written by itself: the envelope that waits for it, if one does.
    pub(super) file: Option<Option<EnvelopeId>>,
}

impl Journal {
    pub(super) fn rebase_clock(&mut self, by: Span) {
        rebase_clock(&mut self.since, by);
        rebase_clock(&mut self.alarm, by);
        let files = self.files.iter_mut().flat_map(|(records, _)| records);
        self.records.iter_mut().chain(files).for_each(|it| it.rebase_clock(by));
        // What is being written is kept for the case that it has to be written again.
        if let Some(batch) = &mut self.writing {
            Arc::make_mut(&mut batch.records).iter_mut().for_each(|it| it.rebase_clock(by));
        }
    }

    pub(super) fn push(&mut self, now: Time, record: Record) {
        if self.records.is_empty() {
            self.since = now;
        }
        self.urgent |= matches!(record, Record::Accepted(_) | Record::Operated(..));
        self.records.push(record);
    }

    /// All that was pushed since there were `mark` records, in order.
    pub(super) fn since(&mut self, mark: usize) -> Vec<Record> {
        self.records.split_off(mark)
    }

    /// How many records wait to be written together.
    pub(super) fn mark(&self) -> usize {
        self.records.len()
    }

    /// What is to be written by itself, for `envelope` to go on.
    pub(super) fn push_file(&mut self, records: Vec<Record>, envelope: Option<EnvelopeId>) {
        self.files.push_back((records, envelope));
    }

    /// `session` waits until all that was pushed is written.
    pub(super) fn await_write(&mut self, session: SessionId) {
        self.sessions.push(session);
    }

    /// An operation is answered when all that was pushed is written.
    pub(super) fn answer(&mut self, number: u64, counts: Counts) {
        self.answers.push((number, counts));
    }

    /// How many records wait, when none are being written.
    pub(super) fn pending(&self) -> Option<usize> {
        let next = match self.records.len() {
            0 => self.files.front().map_or(0, |(records, _)| records.len()),
            together => together,
        };
        (self.writing.is_none() && next > 0).then_some(next)
    }

    /// Whether anything waits to be written.
    pub(super) fn is_waiting(&self) -> bool {
        !self.records.is_empty()
    }

    /// Whether anything is not on stable storage yet.
    pub(super) fn is_waiting_or_writing(&self) -> bool {
        self.is_waiting() || !self.files.is_empty() || self.writing.is_some()
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// All that waits to be written together is being written from now on; where nothing does, what
    /// is next of that which is written by itself. A recipient's records stay in order: those that
    /// come before it is written by itself are written together.
    pub(super) fn write(&mut self) -> (BatchId, Arc<[Record]>) {
        let id = BatchId(self.next);
        self.next += 1;
        let file = if self.records.is_empty() { self.files.pop_front() } else { None };
        let (records, sessions, answers, file) = match file {
            Some((records, envelope)) => (records, Vec::new(), Vec::new(), Some(envelope)),
            None => {
                self.urgent = false;
                let next = Vec::with_capacity(self.records.len());
                let (sessions, answers) =
                    (std::mem::take(&mut self.sessions), std::mem::take(&mut self.answers));
                (std::mem::replace(&mut self.records, next), sessions, answers, None)
            }
        };
        let records: Arc<[Record]> = records.into();
        self.writing = Some(Batch { id, records: Arc::clone(&records), sessions, answers, file });
        (id, records)
    }

    /// The batch `id` is no longer being written; nothing when it never was.
    pub(super) fn written(&mut self, id: BatchId) -> Option<Batch> {
        self.writing.take_if(|batch| batch.id == id)
    }

    /// What could not be written goes before all that has come since.
    pub(super) fn put_back(&mut self, now: Time, records: Vec<Record>, batch: Batch) {
        self.since = now;
        match batch.file {
            Some(envelope) => self.files.push_front((records, envelope)),
            None => {
                self.records.splice(0..0, records);
                self.sessions.splice(0..0, batch.sessions);
                self.answers.splice(0..0, batch.answers);
                self.urgent |= !self.answers.is_empty();
            }
        }
    }
}

/// After a write that failed, how long until the next.
const AGAIN: Span = Span::from_s(1);

impl Engine {
    pub(super) fn submitted(&mut self, submission: Submission) {
        let id = submission.id;
        let refusal = if self.messages.contains_key(&id) || self.offered.contains_key(&id) {
            Some(Refusal::Invalid("its number is in use"))
        } else if submission.recipients.is_empty() {
            Some(Refusal::Invalid("it has no recipients"))
        } else if self.stopping {
            Some(Refusal::Stopping)
        } else if self.journal.failing {
            Some(Refusal::Storage("stable storage cannot be written".into()))
        } else if submission.sender.is_some() && !self.has_room(submission.recipients.len()) {
            Some(Refusal::Full(self.recipients))
        } else {
            None
        };
        if let Some(why) = refusal {
            return self.effects.push(Effect::Refused(id, why));
        }
        let destinations = self.destinations_of(&submission);
        self.offered.insert(id, Message::new(submission, self.now, destinations));
        self.journal.push(self.now, Record::Accepted(id));
    }

    /// Whether so many recipients more may wait. One message may when no other waits; reports of
    /// failures always may, because what they are about waits for them.
    fn has_room(&self, recipients: usize) -> bool {
        let waiting = self.recipients + recipients as u64;
        self.recipients == 0 || waiting <= self.config.limits.waiting.get().into()
    }

    fn destinations_of(&mut self, submission: &Submission) -> Vec<DestinationId> {
        // A list's messages are for the same people in the same order.
        let before = std::mem::take(&mut self.before);
        let guesses = before.iter().copied().map(Some).chain(std::iter::repeat(None));
        let domains = submission.recipients.iter().map(|recipient| recipient.domain());
        let destinations: Vec<DestinationId> =
            domains.zip(guesses).map(|(domain, guess)| self.want(domain, guess)).collect();
        self.before = destinations.clone();
        destinations
    }

    /// A message from before a restart. One whose number is in use is ignored. One that was accepted
    /// in the future, by a clock that was ahead, is accepted now, and its waits begin as much earlier.
    pub(super) fn restored(&mut self, mut stored: Stored) {
        let id = stored.submission.id;
        let ahead = stored.accepted.since(self.now);
        let earlier = |time: &mut Time| *time = Time::from_ps(time.ps().saturating_sub(ahead.ps()));
        earlier(&mut stored.accepted);
        for progress in &mut stored.progress {
            if let Progress::Deferred(Deferral { first, due, .. }) = progress {
                earlier(first);
                earlier(due);
            }
        }
        if self.messages.contains_key(&id) || self.offered.contains_key(&id) {
            return;
        }
        let destinations = self.destinations_of(&stored.submission);
        let mut message = Message::new(stored.submission, stored.accepted, destinations);
        let (mut unreported, mut deferred) = (Vec::new(), Vec::new());
        for (number, progress) in RecipientIndex::all().zip(stored.progress) {
            let Some(recipient) = message.recipients.get_mut(number) else { break };
            match progress {
                Progress::Open => {}
                Progress::Deferred(deferral) => {
                    recipient.refused = deferral.times;
                    recipient.first_refused = deferral.first;
                    deferred.push((number, deferral));
                }
                Progress::Failed(reason) => {
                    recipient.state = State::Failed;
                    unreported.push((number, reason));
                }
                Progress::Ended => {
                    recipient.state = State::Ended;
                    message.open -= 1;
                    self.unwant(recipient.destination);
                }
            }
        }
        if message.open == 0 {
            return self.effects.push(Effect::Finished(id));
        }
        for number in stored.held {
            if let Some(recipient) = message.recipients.get_mut(number) {
                recipient.wish = Wish::Hold;
            }
        }
        deferred.retain(|&(_, deferral): &(RecipientIndex, Deferral)| deferral.due > self.now);
        let mut places = message.waiting();
        places.retain(|place| {
            deferred.binary_search_by_key(&place.recipient, |&(number, _)| number).is_err()
        });
        self.messages.insert(id, message);
        for (recipient, Deferral { due, .. }) in deferred {
            self.set_aside(Task { message: id, recipient }, due);
        }
        self.start(id, places);
        if !unreported.is_empty() {
            self.effects.push(Effect::Report(id, unreported));
        }
    }

    /// Writes what waits, if its time has come.
    pub(super) fn checkpoint(&mut self) {
        let Some(pending) = self.journal.pending() else { return };
        let wait = match self.config.checkpoint.wait(pending) {
            _ if self.journal.failing => AGAIN,
            Some(wait) if !self.journal.is_urgent() => wait,
            _ => Span::ZERO,
        };
        let due = self.journal.since + wait;
        if due > self.now {
            if self.journal.alarm != due {
                self.journal.alarm = due;
                self.timers.schedule(due, Timer::Journal);
            }
            return;
        }
        let (batch, records) = self.journal.write();
        self.effects.push(Effect::Persist(batch, records));
    }

    pub(super) fn persisted(&mut self, batch: BatchId) {
        let Some(batch) = self.journal.written(batch) else { return };
        self.journal.failing = false;
        let mut reports: BTreeMap<MessageId, Vec<_>> = BTreeMap::new();
        for record in batch.records.iter() {
            match record {
                Record::Accepted(id) => {
                    let message =
                        self.offered.remove(id).expect("a message that is accepted was offered");
                    self.messages.insert(*id, message);
                    self.effects.push(Effect::Accepted(*id));
                    let places = self.messages[id].waiting();
                    self.start(*id, places);
                }
                Record::Delivered(task) | Record::Reported(task) => self.settle(*task),
                Record::Failed(task, _) if self.messages[&task.message].sender.is_none() => {
                    self.settle(*task);
                }
                Record::Failed(task, reason) => {
                    reports.entry(task.message).or_default().push((task.recipient, reason.clone()));
                }
                Record::Operated(Operation::Delete, message, recipients) => {
                    for &recipient in &recipients[..] {
                        self.settle(Task { message: *message, recipient });
                    }
                }
                Record::Deferred(..) | Record::Operated(..) => {}
            }
        }
        for (message, failures) in reports {
            self.effects.push(Effect::Report(message, failures));
        }
        if let Some(Some(envelope)) = batch.file {
            self.done(envelope);
        }
        for (number, counts) in batch.answers {
            self.effects.push(Effect::Operated(number, counts));
        }
        for id in batch.sessions {
            if let Some(session) = self.sessions.get_mut(id) {
                match session.resume() {
                    Resume::Nothing => {}
                    Resume::Begin => self.go_on(id),
                    Resume::SendText => self.send_text(id),
                }
                self.begin_early(id);
            }
        }
    }

    /// The end of one recipient is on stable storage.
    fn settle(&mut self, task: Task) {
        let message =
            self.messages.get_mut(&task.message).expect("a message with open recipients is known");
        let destination = message.recipients[task.recipient].destination;
        message.open -= 1;
        let finished = message.open == 0;
        self.unwant(destination);
        if finished {
            self.messages.remove(&task.message);
            self.effects.push(Effect::Finished(task.message));
        }
    }

    /// No message is taken over and no transaction begun until a write succeeds.
    pub(super) fn not_persisted(&mut self, batch: BatchId, why: String) {
        let Some(batch) = self.journal.written(batch) else { return };
        self.journal.failing = true;
        let mut kept = Vec::new();
        for record in batch.records.iter() {
            match record {
                Record::Accepted(id) => {
                    let message =
                        self.offered.remove(id).expect("a message that is accepted was offered");
                    message.recipients.values().for_each(|it| self.unwant(it.destination));
                    self.effects.push(Effect::Refused(*id, Refusal::Storage(why.clone())));
                }
                other => kept.push(other.clone()),
            }
        }
        if kept.is_empty() && self.journal.pending().is_none() {
            // Nothing is left to write that would show when it works again: the next offer does.
            self.journal.failing = false;
        }
        self.journal.put_back(self.now, kept, batch);
        self.effects.push(Effect::Log(Entry::NotPersisted(why)));
    }

    /// Failures were reported.
    pub(super) fn reported(&mut self, message: MessageId, recipients: &[RecipientIndex]) {
        let Some(known) = self.messages.get_mut(&message) else { return };
        for &number in recipients {
            if let Some(recipient) = known.recipients.get_mut(number)
                && recipient.state == State::Failed
            {
                recipient.state = State::Ended;
                let task = Task { message, recipient: number };
                self.journal.push(self.now, Record::Reported(task));
            }
        }
    }
}
