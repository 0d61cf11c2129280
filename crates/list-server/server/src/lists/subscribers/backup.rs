//! The register's backup: a second file with the same rows. Each row has a checksum.
//!
//! Each connection has triggers that write to both files. SQLite commits the register first, so a
//! crash may leave a backup without the last transaction, whose answer was not given.

use super::tables::{APPLICATION, VERSION};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use sojourn_mail_spool::private;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The tables that are kept in the backup, and of each a column that is null as long as the row bars
/// no mail. Each has an integer as its key, and a column `checksum`; the other columns are read from
/// the database.
const KEPT: [(&str, &str); 3] =
    [("list", "bounces"), ("subscriber", "left_s"), ("bounce", "suspended_s")];

const GUARD: &str = "
    CREATE TEMP TRIGGER KEPT_before BEFORE UPDATE OF COLUMNS ON main.KEPT
        WHEN OLD.checksum IS NOT OLD_SUM
        BEGIN SELECT RAISE(ABORT, 'a row of KEPT is damaged'); END;
    CREATE TEMP TRIGGER KEPT_delete AFTER DELETE ON main.KEPT
        BEGIN DELETE FROM KEPT_copy WHERE rowid = OLD.rowid; END;";
/// No `INSERT OR REPLACE`: an upsert that fires the trigger would have its own rule for conflicts.
const WRITE: &str = "BEGIN
        UPDATE KEPT SET checksum = NEW_SUM WHERE rowid = NEW.rowid;
        DELETE FROM KEPT_copy WHERE rowid = NEW.rowid;
        INSERT INTO KEPT_copy (rowid, COLUMNS, checksum)
            VALUES (NEW.rowid, NEW_COLUMNS, NEW_SUM);
    END;";
const SUM: &str = "UPDATE main.KEPT SET checksum = ROW_SUM WHERE checksum IS NOT ROW_SUM";
const ALTERED: &str = "SELECT rowid FROM KEPT WHERE checksum IS NOT ROW_SUM LIMIT 10";
const DIFFERENCE: &str = "SELECT count(*) FROM
    (SELECT count(*), sum(checksum) FROM main.KEPT
        EXCEPT SELECT count(*), sum(checksum) FROM backup.KEPT_copy)";
/// Rows that the backup alone has come back, and who is barred in one of the two is barred.
const MERGE: &str = "
    INSERT OR IGNORE INTO main.KEPT (COLUMNS)
        SELECT COLUMNS FROM backup.KEPT_copy WHERE checksum IS ROW_SUM ORDER BY rowid;
    UPDATE main.KEPT SET BARS = (SELECT BARS FROM backup.KEPT_copy AS copy
            WHERE copy.rowid = KEPT.rowid AND checksum IS ROW_SUM)
        WHERE BARS IS NULL;";
const RENEW: &str = "
    DROP TABLE IF EXISTS backup.KEPT_copy;
    CREATE TABLE backup.KEPT_copy AS SELECT COLUMNS, checksum FROM main.KEPT LIMIT 0;
    INSERT INTO backup.KEPT_copy (rowid, COLUMNS, checksum)
        SELECT rowid, COLUMNS, checksum FROM main.KEPT;";

/// Where the backup of the file at `path` is.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-backup");
    name.into()
}

/// Gives each row its checksum, which is right for what the row has now.
pub(super) fn sum(database: &Connection) -> rusqlite::Result<()> {
    all(database, SUM)
}

/// Attaches the backup of the register at `path`, makes it anew where it is missing, and has each
/// write of this connection go to both.
pub(super) fn keep(database: &Connection, path: &Path) -> rusqlite::Result<()> {
    drop(private::make(&beside(path)));
    private::give(&beside(path), path);
    database.execute("ATTACH ? AS backup", [beside(path).as_os_str().as_bytes()])?;
    database.pragma_update(Some("backup"), "journal_mode", "WAL")?;
    database.pragma_update(Some("backup"), "synchronous", "FULL")?;
    database.execute_batch("BEGIN IMMEDIATE")?;
    let version: i32 =
        database.pragma_query_value(Some("backup"), "user_version", |row| row.get(0))?;
    if version != VERSION || is_different(database)? {
        if version == VERSION {
            // Damage must not get into the backup.
            if let Some(what) = altered(database, "")?.pop() {
                return Err(damaged(&what));
            }
            all(database, MERGE)?;
            sum(database)?;
        }
        all(database, RENEW)?;
        database.pragma_update(Some("backup"), "application_id", APPLICATION)?;
        database.pragma_update(Some("backup"), "user_version", VERSION)?;
    }
    database.execute_batch("COMMIT")?;
    all(database, GUARD)?;
    all(database, &format!("CREATE TEMP TRIGGER KEPT_insert AFTER INSERT ON main.KEPT {WRITE}"))?;
    let update = "CREATE TEMP TRIGGER KEPT_update AFTER UPDATE OF COLUMNS ON main.KEPT";
    all(database, &format!("{update} {WRITE}"))
}

