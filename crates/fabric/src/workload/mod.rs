//! Workloads: which flows arrive when, from where to where, how large.

mod csv;
mod incast;
mod permutation;
mod poisson;

pub use csv::{Csv, CsvError, parse_flows};
pub use incast::Incast;
pub use permutation::Permutation;
pub use poisson::{LoadCounts, Poisson};

use crate::flow::{Flow, Packets};
use crate::topology::Network;
use sojourn_kernel::parameters::Refusal;
use sojourn_kernel::{Streams, variants};

variants! {
    /// Which flows arrive.
    pub enum Workload: "workload" => with_workload {
        Poisson(Poisson),
        Permutation(Permutation),
        Incast(Incast),
        Csv(Csv),
    }
}

/// What a workload is drawn for.
pub struct Stage<'a> {
    /// The fabric.
    pub network: &'a Network,
    /// How flows are cut into packets.
    pub packets: &'a Packets,
    /// Where chance comes from.
    pub streams: Streams,
    /// Reads a file that the study names: its text, or why not.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Draws the flows of one replication.
trait Draw {
    /// The flows, by time of arrival. Refused when they cannot be had on this stage.
    fn draw(&self, stage: &Stage<'_>) -> Result<Vec<Flow>, Refusal>;
}

impl Workload {
    /// The flows of one replication, by time of arrival; at least one.
    pub fn flows(&self, stage: &Stage<'_>) -> Result<Vec<Flow>, Refusal> {
        let flows = with_workload!(self, |params| params.draw(stage))?;
        debug_assert!(flows.is_sorted_by_key(|flow| flow.arrived));
        Ok(flows)
    }
}

/// The size table called `name`: one that comes with sojourn, or a file.
fn sizes(
    name: &str,
    reading: Option<sojourn_queueing::Reading>,
    stage: &Stage<'_>,
) -> Result<sojourn_queueing::SizeTable, Refusal> {
    use sojourn_kernel::parameters::Value;
    let given = Value::Text(name.to_owned());
    if let Some(workload) = sojourn_queueing::Workload::find(name) {
        return Ok(workload.sizes(reading));
    }
    if !name.contains(['/', '.']) {
        let names = sojourn_queueing::WORKLOADS
            .iter()
            .map(|workload| workload.name)
            .collect();
        let mut refusal = Refusal::name(&given, "size table", names).under("sizes");
        refusal
            .expected
            .push_str(", or a file with one (a path with a dot or slash)");
        return Err(refusal);
    }
    let text = (stage.read)(name)
        .map_err(|why| Refusal::value(&given, format!("a file to read: {why}")).under("sizes"))?;
    sojourn_queueing::SizeTable::parse(&text, reading).map_err(|error| {
        let expected = format!("a size table, but in it {error}");
        Refusal::value(&given, expected).under("sizes")
    })
}
