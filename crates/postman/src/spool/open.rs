//! A spool's file: whose it is, and what is in it at first.

use super::error::{Doing, SpoolError};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

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

/// How long to wait for somebody who looks at the spool.
const LOOKERS: Duration = Duration::from_secs(5);

/// Becomes the owner of the spool at `path`, until what is returned is closed.
pub(super) fn own(path: &Path) -> Result<File, SpoolError> {
    let beside = PathBuf::from(format!("{}-lock", path.display()));
    let failed = |error| SpoolError::Lock { path: beside.clone(), error };
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(&beside).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(SpoolError::InUse { path: path.to_owned() }),
        Err(error) => Err(failed(error.into())),
    }
}

/// Opens the database at `path`, makes the tables where there are none; with the number of the next
/// message.
pub(super) fn open(path: &Path) -> Result<(Connection, u64), SpoolError> {
    let failed = |error| SpoolError::sqlite(path, Doing::Open, error);
    let database = Connection::open(path).map_err(failed)?;
    let next = prepare(&database).map_err(failed)?;
    let next = next.ok_or_else(|| SpoolError::NotASpool { path: path.to_owned() })?;
    Ok((database, next))
}

/// Whether the database is a spool; nothing when it has no tables at all.
fn is_spool(database: &Connection) -> rusqlite::Result<Option<bool>> {
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables =
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u32>(0))?;
    let new = tables == 0 && application == 0 && version == 0;
    Ok((!new).then_some((application, version) == (APPLICATION, VERSION)))
}

fn prepare(database: &Connection) -> rusqlite::Result<Option<u64>> {
    database.busy_timeout(LOOKERS)?;
    let new = match is_spool(database)? {
        None => true,
        Some(true) => false,
        Some(false) => return Ok(None),
    };
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)?;
    if new {
        make(database)?;
    }
    let last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'message'";
    database.query_row(last, [], |row| row.get::<_, i64>(0)).map(|last| Some(last as u64 + 1))
}

/// Makes the tables.
pub(super) fn make(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch("BEGIN IMMEDIATE")?;
    database.execute_batch(TABLES)?;
    database.pragma_update(None, "application_id", APPLICATION)?;
    database.pragma_update(None, "user_version", VERSION)?;
    database.execute_batch("COMMIT")
}

/// Opens the spool at `path` to look at it only.
pub(super) fn look(path: &Path) -> Result<Connection, SpoolError> {
    let failed = |error| SpoolError::sqlite(path, Doing::Open, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(failed)?;
    database.busy_timeout(LOOKERS).map_err(failed)?;
    database.pragma_update(None, "query_only", true).map_err(failed)?;
    match is_spool(&database).map_err(failed)? {
        Some(true) => Ok(database),
        _ => Err(SpoolError::NotASpool { path: path.to_owned() }),
    }
}