/// Whether the rows of the register and its backup are different ones.
fn is_different(database: &Connection) -> rusqlite::Result<bool> {
    KEPT.into_iter().try_fold(false, |before, kept| {
        let difference = fill(database, DIFFERENCE, kept, "")?;
        Ok(before | database.query_row(&difference, [], |row| row.get::<_, bool>(0))?)
    })
}

/// What is wrong with the file at `path`, the register or, with the `suffix` of its tables, its backup.
pub(crate) fn problems(path: &Path, suffix: &str) -> Vec<String> {
    match path.metadata() {
        Err(error) => vec![error.to_string()],
        Ok(of) if of.len() == 0 => vec!["it is empty".into()],
        Ok(_) => examine(path, suffix).unwrap_or_else(|error| vec![error.to_string()]),
    }
}

fn examine(path: &Path, suffix: &str) -> rusqlite::Result<Vec<String>> {
    let database = sojourn_mail_spool::read(path)?;
    function(&database)?;
    let mut check = database.prepare("PRAGMA integrity_check(10)")?;
    let lines = check.query_map([], |row| row.get(0))?;
    let mut found = lines.collect::<rusqlite::Result<Vec<String>>>()?;
    found.retain(|line| line != "ok");
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    // Older versions have no checksums.
    let is_summed = database.column_exists(None, format!("list{suffix}").as_str(), "checksum")?;
    if pragma("application_id")? != APPLICATION || is_summed != (pragma("user_version")? == VERSION)
    {
        found.push("it is of another kind or version".into());
    } else if is_summed {
        found.extend(altered(&database, suffix)?);
    }
    Ok(found)
}

/// Rows that are not as they were written.
fn altered(database: &Connection, suffix: &str) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    for kept in KEPT {
        let altered = fill(database, ALTERED, kept, suffix)?;
        let mut altered = database.prepare(&altered)?;
        for row in altered.query_map([], |row| row.get::<_, i64>(0))? {
            found.push(format!("row {} of {} is not as it was written", row?, kept.0));
        }
    }
    Ok(found)
}

fn all(database: &Connection, template: &str) -> rusqlite::Result<()> {
    let mut each = KEPT.into_iter();
    each.try_for_each(|kept| database.execute_batch(&fill(database, template, kept, "")?))
}

/// The statements of a template for one table.
fn fill(
    database: &Connection,
    template: &str,
    (table, bars): (&str, &str),
    suffix: &str,
) -> rusqlite::Result<String> {
    let names = "SELECT name FROM pragma_table_info(?) WHERE name <> 'checksum'";
    let mut names = database.prepare(names)?;
    let names = names.query_map([format!("{table}{suffix}")], |row| row.get::<_, String>(0))?;
    let names: Vec<_> = names.collect::<Result<_, _>>()?;
    let columns = |before: &str, after: &str| {
        names.iter().map(|it| format!("{before}{it}{after}")).collect::<Vec<_>>().join(", ")
    };
    // What columns are called is part of what a row says.
    let sum = |of: &str| {
        let values = columns(&format!("quote({of}"), ")");
        format!("crc32(concat_ws(' ', '{table}: {}', {values}))", columns("", ""))
    };
    let filled = template.replace("ROW_SUM", &sum("")).replace("NEW_SUM", &sum("NEW."));
    let filled = filled.replace("OLD_SUM", &sum("OLD."));
    let filled = filled.replace("NEW_COLUMNS", &columns("NEW.", ""));
    let filled = filled.replace("COLUMNS", &columns("", "")).replace("BARS", bars);
    Ok(filled.replace("FROM KEPT", &format!("FROM {table}{suffix}")).replace("KEPT", table))
}

/// The function that makes checksums.
pub(super) fn function(database: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    database.create_scalar_function("crc32", 1, flags, |context| {
        Ok(crc32fast::hash(context.get_raw(0).as_bytes()?))
    })
}

/// SQLite's own code for a file that is not as it should be, and what it is.
pub(super) fn damaged(what: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(what.to_owned()))
}
