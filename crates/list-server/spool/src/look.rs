//! A spool looked at from outside, whether or not a process owns it.

use crate::error::{Doing, SpoolError};
use crate::schema;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

/// A message in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its number.
    pub message: u64,
    /// The address to which failures are reported; none for a report itself.
    pub sender: Option<String>,
    /// The octets of its text.
    pub size: u64,
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_ms: i64,
    /// Recipients who are to be tried, and were not refused so far.
    pub open: u64,
    /// Those who were refused for now.
    pub deferred: u64,
    /// Those who failed, and whose failure is not reported yet.
    pub failed: u64,
    /// Those at their end.
    pub ended: u64,
    /// Those of the first two that an operator holds.
    pub held: u64,
    /// When the first of those who were refused is tried again, in milliseconds since 1970.
    pub next_ms: Option<i64>,
}

/// What is in the spool at `path`, the oldest first.
///
/// # Errors
///
/// There is no spool; it cannot be read.
pub fn look(path: &Path) -> Result<Vec<Queued>, SpoolError> {
    let database = schema::look(path)?;
    let list = || -> rusqlite::Result<Vec<Queued>> {
        let mut messages = database.prepare(
            "SELECT message.id, sender, length(text), accepted_ms, total(state = 'open'),
                total(state = 'deferred'), total(state = 'failed'), total(state = 'ended'),
                min(due_ms) FILTER (WHERE state = 'deferred' AND NOT held), total(held AND state IN ('open', 'deferred'))
                FROM message LEFT JOIN recipient ON recipient.message = message.id
                GROUP BY message.id ORDER BY message.id",
        )?;
        let rows = messages.query_map([], |row| {
            let count = |column| row.get::<_, f64>(column).map(|count| count as u64);
            Ok(Queued {
                message: row.get::<_, i64>(0)? as u64,
                sender: row.get(1)?,
                size: row.get::<_, i64>(2)? as u64,
                accepted_ms: row.get(3)?,
                open: count(4)?,
                deferred: count(5)?,
                failed: count(6)?,
                ended: count(7)?,
                next_ms: row.get(8)?,
                held: count(9)?,
            })
        })?;
        rows.collect()
    };
    list().map_err(|error| SpoolError::sqlite(path, Doing::Read, error))
}

/// A recipient with messages that wait in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The address.
    pub recipient: String,
    /// How many messages wait.
    pub messages: u64,
    /// How many of them were not refused so far: they are on their way, or wait for their domain.
    pub open: u64,
    /// When the oldest was accepted, in milliseconds since 1970.
    pub since_ms: i64,
    /// How often they were refused for now, all together.
    pub refused: u64,
    /// When the first of those that were refused is tried again, in milliseconds since 1970.
    pub next_ms: Option<i64>,
    /// The last attempt; nothing where there was none, or before spools kept it.
    pub last: Option<Tried>,
}

/// An attempt that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The host's name; nothing where none was tried.
    pub host: Option<String>,
    /// The status as of RFC 3463.
    pub status: String,
    /// What the host said, or this server's words.
    pub text: String,
}

/// The recipients that the messages in the spool at `path` wait for, by address.
///
/// # Errors
///
/// There is no spool; it cannot be read.
pub fn waiting(path: &Path) -> Result<Vec<Waiting>, SpoolError> {
    let database = schema::look(path)?;
    read_waiting(&database).map_err(|error| SpoolError::sqlite(path, Doing::Read, error))
}

/// One pass over the rows, in the order in which they are stored: to sort them by address first, as
/// a `GROUP BY` does, takes minutes where a million wait.
fn read_waiting(database: &Connection) -> rusqlite::Result<Vec<Waiting>> {
    let mut messages = database.prepare("SELECT id, accepted_ms FROM message")?;
    let accepted = messages.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let accepted: BTreeMap<i64, i64> = accepted.collect::<Result<_, _>>()?;
    let mut recipients = database.prepare(
        "SELECT message, address, state = 'open', times, due_ms, tried_ms, host, status, reason
            FROM recipient WHERE state IN ('open', 'deferred')",
    )?;
    let mut people: BTreeMap<String, Waiting> = BTreeMap::new();
    let mut rows = recipients.query([])?;
    while let Some(row) = rows.next()? {
        let Some(accepted_ms) = accepted.get(&row.get::<_, i64>(0)?) else { continue };
        let address = row.get_ref(1)?.as_str()?;
        if !people.contains_key(address) {
            let one = Waiting {
                recipient: address.to_owned(),
                messages: 0,
                open: 0,
                since_ms: *accepted_ms,
                refused: 0,
                next_ms: None,
                last: None,
            };
            people.insert(address.to_owned(), one);
        }
        let one = people.get_mut(address).expect("the recipient was inserted above");
        one.messages += 1;
        one.since_ms = one.since_ms.min(*accepted_ms);
        one.refused += row.get::<_, Option<u64>>(3)?.unwrap_or(0);
        if row.get(2)? {
            one.open += 1;
        } else if let Some(due) = row.get::<_, Option<i64>>(4)? {
            one.next_ms = Some(one.next_ms.map_or(due, |next| next.min(due)));
        }
        if let Some(at_ms) = row.get::<_, Option<i64>>(5)?
            && one.last.as_ref().is_none_or(|last| last.at_ms < at_ms)
        {
            let (host, status, text) = (row.get(6)?, row.get(7)?, row.get(8)?);
            one.last = Some(Tried { at_ms, host, status, text });
        }
    }
    Ok(people.into_values().collect())
}
