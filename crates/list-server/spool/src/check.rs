//! What is wrong with a spool, and what can be done about it.

use crate::error::{Doing, SpoolError};
use crate::salvage::Finding;
use crate::{Reserve, delivered_log, private, salvage, schema};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use sojourn_smtp::Address;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// What was found, and remedied; where pages were damaged, what could not be saved as well.
    pub findings: Vec<Finding>,
    /// The spool as it was before.
    pub copy: PathBuf,
}

/// A kind of fault in the rows of recipients.
struct Fault {
    /// Which rows have it.
    condition: &'static str,
    /// The column that shows it.
    column: &'static str,
    what: &'static str,
    remedy: &'static str,
    /// The statement that remedies these rows.
    mend: &'static str,
}

impl Fault {
    /// Gives a message, a recipient's number and what stands there.
    fn find(&self) -> String {
        let Fault { condition, column, .. } = self;
        format!("SELECT message, number, {column} FROM recipient WHERE {condition}")
    }

    fn mend(&self) -> String {
        format!("{} WHERE {}", self.mend, self.condition)
    }
}

/// In the order in which they are mended: what one leaves, the next may find.
const FAULTS: [Fault; 5] = [
    Fault {
        condition: "message NOT IN (SELECT id FROM message)",
        column: "address",
        what: "belongs to no message",
        remedy: "removed",
        mend: "DELETE FROM recipient",
    },
    Fault {
        condition: "state NOT IN ('open', 'deferred', 'failed', 'ended')",
        column: "state",
        what: "is in no state there is",
        remedy: "tried again",
        mend: "UPDATE recipient SET state = 'open'",
    },
    Fault {
        condition: "state = 'deferred'
            AND (times IS NULL OR first_ms IS NULL OR due_ms IS NULL OR times < 1)",
        column: "state",
        what: "is deferred, and it is not known until when",
        remedy: "tried at once",
        mend: "UPDATE recipient SET state = 'open'",
    },
    Fault {
        condition: "state = 'failed' AND (reason IS NULL OR NOT is_status(status))",
        column: "state",
        what: "failed, and it is not known why",
        remedy: "reported without a reason",
        mend: "UPDATE recipient SET status = '5.0.0', reason = 'the reason was lost'",
    },
    Fault {
        condition: "NOT is_address(address)",
        column: "address",
        what: "is no address",
        remedy: "removed: nothing can be sent there",
        mend: "DELETE FROM recipient",
    },
];

/// What is wrong with the spool at `path`; nothing when it is sound.
///
/// # Errors
///
/// There is no spool; it cannot be read at all.
pub fn check(path: &Path) -> Result<Vec<Finding>, SpoolError> {
    Ok(examine(path)?.0)
}

/// Remedies what is wrong with the spool at `path`, which no process may own meanwhile; a copy of it as
/// it was is kept beside it. Nothing is done, and nothing returned, when it is sound.
///
/// # Errors
///
/// A process has it open; it cannot be read or written. It is left as it was.
pub fn repair(path: &Path) -> Result<Option<Repaired>, SpoolError> {
    let _lock = schema::own(path)?;
    let (mut findings, is_damaged) = examine(path)?;
    if findings.is_empty() {
        return Ok(None);
    }
    let copy = keep(path).map_err(|error| SpoolError::Copy { path: path.to_owned(), error })?;
    if is_damaged {
        findings.extend(salvage::rebuild(path).map_err(|failed| failed.of(path))?);
    }
    // With what was answered, before recipients are numbered anew.
    let (database, ..) = schema::open(path, &Arc::new(Reserve::beside(path)))?;
    private::give(&delivered_log::beside(path), path);
    let failed = |error| SpoolError::sqlite(path, Doing::Write, error);
    if is_damaged {
        functions(&database).map_err(failed)?;
        findings.extend(faults(&database).map_err(failed)?);
    }
    findings.extend(mend(path, &database).map_err(|failed| failed.of(path))?);
    Ok(Some(Repaired { findings, copy }))
}

/// What is wrong, and whether it is the pages.
fn examine(path: &Path) -> Result<(Vec<Finding>, bool), SpoolError> {
    let (mut findings, is_damaged) = examine_database(path)?;
    if delivered_log::is_strange(path) {
        let what =
            format!("{} has something else than answers", delivered_log::beside(path).display());
        findings.push(Finding { what, remedy: "emptied".into() });
    }
    Ok((findings, is_damaged))
}

fn examine_database(path: &Path) -> Result<(Vec<Finding>, bool), SpoolError> {
    schema::not_empty(path)?;
    let found = schema::look(path).and_then(|database| {
        find(&database).map_err(|error| SpoolError::sqlite(path, Doing::Read, error))
    });
    let error = match found {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let is_damage = match &error {
        SpoolError::Damaged { .. } => true,
        SpoolError::NotASpool { .. } => schema::lacks_header(path),
        SpoolError::Storage { error, .. } => error.sqlite_error_code() == Some(ErrorCode::Unknown),
        _ => false,
    };
    if is_damage && salvage::has_rows(path).unwrap_or(false) {
        return Ok((vec![pages(error.to_string())], true));
    }
    Err(error)
}

/// Of each kind; a file that is damaged throughout has no end of them.
const MOST: usize = 100;

fn find(database: &Connection) -> rusqlite::Result<(Vec<Finding>, bool)> {
    functions(database)?;
    let mut findings = damage(database)?;
    if !findings.is_empty() {
        return Ok((findings, true));
    }
    findings = faults(database)?;
    let mut messages = |sql: &str, what: &str, remedy: &'static str| -> rusqlite::Result<()> {
        let mut found = database.prepare(sql)?;
        let mut rows = found.query([])?;
        while let Some(row) = rows.next()? {
            let what = format!("message {}: {what}", row.get::<_, i64>(0)?);
            findings.push(Finding { what, remedy: remedy.into() });
        }
        Ok(())
    };
    messages(BARE, "it has no recipients", "removed; its text is put in a file")?;
    messages(GAPS, "a recipient before others is missing", "numbered anew")?;
    let senders = format!("SELECT id FROM message WHERE {BAD_SENDER} LIMIT {MOST}");
    messages(&senders, "its sender is no address", "failures are not reported")?;
    Ok((findings, false))
}

