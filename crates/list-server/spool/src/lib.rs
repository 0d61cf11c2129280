//! Stable storage of a list server: an SQLite database in which each message's text stands once and
//! each recipient is a row.
//!
//! The database is in WAL mode and every transaction is synced (`synchronous = FULL`): what
//! [`Spool::write`] returned for survives a crash, and of a batch that was cut short nothing does.
//! One process at a time owns it, by a lock on a file beside it, which ends with the process; others
//! may look at it meanwhile. Answers that were read and are not in the database yet are in a file beside
//! it ([`Answers`]); readers of a spool that they do not own do without it.

mod check;
mod delivered_log;
mod epoch;
mod error;
mod look;
mod operate;
pub mod private;
mod reserve;
mod salvage;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

pub use check::{Repaired, check, repair};
pub use delivered_log::{Answers, NotNoted};
pub use epoch::Epoch;
pub use error::{Doing, SpoolError};
pub use look::{Queued, Tried, Waiting, look, waiting};
pub use operate::operate;
pub use reserve::{NoSpace, Reserve, octets};
pub use salvage::Finding;
pub use schema::{own, read};
pub use writer::{Archive, Done, Job};

use bytes::Bytes;
use reserve::LAST;
use rusqlite::blob::ZeroBlob;
use rusqlite::{
    Connection, MAIN_DB, OptionalExtension, Row, ToSql, TransactionBehavior, named_params,
};
use sojourn_mail_engine::{
    Deferral, MessageId, Moment, Obstacle, Operation, RecipientIndex, Record, Stored, Submission,
    Task,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A spool that is open, and owned by this process.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    epoch: Epoch,
    /// As long as it is open, no other process owns the spool.
    _lock: File,
    database: Connection,
    answers: Option<Answers>,
    next: u64,
    offers: BTreeMap<MessageId, Offer>,
    /// How far the calendar was set since what is stored was written.
    stepped_ms: i64,
    /// Messages all of whose recipients are at their end, to be removed.
    finished: Vec<MessageId>,
    reserve: Arc<Reserve>,
}

/// A message that is not written yet.
#[derive(Debug)]
struct Offer {
    submission: Submission,
    accepted_ms: i64,
    text: Bytes,
}

impl Spool {
    /// Opens the spool at `path`, or makes an empty one, and ends the recipients whose answers were
    /// noted. Times are those of an engine whose time
    /// begins at `epoch`.
    ///
    /// # Errors
    ///
    /// Another process has it; it is something else than a spool; it cannot be read or written.
    pub fn open(path: &Path, epoch: Epoch) -> Result<Spool, SpoolError> {
        let lock = schema::own(path)?;
        let reserve = Arc::new(Reserve::beside(path));
        let (database, next, answers) = schema::open(path, &reserve)?;
        Ok(Spool {
            path: path.to_owned(),
            epoch,
            _lock: lock,
            database,
            answers: Some(answers),
            next,
            offers: BTreeMap::new(),
            stepped_ms: 0,
            finished: Vec::new(),
            reserve,
        })
    }

    /// The disk space that is kept for what is to be written.
    pub fn reserve(&self) -> Arc<Reserve> {
        Arc::clone(&self.reserve)
    }

    /// Where the reader of answers notes them. Panics when it is asked for again.
    pub fn answers(&mut self) -> Answers {
        self.answers.take().expect("answers are noted in one place")
    }

    /// A number for a new message. None that was ever written is given again.
    pub fn next_id(&mut self) -> MessageId {
        let id = MessageId(self.next);
        self.next += 1;
        id
    }

    /// Keeps a message until the engine wants it written; `text` is in canonical form.
    pub fn offer(&mut self, accepted: Moment, submission: Submission, text: Bytes) {
        assert_eq!(submission.size, text.len() as u64, "the size is the text's");
        let accepted_ms = self.epoch.unix_ms(accepted);
        self.offers.insert(submission.id, Offer { submission, accepted_ms, text });
    }

    /// The calendar was set, by `stepped_ms`. The epoch follows it now, and what is stored with the
    /// next write: how long a recipient has waited and has to wait does not depend on it.
    pub fn step_calendar(&mut self, stepped_ms: i64) {
        self.epoch.unix_ms += stepped_ms;
        self.stepped_ms += stepped_ms;
        self.offers.values_mut().for_each(|offer| offer.accepted_ms += stepped_ms);
    }

