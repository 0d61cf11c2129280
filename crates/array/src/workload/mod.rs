//! Workloads: which requests arrive when.

mod arrivals;
mod counts;
mod synthetic;

pub use arrivals::{Arrivals, Mmpp, Poisson, RateCounts};
pub use counts::{Batch, BatchLaw, Geometric, Least, Size, SizeLaw, Table};
pub use synthetic::Synthetic;

use crate::analysis::Bulks;
use crate::disk::Op;
use sojourn_kernel::parameters::Refusal;
use sojourn_kernel::{Streams, Time, variants};

variants! {
    /// Which requests arrive.
    pub enum Workload: "workload" => with_workload {
        Synthetic(Synthetic),
    }
}

/// A request to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it arrives.
    pub arrived: Time,
    /// What it wants done.
    pub op: Op,
    /// With how many blocks, at least one.
    pub blocks: u32,
}

/// How many requests a replication has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// How many come first and have no rows.
    pub warmup: u32,
    /// How many have rows.
    pub requests: u32,
}

/// What a workload is made ready with.
pub struct Stage<'a> {
    /// Bytes in a block of the array.
    pub block: u64,
    /// Reads a file that the study names: its text, or why not.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
}

/// The most blocks that a request has.
pub const MAX_BLOCKS: u32 = 65_536;

/// A kind of workload.
trait Kind {
    /// Makes it ready. Everything is checked here, nothing drawn.
    fn ready(&self, stage: &Stage<'_>) -> Result<Ready, Refusal>;

    /// The names of the files that it reads.
    fn files(&mut self) -> Vec<&mut String>;
}

/// A workload, checked and ready to be drawn.
#[derive(Clone, Debug)]
pub struct Ready {
    /// How many requests there are.
    pub numbers: Numbers,
    /// Whether any reads, whether any writes.
    pub ops: [bool; 2],
    source: synthetic::Source,
}

impl Ready {
    /// The arrivals, where they are a Poisson process of known laws.
    pub fn bulks(&self) -> Option<Bulks> {
        self.source.bulks()
    }

    /// The requests of one replication, by time of arrival; more than will be asked for.
    pub fn requests(&self, streams: Streams) -> impl Iterator<Item = Request> + use<> {
        self.source.requests(streams)
    }
}

impl Workload {
    /// Makes it ready. Everything is checked here, nothing drawn.
    pub fn ready(&self, stage: &Stage<'_>) -> Result<Ready, Refusal> {
        with_workload!(self, |params| params.ready(stage))
    }

    /// The names of the files that it reads.
    pub fn files(&mut self) -> Vec<&mut String> {
        with_workload!(self, |params| params.files())
    }
}
