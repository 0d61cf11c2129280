//! What is to be on stable storage, and what is on the way there.

use super::event::{BatchId, Record, SessionId};
use sojourn_kernel::Time;
use std::sync::Arc;

/// Records wait to be written together; one batch is being written at a time.
#[derive(Debug, Default)]
pub(super) struct Journal {
    records: Vec<Record>,
    /// Sessions that wait for `records`.
    held: Vec<SessionId>,
    /// Since when the first of `records` waits.
    pub(super) since: Time,
    /// When its timer rings.
    pub(super) alarm: Time,
    /// Whether somebody waits for one of them.
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
    pub(super) held: Vec<SessionId>,
}

impl Journal {
    pub(super) fn push(&mut self, now: Time, record: Record) {
        if self.records.is_empty() {
            self.since = now;
        }
        self.urgent |= matches!(record, Record::Accepted(_));
        self.records.push(record);
    }

    /// `session` waits until all that was pushed is written.
    pub(super) fn hold(&mut self, session: SessionId) {
        self.held.push(session);
    }

    /// How many records wait, when none are being written.
    pub(super) fn pending(&self) -> Option<usize> {
        (self.writing.is_none() && !self.records.is_empty()).then_some(self.records.len())
    }

    /// Whether anything waits to be written.
    pub(super) fn is_waiting(&self) -> bool {
        !self.records.is_empty()
    }

    /// Whether anything is not on stable storage yet.
    pub(super) fn is_waiting_or_writing(&self) -> bool {
        self.is_waiting() || self.writing.is_some()
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// All that waits is being written from now on.
    pub(super) fn write(&mut self) -> (BatchId, Arc<[Record]>) {
        let (id, records) = (BatchId(self.next), Arc::from(std::mem::take(&mut self.records)));
        self.next += 1;
        self.urgent = false;
        let held = std::mem::take(&mut self.held);
        self.writing = Some(Batch { id, records: Arc::clone(&records), held });
        (id, records)
    }

    /// The batch `id` is no longer being written; nothing when it never was.
    pub(super) fn written(&mut self, id: BatchId) -> Option<Batch> {
        self.writing.take_if(|batch| batch.id == id)
    }

    /// What could not be written goes before all that has come since.
    pub(super) fn put_back(&mut self, now: Time, records: Vec<Record>, held: Vec<SessionId>) {
        self.since = now;
        self.records.splice(0..0, records);
        self.held.splice(0..0, held);
    }
}
