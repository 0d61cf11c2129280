//! The rows of a spool, as they stand in records; what is none of ours is none.

use super::cells;
use super::cells::{Field, Row, Value};
use crate::delivered_log;
use rusqlite::types;
use sojourn_smtp::Address;

/// A table and its root, of a row of the schema.
pub(super) fn root(row: &Row<'_>) -> Option<(String, u32)> {
    let fields = cells::fields(row)?;
    let value = |place: usize| cells::value(*fields.get(place)?, row.local);
    match (value(0)?, value(1)?, value(3)?) {
        (Value::Text(kind), Value::Text(name), Value::Integer(root)) if kind == "table" => {
            Some((name, u32::try_from(root).ok()?))
        }
        _ => None,
    }
}

/// The number that stands alone in a row of 16 octets.
pub(super) fn answers_run(row: &Row<'_>) -> Option<delivered_log::Run> {
    match cells::fields(row)?[..] {
        [run] => match cells::value(run, row.local)? {
            Value::Blob(run) => run.try_into().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// What stands before the text of a message.
pub(super) struct Header {
    pub(super) sender: Option<String>,
    pub(super) eight_bit: bool,
    pub(super) utf8: bool,
    pub(super) accepted_ms: i64,
    pub(super) text: Field,
    /// Where its checksum is, which older spools have not.
    pub(super) checksum: Option<Field>,
}

pub(super) fn header(row: &Row<'_>) -> Option<Header> {
    let fields = cells::fields(row)?;
    let [number, sender, eight_bit, utf8, accepted, text, ..] = fields[..] else { return None };
    let flag = |field| match cells::value(field, row.local)? {
        Value::Integer(0) => Some(false),
        Value::Integer(1) => Some(true),
        _ => None,
    };
    let sender = match cells::value(sender, row.local)? {
        Value::Null => None,
        Value::Text(sender) => Some(sender),
        _ => return None,
    };
    let Value::Integer(accepted_ms) = cells::value(accepted, row.local)? else { return None };
    let is_blob = text.code >= 12 && text.code.is_multiple_of(2);
    let is_ours = number.code == 0 && is_blob && (1..i64::MAX).contains(&row.id);
    let (eight_bit, utf8) = (flag(eight_bit)?, flag(utf8)?);
    let checksum = fields.get(6).copied();
    is_ours.then_some(Header { sender, eight_bit, utf8, accepted_ms, text, checksum })
}

pub(super) struct Recipient {
    pub(super) key: (i64, i64),
    pub(super) address: String,
    /// Nothing where it cannot be read.
    pub(super) state: Option<&'static str>,
    /// The columns after it.
    pub(super) others: Vec<types::Value>,
}

pub(super) fn recipient(row: &Row<'_>, record: &[u8]) -> Option<Recipient> {
    let fields = cells::fields(row)?;
    let [message, number, address, state, ref others @ ..] = fields[..] else { return None };
    let integer = |field| match cells::value(field, record)? {
        Value::Integer(number) => Some(number),
        _ => None,
    };
    let key = (integer(message)?, integer(number)?);
    let Value::Text(address) = cells::value(address, record)? else { return None };
    let is_ours = (1..i64::MAX).contains(&key.0)
        && u32::try_from(key.1).is_ok()
        && others.len() >= 5
        && address.parse::<Address>().is_ok();
    let state = match cells::value(state, record) {
        Some(Value::Text(state)) => {
            ["open", "deferred", "failed", "ended"].into_iter().find(|it| *it == state)
        }
        _ => None,
    };
    let other = |field: &Field| match cells::value(*field, record) {
        None | Some(Value::Null) => types::Value::Null,
        Some(Value::Integer(number)) => number.into(),
        Some(Value::Real(number)) => number.into(),
        Some(Value::Text(text)) => text.into(),
        Some(Value::Blob(bytes)) => bytes.into(),
    };
    is_ours.then(|| Recipient { key, address, state, others: others.iter().map(other).collect() })
}
