//! The tables of the book, and how those of an older version become them.

use rusqlite::Connection;
use std::time::Duration;

/// "sojb", which the file begins to be known by.
const APPLICATION: i32 = i32::from_be_bytes(*b"sojb");
const VERSION: i32 = 2;
/// How long another process may be writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Numbers of subscribers are never given again (`AUTOINCREMENT`): a token is for the one
/// that it was made for, and for no one after.
const TABLES: &str = "
    CREATE TABLE list (
        id INTEGER PRIMARY KEY,
        bounces TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE subscriber (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        list INTEGER NOT NULL REFERENCES list,
        address TEXT NOT NULL,
        mailed_day INTEGER NOT NULL,
        left_s INTEGER,
        asked_day INTEGER,
        UNIQUE (list, address)
    ) STRICT;
    CREATE INDEX leaver ON subscriber (left_s) WHERE left_s IS NOT NULL;
    CREATE TABLE bounce (
        subscriber INTEGER PRIMARY KEY REFERENCES subscriber ON DELETE CASCADE,
        score REAL NOT NULL,
        last_s INTEGER NOT NULL,
        suspended_s INTEGER,
        status TEXT,
        reason TEXT NOT NULL
    ) STRICT;
    CREATE TABLE unverified (
        list INTEGER NOT NULL REFERENCES list,
        day INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('no token', 'wrong', 'expired')),
        number INTEGER NOT NULL,
        PRIMARY KEY (list, day, kind)
    ) STRICT, WITHOUT ROWID;
";

/// Version 1 had one table, of those whose mail came back. They keep their standing; each counts as
/// mailed on the day of the last bounce.
const FROM_1: &str = "
    INSERT INTO list (bounces) SELECT DISTINCT list FROM member;
    INSERT INTO subscriber (list, address, mailed_day)
        SELECT list.id, member.subscriber, max(0, member.last_s / 86400)
        FROM member JOIN list ON list.bounces = member.list;
    INSERT INTO bounce (subscriber, score, last_s, suspended_s, status, reason)
        SELECT subscriber.number, score, last_s, suspended_s, status, reason
        FROM member JOIN list ON list.bounces = member.list
            JOIN subscriber ON subscriber.list = list.id
                AND subscriber.address = member.subscriber;
    DROP TABLE member;
";

/// Makes the tables where there are none, or those of version 1.
pub(super) fn prepare(database: &Connection) -> rusqlite::Result<()> {
    database.busy_timeout(PATIENCE)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)?;
    database.execute_batch("BEGIN IMMEDIATE")?;
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let known = (pragma("application_id")?, pragma("user_version")?);
    let tables =
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u32>(0))?;
    match known {
        (0, 0) if tables == 0 => database.execute_batch(TABLES)?,
        (APPLICATION, 1) => {
            database.execute_batch(TABLES)?;
            database.execute_batch(FROM_1)?;
        }
        (APPLICATION, VERSION) => return database.execute_batch("COMMIT"),
        _ => {
            // SQLite's own word for a file of another kind.
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
            return Err(rusqlite::Error::SqliteFailure(code, None));
        }
    }
    database.pragma_update(None, "application_id", APPLICATION)?;
    database.pragma_update(None, "user_version", VERSION)?;
    database.execute_batch("COMMIT")
}
