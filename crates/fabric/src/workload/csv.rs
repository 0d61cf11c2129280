//! Flows from a file: `src,dst,size_bytes,arrival`, and `deadline` and `class` if there are any.

use super::{Draw, Drawn, WorkloadContext};
use crate::flow::Flow;
use crate::packet::{CLASSES, LATEST_ARRIVAL};
use sojourn_core::files::{OpenQuote, Row, rows};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Span, Streams, Time, parameters};
use std::fmt;

parameters! {
    /// Flows from a CSV file whose first line names its columns: `src` and `dst` (host numbers
    /// from 0), `size_bytes`, `arrival` (a time with its unit, such as `12.5us`, or a bare number
    /// under the name `arrival_s`), and if wanted `deadline` (a time from the arrival on) and
    /// `class` (0 to 7), in any order. Lines may be in any order of time; empty lines and lines
    /// that start with # are passed over.
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
        self.flows(context).map(|flows| flows.len())
    }

    fn has_classes(&self, context: &WorkloadContext<'_>) -> Result<bool, Refusal> {
        let text = (context.read)(&self.file).unwrap_or_default();
        let columns = rows(&text).next().and_then(|head| Columns::read(&head.ok()?).ok());
        Ok(columns.is_some_and(|columns| columns.class.is_some()))
    }

    fn draw(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<Drawn, Refusal> {
        self.flows(context).map(Drawn::from)
    }

    fn is_steady(&self) -> bool {
        true
    }

    fn file(&mut self) -> Option<&mut String> {
        Some(&mut self.file)
    }
}

impl Csv {
    fn flows(&self, context: &WorkloadContext<'_>) -> Result<Vec<Flow>, Refusal> {
        let refuse = |expected: String| {
            Refusal::value(&Value::Text(self.file.clone()), expected).under("file")
        };
        let text =
            (context.read)(&self.file).map_err(|why| refuse(format!("a file to read: {why}")))?;
        parse_flows(&text, context.graph.hosts(), context.largest_flow())
            .map_err(|error| refuse(format!("a list of flows, but in its {error}")))
    }
}

/// Where each column stands.
struct Columns {
    src: usize,
    dst: usize,
    size: usize,
    arrival: usize,
    arrival_in_seconds: bool,
    deadline: Option<usize>,
    class: Option<usize>,
    count: usize,
}

const NAMES: &str = "src, dst, size_bytes, arrival (or arrival_s) and, if wanted, deadline, class";

impl Columns {
    fn read(head: &Row) -> Result<Columns, String> {
        let names: Vec<&str> = head.cells().collect();
        let known = ["src", "dst", "size_bytes", "arrival", "arrival_s", "deadline", "class"];
        if let Some(other) = names.iter().find(|name| !known.contains(name)) {
            return Err(format!("unknown column {other:?}, expected {NAMES}"));
        }
        if let Some(twice) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            return Err(format!("column {:?} stands there twice", names[twice]));
        }
        let place = |name: &str| names.iter().position(|other| *other == name);
        let needed =
            |name: &str| place(name).ok_or_else(|| format!("no column {name:?}, expected {NAMES}"));
        let arrival_in_seconds = place("arrival_s").is_some();
        if arrival_in_seconds && place("arrival").is_some() {
            return Err("both arrival and arrival_s, expected one of them".to_owned());
        }
        Ok(Columns {
            src: needed("src")?,
            dst: needed("dst")?,
            size: needed("size_bytes")?,
            arrival: needed(if arrival_in_seconds { "arrival_s" } else { "arrival" })?,
            arrival_in_seconds,
            deadline: place("deadline"),
            class: place("class"),
            count: names.len(),
        })
    }

    fn flow(&self, row: &Row, hosts: usize, largest: u64) -> Result<Flow, String> {
        if row.len() != self.count {
            return Err(format!("{} cells, expected {}", row.len(), self.count));
        }
        let host = |name: &str, place: usize| match row.cell(place).parse::<u16>() {
            Ok(host) if usize::from(host) < hosts => Ok(host),
            _ => {
                let given = row.cell(place);
                Err(format!("{name} {given:?}, expected a host from 0 to {}", hosts - 1))
            }
        };
        let (from, to) = (host("src", self.src)?, host("dst", self.dst)?);
        if from == to {
            return Err(format!("a flow from host {from} to itself, expected two hosts"));
        }
        let most = MAX_BYTES.min(largest);
        let bytes = match row.cell(self.size).parse::<u64>() {
            Ok(bytes) if (1..=most).contains(&bytes) => bytes,
            _ => {
                let given = row.cell(self.size);
                return Err(format!("size_bytes {given:?}, expected 1 to {most}"));
            }
        };
        let arrived = Time::ZERO + self.arrival(row.cell(self.arrival))?;
        let deadline = match self.deadline.map(|place| row.cell(place)) {
            None | Some("") => Time::NEVER,
            Some(cell) => match cell.parse::<Span>() {
                Ok(span) if span > Span::ZERO && span <= LATEST_ARRIVAL => arrived + span,
                _ => {
                    let like = "a time such as 10ms, above zero";
                    return Err(format!(
                        "deadline {cell:?}, expected {like}, at most {LATEST_ARRIVAL}"
                    ));
                }
            },
        };
        let class = match self.class.map(|place| row.cell(place)) {
            None | Some("") => 0,
            Some(cell) => match cell.parse::<u8>() {
                Ok(class) if usize::from(class) < CLASSES => class,
                _ => return Err(format!("class {cell:?}, expected 0 to {}", CLASSES - 1)),
            },
        };
        Ok(Flow { deadline, class, ..Flow::new(from, to, bytes, arrived) })
    }

    fn arrival(&self, cell: &str) -> Result<Span, String> {
        let span = match self.arrival_in_seconds {
            true => match cell.parse::<f64>() {
                Ok(seconds) if seconds >= 0.0 => Some(Span::from_seconds(seconds)),
                _ => None,
            },
            false => cell.parse::<Span>().ok(),
        };
        let like =
            if self.arrival_in_seconds { "seconds such as 0.25" } else { "a time such as 12us" };
        span.filter(|span| *span <= LATEST_ARRIVAL)
            .ok_or_else(|| format!("arrival {cell:?}, expected {like}, at most {LATEST_ARRIVAL}"))
    }
}

/// The largest flow: 1 TB.
const MAX_BYTES: u64 = 1_000_000_000_000;

/// Reads a list of flows between `hosts` hosts, none above `largest` bytes; they come back by time of
/// arrival.
pub fn parse_flows(text: &str, hosts: usize, largest: u64) -> Result<Vec<Flow>, CsvError> {
    let open = |quote: OpenQuote| CsvError { line: quote.line, what: quote.what().to_owned() };
    let mut rows = rows(text).map(|row| row.map_err(open));
    let nothing =
        |what: &str| CsvError { line: text.lines().count().max(1), what: what.to_owned() };
    let head = rows
        .next()
        .ok_or_else(|| nothing("nothing there, expected a line that names columns"))??;
    let columns = Columns::read(&head).map_err(|what| CsvError { line: head.line, what })?;
    let flow = |row: Result<Row, CsvError>| {
        let row = row?;
        columns.flow(&row, hosts, largest).map_err(|what| CsvError { line: row.line, what })
    };
    let mut flows = rows.map(flow).collect::<Result<Vec<Flow>, CsvError>>()?;
    if flows.is_empty() {
        return Err(nothing("no flows, expected at least one line under the names"));
    }
    flows.sort_by_key(|flow| flow.arrived);
    Ok(flows)
}
