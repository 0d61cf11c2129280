//! A spool's file: whose it is, and what is in it at first.

use crate::delivered_log::Answers;
use crate::epoch::Epoch;
use crate::error::{Doing, SpoolError};
use crate::private;
use crate::reserve::Reserve;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};
use rustix::fs::{FlockOperation, flock};
use sojourn_mail_engine::{
    Deferral, MessageId, Progress, Reason, RecipientIndex, Stored, Submission,
};
use sojourn_smtp::{Address, Enhanced};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// "sojn", which the file begins to be known by.
const APPLICATION: i32 = i32::from_be_bytes(*b"sojn");
/// Of the tables below.
const VERSION: i32 = 4;

const TABLES: &str = "
    CREATE TABLE message (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        sender TEXT,
        eight_bit INTEGER NOT NULL,
        utf8 INTEGER NOT NULL,
        accepted_ms INTEGER NOT NULL,
        text BLOB NOT NULL,
        checksum INTEGER
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
        tried_ms INTEGER,
        host TEXT,
        subscriber INTEGER,
        held INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (message, number)
    ) STRICT, WITHOUT ROWID;
";

/// What the tables of each version lack that the next one has.
const SINCE: [&str; VERSION as usize - 1] = [
    // When a recipient who is deferred was last tried, and where.
    "ALTER TABLE recipient ADD COLUMN tried_ms INTEGER;
    ALTER TABLE recipient ADD COLUMN host TEXT;",
    // A recipient's number in its list's register, and whether an operator holds it.
    "ALTER TABLE recipient ADD COLUMN subscriber INTEGER;
    ALTER TABLE recipient ADD COLUMN held INTEGER NOT NULL DEFAULT 0;",
    // The checksum of a text. To give older texts one would write all of them again.
    "ALTER TABLE message ADD COLUMN checksum INTEGER;",
];
/// Each older version for a process that may only look.
const SEEN: [&str; SINCE.len()] = [
    "CREATE TEMP VIEW message AS SELECT *, NULL AS checksum FROM main.message;
    CREATE TEMP VIEW recipient AS
        SELECT *, NULL AS tried_ms, NULL AS host, 0 AS held FROM main.recipient;",
    "CREATE TEMP VIEW message AS SELECT *, NULL AS checksum FROM main.message;
    CREATE TEMP VIEW recipient AS SELECT *, 0 AS held FROM main.recipient;",
    "CREATE TEMP VIEW message AS SELECT *, NULL AS checksum FROM main.message;",
];

/// Octets of the write-ahead log that are kept for its next use.
const LOG_MAX: u64 = 8 << 20;

/// How long to wait for another process that looks at the spool.
const LOOKERS: Duration = Duration::from_secs(5);

/// Becomes the owner of the spool at `path`, until what is returned is closed.
///
/// # Errors
///
/// Another process is its owner.
pub fn own(path: &Path) -> Result<File, SpoolError> {
    let beside = PathBuf::from(format!("{}-lock", path.display()));
    let failed = |error| SpoolError::Lock { path: beside.clone(), error };
    let file = private::append(&beside).map_err(failed)?;
    private::give(&beside, path);
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(SpoolError::InUse { path: path.to_owned() }),
        Err(error) => Err(failed(error.into())),
    }
}

/// Opens the database at `path`, makes the tables where there are none, and has it take what was
/// answered; with the number of the next message, and where answers are noted.
pub(super) fn open(
    path: &Path,
    reserve: &Arc<Reserve>,
) -> Result<(Connection, u64, Answers), SpoolError> {
    if path.exists() {
        not_empty(path)?;
        whole(path)?;
    } else {
        begin(path)?;
    }
    let failed = |error| SpoolError::sqlite(path, Doing::Open, error);
    let opened = reserve.with(0, || {
        let database = Connection::open(path)?;
        prepare(&database).map(|next| (database, next))
    });
    let (database, next) = opened.map_err(failed)?;
    let next = next.ok_or_else(|| SpoolError::NotASpool { path: path.to_owned() })?;
    let answers = Answers::open(path, &database, reserve);
    let answers = answers.map_err(|error| SpoolError::sqlite(path, Doing::Write, error))?;
    Ok((database, next, answers))
}

/// Makes an empty spool, under another name first: none that is cut short passes for a spool.
fn begin(path: &Path) -> Result<(), SpoolError> {
    let files = |error| SpoolError::Files { path: path.to_owned(), error };
    let new = PathBuf::from(format!("{}-new", path.display()));
    drop(std::fs::remove_file(&new));
    drop(std::fs::remove_file(format!("{}-journal", new.display())));
    private::create(&new).map_err(files)?;
    let made = Connection::open(&new).and_then(|database| make(&database));
    made.map_err(|error| SpoolError::sqlite(path, Doing::Open, error))?;
    private::put(&new, path).map_err(files)
}

