//! What could not be saved: it is named, and texts that can be read but not sent are kept.

use super::cells::{self, Field, Row, Value};
use super::pages::Pages;
use super::{Failed, Finding, Hole, Holes, Torn};
use crate::private;
use rusqlite::{Connection, MAIN_DB};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What is known of what was lost.
pub(super) struct Lost {
    pub(super) holes: Holes,
    pub(super) torn: BTreeMap<i64, Torn>,
    pub(super) unknown: BTreeSet<(i64, i64)>,
}

/// Hands on the text of a message's row, part by part; whether that is all of it.
pub(super) fn text<E: From<io::Error>>(
    pages: &Pages,
    row: &Row<'_>,
    text: Field,
    each: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<bool, E> {
    let (mut at, end) = (0, text.start + text.size);
    pages.follow(row, |part| {
        let len = part.len() as u64;
        let within = |place: u64| usize::try_from(place.clamp(at, at + len) - at).unwrap_or(0);
        let here = within(text.start)..within(end);
        at += len;
        each(&part[here])
    })
}

/// A number that is behind the text in a message's row.
pub(super) fn number(pages: &Pages, row: &Row<'_>, field: Field) -> io::Result<Option<i64>> {
    let mut bytes = Vec::new();
    if field.size <= 8 {
        text::<io::Error>(pages, row, field, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
    }
    Ok(match cells::value(Field { start: 0, ..field }, &bytes) {
        Some(Value::Integer(number)) => Some(number),
        _ => None,
    })
}

/// Names what is lost, and takes out of the new spool what cannot be sent.
pub(super) fn told(
    path: &Path,
    pages: &Pages,
    to: &Connection,
    lost: &Lost,
) -> Result<Vec<Finding>, Failed> {
    let mut findings = Vec::new();
    let mut finding = |what: String, remedy: String| {
        findings.push(Finding { what, remedy: remedy.into() });
    };
    for (id, torn) in &lost.torn {
        let known = to.prepare_cached("SELECT 1 FROM message WHERE id = ?")?.exists([id])?;
        if !known && waits(to, *id)? != Some(0) {
            let row =
                Row { id: *id, local: &torn.local, total: torn.total, overflow: torn.overflow };
            let (at, mut file) = beside(path, *id)?;
            text::<Failed>(pages, &row, torn.text, &mut |part| Ok(file.write_all(part)?))?;
            file.sync_all()?;
            let (size, whom) = (torn.text.size, whom(to, *id)?);
            let what = format!(
                "message {id}: of its text of {size} octets a part is lost or altered; {whom}"
            );
            finding(what, format!("not sent; what can be read of it is in {}", at.display()));
        }
    }
    let mut without = to.prepare(
        "SELECT message FROM recipient WHERE message NOT IN (SELECT id FROM message)
            GROUP BY message HAVING total(state <> 'ended') > 0",
    )?;
    for id in without.query_map([], |row| row.get::<_, i64>(0))? {
        let id = id?;
        if !lost.torn.contains_key(&id) {
            finding(format!("message {id}: its text is lost; {}", whom(to, id)?), "removed".into());
        }
    }
    to.execute("DELETE FROM recipient WHERE message NOT IN (SELECT id FROM message)", [])?;
    findings.extend(bare(path, to)?);
    findings.extend(gaps(to)?);
    for Hole { after, before } in &lost.holes.recipients {
        let (first, last) = (after.map_or(0, |it| it.0), before.map_or(i64::MAX, |it| it.0));
        let ids = "SELECT min(id), max(id) FROM message WHERE id >= ? AND id < ?";
        let found: (Option<i64>, Option<i64>) =
            to.query_row(ids, [first, last], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if let (Some(first), Some(last)) = found {
            let which =
                if first == last { format!("{first}") } else { format!("{first} to {last}") };
            let what =
                format!("message {which}: recipients after the last that was found may be lost");
            findings.push(Finding { what, remedy: "those that were found are kept".into() });
        }
    }
    for Hole { after, before } in &lost.holes.messages {
        if before.is_none_or(|before| before - after.unwrap_or(0) > 1) {
            let before = before.map_or("the end".into(), |it| it.to_string());
            let what = format!(
                "messages after {} and before {before}: pages cannot be read; one whose recipients \
                 are lost too is not known",
                after.unwrap_or(0)
            );
            findings.push(Finding { what, remedy: "those that were found are kept".into() });
        }
    }
    for (id, number) in &lost.unknown {
        let what = format!("message {id}, recipient {number}: the state is lost");
        let remedy = "tried again, which may send a second copy".into();
        findings.push(Finding { what, remedy });
    }
    Ok(findings)
}

/// How many of a message's recipients are not at their end; nothing where none is known.
fn waits(to: &Connection, id: i64) -> rusqlite::Result<Option<i64>> {
    let count = "SELECT CAST(total(state <> 'ended') AS INTEGER), count(*) FROM recipient
        WHERE message = ?";
    to.query_row(
        count,
        [id],
        |row| Ok((row.get::<_, i64>(1)? > 0).then_some(row.get::<_, i64>(0)?)),
    )
}

fn whom(to: &Connection, id: i64) -> rusqlite::Result<String> {
    Ok(match waits(to, id)? {
        None => "no recipient is known".into(),
        Some(count) => format!("{count} known recipients were waiting for it"),
    })
}

/// Removes messages without recipients, and puts their texts in files.
pub(crate) fn bare(path: &Path, to: &Connection) -> Result<Vec<Finding>, Failed> {
    let select = "SELECT id FROM message WHERE id NOT IN (SELECT message FROM recipient)";
    let ids: Vec<i64> =
        to.prepare(select)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut findings = Vec::new();
    for id in ids {
        let (at, mut file) = beside(path, id)?;
        let mut blob = to.blob_open(MAIN_DB, c"message", c"text", id, true)?;
        io::copy(&mut blob, &mut file)?;
        file.sync_all()?;
        drop(blob);
        to.execute("DELETE FROM message WHERE id = ?", [id])?;
        let what = format!("message {id}: all its recipients are lost");
        let remedy = format!("not sent; its text is in {}", at.display()).into();
        findings.push(Finding { what, remedy });
    }
    Ok(findings)
}

/// Names the recipients that are missing before others.
fn gaps(to: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut numbers =
        to.prepare("SELECT message, number FROM recipient ORDER BY message, number")?;
    let mut rows = numbers.query([])?;
    let (mut findings, mut next) = (Vec::new(), (0, 0));
    while let Some(row) = rows.next()? {
        let (id, number): (i64, i64) = (row.get(0)?, row.get(1)?);
        let expected = if next.0 == id { next.1 } else { 0 };
        if number > expected {
            let which = match number - expected {
                1 => format!("recipient {expected} is"),
                _ => format!("recipients {expected} to {} are", number - 1),
            };
            let what = format!("message {id}: {which} lost");
            findings.push(Finding { what, remedy: "not reached; the others are kept".into() });
        }
        next = (id, number + 1);
    }
    Ok(findings)
}

/// Makes a file for the text of a message.
fn beside(path: &Path, id: i64) -> io::Result<(PathBuf, File)> {
    let mut turn = 1;
    loop {
        let more = if turn == 1 { String::new() } else { format!("-{turn}") };
        let at = PathBuf::from(format!("{}-lost-{id}{more}.eml", path.display()));
        match private::create(&at) {
            Ok(file) => {
                private::give(&at, path);
                return Ok((at, file));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => turn += 1,
            Err(error) => return Err(error),
        }
    }
}
