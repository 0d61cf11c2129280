//! The spool: an SQLite database in which each message's text stands once and each recipient is a
//! row.
//!
//! The database is in WAL mode and every transaction is synced (`synchronous = FULL`): what
//! [`Spool::write`] returned for survives a crash, and of a batch that was cut short nothing does.
//! One process at a time has it, by SQLite's own lock, which ends with the process.

mod error;
mod rows;
#[cfg(test)]
mod tests;

pub use error::{Doing, SpoolError};

use crate::epoch::Epoch;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params};
use sojourn_kernel::Time;
use sojourn_mail::engine::{MessageId, Record, Stored, Submission, Task};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A spool that is open, and owned by this process.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    epoch: Epoch,
    database: Connection,
    next: u64,
    offers: BTreeMap<MessageId, Offer>,
}

/// A message that is not written yet.
#[derive(Debug)]
struct Offer {
    submission: Submission,
    accepted: Time,
    text: Vec<u8>,
}

/// "sojn", which the file begins to be known by.
const APPLICATION: i32 = i32::from_be_bytes(*b"sojn");
/// Of the tables below.
const VERSION: i32 = 1;

const TABLES: &str = "
    CREATE TABLE message (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        sender TEXT,
        eight_bit INTEGER NOT NULL,
        utf8 INTEGER NOT NULL,
        accepted_ms INTEGER NOT NULL,
        text BLOB NOT NULL
    ) STRICT;
    CREATE TABLE recipient (
        message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
        number INTEGER NOT NULL,
        address TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'open'
            CHECK (state IN ('open', 'deferred', 'failed', 'ended')),
        times INTEGER,
        first_ms INTEGER,
        due_ms INTEGER,
        status TEXT,
        reason TEXT,
        PRIMARY KEY (message, number)
    ) STRICT, WITHOUT ROWID;
";

impl Spool {
    /// Opens the spool at `path`, or makes an empty one. Times are those of an engine whose time
    /// begins at `epoch`.
    ///
    /// # Errors
    ///
    /// Another process has it; it is something else than a spool; it cannot be read or written.
    pub fn open(path: &Path, epoch: Epoch) -> Result<Spool, SpoolError> {
        let at = |doing| move |error| SpoolError::sqlite(path, doing, error);
        let database = Connection::open(path).map_err(at(Doing::Open))?;
        let next = prepare(&database).map_err(at(Doing::Open))?;
        let next = next.ok_or_else(|| SpoolError::NotASpool { path: path.to_owned() })?;
        Ok(Spool { path: path.to_owned(), epoch, database, next, offers: BTreeMap::new() })
    }

    /// A number for a new message. None that was ever written is given again.
    pub fn next_id(&mut self) -> MessageId {
        let id = MessageId(self.next);
        self.next += 1;
        id
    }

    /// Keeps a message until the engine wants it written; `text` is in canonical form.
    pub fn offer(&mut self, accepted: Time, submission: Submission, text: Vec<u8>) {
        assert_eq!(submission.size, text.len() as u64, "the size is the text's");
        self.offers.insert(submission.id, Offer { submission, accepted, text });
    }

