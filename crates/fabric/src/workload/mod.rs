//! Workloads: which flows arrive when, from where to where, how large; and on which terms.

mod bulk;
mod collective;
mod csv;
pub mod deadlines;
mod function;
mod graph;
mod incast;
mod list;
pub(crate) mod offered;
mod permutation;
mod poisson;
mod query;
mod ranks;
mod table;
mod trace;
mod training;

pub use bulk::{Bulk, Pattern};
pub use collective::Collectives;
pub use csv::{Csv, CsvError, parse_flows};
pub use deadlines::{Deadline, FlowTerms};
pub use function::Function;
pub(crate) use graph::Role;
pub use graph::{JobId, JobKind, MessageGraph, MessageId};
pub use incast::Incast;
pub use offered::Offered;
pub use permutation::Permutation;
pub use poisson::{LoadCounts, LoadOf, Pairs, Poisson};
pub use query::{FanIn, Queries, Servers, SizeOf, When};
pub use table::Table as FlowTable;
pub use trace::{Chakra, Goal, RankFile, Sends, Simai};

use crate::flow::{Flow, MOST_PACKETS, Packets};
use crate::ranks::RankPlan;
use crate::topology::{Graph, Topology};
use sojourn_core::model::Tell;
use sojourn_core::parameters::{
    Entry, Parameters, Refusal, Setting, Shape, Table, Value, defaults,
};
use sojourn_core::resource::{Call, NameOrFile, Tables};
use sojourn_core::{Bytes, Reading, SizeTable, Span, Streams, Time, variants};
use sojourn_training::model::Iteration;
use std::sync::Arc;

/// The flows that arrive, and the terms on which they do: in a study one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Which flows arrive.
    pub arrivals: Arrivals,
    /// Their deadlines and classes.
    pub terms: FlowTerms,
}

variants! {
    /// Which flows arrive.
    pub enum Arrivals: "workload" => with_arrivals {
        Poisson(Poisson),
        Permutation(Permutation),
        Incast(Incast),
        Csv(Csv),
        Table(FlowTable),
        Function(Function),
        Bulk(Bulk),
        Query(Queries),
        Collective(Collectives),
        Training(Iteration),
        Goal(Goal),
        Simai(Simai),
        Chakra(Chakra),
    }
}

/// What a workload needs to know to be drawn.
pub struct WorkloadContext<'a> {
    /// The fabric.
    pub graph: &'a Graph,
    /// Sizes of packets.
    pub packets: &'a Packets,
    /// Finds tables that were drawn.
    pub tables: Tables<'a>,
    /// Takes what the author has to know about how a file was read.
    pub tell: Tell<'a>,
}

/// Longest time that a flow may take at best; well beyond the end of every run.
const LONGEST_FLOW: Span = Span::from_s(4_000_000);

impl WorkloadContext<'_> {
    /// The largest flow: one whose packets can be numbered, and cross the slowest link in a time.
    pub fn largest_flow(&self) -> u64 {
        let full = self.packets.full().into();
        let links = self.graph.links().map(|link| self.graph.farthest(link));
        let slowest = links.map(|link| link.rate.span(full)).max().unwrap_or(Span::ZERO);
        let packets = LONGEST_FLOW.ps() / slowest.ps().max(1);
        packets.min(MOST_PACKETS.into()) * self.packets.payload.0
    }

    /// Refuses flows of which `together` make more than the largest; `key` says how large each is.
    fn check_size(&self, key: &str, size: Bytes, together: u32) -> Result<(), Refusal> {
        let largest = self.largest_flow() / u64::from(together);
        if size.0 <= largest {
            return Ok(());
        }
        Err(Refusal::of(&size, at_most(largest)).under(key))
    }
}

/// The bound in the message about a flow larger than `largest`.
fn at_most(largest: u64) -> String {
    let bounds = format!("{MOST_PACKETS} packets, {LONGEST_FLOW} on the slowest link");
    format!("at most {largest} bytes ({bounds})")
}

