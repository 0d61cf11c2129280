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
use crate::topology::Graph;
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
    pub graph: &'a Graph,
    /// How flows are cut into packets.
    pub packets: &'a Packets,
    /// Reads a file that the study names: its text, or why not.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Draws flows.
trait Draw {
    /// How many flows will arrive. Refused when they cannot be had on this stage.
    fn count(&self, stage: &Stage<'_>) -> Result<usize, Refusal>;

    /// The flows of one replication, by time of arrival.
    fn draw(&self, stage: &Stage<'_>, streams: Streams) -> Result<Vec<Flow>, Refusal>;

    /// The name of a file to read, if there is one.
    fn file(&mut self) -> Option<&mut String> {
        None
    }
}

impl Workload {
    /// How many flows will arrive, at least one: everything is checked, nothing drawn.
    pub fn count(&self, stage: &Stage<'_>) -> Result<usize, Refusal> {
        with_workload!(self, |params| params.count(stage))
    }

    /// The name of the file it reads, if it reads one.
    pub fn file(&mut self) -> Option<&mut String> {
        with_workload!(self, |params| params.file())
    }

    /// The flows of one replication, by time of arrival.
    pub fn flows(&self, stage: &Stage<'_>, streams: Streams) -> Result<Vec<Flow>, Refusal> {
        with_workload!(self, |params| params.draw(stage, streams))
    }
}

/// Whether `name` is that of a file, and not of a known table.
fn is_file(name: &str) -> bool {
    name.contains(['/', '.'])
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
    if !is_file(name) {
        let names = sojourn_queueing::WORKLOADS.iter().map(|workload| workload.name).collect();
        let mut refusal = Refusal::name(&given, "size table", names).under("sizes");
        refusal.expected.push_str(", or a file with one (a path with a dot or slash)");
        return Err(refusal);
    }
    let text = (stage.read)(name)
        .map_err(|why| Refusal::value(&given, format!("a file to read: {why}")).under("sizes"))?;
    sojourn_queueing::SizeTable::parse(&text, reading).map_err(|error| {
        let expected = format!("a size table, but in it {error}");
        Refusal::value(&given, expected).under("sizes")
    })
}
