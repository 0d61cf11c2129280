//! The model of a fabric: packets in a switched network.

use super::{Model, Part, Topic};
use crate::capability::LinkDecomposition;
use sojourn_core::files::{Open, text};
use sojourn_core::parameters::{Parameters, Refusal, Table};
use sojourn_core::{Cancelled, Keep, Progress, Report, Streams, WORKLOADS};
use sojourn_fabric::estimate::Settings;
use sojourn_fabric::path::Balance;
use sojourn_fabric::queue::{Between, QueueKind};
use sojourn_fabric::topology::Topology;
use sojourn_fabric::transport::{Priority, TransportKind};
use sojourn_fabric::workload::{Workload, deadlines};
use sojourn_fabric::{Buffer, Decomposition, FabricCase, Packets, Scheme};

impl Model for FabricCase {
    fn files(&mut self) -> Vec<&mut String> {
        self.files().collect()
    }

    fn count(&self, open: Open<'_>) -> Result<usize, Refusal> {
        self.count(&|name| text(open, name))
    }

    fn run(
        &self,
        streams: Streams,
        open: Open<'_>,
        keep: Keep,
        threads: usize,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        Ok(self.ready(streams, &|name| text(open, name))?.run(keep, threads, progress))
    }

    fn link_decomposition(&self) -> Option<&dyn LinkDecomposition> {
        Some(self)
    }

    fn table(&self) -> Table {
        self.write_table()
    }
}

impl LinkDecomposition for FabricCase {
    fn check_estimable(&self, open: Open<'_>) -> Result<(), Refusal> {
        self.check_estimable(&|name| text(open, name))
    }

    fn decompose(
        &self,
        settings: &Settings,
        streams: Streams,
        open: Open<'_>,
    ) -> Result<Decomposition, Refusal> {
        Decomposition::new(self, settings, streams, &|name| text(open, name))
    }
}

/// The topics of a study of a fabric. `workloads` has the kinds of workload first, and then the size
/// tables that they can draw from.
pub(crate) fn topics() -> Vec<Topic> {
    let mut workloads = Topic::of("workloads", Workload::entries());
    workloads.parts.extend(size_tables());
    vec![
        Topic::of("tables", vec![Packets::entry()]),
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

/// The published size tables that come with sojourn.
fn size_tables() -> impl Iterator<Item = Part> {
    WORKLOADS.iter().map(|table| Part {
        name: table.name.to_owned(),
        summary: format!("Size table: {}.", table.summary().trim_end_matches('.')),
        source: table.source().to_owned(),
        parameters: Vec::new(),
    })
}