    /// Writes a batch: all of it is on stable storage when this returns.
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
        let written = self.write_all(records, &offers);
        written.map_err(|error| SpoolError::sqlite(&self.path, Doing::Write, error))
    }

    fn write_all(
        &mut self,
        records: &[Record],
        offers: &BTreeMap<MessageId, Option<Offer>>,
    ) -> rusqlite::Result<()> {
        let epoch = self.epoch;
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for record in records {
            match record {
                Record::Accepted(id) => {
                    let offer = offers[id].as_ref().expect("it was offered");
                    insert(&transaction, epoch, *id, offer)?;
                }
                Record::Delivered(task) => {
                    let set = "state = 'ended'";
                    update(&transaction, *task, set, "('open', 'deferred')", named_params! {})?;
                }
                Record::Reported(task) => {
                    let set = "state = 'ended'";
                    update(&transaction, *task, set, "('failed')", named_params! {})?;
                }
                Record::Failed(task, reason) => {
                    let set = "state = 'failed', status = :status, reason = :reason";
                    let status = reason.status.to_string();
                    let with = named_params! { ":status": status, ":reason": reason.text };
                    update(&transaction, *task, set, "('open', 'deferred')", with)?;
                }
                Record::Deferred(task, deferral) => {
                    let set =
                        "state = 'deferred', times = :times, first_ms = :first, due_ms = :due";
                    let with = named_params! {
                        ":times": deferral.times,
                        ":first": epoch.unix_ms(deferral.first),
                        ":due": epoch.unix_ms(deferral.due),
                    };
                    update(&transaction, *task, set, "('open', 'deferred')", with)?;
                }
            }
        }
        transaction.commit()
    }

    /// All messages that are not finished, the oldest first, as an engine takes them up.
    ///
    /// # Errors
    ///
    /// The database cannot be read, or has what no spool writes.
    pub fn load(&self) -> Result<Vec<Stored>, SpoolError> {
        rows::load(&self.database, &self.path, self.epoch)
    }

    /// The text of a message; nothing when there is no such message.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn text(&self, id: MessageId) -> Result<Option<Vec<u8>>, SpoolError> {
        let text = "SELECT text FROM message WHERE id = ?";
        let row = self.database.query_row(text, [key(id)], |row| row.get(0)).optional();
        row.map_err(|error| SpoolError::sqlite(&self.path, Doing::Read, error))
    }

    /// Removes a message all of whose recipients are at their end.
    ///
    /// # Errors
    ///
    /// It could not be written; the message is found again at the next start, and is finished then.
    pub fn remove(&mut self, id: MessageId) -> Result<(), SpoolError> {
        let delete = "DELETE FROM message WHERE id = ?1 AND NOT EXISTS
            (SELECT * FROM recipient WHERE message = ?1 AND state <> 'ended')";
        let deleted = self.database.execute(delete, [key(id)]);
        let error = |error| SpoolError::sqlite(&self.path, Doing::Write, error);
        deleted.map(drop).map_err(error)
    }
}

/// Takes the lock, makes the tables where there are none; the number of the next message. Nothing
/// when the database is somebody else's.
fn prepare(database: &Connection) -> rusqlite::Result<Option<u64>> {
    // Nobody lets go of a spool soon.
    database.busy_timeout(std::time::Duration::ZERO)?;
    // In this mode the lock that the first transaction takes is kept until the end.
    database.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables =
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u32>(0))?;
    let new = tables == 0 && application == 0 && version == 0;
    if !new && (application, version) != (APPLICATION, VERSION) {
        return Ok(None);
    }
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)?;
    database.execute_batch("BEGIN EXCLUSIVE")?;
    if new {
        database.execute_batch(TABLES)?;
        database.pragma_update(None, "application_id", APPLICATION)?;
        database.pragma_update(None, "user_version", VERSION)?;
    }
    database.execute_batch("COMMIT")?;
    let last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'message'";
    database.query_row(last, [], |row| row.get::<_, i64>(0)).map(|last| Some(last as u64 + 1))
}

fn insert(
    database: &Connection,
    epoch: Epoch,
    id: MessageId,
    offer: &Offer,
) -> rusqlite::Result<()> {
    let Offer { submission, accepted, text } = offer;
    let message = "INSERT INTO message (id, sender, eight_bit, utf8, accepted_ms, text)
        VALUES (:id, :sender, :eight_bit, :utf8, :accepted, :text)";
    database.prepare_cached(message)?.execute(named_params! {
        ":id": key(id),
        ":sender": submission.sender.as_ref().map(|sender| sender.as_str()),
        ":eight_bit": submission.eight_bit,
        ":utf8": submission.utf8,
        ":accepted": epoch.unix_ms(*accepted),
        ":text": text,
    })?;
    let recipient = "INSERT INTO recipient (message, number, address) VALUES (?, ?, ?)";
    let mut recipient = database.prepare_cached(recipient)?;
    for (number, address) in submission.recipients.iter().enumerate() {
        recipient.execute((key(id), number as i64, address.as_str()))?;
    }
    Ok(())
}

/// Changes one recipient that is in one of the states `from`.
fn update(
    database: &Connection,
    task: Task,
    set: &str,
    from: &str,
    with: &[(&str, &dyn rusqlite::ToSql)],
) -> rusqlite::Result<()> {
    let statement = format!(
        "UPDATE recipient SET {set}
            WHERE message = :message AND number = :recipient AND state IN {from}"
    );
    let (message, recipient) = (key(task.message), task.recipient);
    let mut all = with.to_vec();
    all.extend_from_slice(named_params! { ":message": message, ":recipient": recipient });
    match database.prepare_cached(&statement)?.execute(&all[..])? {
        1 => Ok(()),
        // The engine's view and the spool's have parted: nothing more may be built on either.
        _ => Err(rusqlite::Error::QueryReturnedNoRows),
    }
}

fn key(id: MessageId) -> i64 {
    i64::try_from(id.0).expect("the spool gives the numbers")
}