    /// Forgets a message that was offered and is not wanted.
    pub fn withdraw(&mut self, id: MessageId) {
        self.offers.remove(&id);
    }

    /// Writes a batch: all of it is on stable storage when this returns. What was
    /// [`finished`](Self::finish) is removed with it.
    ///
    /// # Errors
    ///
    /// It could not be written, and nothing of it is; the messages that were offered with it are
    /// forgotten.
    pub fn write(&mut self, records: &[Record]) -> Result<(), SpoolError> {
        let offers = records.iter().filter_map(|record| match record {
            Record::Accepted(id) => Some((*id, self.offers.remove(id))),
            _ => None,
        });
        let offers: BTreeMap<_, _> = offers.collect();
        let deletes = |it: &Record| matches!(it, Record::Operated(Operation::Delete, ..));
        let floor = if records.iter().any(deletes) { 0 } else { LAST };
        let reserve = self.reserve();
        let written = reserve.with(floor, || self.write_all(records, &offers));
        written.map_err(|error| SpoolError::sqlite(&self.path, Doing::Write, error))?;
        self.finished.clear();
        self.stepped_ms = 0;
        if reserve.is_short() {
            // SQLite's own checkpoint does not say that it found the disk full, and the log grows.
            let _ = reserve.with(floor, || self.checkpoint("PASSIVE"));
        }
        Ok(())
    }

    /// Copies the write-ahead log into the database.
    fn checkpoint(&self, mode: &str) -> rusqlite::Result<()> {
        self.database.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
    }

    fn write_all(
        &mut self,
        records: &[Record],
        offers: &BTreeMap<MessageId, Option<Offer>>,
    ) -> rusqlite::Result<()> {
        let epoch = self.epoch;
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if self.stepped_ms != 0 {
            transaction.execute(STEP_MESSAGES, [self.stepped_ms])?;
            transaction.execute(STEP_RECIPIENTS, [self.stepped_ms])?;
        }
        for record in records {
            match record {
                Record::Accepted(id) => {
                    let offer =
                        offers[id].as_ref().expect("a message that is accepted was offered");
                    insert(&transaction, *id, offer)?;
                }
                Record::Delivered(task) => change(&transaction, DELIVERED, *task, &[])?,
                Record::Reported(task) => change(&transaction, REPORTED, *task, &[])?,
                Record::Failed(task, reason) => {
                    let status = reason.status.to_string();
                    change(&transaction, FAILED, *task, &[&status, &reason.text])?;
                }
                Record::Deferred(task, Deferral { times, first, due }, obstacle) => {
                    let Obstacle { at, host, reason } = &**obstacle;
                    let [first, due, at] = [first, due, at].map(|time| epoch.unix_ms(*time));
                    let status = reason.status.to_string();
                    let with: [&dyn ToSql; 7] =
                        [times, &first, &due, &at, host, &status, &reason.text];
                    change(&transaction, DEFERRED, *task, &with)?;
                }
                Record::Operated(Operation::Delete, message, recipients)
                    if are_last(&transaction, *message, recipients)? =>
                {
                    transaction.prepare_cached(EMPTY)?.execute([key(*message)])?;
                    transaction.prepare_cached(REMOVE)?.execute([key(*message)])?;
                }
                Record::Operated(operation, message, recipients) => {
                    let statement = match operation {
                        Operation::Hold => HELD,
                        Operation::Release => RELEASED,
                        Operation::Delete => DELIVERED,
                        Operation::Requeue => REQUEUED,
                        Operation::Count | Operation::Flush => continue,
                    };
                    for &recipient in &recipients[..] {
                        let task = Task { message: *message, recipient };
                        change(&transaction, statement, task, &[])?;
                    }
                }
            }
        }
        for id in &self.finished {
            transaction.prepare_cached(REMOVE)?.execute([key(*id)])?;
        }
        transaction.commit()?;
        self.reserve.set_free(free(&self.database)?);
        Ok(())
    }

    /// All messages that are not finished, the oldest first, as an engine takes them up.
    ///
    /// # Errors
    ///
    /// The database cannot be read, or has what no spool writes.
    pub fn load(&self) -> Result<Vec<Stored>, SpoolError> {
        schema::load(&self.database, &self.path, self.epoch)
    }

