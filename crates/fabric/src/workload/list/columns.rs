//! The columns of a list of flows, and what one of its rows says.

use super::Place;
use super::cell::{Cell, Cells, TimeUnit};
use super::names::{self, PLAIN, TIMES};
use crate::flow::Flow;
use crate::packet::{CLASSES, LATEST_ARRIVAL, LONGEST_TIMER};
use sojourn_core::{Span, Time};

/// The place of each column.
pub(in crate::workload) struct Columns {
    src: usize,
    dst: usize,
    size: usize,
    arrival: Option<Times>,
    deadline: Option<Times>,
    class: Option<usize>,
    id: Option<usize>,
    after: Option<usize>,
    delay: Option<Times>,
    job: Option<usize>,
    /// The names of columns that are none of flows.
    ignored: Vec<String>,
}

/// A column of times.
struct Times {
    place: usize,
    unit: TimeUnit,
    name: String,
}

/// One row of a list of flows.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Its place in the list.
    pub(super) place: Place,
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

const NAMES: &str = "src, dst, size_bytes, arrival and, if wanted, deadline, class, id, after, \
                     delay, job (plain numbers for times belong in arrival_s, arrival_ms, arrival_us, \
                     arrival_ns or arrival_ps)";

impl Columns {
    /// The columns of these names, or what is wrong with them. A name that is none of flows is ignored, unless
    /// it is nearly one.
    pub(in crate::workload) fn read(names: &[&str]) -> Result<Columns, String> {
        let further: Vec<&str> = names.iter().copied().filter(|name| !is_known(name)).collect();
        let mut slips = further.iter().filter_map(|name| Some((name, names::nearest(name)?)));
        if let Some((other, meant)) = slips.next() {
            return Err(format!(
                "unknown column {other:?}, expected {NAMES} (did you mean {meant}?)"
            ));
        }
        let is_twice = |&i: &usize| is_known(names[i]) && names[..i].contains(&names[i]);
        if let Some(twice) = (1..names.len()).find(is_twice) {
            return Err(format!("column {:?} stands there twice", names[twice]));
        }
        let place = |name: &str| names.iter().position(|other| *other == name);
        let needed = |name: &str| {
            let renamed = || names::renamed(name, &further);
            place(name).ok_or_else(|| format!("no column {name:?}, expected {NAMES}{}", renamed()))
        };
        let (arrival, delay) = (Times::find("arrival", names)?, Times::find("delay", names)?);
        let after = place("after");
        if let (Some(delay), None) = (&delay, after) {
            return Err(format!("column {:?}, expected a column \"after\" beside it", delay.name));
        }
        let id = place("id");
        let unused = id.filter(|_| after.is_none()).map(|_| "id");
        let ignored = unused.into_iter().chain(further.iter().copied()).map(str::to_owned);
        let columns = Columns {
            src: needed("src")?,
            dst: needed("dst")?,
            size: needed("size_bytes")?,
            arrival,
            deadline: Times::find("deadline", names)?,
            class: place("class"),
            id: id.filter(|_| after.is_some()),
            after,
            delay,
            job: place("job"),
            ignored: ignored.collect(),
        };
        if columns.arrival.is_none() && after.is_none() {
            needed("arrival")?;
        }
        Ok(columns)
    }

    /// A note on the columns that are ignored, where there are such.
    pub(in crate::workload) fn note(&self) -> Option<String> {
        /// The most names in a note.
        const NAMED: usize = 8;
        let names = self.ignored.iter().take(NAMED).map(|name| format!("{:?}", names::cut(name)));
        let names = names.collect::<Vec<_>>().join(", ");
        match self.ignored.len() {
            0 => None,
            1 => Some(format!("column {names} is ignored")),
            NAMED.. if self.ignored.len() > NAMED => Some(format!(
                "columns {names} and {} others are ignored",
                self.ignored.len() - NAMED
            )),
            _ => Some(format!("columns {names} are ignored")),
        }
    }

    /// Whether rows give traffic classes.
    pub(in crate::workload) fn have_classes(&self) -> bool {
        self.class.is_some()
    }

    /// Whether rows may wait for others, or make jobs.
    pub(super) fn have_graphs(&self) -> bool {
        self.after.is_some() || self.job.is_some()
    }

    /// Whether rows have names.
    pub(super) fn have_ids(&self) -> bool {
        self.id.is_some()
    }