/// Refuses a file of zero length, which SQLite takes for a new database.
pub(super) fn not_empty(path: &Path) -> Result<(), SpoolError> {
    match path.metadata() {
        Ok(of) if of.is_file() && of.len() == 0 => Err(SpoolError::Empty { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Refuses a file that does not end with a page. What a crash cut off while pages were copied from
/// the write-ahead log is still there.
fn whole(path: &Path) -> Result<(), SpoolError> {
    let files = |error| SpoolError::Files { path: path.to_owned(), error };
    let size = path.metadata().map_err(files)?.len();
    let log = Path::new(&format!("{}-wal", path.display())).metadata();
    if log.is_ok_and(|log| log.len() > 0) {
        return Ok(());
    }
    let mut header = [0; 18];
    let read = File::open(path).and_then(|mut file| file.read(&mut header)).map_err(files)?;
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65536,
        page => page,
    };
    let begins = read == header.len() && header.starts_with(HEADER);
    // What is no database at all is reported as such later.
    if begins && page >= 512 && !size.is_multiple_of(page) {
        let what = format!("it ends within a page: {size} octets are no multiple of {page}");
        return Err(SpoolError::Damaged { path: path.to_owned(), what });
    }
    Ok(())
}

/// What an SQLite database begins with.
const HEADER: &[u8] = b"SQLite format 3\0";

/// Whether the file does not begin as an SQLite database does.
pub(super) fn lacks_header(path: &Path) -> bool {
    let mut begin = [0; HEADER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_err() || begin != HEADER
}

/// What a database is.
#[derive(Clone, Copy)]
enum Kind {
    /// It has no tables at all.
    Empty,
    /// A spool of a version up to this one's.
    Spool(i32),
    Other,
}

fn kind(database: &Connection) -> rusqlite::Result<Kind> {
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables =
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u32>(0))?;
    Ok(match (application, version) {
        (0, 0) if tables == 0 => Kind::Empty,
        (APPLICATION, 1..=VERSION) => Kind::Spool(version),
        _ => Kind::Other,
    })
}

fn prepare(database: &Connection) -> rusqlite::Result<Option<u64>> {
    database.busy_timeout(LOOKERS)?;
    let kind = kind(database)?;
    if let Kind::Other = kind {
        return Ok(None);
    }
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)?;
    // Space that a large message needed in the log goes back.
    database.pragma_update(None, "journal_size_limit", LOG_MAX)?;
    // A deletion must not need space elsewhere.
    database.pragma_update(None, "temp_store", "MEMORY")?;
    match kind {
        Kind::Empty => make(database)?,
        Kind::Spool(version) if version < VERSION => {
            change(database, &SINCE[version as usize - 1..].concat())?;
        }
        _ => {}
    }
    let last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'message'";
    database.query_row(last, [], |row| row.get::<_, i64>(0)).map(|last| Some(last as u64 + 1))
}

/// Makes the tables.
pub(super) fn make(database: &Connection) -> rusqlite::Result<()> {
    change(database, TABLES)
}

/// Makes the database a spool of this version, or leaves it as it is.
fn change(database: &Connection, tables: &str) -> rusqlite::Result<()> {
    database.execute_batch("BEGIN IMMEDIATE")?;
    database.execute_batch(tables)?;
    database.pragma_update(None, "application_id", APPLICATION)?;
    database.pragma_update(None, "user_version", VERSION)?;
    database.execute_batch("COMMIT")
}

/// Opens a database with a write-ahead log to look at it only; one on a disk that cannot be written
/// too, unless its log has something that the database lacks and no process has it open.
///
/// # Errors
///
/// It cannot be opened.
pub fn read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    // The last to close it copies the write-ahead log into it: a look changes nothing.
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    database.busy_timeout(LOOKERS)?;
    let has_log = PathBuf::from(format!("{}-wal", path.display()));
    let has_log = has_log.metadata().is_ok_and(|log| log.len() > 0);
    match database.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())) {
        Err(error)
            if !has_log
                && matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
                ) =>
        {
            // Where no file can be made beside it, no process writes it.
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let escaped = path.display().to_string();
            let escaped = escaped.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            Connection::open_with_flags(
                format!("file:{escaped}?immutable=1"),
                flags | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            )
        }
        // What is wrong with it, its reader finds.
        _ => Ok(database),
    }
}

/// Opens the spool at `path` to look at it only.
pub(super) fn look(path: &Path) -> Result<Connection, SpoolError> {
    let failed = |error| SpoolError::sqlite(path, Doing::Open, error);
    not_empty(path)?;
    whole(path)?;
    let database = read(path).map_err(failed)?;
    match kind(&database).map_err(failed)? {
        Kind::Spool(VERSION) => {}
        Kind::Spool(version) => {
            database.execute_batch(SEEN[version as usize - 1]).map_err(failed)?;
        }
        _ => return Err(SpoolError::NotASpool { path: path.to_owned() }),
    }
    database.pragma_update(None, "query_only", true).map_err(failed)?;
    Ok(database)
}

