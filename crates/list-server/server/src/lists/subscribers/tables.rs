//! The tables of the book, and how those of an older version become them.

use rusqlite::{Connection, named_params};
use sojourn_smtp::Address;
use std::time::Duration;

/// "sojb", which the file begins to be known by.
pub(super) const APPLICATION: i32 = i32::from_be_bytes(*b"sojb");
pub(super) const VERSION: i32 = 3;
/// How long another process may be writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Numbers of subscribers are never given again (`AUTOINCREMENT`): a token is for the one
/// that it was made for, and for no one after.
const TABLES: &str = "
    CREATE TABLE list (
        id INTEGER PRIMARY KEY,
        bounces TEXT NOT NULL UNIQUE,
        checksum INTEGER
    ) STRICT;
    CREATE TABLE subscriber (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        list INTEGER NOT NULL REFERENCES list,
        address TEXT NOT NULL,
        mailed_day INTEGER NOT NULL,
        left_s INTEGER,
        asked_day INTEGER,
        checksum INTEGER,
        UNIQUE (list, address)
    ) STRICT;
    CREATE INDEX leaver ON subscriber (left_s) WHERE left_s IS NOT NULL;
    CREATE TABLE bounce (
        subscriber INTEGER PRIMARY KEY REFERENCES subscriber ON DELETE CASCADE,
        score REAL NOT NULL,
        last_s INTEGER NOT NULL,
        suspended_s INTEGER,
        status TEXT,
        reason TEXT NOT NULL,
        day INTEGER NOT NULL DEFAULT 0,
        returned INTEGER NOT NULL DEFAULT 1,
        taken_day INTEGER,
        probed_s INTEGER,
        provider TEXT NOT NULL DEFAULT '',
        checksum INTEGER
    ) STRICT;
    CREATE TABLE report (at_s INTEGER NOT NULL) STRICT;
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

/// Version 2 had no checksums, and did not know which mailing a bounce was about: that of its day.
const ADDED: &str = "
    ALTER TABLE bounce ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE bounce ADD COLUMN returned INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE bounce ADD COLUMN taken_day INTEGER;
    ALTER TABLE bounce ADD COLUMN probed_s INTEGER;
    ALTER TABLE bounce ADD COLUMN provider TEXT NOT NULL DEFAULT '';
    ALTER TABLE list ADD COLUMN checksum INTEGER;
    ALTER TABLE subscriber ADD COLUMN checksum INTEGER;
    ALTER TABLE bounce ADD COLUMN checksum INTEGER;
    CREATE TABLE report (at_s INTEGER NOT NULL) STRICT;
";

/// Version 2 had addresses in lower case. Of two rows with the same mailbox one goes: the other one
/// has left if either has, and has the higher score.
fn from_2(database: &Connection) -> rusqlite::Result<()> {
    let canonical = |address: &str| {
        let canonical = address.parse::<Address>().ok()?.canonical().to_string();
        (canonical != address).then_some(canonical)
    };
    for (key, table, address) in [("id", "list", "bounces"), ("number", "subscriber", "address")] {
        let mut all = database.prepare(&format!("SELECT {key}, {address} FROM {table}"))?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, i64>(0)?, canonical(&row.get::<_, String>(1)?)))
        };
        let rows = all.query_map([], row)?.collect::<rusqlite::Result<Vec<_>>>()?;
        let update = format!("UPDATE OR IGNORE {table} SET {address} = ?2 WHERE {key} = ?1");
        for (number, canonical) in rows.into_iter().filter_map(|(key, it)| Some((key, it?))) {
            if database.execute(&update, (number, &canonical))? == 0 && table == "subscriber" {
                merge(database, number, &canonical)?;
            }
        }
    }
    database.execute("UPDATE bounce SET day = last_s / 86400", []).map(drop)
}

/// Removes the subscriber `number`, whose mailbox another row of its list names as `address`.
fn merge(database: &Connection, number: i64, address: &str) -> rusqlite::Result<()> {
    let same = "SELECT other.number FROM subscriber AS other JOIN subscriber AS it USING (list)
        WHERE it.number = ? AND other.address = ?";
    let other: i64 = database.query_row(same, (number, address), |row| row.get(0))?;
    for change in [
        "UPDATE subscriber SET left_s = coalesce(subscriber.left_s, it.left_s),
            mailed_day = max(subscriber.mailed_day, it.mailed_day)
            FROM subscriber AS it WHERE it.number = :it AND subscriber.number = :other",
        "UPDATE OR REPLACE bounce SET subscriber = :other WHERE subscriber = :it AND NOT EXISTS (
            SELECT 1 FROM bounce AS kept WHERE kept.subscriber = :other AND
                (kept.suspended_s IS NOT NULL, kept.score)
                    >= (bounce.suspended_s IS NOT NULL, bounce.score))",
    ] {
        database.execute(change, named_params! { ":it": number, ":other": other })?;
    }
    database.execute("DELETE FROM subscriber WHERE number = ?", [number]).map(drop)
}

/// Makes the tables where there are none, or those of an older version, whose rows get their
/// checksums by `sum`.
pub(super) fn prepare(
    database: &Connection,
    sum: impl Fn(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    database.busy_timeout(PATIENCE)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)?;
    // Who is erased is not to be found in free pages.
    database.pragma_update(None, "secure_delete", true)?;
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
            from_2(database)?;
        }
        (APPLICATION, 2) => {
            database.execute_batch(ADDED)?;
            from_2(database)?;
        }
        (APPLICATION, VERSION) => return database.execute_batch("COMMIT"),
        _ => {
            // SQLite's own word for a file of another kind.
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
            return Err(rusqlite::Error::SqliteFailure(code, None));
        }
    }
    sum(database)?;
    database.pragma_update(None, "application_id", APPLICATION)?;
    database.pragma_update(None, "user_version", VERSION)?;
    database.execute_batch("COMMIT")
}
