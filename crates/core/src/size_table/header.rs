//! What the comment lines of a size table say of it: fields divided by `|`, such as `unit: bytes`; and the error
//! about a line.

use super::columns::Shares;
use crate::parameters::{Setting, Value};
use crate::{Reading, Unit};
use std::fmt;

/// Why a text is not a size table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// The text that was refused.
    pub given: String,
    /// What was expected there.
    pub expected: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {:?}, expected {}", self.line, self.given, self.expected)
    }
}

impl std::error::Error for TableError {}

impl TableError {
    /// The message about `given` in a line, of which the beginning is shown.
    pub(super) fn new(line: usize, given: &str, expected: impl Into<String>) -> TableError {
        const SHOWN: usize = 60;
        let mut given = given.to_owned();
        if let Some((end, _)) = given.char_indices().nth(SHOWN) {
            given.truncate(end);
            given.push_str("...");
        }
        TableError { line, given, expected: expected.into() }
    }
}

/// What comment lines say.
#[derive(Default)]
pub(super) struct Header {
    pub(super) unit: Option<Unit>,
    pub(super) reading: Option<Reading>,
    pub(super) shares: Option<Shares>,
}

impl Header {
    pub(super) fn read(text: &str) -> Result<Header, TableError> {
        let mut header = Header::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = line.trim().strip_prefix('#') else { continue };
            if let Some(field) = comment.split('|').map(str::trim).find(|it| is_slip(it)) {
                return Err(TableError::new(
                    number,
                    field,
                    "\"unit:\", \"reading:\" or \"shares:\"",
                ));
            }
            if let Some(name) = field(comment, "unit:") {
                header.unit =
                    Some(parse_unit(name).ok_or_else(|| TableError::new(number, name, UNITS))?);
            }
            if let Some(name) = field(comment, "reading:") {
                let reading = Reading::read(&Value::Text(name.to_owned()))
                    .map_err(|_| TableError::new(number, name, Reading::expected()))?;
                header.reading = Some(reading);
            }
            if let Some(name) = field(comment, "shares:") {
                let shares = Shares::named(name);
                header.shares =
                    Some(shares.ok_or_else(|| TableError::new(number, name, Shares::NAMES))?);
            }
        }
        Ok(header)
    }
}

const UNITS: &str = "\"bytes\" or \"packets of <N> B\"";

/// The text after `key` in the field of a comment line that starts with it.
pub(super) fn field<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let mut fields = comment.split('|');
    fields.find_map(|field| field.trim().strip_prefix(key)).map(str::trim)
}

/// Whether a field must have been meant as one that is understood, and is not.
fn is_slip(field: &str) -> bool {
    field.split_once(':').is_some_and(|(word, _)| {
        let means = |key: &&str| word.to_ascii_lowercase().starts_with(key) && word != *key;
        let shares = ["share", "shares"].contains(&word.trim().to_ascii_lowercase().as_str());
        ["unit", "reading"].iter().any(means) || (shares && word != "shares")
    })
}

/// A unit by its name, `bytes` or `packets of 1460 B`.
pub(super) fn parse_unit(name: &str) -> Option<Unit> {
    if name == "bytes" {
        return Some(Unit::Byte);
    }
    let rest = name.strip_prefix("packets of ")?;
    let number = rest.strip_suffix("payload").unwrap_or(rest).trim_end().strip_suffix('B')?;
    let payload = number.trim_end().parse().ok()?;
    (payload > 0).then_some(Unit::Packet(payload))
}
