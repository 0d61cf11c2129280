//! The text format of size tables: two columns, size and P(X <= size), and comment lines that may
//! say more.
//!
//! ```text
//! # web search | unit: packets of 1460 B payload | reading: linear | source: ...
//! 6 0
//! 6 0.15
//! 20000 1
//! ```
//!
//! In a line that starts with `#`, fields are divided by `|`; `unit:` (default `bytes`) and
//! `reading:` (default `linear`) are understood, `Units:` and the like refused, and everything else
//! is for people.

use crate::parameters::{Setting, Value};
use crate::{Reading, SizeTable, Unit};
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

impl SizeTable {
    /// Reads a table in the format of this crate's `workloads/*.txt`. `reading`, when given, takes
    /// the place of the one that the text names.
    pub fn parse(text: &str, reading: Option<Reading>) -> Result<SizeTable, TableError> {
        let mut unit = Unit::Byte;
        let mut own_reading = Reading::Linear;
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                if let Some(field) = comment.split('|').map(str::trim).find(|it| is_slip(it)) {
                    return Err(error(number, field, "\"unit:\" or \"reading:\""));
                }
                if let Some(name) = field(comment, "unit:") {
                    unit = parse_unit(name).ok_or_else(|| error(number, name, UNITS))?;
                }
                if let Some(name) = field(comment, "reading:") {
                    own_reading = Reading::read(&Value::Text(name.to_owned()))
                        .map_err(|_| error(number, name, Reading::expected()))?;
                }
            } else if !line.is_empty() {
                rows.push(parse_row(line).ok_or_else(|| error(number, line, ROW))?);
                lines.push((number, line));
            }
        }
        if rows.is_empty() {
            return Err(error(text.lines().count().max(1), "", "at least one row"));
        }
        SizeTable::new(&rows, unit, reading.unwrap_or(own_reading)).map_err(|bad| {
            let (number, line) = lines[bad.index];
            error(number, line, bad.expected)
        })
    }
}

const ROW: &str = "two numbers, size and P(X <= size)";
const UNITS: &str = "\"bytes\" or \"packets of <N> B\"";

fn error(line: usize, given: &str, expected: impl Into<String>) -> TableError {
    const SHOWN: usize = 60;
    let mut given = given.to_owned();
    if let Some((end, _)) = given.char_indices().nth(SHOWN) {
        given.truncate(end);
        given.push_str("...");
    }
    TableError { line, given, expected: expected.into() }
}

/// The text after `key` in the field of a comment line that starts with it.
pub(crate) fn field<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let mut fields = comment.split('|');
    fields.find_map(|field| field.trim().strip_prefix(key)).map(str::trim)
}

/// Whether a field must have been meant as one that is understood, and is not.
fn is_slip(field: &str) -> bool {
    field.split_once(':').is_some_and(|(word, _)| {
        let means = |key: &&str| word.to_ascii_lowercase().starts_with(key) && word != *key;
        ["unit", "reading"].iter().any(means)
    })
}

fn parse_row(line: &str) -> Option<(f64, f64)> {
    let mut columns = line.split_whitespace();
    let row = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    columns.next().is_none().then_some(row)
}

fn parse_unit(name: &str) -> Option<Unit> {
    if name == "bytes" {
        return Some(Unit::Byte);
    }
    let rest = name.strip_prefix("packets of ")?;
    let number = rest.strip_suffix("payload").unwrap_or(rest).trim_end().strip_suffix('B')?;
    let payload = number.trim_end().parse().ok()?;
    (payload > 0).then_some(Unit::Packet(payload))
}