/// Most jobs of a case: all are in memory, with half a kilobyte each.
const MAX_JOBS: usize = 20_000_000;

/// The jobs of one replication.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// Flows: those that wait for no other by time of arrival; the arrival time of one that waits is that
    /// before which it does not begin.
    pub flows: Vec<Flow>,
    /// Which of them wait for which, and which jobs they make together.
    pub graph: MessageGraph,
    /// The ranks whose connections all its flows are, where there are any.
    pub ranks: Option<Arc<RankPlan>>,
    /// Begin and end of the measurement of flows that never end, where there are such.
    pub window: Option<(Time, Time)>,
    /// The load that its flows offer in the long run, where they arrive as a Poisson process.
    pub offered: Option<Offered>,
}

impl Drawn {
    /// Appends a message that begins a `delay` after all its `parents` are over at its source. These stand
    /// before it and end or begin there. It is of the given job, if of any.
    pub(crate) fn message(
        &mut self,
        flow: Flow,
        parents: &[MessageId],
        delay: Span,
        job: Option<JobId>,
    ) -> MessageId {
        self.flows.push(flow);
        self.graph.add_message(parents, delay, job);
        MessageId::at(self.flows.len() - 1)
    }
}

impl From<Vec<Flow>> for Drawn {
    /// Flows by time of arrival, each with an end.
    fn from(flows: Vec<Flow>) -> Drawn {
        Drawn { flows, ..Drawn::default() }
    }
}