/// Rows that are not as they should be.
fn faults(database: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for fault in &FAULTS {
        let Fault { what, remedy, .. } = fault;
        let mut found = database.prepare(&fault.find())?;
        let mut rows = found.query([])?;
        while let Some(row) = rows.next()? {
            let (message, number): (i64, i64) = (row.get(0)?, row.get(1)?);
            let given = shown(row.get_ref(2)?);
            let what = format!("message {message}, recipient {number}: {given} {what}");
            findings.push(Finding { what, remedy: (*remedy).into() });
            if findings.len() >= MOST {
                return Ok(findings);
            }
        }
    }
    Ok(findings)
}

fn pages(what: String) -> Finding {
    Finding { what, remedy: "all that can be read is put in a new file".into() }
}

/// What SQLite itself finds wrong with its pages.
fn damage(database: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut check = database.prepare("PRAGMA integrity_check(100)")?;
    let mut findings = Vec::new();
    for line in check.query_map([], |row| row.get::<_, String>(0))? {
        match line {
            Ok(what) if what == "ok" => {}
            Ok(what) => findings.push(pages(what)),
            // It stumbles itself over some of what it looks for.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                findings.push(pages(error.to_string()));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    if findings.is_empty() {
        let mut altered = database.prepare(ALTERED)?;
        for id in altered.query_map([], |row| row.get::<_, i64>(0))? {
            findings.push(pages(format!("message {}: its text is not as it was written", id?)));
        }
    }
    Ok(findings)
}

/// SQLite does not see what changes within a text. One that has no checksum ends with a whole line.
const ALTERED: &str = "SELECT id FROM message
    WHERE iif(checksum IS NULL, substr(text, -1) = x'00', checksum <> checksum_of(text))
    LIMIT 100";

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "nothing".into(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            format!("{:?}", String::from_utf8_lossy(bytes))
        }
    }
}

const BARE: &str =
    "SELECT id FROM message WHERE id NOT IN (SELECT message FROM recipient) LIMIT 100";
const GAPS: &str = "SELECT message FROM recipient GROUP BY message
    HAVING min(number) <> 0 OR max(number) <> count(*) - 1 LIMIT 100";
const BAD_SENDER: &str = "sender IS NOT NULL AND NOT is_address(sender)";

/// Remedies the rows; returns what became of messages without recipients.
fn mend(path: &Path, database: &Connection) -> Result<Vec<Finding>, salvage::Failed> {
    functions(database)?;
    database.execute_batch("BEGIN IMMEDIATE")?;
    for fault in &FAULTS {
        database.execute(&fault.mend(), [])?;
    }
    let bare = salvage::bare(path, database)?;
    database.execute(&format!("UPDATE message SET sender = NULL WHERE {BAD_SENDER}"), [])?;
    database.execute_batch(
        "CREATE TEMP TABLE dense AS SELECT message, number,
            row_number() OVER (PARTITION BY message ORDER BY number) - 1 AS place FROM recipient;
         UPDATE recipient SET number = -1 - number;
         UPDATE recipient SET number = (SELECT place FROM dense
            WHERE dense.message = recipient.message AND dense.number = -1 - recipient.number);
         DROP TABLE dense;
         COMMIT;",
    )?;
    Ok(bare)
}

/// The project's own parsers decide what is an address and a status; and a text's checksum.
fn functions(database: &Connection) -> rusqlite::Result<()> {
    use rusqlite::functions::FunctionFlags;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    database.create_scalar_function("is_address", 1, flags, |context| {
        Ok(context.get_raw(0).as_str().is_ok_and(|text| text.parse::<Address>().is_ok()))
    })?;
    database.create_scalar_function("checksum_of", 1, flags, |context| {
        Ok(context.get_raw(0).as_blob().map_or(0, crc32fast::hash))
    })?;
    database.create_scalar_function("is_status", 1, flags, |context| {
        Ok(context.get_raw(0).as_str().is_ok_and(|text| schema::status(text).is_some()))
    })
}

/// Copies the spool's files as they are; where the copy is.
fn keep(path: &Path) -> std::io::Result<PathBuf> {
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let copy = (1..)
        .map(|turn| beside(&format!("-before-repair-{turn}")))
        .find(|copy| !copy.exists())
        .expect("a number is free");
    private::copy(path, &copy)?;
    for suffix in ["-wal", "-answers"] {
        if beside(suffix).exists() {
            let copy = format!("{}{suffix}", copy.display());
            private::copy(&beside(suffix), Path::new(&copy))?;
        }
    }
    Ok(copy)
}
