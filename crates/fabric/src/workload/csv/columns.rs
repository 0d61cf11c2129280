//! The columns of a list of flows, and what one of its lines says.

use crate::flow::Flow;
use crate::packet::{CLASSES, LATEST_ARRIVAL, LONGEST_TIMER};
use sojourn_core::files::Row;
use sojourn_core::{Span, Time};

/// The place of each column.
pub(super) struct Columns {
    src: usize,
    dst: usize,
    size: usize,
    arrival: Option<usize>,
    arrival_in_seconds: bool,
    deadline: Option<usize>,
    class: Option<usize>,
    id: Option<usize>,
    after: Option<usize>,
    delay: Option<usize>,
    job: Option<usize>,
    count: usize,
}

/// One line of a list of flows.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Its number in the file, from 1.
    pub(super) number: usize,
    /// The flow, without a deadline; it does not begin before its arrival time.
    pub(super) flow: Flow,
    /// How long it may take.
    pub(super) deadline: Option<Span>,
    /// Its name, empty where it has none.
    pub(super) id: String,
    /// The names of those that it waits for.
    pub(super) after: Vec<String>,
    /// The time from the end of the last of them to its begin.
    pub(super) delay: Span,
    /// The name of its job.
    pub(super) job: Option<String>,
}

impl Line {
    /// The flow, with its deadline.
    pub(super) fn flow(&self) -> Flow {
        let deadline = self.deadline.map_or(Time::NEVER, |span| self.flow.arrived + span);
        Flow { deadline, ..self.flow }
    }
}

const NAMES: &str = "src, dst, size_bytes, arrival (or arrival_s) and, if wanted, deadline, class, \
                     id, after, delay, job";
const KNOWN: [&str; 11] = [
    "src",
    "dst",
    "size_bytes",
    "arrival",
    "arrival_s",
    "deadline",
    "class",
    "id",
    "after",
    "delay",
    "job",
];

impl Columns {
    pub(super) fn read(head: &Row) -> Result<Columns, String> {
        let names: Vec<&str> = head.cells().collect();
        if let Some(other) = names.iter().find(|name| !KNOWN.contains(name)) {
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
        let after = place("after");
        if let Some(stray) = ["id", "delay"].into_iter().find(|name| place(name).is_some())
            && after.is_none()
        {
            return Err(format!("column {stray:?}, expected a column \"after\" beside it"));
        }
        let arrival = if arrival_in_seconds { "arrival_s" } else { "arrival" };
        Ok(Columns {
            src: needed("src")?,
            dst: needed("dst")?,
            size: needed("size_bytes")?,
            arrival: if after.is_some() { place(arrival) } else { Some(needed(arrival)?) },
            arrival_in_seconds,
            deadline: place("deadline"),
            class: place("class"),
            id: place("id"),
            after,
            delay: place("delay"),
            job: place("job"),
            count: names.len(),
        })
    }

    /// Whether lines give traffic classes.
    pub(super) fn have_classes(&self) -> bool {
        self.class.is_some()
    }

    /// Whether lines may wait for others, or make jobs.
    pub(super) fn have_graphs(&self) -> bool {
        self.after.is_some() || self.job.is_some()
    }

    /// Whether lines have names.
    pub(super) fn have_ids(&self) -> bool {
        self.id.is_some()
    }

    /// Reads a line of flows between `hosts` hosts, none above `largest` bytes.
    pub(super) fn line(&self, row: &Row, hosts: usize, largest: u64) -> Result<Line, String> {
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
        let after = names(cell(row, self.after));
        let arrived = Time::ZERO + self.arrival(row, !after.is_empty())?;
        let class = match cell(row, self.class) {
            "" => 0,
            given => match given.parse::<u8>() {
                Ok(class) if usize::from(class) < CLASSES => class,
                _ => return Err(format!("class {given:?}, expected 0 to {}", CLASSES - 1)),
            },
        };
        Ok(Line {
            number: row.line,
            flow: Flow { class, ..Flow::new(from, to, bytes, arrived) },
            deadline: deadline(cell(row, self.deadline))?,
            id: id(cell(row, self.id))?,
            delay: delay(cell(row, self.delay), !after.is_empty())?,
            after,
            job: Some(cell(row, self.job)).filter(|name| !name.is_empty()).map(str::to_owned),
        })
    }

    /// The arrival time; of a flow that `waits` for others none is needed.
    fn arrival(&self, row: &Row, waits: bool) -> Result<Span, String> {
        let given = match self.arrival {
            None => return Ok(Span::ZERO),
            Some(place) => row.cell(place),
        };
        if given.is_empty() && waits {
            return Ok(Span::ZERO);
        }
        let span = match self.arrival_in_seconds {
            true => match given.parse::<f64>() {
                Ok(seconds) if seconds >= 0.0 => Some(Span::from_seconds(seconds)),
                _ => None,
            },
            false => given.parse::<Span>().ok(),
        };
        let like =
            if self.arrival_in_seconds { "seconds such as 0.25" } else { "a time such as 12us" };
        span.filter(|span| *span <= LATEST_ARRIVAL)
            .ok_or_else(|| format!("arrival {given:?}, expected {like}, at most {LATEST_ARRIVAL}"))
    }
}

/// The cell of a column that need not be there; empty where it is not.
fn cell(row: &Row, place: Option<usize>) -> &str {
    place.map_or("", |place| row.cell(place))
}

fn deadline(given: &str) -> Result<Option<Span>, String> {
    if given.is_empty() {
        return Ok(None);
    }
    match given.parse::<Span>() {
        Ok(span) if span > Span::ZERO && span <= LATEST_ARRIVAL => Ok(Some(span)),
        _ => {
            let like = "a time such as 10ms, above zero";
            Err(format!("deadline {given:?}, expected {like}, at most {LATEST_ARRIVAL}"))
        }
    }
}

fn delay(given: &str, waits: bool) -> Result<Span, String> {
    if given.is_empty() {
        return Ok(Span::ZERO);
    }
    if !waits {
        return Err(format!("delay {given:?}, expected none without flows to wait for in after"));
    }
    given.parse().ok().filter(|span| *span <= LONGEST_TIMER).ok_or_else(|| {
        format!("delay {given:?}, expected a time such as 12us, at most {LONGEST_TIMER}")
    })
}

fn id(given: &str) -> Result<String, String> {
    match given.contains(is_between) {
        true => Err(format!("id {given:?}, expected no spaces and semicolons in it")),
        false => Ok(given.to_owned()),
    }
}

/// The names in a list of them.
fn names(given: &str) -> Vec<String> {
    given.split(is_between).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Whether it stands between two names in a list.
fn is_between(character: char) -> bool {
    character == ';' || character.is_whitespace()
}

/// The largest flow: 1 TB.
const MAX_BYTES: u64 = 1_000_000_000_000;
