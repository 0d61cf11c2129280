//! What is to be on stable storage, and what is on the way there.

use crate::clock::{Clock, Timer};
use crate::event::{BatchId, Counts, Effect, Record, SessionId};
use crate::ids::EnvelopeId;
use crate::moment::Moment;
use crate::policy::CheckpointKind;
use crate::policy::checkpoint::Checkpoint;
use sojourn_core::Span;
use std::collections::VecDeque;
use std::sync::Arc;

/// After a write that failed, how long until the next.
const AGAIN: Span = Span::from_s(1);

/// Records wait to be written together; one batch is being written at a time.
#[derive(Debug, Default)]
pub(super) struct Journal {
    records: Vec<Record>,
    /// Sessions that wait for `records`.
    sessions: Vec<SessionId>,
    /// Operations that are answered when `records` are written.
    answers: Vec<Effect>,
    /// What is to be written by itself, and the envelope that waits for it.
    files: VecDeque<(Vec<Record>, Option<EnvelopeId>)>,
    /// Since when the first of `records` waits.
    since: Moment,
    /// When its timer rings.
    alarm: Moment,
    /// Whether a session or a submitter waits for one of them.
    urgent: bool,
    writing: Option<Batch>,
    next: u64,
    /// Whether the last write failed.
    pub(super) failing: bool,
}

/// What is being written.
#[derive(Debug)]
pub(super) struct Batch {
    id: BatchId,
    pub(super) records: Arc<[Record]>,
    pub(super) waiting: Waiting,
}

/// What goes on when a batch is written.
#[derive(Debug)]
pub(super) enum Waiting {
    /// It was written together: sessions, and answers to an operator.
    Group(Vec<SessionId>, Vec<Effect>),
    /// It was written by itself: an envelope, if one waits for it.
    File(Option<EnvelopeId>),
}

impl Journal {
    pub(super) fn push(&mut self, now: Moment, record: Record) {
        if self.records.is_empty() {
            self.since = now;
        }
        self.urgent |= matches!(record, Record::Accepted(_) | Record::Operated(..));
        self.records.push(record);
    }

    /// Moves what was pushed since there were `mark` records, in order, but for deferrals.
    pub(super) fn move_since(&mut self, mark: usize, to: &mut Vec<Record>) {
        let moves = |record: &mut Record| !matches!(record, Record::Deferred(..));
        to.extend(self.records.extract_if(mark.., moves));
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
        self.answers.push(Effect::Operated(number, counts));
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

    /// All that waits to be written together is being written from now on; where nothing does, what
    /// is next of that which is written by itself. A recipient's records stay in order: those that
    /// come before it is written by itself are written together.
    fn write(&mut self) -> (BatchId, Arc<[Record]>) {
        let id = BatchId(self.next);
        self.next += 1;
        let file = if self.records.is_empty() { self.files.pop_front() } else { None };
        let (records, waiting) = match file {
            Some((records, envelope)) => (records, Waiting::File(envelope)),
            None => {
                self.urgent = false;
                let next = Vec::with_capacity(self.records.len());
                let sessions = std::mem::take(&mut self.sessions);
                let waiting = Waiting::Group(sessions, std::mem::take(&mut self.answers));
                (std::mem::replace(&mut self.records, next), waiting)
            }
        };
        let records: Arc<[Record]> = records.into();
        self.writing = Some(Batch { id, records: Arc::clone(&records), waiting });
        (id, records)
    }

    /// The batch `id` is no longer being written; nothing when it never was.
    pub(super) fn written(&mut self, id: BatchId) -> Option<Batch> {
        self.writing.take_if(|batch| batch.id == id)
    }

    /// A batch could not be written. It goes before all that has come since, but for messages that
    /// were offered: those are refused.
    pub(super) fn not_written(&mut self, now: Moment, batch: Batch) {
        let mut records = batch.records.to_vec();
        records.retain(|record| !matches!(record, Record::Accepted(_)));
        // Where nothing is left to write that would show when it works again, the next offer does.
        self.failing = !records.is_empty() || self.pending().is_some();
        self.since = now;
        match batch.waiting {
            Waiting::File(envelope) => self.files.push_front((records, envelope)),
            Waiting::Group(sessions, answers) => {
                self.records.splice(0..0, records);
                self.sessions.splice(0..0, sessions);
                self.answers.splice(0..0, answers);
                self.urgent |= !self.answers.is_empty();
            }
        }
    }

    /// Writes what waits, if its time has come by `policy`.
    pub(super) fn checkpoint(
        &mut self,
        policy: &CheckpointKind,
        clock: &mut Clock,
        effects: &mut Vec<Effect>,
    ) {
        let Some(pending) = self.pending() else { return };
        let wait = match policy.wait(pending) {
            _ if self.failing => AGAIN,
            Some(wait) if !self.urgent => wait,
            _ => Span::ZERO,
        };
        let due = self.since + wait;
        if due > clock.now {
            if self.alarm != due {
                self.alarm = due;
                clock.schedule(due, Timer::Journal);
            }
            return;
        }
        let (batch, records) = self.write();
        effects.push(Effect::Persist(batch, records));
    }
}
