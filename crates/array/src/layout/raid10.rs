//! RAID 10: a stripe of mirrors.

use super::block_run::{Extent, Run};
use super::mirrors::{one_left, split};
use super::{
    Access, AccessPlan, FailedDisk, Layout, LayoutPlan, MAX_DISKS, RebuildSource, check_pairs,
    shares,
};
use crate::device::Op;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Ahead, parameters};

parameters! {
    /// A stripe of mirrors: blocks are striped over pairs of disks, 0 and 1 the first. A request
    /// starts on a random pair. Of the blocks that a read has on a pair, the first half come from
    /// one of its disks, chosen at random (of pairs 32 apart alike), and the rest from the other; a
    /// write goes to both.
    pub struct Raid10: "raid10" {
        /// Number of disks.
        pub disks: u16 [2..=MAX_DISKS] = 4,
        /// Number of a failed disk, whose pair has one disk left.
        pub failed: FailedDisk = FailedDisk::default(),
    }
}

/// The number of pairs that choose independently of each other.
const SIDES: u32 = 32;

impl Check for Raid10 {
    fn check(&self) -> Result<(), Refusal> {
        check_pairs(self.disks)?;
        self.failed.check(self.disks)
    }
}

impl LayoutPlan for Raid10 {
    fn disks(&self) -> usize {
        self.disks.into()
    }

    fn ways(&self, op: Op) -> u64 {
        u64::from(self.pairs()) << if op == Op::Read { self.pairs().min(SIDES) } else { 0 }
    }

    fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        let pairs = self.pairs();
        let (start, sides) = (way % u64::from(pairs), way / u64::from(pairs));
        for (blocks, pair) in shares(blocks, pairs).zip(start as u32..) {
            self.lay_on_pair(op, Extent { place: pair % pairs, at: 0, blocks }, sides, plan);
        }
    }

    fn lay_at(&self, run: Run, stream: &mut Ahead, plan: &mut AccessPlan) {
        let sides = stream.bits();
        for extent in run.dealt(self.pairs()) {
            self.lay_on_pair(run.op, extent, sides, plan);
        }
    }

    fn data_disks(&self) -> u64 {
        self.pairs().into()
    }

    fn rebuild_source(&self) -> Option<RebuildSource> {
        let failed = self.failed.disk()?;
        let rebuilt = Layout::Raid10(Raid10 { failed: FailedDisk::default(), ..self.clone() });
        Some(RebuildSource { rebuilt, from: vec![failed ^ 1], reads: 1, to: vec![failed] })
    }
}

impl Raid10 {
    fn pairs(&self) -> u32 {
        u32::from(self.disks) / 2
    }

    /// A read takes its first half from the disk that the pair's bit of `sides` says.
    fn lay_on_pair(&self, op: Op, extent: Extent, sides: u64, plan: &mut AccessPlan) {
        let Extent { place: pair, at, blocks } = extent;
        let failed = self.failed.disk().map(u32::from).filter(|disk| disk / 2 == pair);
        let left = one_left(failed.map(|disk| disk % 2));
        let first = (sides >> (pair % SIDES) & 1) as u32;
        for (copy, before, blocks) in split(op, blocks, left, first) {
            if blocks > 0 {
                let access = Access::new((2 * pair + copy) as u16, op, blocks);
                plan.push(Access { at: at + u64::from(before), ..access });
            }
        }
    }
}