    /// The text of a message; nothing when there is no such message.
    ///
    /// # Errors
    ///
    /// The database cannot be read; the text is not the one that was written.
    pub fn text(&self, id: MessageId) -> Result<Option<Vec<u8>>, SpoolError> {
        if let Some(offer) = self.offers.get(&id) {
            return Ok(Some(offer.text.to_vec()));
        }
        let text = "SELECT text, checksum FROM message WHERE id = ?";
        let row = |row: &Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Option<u32>>(1)?));
        let row = self.database.query_row(text, [key(id)], row).optional();
        match row.map_err(|error| SpoolError::sqlite(&self.path, Doing::Read, error))? {
            Some((text, Some(sum))) if sum != crc32fast::hash(&text) => {
                Err(self.damaged(format!("message {}: its text is not as it was written", id.0)))
            }
            row => Ok(row.map(|(text, _)| text)),
        }
    }

    pub(crate) fn damaged(&self, what: String) -> SpoolError {
        SpoolError::Damaged { path: self.path.clone(), what }
    }

    /// Has a message removed, all of whose recipients are at their end, with the next write.
    pub fn finish(&mut self, id: MessageId) {
        self.finished.push(id);
    }

    /// Has the recipients of `records` tried at the next start, where they are deferred.
    fn make_due(&mut self, records: &[Record]) -> Result<(), SpoolError> {
        let reserve = self.reserve();
        let write = || {
            let transaction =
                self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for record in records {
                let Record::Operated(_, message, recipients) = record else { continue };
                for &recipient in &recipients[..] {
                    transaction.prepare_cached(DUE)?.execute((key(*message), recipient.0))?;
                }
            }
            transaction.commit()
        };
        let written = reserve.with(LAST, write);
        written.map_err(|error| SpoolError::sqlite(&self.path, Doing::Write, error))
    }

    /// Gives pages back to the system, where most of them are free: SQLite keeps what removed rows
    /// leave. This copies what is in use, so that has to be little.
    ///
    /// # Errors
    ///
    /// The disk has no space for that copy, or it cannot be written; the spool is as it was.
    pub fn shrink(&self) -> Result<(), SpoolError> {
        let shrink = || {
            let free = free(&self.database)?;
            let used = number(&self.database, "page_count")? * number(&self.database, "page_size")?;
            let is_sparse = free >= MUCH && used - free <= free.min(LITTLE);
            if is_sparse {
                self.database.execute_batch("VACUUM")?;
            }
            if is_sparse || self.reserve.is_short() {
                self.checkpoint("TRUNCATE")?;
            }
            self.reserve.set_free(if is_sparse { 0 } else { free });
            Ok(())
        };
        let shrunk = self.reserve.with(LAST, shrink);
        shrunk.map_err(|error| SpoolError::sqlite(&self.path, Doing::Write, error))
    }

    /// Whether something waits for the next write: finished messages, a step of the calendar.
    pub fn is_behind(&self) -> bool {
        !self.finished.is_empty() || self.stepped_ms != 0
    }
}

/// So many octets that are free are given back, beside so few in use.
const MUCH: u64 = 8 << 20;
const LITTLE: u64 = 16 << 20;
/// A text of more octets is written in pieces.
const LARGE: usize = 256 * 1024;
const PIECE: usize = 64 * 1024;

fn insert(database: &Connection, id: MessageId, offer: &Offer) -> rusqlite::Result<()> {
    let Offer { submission, accepted_ms, text } = offer;
    let message = "INSERT INTO message (id, sender, eight_bit, utf8, accepted_ms, text, checksum)
        VALUES (:id, :sender, :eight_bit, :utf8, :accepted, :text, :checksum)";
    // SQLite copies what it is given, twice.
    let in_pieces = text.len() > LARGE;
    let room = ZeroBlob(i32::try_from(text.len()).map_err(|_| rusqlite::Error::BlobSizeError)?);
    let given: &dyn ToSql = if in_pieces { &room } else { &&text[..] };
    database.prepare_cached(message)?.execute(named_params! {
        ":id": key(id),
        ":sender": submission.sender.as_ref().map(|sender| sender.as_str()),
        ":eight_bit": submission.eight_bit,
        ":utf8": submission.utf8,
        ":accepted": accepted_ms,
        ":text": given,
        ":checksum": crc32fast::hash(text),
    })?;
    if in_pieces {
        let mut blob = database.blob_open(MAIN_DB, "message", "text", key(id), false)?;
        for (nth, piece) in text.chunks(PIECE).enumerate() {
            blob.write_at(piece, nth * PIECE)?;
        }
        blob.close()?;
    }
    let recipient = "INSERT INTO recipient (message, number, address, subscriber)
        VALUES (?, ?, ?, ?)";
    let mut recipient = database.prepare_cached(recipient)?;
    let subscribers = submission.subscribers.iter().copied().chain(std::iter::repeat(0));
    for ((number, address), subscriber) in (0_i64..).zip(&submission.recipients).zip(subscribers) {
        let subscriber = (subscriber != 0).then_some(subscriber);
        recipient.execute((key(id), number, address.as_str(), subscriber))?;
    }
    Ok(())
}