/// Why a row is none that a spool writes, or could not be read.
enum Bad {
    Sqlite(rusqlite::Error),
    What(String),
}

impl From<rusqlite::Error> for Bad {
    fn from(error: rusqlite::Error) -> Bad {
        Bad::Sqlite(error)
    }
}

pub(super) fn load(
    database: &Connection,
    path: &Path,
    epoch: Epoch,
) -> Result<Vec<Stored>, SpoolError> {
    load_all(database, epoch).map_err(|bad| match bad {
        Bad::Sqlite(error) => SpoolError::sqlite(path, Doing::Read, error),
        Bad::What(what) => SpoolError::Damaged { path: path.to_owned(), what },
    })
}

fn load_all(database: &Connection, epoch: Epoch) -> Result<Vec<Stored>, Bad> {
    let messages = "SELECT id, sender, eight_bit, utf8, accepted_ms, length(text)
        FROM message ORDER BY id";
    let mut messages = database.prepare(messages)?;
    let mut recipients = database.prepare(
        "SELECT number, address, state, times, first_ms, due_ms, status, reason,
                subscriber, held
            FROM recipient WHERE message = ? ORDER BY number",
    )?;
    let (mut rows, mut stored) = (messages.query([])?, Vec::new());
    while let Some(row) = rows.next()? {
        let mut message = message(row, epoch)?;
        let id = message.submission.id.0;
        let mut rows = recipients.query([id as i64])?;
        while let Some(row) = rows.next()? {
            let number: usize = row.get::<_, u32>(0)? as usize;
            let place = || format!("message {id}, recipient {number}");
            if number != message.progress.len() {
                return Err(Bad::What(format!("{}: one before it is missing", place())));
            }
            message.submission.recipients.push(address(&row.get::<_, String>(1)?, place)?);
            // A number that is damaged is none: the recipient gets the plain return path.
            let subscriber =
                row.get::<_, Option<i64>>(8)?.map_or(0, |it| it.try_into().unwrap_or(0));
            message.submission.subscribers.push(subscriber);
            if row.get(9)? {
                message.held.push(RecipientIndex(number as u32));
            }
            message.progress.push(progress(row, epoch, place)?);
        }
        if message.progress.is_empty() {
            return Err(Bad::What(format!("message {id} has no recipients")));
        }
        if message.submission.subscribers.iter().all(|&subscriber| subscriber == 0) {
            message.submission.subscribers = Vec::new();
        }
        stored.push(message);
    }
    Ok(stored)
}

/// The message of a row, without its recipients.
fn message(row: &Row<'_>, epoch: Epoch) -> Result<Stored, Bad> {
    let id = row.get::<_, i64>(0)? as u64;
    let sender: Option<String> = row.get(1)?;
    let place = || format!("message {id}, sender");
    let accepted = epoch.time(row.get(4)?);
    let submission = Submission {
        id: MessageId(id),
        sender: sender.map(|sender| address(&sender, place)).transpose()?,
        size: row.get::<_, i64>(5)? as u64,
        eight_bit: row.get(2)?,
        utf8: row.get(3)?,
        recipients: Vec::new(),
        subscribers: Vec::new(),
        day: epoch.day(accepted),
    };
    Ok(Stored { submission, accepted, progress: Vec::new(), held: Vec::new() })
}

fn address(text: &str, place: impl Fn() -> String) -> Result<Address, Bad> {
    text.parse().map_err(|why| Bad::What(format!("{}: {text:?}: {why}", place())))
}

fn progress(row: &Row<'_>, epoch: Epoch, place: impl Fn() -> String) -> Result<Progress, Bad> {
    Ok(match row.get::<_, String>(2)?.as_str() {
        "open" => Progress::Open,
        "deferred" => Progress::Deferred(Deferral {
            times: row.get(3)?,
            first: epoch.time(row.get(4)?),
            due: epoch.time(row.get(5)?),
        }),
        "failed" => {
            let text: String = row.get(6)?;
            let status = status(&text)
                .ok_or_else(|| Bad::What(format!("{}: {text:?} is no status", place())))?;
            Progress::Failed(Reason { status, text: row.get(7)? })
        }
        "ended" => Progress::Ended,
        other => return Err(Bad::What(format!("{}: {other:?} is no state", place()))),
    })
}

pub(super) fn status(text: &str) -> Option<Enhanced> {
    let mut parts = text.split('.').map(str::parse::<u16>);
    let (class, subject, detail) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let class = u8::try_from(class).ok()?;
    parts.next().is_none().then_some(Enhanced(class, subject, detail))
}
