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
//! In a line that starts with `#`, fields are divided by `|`; `unit:` (default `bytes`), `reading:`
//! (default `linear`) and `shares:` (by default as the last row says) are understood, `Units:` and the
//! like refused, and everything else is for people. [`columns`](super::columns) says which forms the
//! rows may have.

use super::columns::Columns;
use super::header::{Header, TableError};
use super::{advice, published};
use crate::parameters::Setting;
use crate::{BadRow, Distribution, Empirical, Reading, SizeTable, Unit, files};

impl SizeTable {
    /// Reads a table in the format of `workloads/*.txt`, or in the format of another simulator.
    /// `reading`, when given, takes the place of the one that the text names.
    pub fn parse(text: &str, reading: Option<Reading>) -> Result<SizeTable, TableError> {
        SizeTable::parse_with_notes(text, reading).map(|(table, _)| table)
    }

    /// Like [`parse`](SizeTable::parse), and what the reader has to know about how the text was read.
    pub fn parse_with_notes(
        text: &str,
        reading: Option<Reading>,
    ) -> Result<(SizeTable, Vec<String>), TableError> {
        let header = Header::read(text)?;
        let lines: Vec<(usize, &str)> = files::lines(text).collect();
        let advised = |(number, line): (usize, &str), expected: &str| {
            TableError::new(number, line, format!("{expected}{}", advice::on(text, &lines)))
        };
        if lines.is_empty() {
            return Err(TableError::new(text.lines().count().max(1), "", "at least one row"));
        }
        let columns = Columns::read(&lines, header.shares)
            .map_err(|(place, expected)| advised(lines[place], &expected))?;
        let rows = columns.rows.as_slice();
        let refused = |bad: BadRow| advised(lines[columns.first + bad.index], bad.expected);
        Empirical::new(rows, Reading::Step).map_err(refused)?;
        let mut notes = Vec::new();
        if columns.have_index {
            notes.push("the second of its three columns is ignored, as in ns-2".to_owned());
        }
        let (number, line) = lines[columns.first];
        let unit = header.unit.or_else(|| unit(&columns, &mut notes));
        let unit = unit.ok_or_else(|| TableError::new(number, line, UNSAID))?;
        let reading = match (reading.or(header.reading), columns.mean) {
            (Some(reading), _) => reading,
            (None, None) => Reading::Linear,
            (None, Some(mean)) => {
                let (number, line) = lines[0];
                let reading = reading_of_mean(rows, mean)
                    .map_err(|expected| TableError::new(number, line, expected))?;
                notes.push(format!(
                    "the mean in its first line is that of the reading {}, and sizes count \
                     {unit}",
                    reading.write().expect("a reading has a name"),
                ));
                reading
            }
        };
        let table = SizeTable::new(rows, unit, reading).map_err(refused)?;
        Ok((table, notes))
    }
}

/// The unit of a table that names none: the unit of the published table with the same rows, or else bytes. None
/// where simulators differ.
fn unit(columns: &Columns, notes: &mut Vec<String>) -> Option<Unit> {
    let published = published::of_rows(&columns.rows);
    match published.filter(|(_, unit)| columns.have_index || *unit != Unit::Byte) {
        Some((workload, unit)) => {
            notes.push(format!(
                "its rows are those of {:?}, so sizes count {unit}, unless a line \"# unit: ...\" \
                 before them says otherwise",
                workload.name
            ));
            Some(unit)
        }
        None => (!columns.have_index).then_some(Unit::Byte),
    }
}

/// The reading under which rows have this mean, in their unit.
fn reading_of_mean(rows: &[(f64, f64)], mean: f64) -> Result<Reading, String> {
    /// The largest relative difference between a published mean and the mean of its published rows.
    const CLOSE: f64 = 0.005;
    let of = |reading| Empirical::new(rows, reading).expect("rows were checked").mean();
    let means = [(Reading::Step, of(Reading::Step)), (Reading::Linear, of(Reading::Linear))];
    let off = |(_, of): &(Reading, f64)| (of / mean - 1.0).abs();
    let nearest = means.iter().min_by(|one, other| off(one).total_cmp(&off(other)));
    match nearest.filter(|nearest| off(nearest) <= CLOSE) {
        Some((reading, _)) => Ok(*reading),
        None => Err(format!(
            "the mean of the rows below, {:.6} with the reading \"step\" or {:.6} with \"linear\"; \
             or two numbers, size and P(X <= size)",
            means[0].1, means[1].1
        )),
    }
}

const UNSAID: &str = "a unit: tables of ns-2 (size, a number that is ignored, P(X <= size)) count \
                      packets or bytes; put a line \"# unit: packets of 1460 B\" or \"# unit: \
                      bytes\" before the rows";