fn number(database: &Connection, pragma: &str) -> rusqlite::Result<u64> {
    database.pragma_query_value(None, pragma, |row| row.get(0))
}

/// Octets of the pages that removed rows left.
fn free(database: &Connection) -> rusqlite::Result<u64> {
    Ok(number(database, "freelist_count")? * number(database, "page_size")?)
}

/// Whether these recipients are all that wait of a message, which is removed with them. Pages that
/// become free need no space in the write-ahead log; rows that change their state do.
fn are_last(
    database: &Connection,
    message: MessageId,
    recipients: &[RecipientIndex],
) -> rusqlite::Result<bool> {
    let count = "SELECT total(state IN ('open', 'deferred')), total(state = 'failed')
        FROM recipient WHERE message = ?";
    let row = |row: &Row<'_>| Ok((row.get::<_, f64>(0)?, row.get::<_, f64>(1)?));
    let counts = database.prepare_cached(count)?.query_row([key(message)], row)?;
    Ok(counts == (recipients.len() as f64, 0.0))
}

const EMPTY: &str = "DELETE FROM recipient WHERE message = ?1";
const STEP_MESSAGES: &str = "UPDATE message SET accepted_ms = accepted_ms + ?1";
const STEP_RECIPIENTS: &str = "UPDATE recipient
    SET first_ms = first_ms + ?1, due_ms = due_ms + ?1, tried_ms = tried_ms + ?1
    WHERE state = 'deferred'";
const DELIVERED: &str = "UPDATE recipient SET state = 'ended'
    WHERE message = ?1 AND number = ?2 AND state IN ('open', 'deferred')";
const REPORTED: &str = "UPDATE recipient SET state = 'ended'
    WHERE message = ?1 AND number = ?2 AND state = 'failed'";
const FAILED: &str = "UPDATE recipient SET state = 'failed', status = ?3, reason = ?4
    WHERE message = ?1 AND number = ?2 AND state IN ('open', 'deferred')";
const DEFERRED: &str = "UPDATE recipient
    SET state = 'deferred', times = ?3, first_ms = ?4, due_ms = ?5,
        tried_ms = ?6, host = ?7, status = ?8, reason = ?9
    WHERE message = ?1 AND number = ?2 AND state IN ('open', 'deferred')";
const HELD: &str = "UPDATE recipient SET held = 1
    WHERE message = ?1 AND number = ?2 AND state IN ('open', 'deferred')";
const RELEASED: &str = "UPDATE recipient SET held = 0
    WHERE message = ?1 AND number = ?2 AND held";
const REQUEUED: &str = "UPDATE recipient
    SET state = 'open', times = NULL, first_ms = NULL, due_ms = NULL
    WHERE message = ?1 AND number = ?2 AND state IN ('open', 'deferred')";
const DUE: &str = "UPDATE recipient SET due_ms = first_ms
    WHERE message = ?1 AND number = ?2 AND state = 'deferred'";
const REMOVE: &str = "DELETE FROM message WHERE id = ?1 AND NOT EXISTS
    (SELECT * FROM recipient WHERE message = ?1 AND state <> 'ended')";

/// Changes one recipient, which has to be in a state that allows it.
fn change(
    database: &Connection,
    statement: &str,
    task: Task,
    with: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    let mut statement = database.prepare_cached(statement)?;
    statement.raw_bind_parameter(1, key(task.message))?;
    statement.raw_bind_parameter(2, task.recipient.0)?;
    for (place, value) in (3..).zip(with) {
        statement.raw_bind_parameter(place, value)?;
    }
    match statement.raw_execute()? {
        1 => Ok(()),
        // The engine's view and the spool's have parted: nothing more may be built on either.
        _ => Err(rusqlite::Error::QueryReturnedNoRows),
    }
}

fn key(id: MessageId) -> i64 {
    i64::try_from(id.0).expect("the spool gives the numbers")
}
