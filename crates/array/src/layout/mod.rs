//! Layouts: how an array spreads requests over its disks. Each is one file that turns a request
//! into a [`AccessPlan`].
//!
//! A request starts at a random place, or has an address, and runs on block by block; the blocks
//! that it has on one disk are one access, contiguous on it (paper section 3.2: "variable size
//! subtasks").

mod access_plan;
mod block_run;
mod failed;
mod mirrors;
mod parity;
mod parity_rows;
mod raid0;
mod raid01;
mod raid1;
mod raid10;
mod raid5;
mod raid6;
mod single;

pub use access_plan::{Access, AccessPlan, Approach};
pub use failed::Failed;
pub use parity::{Done, FollowOn, Rewrite, WriteStart};
pub use raid0::Raid0;
pub use raid01::Raid01;
pub use raid1::Raid1;
pub use raid5::Raid5;
pub use raid6::Raid6;
pub use raid10::Raid10;
pub use single::Single;

use crate::device::Op;
use block_run::Run;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Ahead, variants};

variants! {
    /// How an array spreads requests over its disks.
    pub enum Layout: "layout" => with_layout {
        Single(Single),
        Raid0(Raid0),
        Raid1(Raid1),
        Raid01(Raid01),
        Raid10(Raid10),
        Raid5(Raid5),
        Raid6(Raid6),
    }
}

/// A layout.
trait LayoutPlan {
    /// How many disks there are.
    fn disks(&self) -> usize;

    /// How many disks' worth of data it holds.
    fn data_disks(&self) -> u64;

    /// In how many ways a request without an address can lie, each as likely as any other.
    fn ways(&self, op: Op) -> u64;

    /// Adds the accesses of a request of `blocks` blocks that lies in the `way`-th way to an empty
    /// plan.
    fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan);

    /// Adds the accesses of a request with an address to an empty plan.
    fn lay_at(&self, run: Run, stream: &mut Ahead, plan: &mut AccessPlan);

    /// Whether a plan for `op` never has a second phase.
    fn one_phase(&self, _: Op) -> bool {
        true
    }

    /// What is rebuilt after a failure; nothing where none has failed, or none can be rebuilt.
    fn rebuild_source(&self) -> Option<RebuildSource> {
        None
    }

    /// What is said of `write_start`, which only requests without addresses heed.
    fn without_addresses(&self) -> Option<Value> {
        None
    }

    /// A key, and what is said of it, that only heads heed whose every move is to a place anywhere.
    fn of_heads(&self) -> Option<(&'static str, Value)> {
        None
    }
}

/// How failed disks are filled again.
#[derive(Clone, Debug, PartialEq)]
pub struct RebuildSource {
    /// The array as it is then.
    pub rebuilt: Layout,
    /// The disks that are read. What is computed from them lies at the same place on each.
    pub from: Vec<u16>,
    /// How many of them are read at a time, in turn.
    pub reads: usize,
    /// The disks that are written: spares, in the places of those that failed.
    pub to: Vec<u16>,
}

impl Layout {
    /// How many disks there are.
    pub fn disks(&self) -> usize {
        with_layout!(self, |params| params.disks())
    }

    /// How many disks' worth of data it holds.
    pub fn data_disks(&self) -> u64 {
        with_layout!(self, |params| params.data_disks())
    }

    /// How many blocks the array holds if each disk holds `blocks` and stripe units have `unit`:
    /// whole stripes.
    pub fn blocks(&self, blocks: u64, unit: u32) -> u64 {
        let unit = u64::from(unit);
        self.data_disks() * (blocks / unit * unit)
    }

    /// What is rebuilt after a failure; nothing where none has failed, or none can be rebuilt.
    pub fn rebuild_source(&self) -> Option<RebuildSource> {
        with_layout!(self, |params| params.rebuild_source())
    }

    /// What is said of `write_start`, which only requests without addresses heed.
    pub(crate) fn without_addresses(&self) -> Option<Value> {
        with_layout!(self, |params| params.without_addresses())
    }

    /// A key, and what is said of it, that only heads heed whose every move is to a place anywhere.
    pub(crate) fn of_heads(&self) -> Option<(&'static str, Value)> {
        with_layout!(self, |params| params.of_heads())
    }

    /// Whether a write of it may read something ahead.
    pub(crate) fn has_parity(&self) -> bool {
        !self.one_phase(Op::Write)
    }

    /// In how many ways a request without an address can lie, each as likely as any other.
    #[inline]
    pub fn ways(&self, op: Op) -> u64 {
        with_layout!(self, |params| params.ways(op))
    }

    /// Makes `plan` that of a request of `blocks` blocks, at least one, that has no address and lies
    /// in the `way`-th way.
    pub fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        plan.clear();
        with_layout!(self, |params| params.lay(op, blocks, way, plan));
        plan.end_phase();
    }

    /// Makes `plan` that of a request of `blocks` blocks, at least one, from block `first` of the
    /// array on, in stripe units of `unit` blocks.
    pub fn lay_at(
        &self,
        op: Op,
        first: u64,
        blocks: u32,
        unit: u32,
        stream: &mut Ahead,
        plan: &mut AccessPlan,
    ) {
        plan.clear();
        let run = Run { op, first, blocks, unit };
        with_layout!(self, |params| params.lay_at(run, stream, plan));
        plan.end_phase();
    }

    /// Whether a plan for `op` never has a second phase.
    pub fn one_phase(&self, op: Op) -> bool {
        with_layout!(self, |params| params.one_phase(op))
    }
}

/// The most disks that an array has.
pub const MAX_DISKS: u16 = 1024;

/// Refuses an odd number of disks where each has its mirror.
fn check_pairs(disks: u16) -> Result<(), Refusal> {
    match disks.is_multiple_of(2) {
        true => Ok(()),
        false => {
            let expected = format!("an even number from 2 to {MAX_DISKS}");
            Err(Refusal::of(&disks, expected).under("disks"))
        }
    }
}

/// Refuses a failed disk that there is not.
fn check_failed(failed: Option<u16>, disks: u16) -> Result<(), Refusal> {
    match failed {
        Some(failed) if failed >= disks => {
            Err(Refusal::of(&failed, format!("a disk from 0 to {}", disks - 1)).under("failed"))
        }
        _ => Ok(()),
    }
}

/// How many of `blocks` blocks each of `places` places gets that they are dealt out to one by one:
/// the first of them first, those that get any.
#[inline]
fn shares(blocks: u32, places: u32) -> impl Iterator<Item = u32> {
    let (each, more) = match blocks < places {
        true => (0, blocks),
        false => (blocks / places, blocks % places),
    };
    (0..places.min(blocks)).map(move |place| each + u32::from(place < more))
}
