//! RAID 1: copies.

use super::block_run::Run;
use super::mirrors::{one_left, split};
use super::{Access, AccessPlan, FailedDisk, Layout, LayoutPlan, RebuildSource};
use crate::device::Op;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Ahead, parameters};

parameters! {
    /// Two copies of everything. A read takes the first half of its blocks from one copy, chosen at
    /// random, and the rest from the other; a write goes to both.
    pub struct Raid1: "raid1" {
        /// Number of a failed disk. Reads go to the other disk, and writes leave it out.
        pub failed: FailedDisk = FailedDisk::default(),
    }
}

impl Check for Raid1 {
    fn check(&self) -> Result<(), Refusal> {
        self.failed.check(2)
    }
}

impl LayoutPlan for Raid1 {
    fn disks(&self) -> usize {
        2
    }

    fn ways(&self, op: Op) -> u64 {
        if op == Op::Read { 2 } else { 1 }
    }

    fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        self.lay_from(Run { op, first: 0, blocks, unit: 1 }, way as u32, plan);
    }

    fn lay_at(&self, run: Run, stream: &mut Ahead, plan: &mut AccessPlan) {
        self.lay_from(run, stream.below(2) as u32, plan);
    }

    fn data_disks(&self) -> u64 {
        1
    }

    fn rebuild_source(&self) -> Option<RebuildSource> {
        let failed = self.failed.disk()?;
        let rebuilt = Layout::Raid1(Raid1 { failed: FailedDisk::default() });
        Some(RebuildSource { rebuilt, from: vec![1 - failed], reads: 1, to: vec![failed] })
    }
}

impl Raid1 {
    /// A read takes its first half from copy `first`.
    fn lay_from(&self, run: Run, first: u32, plan: &mut AccessPlan) {
        let left = one_left(self.failed.disk().map(u32::from));
        for (copy, before, blocks) in split(run.op, run.blocks, left, first) {
            if blocks > 0 {
                let at = run.first + u64::from(before);
                plan.push(Access { at, ..Access::new(copy as u16, run.op, blocks) });
            }
        }
    }
}
