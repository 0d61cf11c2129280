//! Layouts: how an array spreads requests over its disks. Each is one file that turns a request
//! into a [`AccessPlan`].
//!
//! A request starts at a random place, or has an address, and runs on block by block; the blocks
//! that it has on one disk are one access, contiguous on it (paper section 3.2: "variable size
//! subtasks").

mod access_plan;
mod block_run;
mod erasure;
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

pub(crate) use access_plan::Phase;
pub use access_plan::{Access, AccessPlan, Approach};
pub use erasure::{Erasure, ReadFrom};
pub use failed::{Failed, FailedDisk};
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
        Erasure(Erasure),
    }
}

/// A layout, as the variants implement it.
trait LayoutPlan {
    /// The number of disks.
    fn disks(&self) -> usize;

    /// The data that the array holds, in units of what a disk holds.
    fn data_disks(&self) -> u64;

    /// The number of ways in which a request without an address can lie, each as likely as any other.
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

    /// Whether accesses that wait are dropped when their request no longer needs them.
    fn drops_late(&self) -> bool {
        false
    }

    /// How failed disks are rebuilt; none where no disk has failed, or none can be rebuilt.
    fn rebuild_source(&self) -> Option<RebuildSource> {
        None
    }

    /// The value of `write_start` where it is set, which only requests without addresses use.
    fn without_addresses(&self) -> Option<Value> {
        None
    }

    /// The key and the value of a setting that only independent positioning uses, where one is set.
    fn by_chance(&self) -> Option<(&'static str, Value)> {
        None
    }

    /// Keys and values of what is set and only requests of `op` use.
    fn only_for(&self, _op: Op) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

/// How failed disks are rebuilt.
#[derive(Clone, Debug, PartialEq)]
pub struct RebuildSource {
    /// The array when that is done.
    pub rebuilt: Layout,
    /// The disks that are read, each at the place of what is rebuilt.
    pub from: Vec<u16>,
    /// The number of them that are read at a time, in turn.
    pub reads: usize,
    /// The disks that are written: spares, in the places of those that failed.
    pub to: Vec<u16>,
}

impl Layout {
    /// The number of disks.
    pub fn disks(&self) -> usize {
        with_layout!(self, |params| params.disks())
    }

    /// The data that the array holds, in units of what a disk holds.
    pub fn data_disks(&self) -> u64 {
        with_layout!(self, |params| params.data_disks())
    }

    /// The number of blocks that the array holds if each disk holds `blocks` and stripe units have
    /// `unit` blocks: whole stripes.
    pub fn blocks(&self, blocks: u64, unit: u32) -> u64 {
        let unit = u64::from(unit);
        self.data_disks() * (blocks / unit * unit)
    }

    /// Whether accesses that wait are dropped when their request no longer needs them.
    pub(crate) fn drops_late(&self) -> bool {
        with_layout!(self, |params| params.drops_late())
    }

    /// How failed disks are rebuilt; none where no disk has failed, or none can be rebuilt.
    pub fn rebuild_source(&self) -> Option<RebuildSource> {
        with_layout!(self, |params| params.rebuild_source())
    }

    /// The value of `write_start` where it is set, which only requests without addresses use.
    pub(crate) fn without_addresses(&self) -> Option<Value> {
        with_layout!(self, |params| params.without_addresses())
    }

    /// The key and the value of a setting that only independent positioning uses, where one is set.
    pub(crate) fn by_chance(&self) -> Option<(&'static str, Value)> {
        with_layout!(self, |params| params.by_chance())
    }

    /// Keys and values of what is set and only requests of `op` use.
    pub(crate) fn only_for(&self, op: Op) -> Vec<(&'static str, Value)> {
        with_layout!(self, |params| params.only_for(op))
    }

    /// Whether a write may read before it writes, as it does to keep parity.
    pub(crate) fn has_parity(&self) -> bool {
        !self.one_phase(Op::Write)
    }

    /// The number of ways in which a request without an address can lie, each as likely as any other.
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

/// The number of blocks of each place where `blocks` blocks are dealt out to `places` places one by
/// one; the first place first, those that get any.
#[inline]
fn shares(blocks: u32, places: u32) -> impl Iterator<Item = u32> {
    let (each, more) = match blocks < places {
        true => (0, blocks),
        false => (blocks / places, blocks % places),
    };
    (0..places.min(blocks)).map(move |place| each + u32::from(place < more))
}