/// Draws jobs.
trait Draw {
    /// How many jobs will arrive; `first` are the streams of the first replication. Refused when they cannot be
    /// had in this fabric.
    fn count(&self, context: &WorkloadContext<'_>, first: Streams) -> Result<usize, Refusal>;

    /// The jobs of one replication.
    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal>;

    /// The key that says how many jobs arrive.
    fn number(&self) -> &'static str;

    /// Whether its jobs are flows that arrive at times known beforehand and end.
    fn is_of_flows(&self) -> bool {
        true
    }

    /// Whether ranks that execute a program are its jobs.
    fn has_ranks(&self) -> bool {
        false
    }

    /// Whether its flows come on their own, one after the other, with an end: what one link does to
    /// a flow then says little of what another does to it.
    fn is_steady(&self) -> bool {
        false
    }

    /// Refuses flows that wait for others, whose arrival times are not known beforehand; `purpose` says what
    /// for they have to be.
    fn check_known_arrivals(
        &self,
        _: &WorkloadContext<'_>,
        _first: Streams,
        _purpose: &str,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether its flows already have traffic classes.
    fn has_classes(&self, _: &WorkloadContext<'_>, _first: Streams) -> Result<bool, Refusal> {
        Ok(false)
    }
}

impl Workload {
    /// How many jobs will arrive, at least one, beside `others` of the same case: everything is
    /// checked, nothing drawn.
    pub fn count(
        &self,
        context: &WorkloadContext<'_>,
        first: Streams,
        others: usize,
    ) -> Result<usize, Refusal> {
        let (jobs, key) = self.number(context, first)?;
        if jobs <= MAX_JOBS - others {
            return Ok(jobs);
        }
        let table = self.write();
        let given = match &table {
            Some(Value::Table(table)) => {
                table.get(key).expect("a parameter of the kind has its key")
            }
            _ => unreachable!("a kind is a table"),
        };
        let expected = format!("at most {MAX_JOBS} jobs in a case of a fabric, not {jobs}");
        let expected = match others {
            0 => expected,
            others => format!("{expected} beside {others}"),
        };
        Err(Refusal::value(given, expected).under(key))
    }

    /// How many jobs will arrive, and the key that says so.
    fn number(
        &self,
        context: &WorkloadContext<'_>,
        first: Streams,
    ) -> Result<(usize, &'static str), Refusal> {
        with_arrivals!(&self.arrivals, |params| {
            if !self.terms.classes.is_empty() && params.has_classes(context, first)? {
                let expected = "a list of none: each flow comes with its class";
                return Err(Refusal::of(&self.terms.classes, expected).under("classes"));
            }
            Ok((params.count(context, first)?, params.number()))
        })
    }

    /// The call that draws a replication on a fabric, where a function does.
    pub(crate) fn call(
        &self,
        topology: &Topology,
        streams: Streams,
    ) -> Result<Option<Call>, Refusal> {
        match &self.arrivals {
            Arrivals::Function(function) => function.call(&topology.graph(), streams).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether its jobs are flows that arrive at times known beforehand and end.
    pub fn is_of_flows(&self) -> bool {
        with_arrivals!(&self.arrivals, |params| params.is_of_flows())
    }

    /// Whether ranks that execute a program are its jobs.
    pub fn has_ranks(&self) -> bool {
        with_arrivals!(&self.arrivals, |params| params.has_ranks())
    }

    /// Refuses flows of a file that wait for others; `purpose` says what for their arrival times have to be
    /// known.
    pub(crate) fn check_known_arrivals(
        &self,
        context: &WorkloadContext<'_>,
        first: Streams,
        purpose: &str,
    ) -> Result<(), Refusal> {
        with_arrivals!(&self.arrivals, |params| params
            .check_known_arrivals(context, first, purpose))
    }

    /// Whether its flows come on their own, one after the other, with an end.
    pub fn is_steady(&self) -> bool {
        with_arrivals!(&self.arrivals, |params| params.is_steady())
    }

    /// The jobs of one replication.
    pub fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        let mut drawn = with_arrivals!(&self.arrivals, |params| params.draw(context, streams))?;
        self.terms.set(&mut drawn, streams);
        Ok(drawn)
    }

    /// All kinds, documented; each with the terms behind its own parameters.
    pub fn entries() -> Vec<Entry> {
        let with_terms = |mut entry: Entry| {
            entry.parameters.extend(FlowTerms::entry().parameters);
            entry
        };
        Arrivals::entries().into_iter().map(with_terms).collect()
    }
}

impl From<Arrivals> for Workload {
    /// Without terms.
    fn from(arrivals: Arrivals) -> Workload {
        Workload { arrivals, terms: defaults() }
    }
}

/// One table: the kind, its parameters, and the terms.
impl Setting for Workload {
    fn expected() -> String {
        Arrivals::expected()
    }

    fn shape() -> Shape {
        Shape::Kind { what: "workload", key: "kind", entries: Workload::entries, other: None }
    }

    fn read(value: &Value) -> Result<Workload, Refusal> {
        let Value::Table(table) = value else { return Arrivals::read(value).map(Workload::from) };
        let names = FlowTerms::entry().parameters.into_iter().map(|field| field.name);
        let names: Vec<&'static str> = names.collect();
        let (mut terms, mut own) = (Table::default(), table.clone());
        for name in &names {
            own.remove(name).into_iter().for_each(|value| terms.set(name, value));
        }
        let with_terms = |mut refusal: Refusal| {
            if refusal.unknown_key {
                refusal.names.extend(names.iter().map(|&name| name.to_owned()));
            }
            refusal
        };
        let arrivals = Arrivals::read(&Value::Table(own));
        let arrivals = arrivals.map_err(|refusal| refusal.map(&with_terms));
        let (arrivals, terms) = Refusal::both(arrivals, FlowTerms::read(&terms))?;
        Ok(Workload { arrivals, terms })
    }

    fn write(&self) -> Option<Value> {
        let Some(Value::Table(mut table)) = self.arrivals.write() else {
            unreachable!("a kind is a table")
        };
        for (name, value) in self.terms.write_table().iter() {
            table.set(name, value.clone());
        }
        Some(Value::Table(table))
    }
}

/// The size table of this name, one that comes with sojourn or a file.
fn sizes(
    name: &NameOrFile,
    reading: Option<Reading>,
    context: &WorkloadContext<'_>,
) -> Result<SizeTable, Refusal> {
    let (table, notes) = name.size_table(reading).map_err(|refusal| refusal.under("sizes"))?;
    notes.into_iter().for_each(|note| (context.tell)(note));
    Ok(table)
}
