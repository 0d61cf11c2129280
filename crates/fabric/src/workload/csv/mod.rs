//! Flows from a file: `src,dst,size_bytes,arrival`; `deadline` and `class` if there are any; and `id`, `after`,
//! `delay` and `job` where flows wait for each other. Files of two other simulators are read as they are.

mod advice;
mod hpcc;
mod htsim;

use super::list::{self, Columns, ListError, Place};
use super::{Draw, Drawn, WorkloadContext};
use sojourn_core::files::{OpenQuote, Row, rows};
use sojourn_core::model::Tell;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::resource::FileName;
use sojourn_core::{Streams, parameters};
use std::fmt;

parameters! {
    /// Flows from a CSV file whose first line names its columns: `src` and `dst` (host numbers
    /// from 0), `size_bytes`, `arrival` (a time with its unit, such as `12.5us`), and if wanted
    /// `deadline` (a time from the arrival on) and `class` (0 to 7), in any order. Bare numbers
    /// are seconds under the name `arrival_s`, and `arrival_ms`, `arrival_us`, `arrival_ns` and
    /// `arrival_ps` have other units; so with other times. Further columns are ignored, and a run names
    /// them. Lines may be in any order of time; empty lines and lines that start with # are ignored.
    /// Files of HPCC and ConWeave (`flow.txt`) and of htsim (`*.cm`, without triggers) are read too.
    ///
    /// Flows may wait for others: `after` lists those that have to be received whole before one
    /// begins, all of them flows to its source, by their `id` or, in a file without that column, by
    /// number of line of data from 0, with spaces or semicolons between; `delay` is a computing
    /// time from the last of them on. Lines with an equal `job` make one job, with a row of kind
    /// `job`: from the begin of its first flow until its last one is received.
    pub struct Csv: "csv" {
        /// The file, relative to the study.
        pub file: FileName,
    }
}

impl Check for Csv {}

/// Why a text is not a list of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there and what belongs there.
    pub what: String,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl Draw for Csv {
    fn number(&self) -> &'static str {
        "file"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        self.read(context).map(|drawn| drawn.flows.len() + drawn.graph.jobs().len())
    }

    fn has_classes(&self, _: &WorkloadContext<'_>, _: Streams) -> Result<bool, Refusal> {
        let text = self.file.text().unwrap_or_default();
        let columns = rows(&text).next().and_then(|head| columns(&head.ok()?).ok());
        Ok(columns.is_some_and(|columns| columns.have_classes()))
    }

    fn check_known_arrivals(
        &self,
        context: &WorkloadContext<'_>,
        _: Streams,
        purpose: &str,
    ) -> Result<(), Refusal> {
        match self.read(context)?.graph.waiting() {
            0 => Ok(()),
            _ => Err(self.refused(format!("flows none of which waits for another, {purpose}"))),
        }
    }

    fn draw(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<Drawn, Refusal> {
        self.read(context)
    }

    fn is_steady(&self) -> bool {
        true
    }
}

impl Csv {
    fn read(&self, context: &WorkloadContext<'_>) -> Result<Drawn, Refusal> {
        let text = self.file.text().map_err(|refusal| refusal.under("file"))?;
        let tell = |note: String| (context.tell)(format!("{}: {note}", self.file.name()));
        read(&text, context.graph.hosts(), context.largest_flow(), &tell)
            .map_err(|error| self.refused(format!("a list of flows, but in its {error}")))
    }

    fn refused(&self, expected: String) -> Refusal {
        self.file.refused(expected).under("file")
    }
}

/// Reads a list of flows between `hosts` hosts, none above `largest` bytes. They come back by time of
/// arrival, those that wait for others behind those that do not.
pub fn parse_flows(text: &str, hosts: usize, largest: u64) -> Result<Drawn, CsvError> {
    read(text, hosts, largest, &|_| {})
}

/// Like [`parse_flows`]; gives `tell` what the author of the study has to know about how the text was read.
fn read(text: &str, hosts: usize, largest: u64, tell: Tell<'_>) -> Result<Drawn, CsvError> {
    if hpcc::is_of(text) {
        return hpcc::read(text, hosts, largest, tell);
    }
    if htsim::is_of(text) {
        return htsim::read(text, hosts, largest, tell);
    }
    let columns = |head: &Row| {
        columns(head).map_err(|what| {
            let what = format!("{what}{}", advice::on(text, head));
            CsvError { line: head.line, what }
        })
    };
    let open = |quote: OpenQuote| CsvError { line: quote.line, what: quote.what().to_owned() };
    let mut rows = rows(text);
    let nothing =
        |what: &str| CsvError { line: text.lines().count().max(1), what: what.to_owned() };
    let head = rows
        .next()
        .ok_or_else(|| nothing("nothing there, expected a line that names columns"))?
        .map_err(open)?;
    let columns = columns(&head)?;
    let row = |row: Result<Row, OpenQuote>| {
        let place = |number| Place { noun: "line", number };
        let open = |quote: OpenQuote| (place(quote.line), quote.what().to_owned());
        let row = row.map_err(open).and_then(|row| match row.len() == head.len() {
            true => Ok((place(row.line), row)),
            false => {
                Err((place(row.line), format!("{} cells, expected {}", row.len(), head.len())))
            }
        });
        row.map_err(|(place, what)| ListError { place, what })
    };
    let drawn = list::read(&columns, rows.map(row), hosts, largest)?;
    match drawn.flows.is_empty() {
        true => Err(nothing("no flows, expected at least one line under the names")),
        false => {
            columns.note().into_iter().for_each(tell);
            Ok(drawn)
        }
    }
}

/// The columns that a line names.
fn columns(head: &Row) -> Result<Columns, String> {
    Columns::read(&head.cells().collect::<Vec<_>>())
}

impl From<ListError> for CsvError {
    fn from(error: ListError) -> CsvError {
        CsvError { line: error.place.number, what: error.what }
    }
}
