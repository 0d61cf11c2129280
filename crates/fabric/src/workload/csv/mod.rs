//! Flows from a file: `src,dst,size_bytes,arrival`; `deadline` and `class` if there are any; and `id`, `after`,
//! `delay` and `job` where flows wait for each other.

mod columns;
mod order;

use super::{Draw, Drawn, JobKind, WorkloadContext};
use crate::flow::Flow;
use crate::lists::Lists;
use columns::{Columns, Line};
use order::{in_order, with_parents};
use sojourn_core::files::{OpenQuote, Row, rows};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Streams, parameters};
use std::collections::BTreeMap;
use std::fmt;

parameters! {
    /// Flows from a CSV file whose first line names its columns: `src` and `dst` (host numbers
    /// from 0), `size_bytes`, `arrival` (a time with its unit, such as `12.5us`, or a bare number
    /// under the name `arrival_s`), and if wanted `deadline` (a time from the arrival on) and
    /// `class` (0 to 7), in any order. Lines may be in any order of time; empty lines and lines
    /// that start with # are passed over.
    ///
    /// Flows may wait for others: `after` lists those that have to be received whole before one
    /// begins, all of them flows to its source, by their `id` or, in a file without that column, by
    /// number of line of data from 0, with spaces or semicolons between; `delay` is a computing
    /// time from the last of them on. Lines with an equal `job` make one job, with a row of kind
    /// `job`: from the begin of its first flow until its last one is received.
    pub struct Csv: "csv" {
        /// The file, seen from the study's own place.
        pub file: String,
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

    fn count(&self, context: &WorkloadContext<'_>) -> Result<usize, Refusal> {
        self.read(context).map(|drawn| drawn.flows.len() + drawn.graph.jobs().len())
    }

    fn has_classes(&self, context: &WorkloadContext<'_>) -> Result<bool, Refusal> {
        let text = (context.read)(&self.file).unwrap_or_default();
        let columns = rows(&text).next().and_then(|head| Columns::read(&head.ok()?).ok());
        Ok(columns.is_some_and(|columns| columns.have_classes()))
    }

    fn check_known_arrivals(
        &self,
        context: &WorkloadContext<'_>,
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

    fn file(&mut self) -> Option<&mut String> {
        Some(&mut self.file)
    }
}

impl Csv {
    fn read(&self, context: &WorkloadContext<'_>) -> Result<Drawn, Refusal> {
        let text = (context.read)(&self.file)
            .map_err(|why| self.refused(format!("a file to read: {why}")))?;
        parse_flows(&text, context.graph.hosts(), context.largest_flow())
            .map_err(|error| self.refused(format!("a list of flows, but in its {error}")))
    }

    fn refused(&self, expected: String) -> Refusal {
        Refusal::value(&Value::Text(self.file.clone()), expected).under("file")
    }
}

/// The largest job: 1 EB.
const MAX_JOB_BYTES: u64 = 1_000_000_000_000_000_000;

/// Reads a list of flows between `hosts` hosts, none above `largest` bytes. They come back by time of
/// arrival, those that wait for others behind those that do not.
pub fn parse_flows(text: &str, hosts: usize, largest: u64) -> Result<Drawn, CsvError> {
    let open = |quote: OpenQuote| CsvError { line: quote.line, what: quote.what().to_owned() };
    let mut rows = rows(text).map(|row| row.map_err(open));
    let nothing =
        |what: &str| CsvError { line: text.lines().count().max(1), what: what.to_owned() };
    let head = rows
        .next()
        .ok_or_else(|| nothing("nothing there, expected a line that names columns"))??;
    let columns = Columns::read(&head).map_err(|what| CsvError { line: head.line, what })?;
    let line = |row: Result<Row, CsvError>| {
        let row = row?;
        columns.line(&row, hosts, largest).map_err(|what| CsvError { line: row.line, what })
    };
    let no_flows = || nothing("no flows, expected at least one line under the names");
    if !columns.have_graphs() {
        let flows = rows.map(|row| line(row).map(|line| line.flow()));
        let mut flows = flows.collect::<Result<Vec<Flow>, CsvError>>()?;
        flows.sort_by_key(|flow| flow.arrived);
        return if flows.is_empty() { Err(no_flows()) } else { Ok(flows.into()) };
    }
    let mut lines = rows.map(line).collect::<Result<Vec<Line>, CsvError>>()?;
    if lines.is_empty() {
        return Err(no_flows());
    }
    let parents = with_parents(&lines, columns.have_ids())?;
    let order = in_order(&mut lines, &parents)?;
    drawn(&lines, &parents, &order)
}

/// The flows of `lines` in this `order`, in which each stands behind its `parents`, and their jobs.
fn drawn(lines: &[Line], parents: &Lists, order: &[u32]) -> Result<Drawn, CsvError> {
    let mut drawn = Drawn::default();
    let jobs = jobs(lines, &mut drawn)?;
    let mut numbers = vec![0; lines.len()];
    for &place in order {
        let line = &lines[place as usize];
        let own: Vec<u32> =
            parents.of(place).iter().map(|&parent| numbers[parent as usize]).collect();
        let job = line.job.as_deref().map(|name| jobs[name]);
        numbers[place as usize] = drawn.message(line.flow(), &own, line.delay, job);
    }
    Ok(drawn)
}

/// Appends the jobs of `lines` to `drawn`, in the order in which they come first. Returns the number of each.
fn jobs<'a>(lines: &'a [Line], drawn: &mut Drawn) -> Result<BTreeMap<&'a str, u32>, CsvError> {
    let mut jobs = BTreeMap::new();
    let mut bytes: Vec<u64> = Vec::new();
    for line in lines {
        let Some(name) = line.job.as_deref() else { continue };
        let job = *jobs.entry(name).or_insert_with(|| {
            bytes.push(0);
            drawn.graph.add_job(JobKind::Messages)
        });
        let all = &mut bytes[job as usize];
        *all += line.flow.bytes;
        if *all > MAX_JOB_BYTES {
            let what = format!("job {name:?}, expected at most {MAX_JOB_BYTES} bytes in all");
            return Err(CsvError { line: line.number, what });
        }
    }
    Ok(jobs)
}