    /// Reads a row of flows between `hosts` hosts, none above `largest` bytes.
    pub(super) fn line(
        &self,
        place: Place,
        row: &impl Cells,
        hosts: usize,
        largest: u64,
    ) -> Result<Line, String> {
        let host = |name: &str, cell: Cell<'_>| match cell.whole::<u16>() {
            Some(host) if usize::from(host) < hosts => Ok(host),
            _ => {
                let (most, hint) = (hosts - 1, cell.hint());
                Err(format!("{name} {cell}, expected a host from 0 to {most}{hint}"))
            }
        };
        let from = host("src", row.cell(self.src))?;
        let to = host("dst", row.cell(self.dst))?;
        if from == to {
            return Err(format!("a flow from host {from} to itself, expected two hosts"));
        }
        let most = MAX_BYTES.min(largest);
        let size = row.cell(self.size);
        let bytes = (size.whole::<u64>().filter(|bytes| (1..=most).contains(bytes)))
            .ok_or_else(|| format!("size_bytes {size}, expected 1 to {most}{}", size.hint()))?;
        let after = names(&cell(row, self.after).name());
        let waits = !after.is_empty();
        let arrived = Time::ZERO + self.arrival(row, waits)?;
        let job = cell(row, self.job);
        Ok(Line {
            place,
            flow: Flow {
                class: class(cell(row, self.class))?,
                ..Flow::new(from, to, bytes, arrived)
            },
            deadline: self.deadline(row)?,
            id: id(&cell(row, self.id).name())?,
            delay: self.delay(row, waits)?,
            after,
            job: (!job.is_empty()).then(|| job.name().into_owned()),
        })
    }

    /// The arrival time; of a flow that `waits` for others none is needed.
    fn arrival(&self, row: &impl Cells, waits: bool) -> Result<Span, String> {
        let Some(times) = &self.arrival else { return Ok(Span::ZERO) };
        if waits && row.cell(times.place).is_empty() {
            return Ok(Span::ZERO);
        }
        (times.of(row).filter(|span| *span <= LATEST_ARRIVAL))
            .ok_or_else(|| times.refused(row, "12us", "", LATEST_ARRIVAL))
    }

    /// How long the flow may take, if it says so.
    fn deadline(&self, row: &impl Cells) -> Result<Option<Span>, String> {
        let Some(times) = self.deadline.as_ref().filter(|it| !row.cell(it.place).is_empty()) else {
            return Ok(None);
        };
        let span = times.of(row).filter(|span| *span > Span::ZERO && *span <= LATEST_ARRIVAL);
        let refused = || times.refused(row, "10ms", ", above zero", LATEST_ARRIVAL);
        span.ok_or_else(refused).map(Some)
    }

    /// The time from the last of those that it waits for on.
    fn delay(&self, row: &impl Cells, waits: bool) -> Result<Span, String> {
        let Some(times) = self.delay.as_ref().filter(|it| !row.cell(it.place).is_empty()) else {
            return Ok(Span::ZERO);
        };
        if !waits {
            let (name, given) = (&times.name, row.cell(times.place));
            let expected = "none without flows to wait for in after";
            return Err(format!("{name} {given}, expected {expected}"));
        }
        (times.of(row).filter(|span| *span <= LONGEST_TIMER))
            .ok_or_else(|| times.refused(row, "12us", "", LONGEST_TIMER))
    }
}

impl Times {
    /// The column of times called `name`, with its unit behind that. Refuses two of them.
    fn find(name: &str, names: &[&str]) -> Result<Option<Times>, String> {
        let column = |(unit, end): (TimeUnit, &str)| {
            let name = format!("{name}{end}");
            let place = names.iter().position(|other| *other == name)?;
            Some(Times { place, unit, name })
        };
        let mut found = TimeUnit::ALL.into_iter().filter_map(column);
        let first = found.next();
        match (&first, found.next()) {
            (Some(one), Some(other)) => {
                Err(format!("both {} and {}, expected one of them", one.name, other.name))
            }
            _ => Ok(first),
        }
    }

    /// The time in a row; none where something else stands there.
    fn of(&self, row: &impl Cells) -> Option<Span> {
        row.cell(self.place).span(self.unit)
    }

    /// The message about a cell that is no time up to `most`.
    fn refused(&self, row: &impl Cells, written: &str, bound: &str, most: Span) -> String {
        let (name, given, like) = (&self.name, row.cell(self.place), self.unit.like(written));
        let bare = matches!(given, Cell::Whole(_) | Cell::Number(_));
        let other = match self.unit {
            TimeUnit::Written if bare => {
                format!("; numbers stand in {name}_s, {name}_ms, {name}_us, {name}_ns or {name}_ps")
            }
            _ => String::new(),
        };
        format!("{name} {given}, expected {like}{bound}, at most {most}{other}")
    }
}

/// Whether a list of flows may have a column of this name.
fn is_known(name: &str) -> bool {
    let is_time = |time: &&str| TimeUnit::ALL.iter().any(|(_, end)| format!("{time}{end}") == name);
    PLAIN.contains(&name) || TIMES.iter().any(is_time)
}

/// The cell of a column that need not be there; nothing where it is not.
fn cell<R: Cells>(row: &R, place: Option<usize>) -> Cell<'_> {
    place.map_or(Cell::Missing, |place| row.cell(place))
}

fn class(given: Cell<'_>) -> Result<u8, String> {
    if given.is_empty() {
        return Ok(0);
    }
    (given.whole::<u8>().filter(|class| usize::from(*class) < CLASSES))
        .ok_or_else(|| format!("class {given}, expected 0 to {}{}", CLASSES - 1, given.hint()))
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
