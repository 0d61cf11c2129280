//! The list server as a model of studies.

use crate::arrivals::Arrivals;
use crate::bottleneck::Cause;
use crate::case::{List, MailCase, Policy};
use crate::internet::{Internet, Peer};
use crate::policy::{CheckpointKind, Limits, OrderKind, RetryKind, SplitKind, TimeoutsKind};
use crate::rows::VOCABULARY;
use crate::world::Machine;
use sojourn_core::model::{Model, Part, Tell, Topic};
use sojourn_core::parameters::{Parameters, Refusal, Table};
use sojourn_core::resource::Tables;
use sojourn_core::{Cancelled, Execution, Report, Streams, Vocabulary};

impl Model for MailCase {
    fn vocabulary() -> &'static Vocabulary {
        &VOCABULARY
    }

    fn topics() -> Vec<Topic> {
        let tables =
            vec![List::entry(), Policy::entry(), Limits::entry(), Machine::entry(), Peer::entry()];
        vec![
            Topic::of("tables", tables),
            Topic::of("internets", Internet::entries()),
            Topic::of("message-arrivals", Arrivals::entries()),
            Topic { name: "policies", parts: policies() },
            Topic::of("causes", Cause::entries()),
        ]
    }

    fn count(&self, _: Streams, _: Tables<'_>, _: Tell<'_>) -> Result<usize, Refusal> {
        self.count()
    }

    fn run(
        &self,
        streams: Streams,
        _: Tables<'_>,
        execution: Execution<'_>,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        self.run(streams, execution)
    }

    fn table(&self) -> Table {
        self.write_table()
    }
}

/// The policies of a list server, each under the name of the decision that it makes.
fn policies() -> Vec<Part> {
    let decisions = [
        ("split", SplitKind::entries()),
        ("order", OrderKind::entries()),
        ("timeouts", TimeoutsKind::entries()),
        ("checkpoint", CheckpointKind::entries()),
        ("retry", RetryKind::entries()),
    ];
    let ways = decisions.into_iter().flat_map(|(decision, ways)| {
        ways.into_iter().map(move |way| {
            let part = Part::from(way);
            Part { name: format!("{decision}.{}", part.name), ..part }
        })
    });
    ways.collect()
}
