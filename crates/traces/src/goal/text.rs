//! GOAL as text (`txt2bin.re` of LogGOPSim).

use super::{ANY, Options, ended};
use crate::options::span;
use crate::{File, Place, TraceError};
use sojourn_training::program::{Event, Graph, GraphBuilder, NodeId, Op, Program};
use std::collections::BTreeMap;

/// The program of a schedule.
///
/// ```
/// use sojourn_traces::{File, goal};
///
/// let text = b"num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\n}\nrank 1 {\nrecv 8b from 0 tag 3\n}\n";
/// let file = File { name: "ping.goal", bytes: text };
/// let program = goal::text::read(file, &goal::Options::default()).unwrap();
/// assert_eq!((program.ranks(), program.nodes().count()), (2, 2));
/// ```
pub fn read(file: File, options: &Options) -> Result<Program, TraceError> {
    let text = std::str::from_utf8(file.bytes).map_err(|error| {
        let place = Place::Byte(error.valid_up_to());
        TraceError::new(file.name, None, place, "expected text in UTF-8")
    })?;
    let mut lines =
        Lines { file: file.name, lines: text.lines().enumerate(), is_comment: false, rank: None };
    let ranks = lines.head()?;
    let mut graphs = Vec::new();
    let mut places = Vec::new();
    for rank in 0..ranks {
        let (graph, lines) = lines.rank(rank, ranks, options)?;
        graphs.push((graph, vec![rank]));
        places.push(lines);
    }
    Program::new(ranks, graphs, Vec::new(), Vec::new()).map_err(|error| {
        let at = error.at();
        let place =
            at.map_or(Place::File, |at| Place::Line(places[at.rank as usize][at.node as usize]));
        TraceError::new(file.name, at.map(|at| at.rank), place, error.to_string())
    })
}

/// The lines of a schedule, without comments.
struct Lines<'a> {
    file: &'a str,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    is_comment: bool,
    rank: Option<u32>,
}

/// A line that says something: its number and its words.
struct Line {
    number: usize,
    words: Vec<String>,
}

impl Lines<'_> {
    fn refused(&self, line: usize, why: impl Into<String>) -> TraceError {
        TraceError::new(self.file, self.rank, Place::Line(line), why)
    }

    /// The next line that says something, or an error that says what was `expected`.
    fn next(&mut self, expected: &str) -> Result<Line, TraceError> {
        for (place, line) in self.lines.by_ref() {
            let mut said = String::new();
            let mut rest = line;
            loop {
                if self.is_comment {
                    let Some(end) = rest.find("*/") else { break };
                    self.is_comment = false;
                    rest = &rest[end + 2..];
                }
                let comment = rest.find("//").into_iter().chain(rest.find("/*")).min();
                let Some(start) = comment else {
                    said.push_str(rest);
                    break;
                };
                said.push_str(&rest[..start]);
                said.push(' ');
                if rest[start..].starts_with("//") {
                    break;
                }
                self.is_comment = true;
                rest = &rest[start + 2..];
            }
            let said = said.replace('{', " { ").replace('}', " } ").replace(':', ": ");
            let words: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
            if !words.is_empty() {
                return Ok(Line { number: place + 1, words });
            }
        }
        Err(TraceError::new(
            self.file,
            self.rank,
            Place::File,
            format!("the file ends before {expected}"),
        ))
    }

    /// The number of ranks.
    fn head(&mut self) -> Result<u32, TraceError> {
        let line = self.next("num_ranks")?;
        match line.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["num_ranks", number] => number.parse().ok().filter(|&ranks| ranks > 0),
            _ => None,
        }
        .ok_or_else(|| self.refused(line.number, "expected num_ranks and a number from 1"))
    }

    /// The graph of a rank, and the line of each node.
    fn rank(
        &mut self,
        rank: u32,
        ranks: u32,
        options: &Options,
    ) -> Result<(Graph, Vec<usize>), TraceError> {
        let line = self.next(&format!("rank {rank} of {ranks}"))?;
        self.rank = Some(rank);
        if line.words != ["rank", &rank.to_string(), "{"] {
            return Err(self.refused(line.number, format!("expected \"rank {rank} {{\"")));
        }
        let mut block = Block {
            graph: GraphBuilder::new(rank, ranks),
            labels: BTreeMap::new(),
            lines: Vec::new(),
            sends: Vec::new(),
        };
        loop {
            let line = self.next("the rank's closing brace")?;
            if line.words == ["}"] {
                break;
            }
            block
                .add(&line.words, line.number, options)
                .map_err(|why| self.refused(line.number, why))?;
        }
        let last = block.lines.last().copied().unwrap_or(line.number);
        let Block { graph, lines, .. } = block;
        let graph = graph.build().map_err(|error| {
            let line = error.at().map_or(last, |at| lines[at.node as usize]);
            self.refused(line, error.to_string())
        })?;
        self.rank = None;
        Ok((graph, lines))
    }
}

