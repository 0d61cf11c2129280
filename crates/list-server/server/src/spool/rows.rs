//! From rows to messages.

use super::error::{Doing, SpoolError};
use crate::epoch::Epoch;
use rusqlite::{Connection, Row};
use sojourn_mail::Address;
use sojourn_mail::engine::{Deferral, MessageId, Progress, Reason, Stored, Submission};
use sojourn_mail::smtp::Enhanced;
use std::path::Path;

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
                message.held.push(number as u32);
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
