//! A spool looked at from outside, whoever owns it meanwhile.

use super::error::{Doing, SpoolError};
use super::open;
use std::path::Path;

/// A message in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its number.
    pub message: u64,
    /// Where failures are reported; nobody for a report itself.
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
    let database = open::look(path)?;
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

/// Somebody whom messages in a spool wait for.
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
    /// What the host said, or words of our own.
    pub text: String,
}

/// Whom the messages in the spool at `path` wait for, by address.
///
/// # Errors
///
/// There is no spool; it cannot be read.
pub fn waiting(path: &Path) -> Result<Vec<Waiting>, SpoolError> {
    let database = open::look(path)?;
    let list = || -> rusqlite::Result<Vec<Waiting>> {
        let mut people = database.prepare(
            // Only what is asked for: with a `*` each recipient would have a copy of the text.
            "WITH one AS (
                SELECT address, state, accepted_ms, times, due_ms, tried_ms, host, status, reason,
                    row_number() OVER (PARTITION BY address ORDER BY tried_ms DESC) AS place
                    FROM recipient JOIN message ON message.id = recipient.message
                    WHERE state IN ('open', 'deferred'))
            SELECT address, count(*), total(state = 'open'), min(accepted_ms), total(times),
                min(due_ms) FILTER (WHERE state = 'deferred'), max(tried_ms),
                max(host) FILTER (WHERE place = 1), max(status) FILTER (WHERE place = 1),
                max(reason) FILTER (WHERE place = 1)
                FROM one GROUP BY address ORDER BY address",
        )?;
        let rows = people.query_map([], |row| {
            let count = |column| row.get::<_, f64>(column).map(|count| count as u64);
            Ok(Waiting {
                recipient: row.get(0)?,
                messages: row.get::<_, i64>(1)? as u64,
                open: count(2)?,
                since_ms: row.get(3)?,
                refused: count(4)?,
                next_ms: row.get(5)?,
                last: match row.get(6)? {
                    None => None,
                    Some(at_ms) => {
                        let (host, status, text) = (row.get(7)?, row.get(8)?, row.get(9)?);
                        Some(Tried { at_ms, host, status, text })
                    }
                },
            })
        })?;
        rows.collect()
    };
    list().map_err(|error| SpoolError::sqlite(path, Doing::Read, error))
}
