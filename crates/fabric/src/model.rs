//! The fabric as a model of studies.

use crate::case::FabricCase;
use crate::flow::Packets;
use crate::hosts::Hosts;
use crate::path::Balance;
use crate::queue::{Between, QueueKind};
use crate::rows::{VOCABULARY, kinds_of};
use crate::scheme::Scheme;
use crate::switch_memory::Buffer;
use crate::topology::Topology;
use crate::transport::{Priority, TransportKind};
use crate::workload::{Workload, deadlines};
use sojourn_core::model::{Model, Part, Tell, Topic};
use sojourn_core::parameters::{Parameters, Refusal, Table};
use sojourn_core::resource::{Call, Tables};
use sojourn_core::{Cancelled, Execution, Report, Streams, Vocabulary, WORKLOADS};

impl Model for FabricCase {
    fn vocabulary() -> &'static Vocabulary {
        &VOCABULARY
    }

    /// `workloads` has the kinds of workload first, and then the size tables that they can draw from.
    fn topics() -> Vec<Topic> {
        let mut workloads = Topic::of("workloads", Workload::entries());
        workloads.parts.extend(size_tables());
        vec![
            Topic::of("tables", vec![Packets::entry(), Hosts::entry()]),
            workloads,
            Topic::of("topologies", Topology::entries()),
            Topic::of("schemes", Scheme::entries()),
            Topic::of("transports", TransportKind::entries()),
            Topic::of("queues", QueueKind::entries()),
            Topic::of("buffers", Buffer::entries()),
            Topic::of("class-policies", Between::entries()),
            Topic::of("balances", Balance::entries()),
            Topic::of("priorities", Priority::entries()),
            Topic::of("deadlines", deadlines::Law::entries()),
        ]
    }

    fn kinds(&self) -> Option<Vec<&'static str>> {
        let workloads = std::iter::once(&self.workload).chain(&self.background);
        Some(workloads.flat_map(|workload| kinds_of(workload).iter().copied()).collect())
    }

    fn calls(&self, streams: Streams) -> Result<Vec<Call>, Refusal> {
        self.calls(streams)
    }

    fn count(&self, first: Streams, tables: Tables<'_>, tell: Tell<'_>) -> Result<usize, Refusal> {
        self.count(first, tables, tell)
    }

    fn run(
        &self,
        streams: Streams,
        tables: Tables<'_>,
        execution: Execution<'_>,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        Ok(self.ready(streams, tables)?.run(execution))
    }

    fn table(&self) -> Table {
        self.write_table()
    }
}

/// The published size tables that come with sojourn.
fn size_tables() -> impl Iterator<Item = Part> {
    WORKLOADS.iter().map(|table| Part {
        name: table.name.to_owned(),
        summary: format!("Size table: {}.", table.summary().trim_end_matches('.')),
        source: table.source().to_owned(),
        parameters: Vec::new(),
    })
}