/// A rank while it is read.
struct Block {
    graph: GraphBuilder,
    labels: BTreeMap<String, NodeId>,
    /// The line of each node.
    lines: Vec<usize>,
    /// Whether each node is a send.
    sends: Vec<bool>,
}

const EXPECTED: &str = "expected `[label:] send SIZEb to RANK`, `[label:] recv SIZEb from RANK`, \
                        `[label:] calc SIZE`, `a requires b` or `a irequires b`";

impl Block {
    fn add(&mut self, words: &[String], line: usize, options: &Options) -> Result<(), String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let [after, how @ ("requires" | "irequires"), before] = words[..] {
            let (child, parent) = (self.node(after)?, self.node(before)?);
            let event = match how {
                "irequires" => Event::Started,
                _ => ended(self.sends[parent as usize], options),
            };
            return self.graph.edge(parent, child, event).map_err(|error| error.to_string());
        }
        let (label, words) = match words[..] {
            [label, ref rest @ ..] if label.ends_with(':') => {
                (Some(&label[..label.len() - 1]), rest)
            }
            ref all => (None, all),
        };
        let op = op(words, options)?;
        if let Some(label) = label {
            let is_name = label.starts_with(|first: char| first.is_ascii_alphabetic())
                && label.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
            if !is_name {
                return Err(format!("{label:?} is no label, expected letters, digits and _"));
            }
            if self.labels.insert(label.to_owned(), self.lines.len() as NodeId).is_some() {
                return Err(format!("the label {label:?} is used twice"));
            }
        }
        self.graph.add(op).map_err(|error| error.to_string())?;
        self.lines.push(line);
        self.sends.push(matches!(op, Op::Send { .. }));
        Ok(())
    }

    fn node(&self, label: &str) -> Result<NodeId, String> {
        let node = self.labels.get(label).copied();
        node.ok_or_else(|| format!("the label {label:?} is not defined above"))
    }
}

fn op(words: &[&str], options: &Options) -> Result<Op, String> {
    match *words {
        ["send", size, "to", to, ref more @ ..] => {
            let rest = settings(more, &["tag", "cpu", "nic"])?;
            Ok(Op::Send { to: one("rank", to)?, tag: rest[0], bytes: bytes(size)? })
        }
        ["recv", size, "from", from, ref more @ ..] => {
            bytes(size)?;
            let rest = settings(more, &["tag", "cpu", "nic"])?;
            Ok(Op::Receive { from: one("rank", from)?, tag: rest[0] })
        }
        ["calc", size, ref more @ ..] => {
            let rest = settings(more, &["cpu"])?;
            let stream =
                rest[0].try_into().map_err(|_| format!("cpu is {}, expected 0 to 255", rest[0]))?;
            let units = size.parse().map_err(|_| format!("{size:?} is no size of a calc"))?;
            let span = span(units, options.unit).ok_or("the calc takes longer than 2400h")?;
            Ok(Op::Compute { stream, span })
        }
        _ => Err(EXPECTED.to_owned()),
    }
}

fn bytes(size: &str) -> Result<u64, String> {
    let number = size.strip_suffix('b').and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("{size:?} is no size, expected a number and b, such as 8b"))
}

/// A rank or tag that is not -1.
fn one(what: &str, text: &str) -> Result<u32, String> {
    if text == "-1" {
        return Err(format!("any {what} (-1) is not supported: name one"));
    }
    let number = text.parse().ok().filter(|&number| number != ANY);
    number.ok_or_else(|| format!("{text:?} is no {what}, expected 0 to {}", ANY - 1))
}

/// The values of settings that may be missing, but come in this order.
fn settings(mut words: &[&str], keys: &[&str]) -> Result<Vec<u32>, String> {
    let mut values = vec![0; keys.len()];
    for (key, value) in keys.iter().zip(&mut values) {
        if let [word, number, rest @ ..] = words
            && word == key
        {
            *value = one(key, number)?;
            words = rest;
        }
    }
    match words {
        [] => Ok(values),
        [word, ..] => {
            Err(format!("{word:?} is not expected here; known, in this order: {}", keys.join(", ")))
        }
    }
}
