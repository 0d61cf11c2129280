//! Answers that were read, in a file beside the spool, until the database has them.
//!
//! The file is for the end of a process alone: what one `write` gave to the kernel survives
//! `kill -9`, and nothing waits for the disk. A power failure may lose it, and costs copies then.
//! It holds nothing but recipients that are done, and must never claim more than is true: each
//! record has a checksum, and the file begins with a random number that the database
//! gets anew each time it is opened. So a file from before a backup was put back counts for nothing,
//! and what follows a record that is torn does not either.

#[cfg(test)]
mod tests;

use crate::private;
use crate::reserve::{PIECE, Reserve};
use rusqlite::{Connection, OptionalExtension};
use rustix::fs::{Mode, OFlags};
use sojourn_mail_engine::{MessageId, RecipientIndex, Task};
use std::fmt;
use std::fs::File;
use std::io::ErrorKind::{QuotaExceeded, StorageFull};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// "sojnans1", which the file begins with, and the number of the database after it.
const MAGIC: &[u8; 8] = b"sojnans1";
const HEADER: u64 = 24;
/// The message's number, the recipient's, and a checksum.
const RECORD: usize = 16;
/// What the database has is removed from the file when there is so much of it.
const SPENT: u64 = 1 << 20;

/// The number that ties a file to one opening of a database.
pub(super) type Run = [u8; 16];

/// The answers that a crash must not forget.
///
/// On a full disk it takes the space that is kept for it ([`Reserve`]).
///
/// The file has at most 16 octets for each recipient of the spool and twice 1 MiB.
#[derive(Debug)]
pub struct Answers {
    path: PathBuf,
    /// Nothing is noted where there is none; why.
    file: Result<File, String>,
    run: Run,
    /// What is written next.
    bytes: Vec<u8>,
    /// The file's length, and how much of it the present batch contains.
    end: u64,
    batched: u64,
    reserve: Arc<Reserve>,
}

/// It could not be noted who has a message.
#[derive(Debug)]
pub struct NotNoted {
    path: PathBuf,
    why: String,
}

impl fmt::Display for NotNoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, why) = (self.path.display(), &self.why);
        write!(f, "answers cannot be noted in {path}, a crash repeats them: {why}")
    }
}

impl std::error::Error for NotNoted {}

impl Answers {
    /// Brings what is in the file into the database, which has a new number afterwards, and begins
    /// the file anew. Without a file, or where nothing can be written to the disk, there is nothing
    /// to be brought, and nothing will be noted: [`note`](Self::note) says why.
    ///
    /// # Errors
    ///
    /// The database cannot be written, and there are answers that it has to have first.
    pub(super) fn open(
        spool: &Path,
        database: &Connection,
        reserve: &Arc<Reserve>,
    ) -> rusqlite::Result<Answers> {
        let path = beside(spool);
        let mut file = open(&path);
        // Where root works on a spool, its server has to be able to write on.
        private::give(&path, spool);
        let old = run(database)?;
        let found = match (&mut file, old) {
            (Ok(file), Some(old)) => read(file, old).unwrap_or_default(),
            _ => Vec::new(),
        };
        let (run, file) = match reserve.with(0, || bring(database, &found)) {
            Ok(run) => (run, file),
            Err(error) if found.is_empty() => (Run::default(), Err(io::Error::other(error))),
            Err(error) => return Err(error),
        };
        let file = file.and_then(|file| file.set_len(0).map(|()| file));
        let file = file.map_err(|error| error.to_string());
        let reserve = Arc::clone(reserve);
        Ok(Answers { path, file, run, bytes: Vec::new(), end: 0, batched: 0, reserve })
    }

    /// Hands these recipients to the kernel: they have it. One write, for all of them.
    ///
    /// # Errors
    ///
    /// It could not be written: a crash before the next batch is on stable storage sends
    /// to them again.
    pub fn note(&mut self, tasks: impl IntoIterator<Item = Task>) -> Result<(), NotNoted> {
        self.bytes.clear();
        for task in tasks {
            if self.end == 0 && self.bytes.is_empty() {
                self.bytes.extend_from_slice(MAGIC);
                self.bytes.extend_from_slice(&self.run);
            }
            self.bytes.extend_from_slice(&record(self.run, task));
        }
        if self.bytes.is_empty() {
            return Ok(());
        }
        let file = self.file.as_ref().map_err(|why| self.say(why))?;
        // A part of it that is written is written over by what comes next.
        while let Err(error) = file.write_all_at(&self.bytes, self.end) {
            let is_full = matches!(error.kind(), StorageFull | QuotaExceeded);
            if !is_full || !self.reserve.take(PIECE, 0) {
                return Err(self.say(&error));
            }
        }
        self.end += self.bytes.len() as u64;
        Ok(())
    }

    fn say(&self, why: &dyn std::fmt::Display) -> NotNoted {
        NotNoted { path: self.path.clone(), why: why.to_string() }
    }

