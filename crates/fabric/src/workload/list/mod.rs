//! Lists of flows, in whatever they stand: a flow a row, and which of them wait for which.

mod cell;
mod columns;
mod names;
mod order;

pub(super) use cell::{Cell, Cells};
pub(super) use columns::Columns;

use super::{Drawn, JobId, JobKind, MessageId};
use crate::flow::Flow;
use crate::lists::Lists;
use columns::Line;
use order::{in_order, with_parents};
use std::collections::BTreeMap;
use std::fmt;

/// The place of a row in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What a row is called there: a line of a file, a row of a table.
    pub(super) noun: &'static str,
    /// Its number.
    pub(super) number: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.noun, self.number)
    }
}

/// Why rows are not a list of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListError {
    /// The row.
    pub(super) place: Place,
    /// What is wrong there and what belongs there.
    pub(super) what: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// The largest job: 1 EB.
const MAX_JOB_BYTES: u64 = 1_000_000_000_000_000_000;

/// The most rows to reserve memory for, 150 MB. A vector that grows would copy them several times.
const RESERVED: usize = 1 << 20;

/// Reads `rows` of flows between `hosts` hosts, none above `largest` bytes. They come back by time of
/// arrival, those that wait for others behind those that do not.
pub(super) fn read<R: Cells>(
    columns: &Columns,
    rows: impl Iterator<Item = Result<(Place, R), ListError>>,
    hosts: usize,
    largest: u64,
) -> Result<Drawn, ListError> {
    let line = |row: Result<(Place, R), ListError>| {
        let (place, row) = row?;
        columns.line(place, &row, hosts, largest).map_err(|what| ListError { place, what })
    };
    if !columns.have_graphs() {
        let flows = rows.map(|row| line(row).map(|line| line.flow()));
        let mut flows = flows.collect::<Result<Vec<Flow>, ListError>>()?;
        flows.sort_by_key(|flow| flow.arrived);
        return Ok(flows.into());
    }
    let mut lines: Vec<Line> = Vec::with_capacity(rows.size_hint().1.unwrap_or(0).min(RESERVED));
    for row in rows {
        lines.push(line(row)?);
    }
    let parents = with_parents(&lines, columns.have_ids())?;
    let order = in_order(&mut lines, &parents)?;
    drawn(&lines, &parents, &order)
}

/// The flows of `lines` in this `order`, in which each stands behind its `parents`, and their jobs.
fn drawn(lines: &[Line], parents: &Lists, order: &[u32]) -> Result<Drawn, ListError> {
    let mut drawn = Drawn::default();
    let jobs = jobs(lines, &mut drawn)?;
    let mut messages = vec![MessageId::at(0); lines.len()];
    for &place in order {
        let line = &lines[place as usize];
        let own: Vec<MessageId> =
            parents.of(place).iter().map(|&parent| messages[parent as usize]).collect();
        let job = line.job.as_deref().map(|name| jobs[name]);
        messages[place as usize] = drawn.message(line.flow(), &own, line.delay, job);
    }
    Ok(drawn)
}

/// Appends the jobs of `lines` to `drawn`, in the order in which they come first. Returns them by name.
fn jobs<'a>(lines: &'a [Line], drawn: &mut Drawn) -> Result<BTreeMap<&'a str, JobId>, ListError> {
    let mut jobs = BTreeMap::new();
    let mut bytes: Vec<u64> = Vec::new();
    for line in lines {
        let Some(name) = line.job.as_deref() else { continue };
        let job = *jobs.entry(name).or_insert_with(|| {
            bytes.push(0);
            drawn.graph.add_job(JobKind::Messages)
        });
        let all = &mut bytes[job.place()];
        *all += line.flow.bytes;
        if *all > MAX_JOB_BYTES {
            let what = format!("job {name:?}, expected at most {MAX_JOB_BYTES} bytes in all");
            return Err(ListError { place: line.place, what });
        }
    }
    Ok(jobs)
}
