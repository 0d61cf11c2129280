//! RAID 0: striping without redundancy.

use super::block_run::Run;
use super::{Access, AccessPlan, LayoutPlan, MAX_DISKS, shares};
use crate::device::Op;
use sojourn_core::parameters::Check;
use sojourn_core::{Ahead, parameters};

parameters! {
    /// Blocks striped over all disks, no redundancy. A request starts on a random disk.
    pub struct Raid0: "raid0" {
        /// Number of disks.
        pub disks: u16 [1..=MAX_DISKS] = 4,
    }
}

impl Check for Raid0 {}

impl LayoutPlan for Raid0 {
    fn disks(&self) -> usize {
        self.disks.into()
    }

    fn ways(&self, _: Op) -> u64 {
        self.disks.into()
    }

    fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        stripe(op, blocks, 0, self.disks.into(), way as u32, plan);
    }

    fn lay_at(&self, run: Run, _: &mut Ahead, plan: &mut AccessPlan) {
        stripe_at(run, 0, self.disks.into(), plan);
    }

    fn data_disks(&self) -> u64 {
        self.disks.into()
    }
}

/// Deals `blocks` blocks out to the `disks` disks from `first` on, the `start`-th of them first.
pub(super) fn stripe(
    op: Op,
    blocks: u32,
    first: u32,
    disks: u32,
    start: u32,
    plan: &mut AccessPlan,
) {
    for (blocks, place) in shares(blocks, disks).zip(start..) {
        plan.push(Access::new((first + place % disks) as u16, op, blocks));
    }
}

/// Deals a run out to the `disks` disks from `first` on.
pub(super) fn stripe_at(run: Run, first: u32, disks: u32, plan: &mut AccessPlan) {
    for extent in run.dealt(disks) {
        let access = Access::new((first + extent.place) as u16, run.op, extent.blocks);
        plan.push(Access { at: extent.at, ..access });
    }
}