    /// All that was noted so far is in the batch that is written now, or was in one before.
    pub fn batched(&mut self) {
        self.batched = self.end;
    }

    /// That batch is on stable storage. Where there is much of it, the file goes on with the rest.
    pub fn saved(&mut self) {
        let rest = self.end - self.batched;
        if self.batched < SPENT.max(HEADER + rest) {
            return;
        }
        // What cannot be moved stays: it is true all the same.
        let _ = self.move_up(rest);
    }

    fn move_up(&mut self, rest: u64) -> io::Result<()> {
        let Ok(file) = &self.file else { return Ok(()) };
        self.bytes.resize(rest as usize, 0);
        file.read_exact_at(&mut self.bytes, self.batched)?;
        file.write_all_at(&self.bytes, HEADER)?;
        file.set_len(HEADER + rest)?;
        (self.end, self.batched) = (HEADER + rest, HEADER);
        Ok(())
    }

    /// All that was noted is on stable storage, and nothing will be any more.
    pub fn remove(self) {
        // The next start finds in it what the database has.
        drop(std::fs::remove_file(&self.path));
    }
}

/// The file of the spool at `path`.
pub(super) fn beside(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-answers", path.display()))
}

/// Whether the file of the spool at `path` is something else.
pub(super) fn is_strange(path: &Path) -> bool {
    let begin = File::open(beside(path)).and_then(|file| {
        let mut begin = Vec::new();
        file.take(HEADER).read_to_end(&mut begin).map(|_| begin)
    });
    begin.is_ok_and(|begin| !begin.is_empty() && !begin.starts_with(MAGIC))
}

/// Has a database that is made of another go on with its answers, where the number of that one is
/// known. Otherwise they are lost, which costs copies.
pub(super) fn carry(run: Option<Run>, to: &Connection) -> rusqlite::Result<()> {
    to.execute_batch(TABLE)?;
    if let Some(run) = run {
        to.execute("INSERT INTO answers VALUES (?)", [run])?;
    }
    Ok(())
}

/// Versions that know nothing of it leave it as it is, with answers that stay true.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS answers (run BLOB NOT NULL) STRICT";
const ENDED: &str = "UPDATE recipient SET state = 'ended'
    WHERE message = ?1 AND number = ?2 AND state IN ('open', 'deferred')";

/// The number that the database has; nothing where it never had one.
fn run(database: &Connection) -> rusqlite::Result<Option<Run>> {
    let known = "SELECT count(*) FROM sqlite_schema WHERE name = 'answers'";
    if database.query_row(known, [], |row| row.get::<_, u32>(0))? == 0 {
        return Ok(None);
    }
    database.query_row("SELECT run FROM answers", [], |row| row.get(0)).optional()
}

/// Ends these recipients, in one transaction with a new number.
fn bring(database: &Connection, found: &[Task]) -> rusqlite::Result<Run> {
    let transaction = database.unchecked_transaction()?;
    transaction.execute_batch(TABLE)?;
    {
        let mut ended = transaction.prepare(ENDED)?;
        for task in found {
            // Numbers of messages fit: they came from the database, as the checksums show.
            ended.execute((task.message.0 as i64, task.recipient.0))?;
        }
    }
    transaction.execute("DELETE FROM answers", [])?;
    let new = "INSERT INTO answers VALUES (randomblob(16)) RETURNING run";
    let run = transaction.query_row(new, [], |row| row.get(0))?;
    transaction.commit()?;
    Ok(run)
}

/// For its owner alone.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// The recipients in a file that belongs to `run`, up to the first record that is none.
fn read(file: &mut File, run: Run) -> io::Result<Vec<Task>> {
    let mut header = [0; HEADER as usize];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut header)?;
    if header[..8] != *MAGIC || header[8..] != run {
        return Ok(Vec::new());
    }
    let mut records = Vec::new();
    file.read_to_end(&mut records)?;
    Ok(records.chunks_exact(RECORD).map_while(|bytes| task(run, bytes)).collect())
}

fn record(run: Run, task: Task) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..8].copy_from_slice(&task.message.0.to_le_bytes());
    record[8..12].copy_from_slice(&task.recipient.0.to_le_bytes());
    let sum = checksum(run, &record[..12]);
    record[12..].copy_from_slice(&sum);
    record
}

/// The recipient of a record that is whole.
fn task(run: Run, record: &[u8]) -> Option<Task> {
    let (what, sum) = record.split_at(12);
    let (message, recipient) = what.split_at(8);
    (sum == checksum(run, what)).then_some(Task {
        message: MessageId(u64::from_le_bytes(message.try_into().ok()?)),
        recipient: RecipientIndex(u32::from_le_bytes(recipient.try_into().ok()?)),
    })
}

fn checksum(run: Run, what: &[u8]) -> [u8; 4] {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&run);
    sum.update(what);
    sum.finalize().to_le_bytes()
}
