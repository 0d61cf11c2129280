//! Connection matrices of htsim, `*.cm`: `Nodes N`, `Connections M`, then a connection per line, such as
//! `1->2 id 1 start 0 size 2000000`. (Broadcom/csg-htsim, `sim/datacenter/connection_matrix.cpp`)

use super::super::list::{self, Columns, ListError, Place};
use super::hpcc::Fields;
use super::{CsvError, Drawn};
use sojourn_core::files;
use sojourn_core::model::Tell;

const NAMES: &[&str] = &["src", "dst", "size_bytes", "arrival_ps"];

const TRIGGERS: &str = "expected no triggers: flows that wait for others need a CSV file with a \
                        column \"after\"";
const FAILURES: &str = "expected no failures of links, which a fabric here does not have";

/// What the lines above and between connections say.
#[derive(Default)]
struct Header {
    connections: Option<usize>,
    has_priorities: bool,
}

/// Whether a text is such a file: its first line is one of a header or a connection.
pub(super) fn is_of(text: &str) -> bool {
    let first = files::lines(text).next().and_then(|(_, line)| line.split_whitespace().next());
    first.is_some_and(|word| matches!(word, "Nodes" | "Connections") || ends(word).is_some())
}

/// Reads such a file, which is not empty.
pub(super) fn read(
    text: &str,
    hosts: usize,
    largest: u64,
    tell: Tell<'_>,
) -> Result<Drawn, CsvError> {
    let mut header = Header::default();
    let columns = Columns::read(NAMES).expect("names of columns");
    let rows = files::lines(text).filter_map(|(number, line)| {
        let place = Place { noun: "line", number };
        let row = header.read(line, hosts).map_err(|what| ListError { place, what }).transpose()?;
        Some(row.map(|cells| (place, Fields(cells))))
    });
    let drawn = list::read(&columns, rows, hosts, largest)?;
    let flows = drawn.flows.len();
    if flows == 0 || header.connections.is_some_and(|number| number != flows) {
        let line = files::lines(text).last().map_or(1, |(line, _)| line);
        let promised = header.connections.map(|number| format!(", and {number} as its head says"));
        let expected = format!("at least one{}", promised.unwrap_or_default());
        return Err(CsvError { line, what: format!("{flows} connections, expected {expected}") });
    }
    if header.has_priorities {
        tell("the priorities of connections (prio) are ignored".to_owned());
    }
    if drawn.flows.iter().any(|flow| flow.arrived.ps() > 0) {
        tell("start times are read as picoseconds, as csg-htsim does".to_owned());
    }
    Ok(drawn)
}

impl Header {
    /// Reads a line: the cells of a connection, or something else.
    fn read(&mut self, line: &str, hosts: usize) -> Result<Option<Vec<String>>, String> {
        let mut words = line.split_whitespace();
        let first = words.next().expect("a line that says something");
        let mut number = || words.next().and_then(|word| word.parse::<usize>().ok());
        match first {
            "Nodes" => match number() {
                Some(nodes) if nodes <= hosts => Ok(None),
                _ => Err(format!(
                    "{line:?}, expected at most {hosts} nodes, the hosts of the fabric"
                )),
            },
            "Connections" => {
                let connections = number();
                let wrong = || format!("{line:?}, expected the number of connections");
                self.connections = Some(connections.ok_or_else(wrong)?);
                Ok(None)
            }
            "Triggers" | "Failures" if number() == Some(0) => Ok(None),
            "Triggers" | "trigger" => Err(format!("{first:?}, {TRIGGERS}")),
            "Failures" | "failure" => Err(format!("{first:?}, {FAILURES}")),
            _ => self.connection(line).map(Some),
        }
    }

    /// The cells of a connection.
    fn connection(&mut self, line: &str) -> Result<Vec<String>, String> {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let (from, to) =
            ends(first).ok_or_else(|| format!("{first:?}, expected a connection such as 1->2"))?;
        let (mut start, mut size) = (None, None);
        while let Some(key) = words.next() {
            if matches!(key, "trigger" | "send_done_trigger" | "recv_done_trigger" | "addon") {
                return Err(format!("{key:?}, {TRIGGERS}"));
            }
            let value =
                words.next().ok_or_else(|| format!("{key:?}, expected a number behind it"))?;
            match key {
                "start" => start = Some(picoseconds(value)?),
                "size" => size = Some(value),
                "id" => {}
                "prio" => self.has_priorities = true,
                _ => return Err(format!("{key:?}, expected id, start, size or prio")),
            }
        }
        let missing = |key: &str| format!("no {key} in {line:?}, expected one");
        let size = size.ok_or_else(|| missing("size"))?;
        if size == "0" {
            return Err(
                "size 0, a connection that never ends, expected 1 on; flows without an end \
                        have workload.kind = \"bulk\""
                    .to_owned(),
            );
        }
        let start = start.ok_or_else(|| missing("start"))?;
        Ok([from, to, size, start].map(str::to_owned).to_vec())
    }
}

/// The hosts of a connection such as `1->2`.
fn ends(word: &str) -> Option<(&str, &str)> {
    word.split_once("->")
}

/// A start time: csg-htsim has whole picoseconds, where earlier versions had microseconds with six decimals.
fn picoseconds(start: &str) -> Result<&str, String> {
    match start.split_once('.') {
        None => Ok(start),
        Some(_) if start.parse() == Ok(0.0) => Ok("0"),
        Some(_) => Err(format!(
            "start {start:?}, expected whole picoseconds, as csg-htsim has; start times with decimals are \
             microseconds of an earlier htsim: multiply them by 1000000"
        )),
    }
}
