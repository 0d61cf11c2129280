//! RAID 01: a mirror of stripes.

use super::block_run::Run;
use super::mirrors::{one_left, split};
use super::raid0::{stripe, stripe_at};
use super::{AccessPlan, FailedDisk, Layout, LayoutPlan, MAX_DISKS, RebuildSource, check_pairs};
use crate::device::Op;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Ahead, parameters};

parameters! {
    /// A mirror of stripes (paper section 3.2): blocks are striped over the first half of the disks,
    /// and again over the second half. A request starts on a random column; block j is on the j-th
    /// column from there, cyclically. A read takes the first half of its blocks from one side, chosen
    /// at random, and the rest from the other; a write goes to both sides.
    pub struct Raid01: "raid01" {
        /// Number of disks on both sides together.
        pub disks: u16 [2..=MAX_DISKS] = 4,
        /// Number of a failed disk, which takes its whole side of the mirror with it.
        pub failed: FailedDisk = FailedDisk::default(),
    }
}

impl Check for Raid01 {
    fn check(&self) -> Result<(), Refusal> {
        check_pairs(self.disks)?;
        self.failed.check(self.disks)
    }
}

impl LayoutPlan for Raid01 {
    fn disks(&self) -> usize {
        self.disks.into()
    }

    fn ways(&self, op: Op) -> u64 {
        u64::from(self.columns()) * if op == Op::Read { 2 } else { 1 }
    }

    fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        let columns = self.columns();
        let (start, first) = (way as u32 % columns, way as u32 / columns);
        for (side, before, blocks) in split(op, blocks, self.side_left(), first) {
            stripe(op, blocks, side * columns, columns, (start + before) % columns, plan);
        }
    }

    fn lay_at(&self, run: Run, stream: &mut Ahead, plan: &mut AccessPlan) {
        let columns = self.columns();
        let first = stream.below(2) as u32;
        for (side, before, blocks) in split(run.op, run.blocks, self.side_left(), first) {
            if blocks > 0 {
                let part = Run { first: run.first + u64::from(before), blocks, ..run };
                stripe_at(part, side * columns, columns, plan);
            }
        }
    }

    fn data_disks(&self) -> u64 {
        self.columns().into()
    }

    fn rebuild_source(&self) -> Option<RebuildSource> {
        let columns = self.disks / 2;
        let (first, second) = ((0..columns).collect(), (columns..self.disks).collect());
        let (to, from) =
            if self.failed.disk()? < columns { (first, second) } else { (second, first) };
        let rebuilt = Layout::Raid01(Raid01 { failed: FailedDisk::default(), ..self.clone() });
        Some(RebuildSource { rebuilt, from, reads: columns.into(), to })
    }
}

impl Raid01 {
    fn columns(&self) -> u32 {
        u32::from(self.disks) / 2
    }

    fn side_left(&self) -> Option<u32> {
        one_left(self.failed.disk().map(|disk| u32::from(disk) / self.columns()))
    }
}
