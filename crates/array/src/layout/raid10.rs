//! RAID 10: a stripe of mirrors.

use super::mirrors::{one_left, split};
use super::{Access, Lay, Plan, check_disks, check_failed, shares};
use crate::disk::Op;
use sojourn_kernel::parameters::{Check, Refusal};
use sojourn_kernel::{Stream, parameters};

parameters! {
    /// A stripe of mirrors: blocks are striped over pairs of disks, 0 and 1 the first. A request
    /// starts on a random pair. Of the blocks that a read has on a pair, the first half come from
    /// one of its disks, chosen at random, and the rest from the other; a write goes to both.
    pub struct Raid10: "raid10" {
        /// How many disks.
        pub disks: u16 = 4,
        /// A disk that has failed: its pair has one left.
        pub failed: Option<u16> = None,
    }
}

impl Check for Raid10 {
    fn check(&self) -> Result<(), Refusal> {
        check_disks(self.disks, 2, true)?;
        check_failed(self.failed, self.disks)
    }
}

impl Lay for Raid10 {
    fn disks(&self) -> usize {
        self.disks.into()
    }

    #[inline]
    fn lay(&self, op: Op, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        let pairs = u32::from(self.disks) / 2;
        let failed = self.failed.map(u32::from);
        let mut pair = stream.below(pairs.into()) as u32;
        for blocks in shares(blocks, pairs) {
            let left = one_left(failed.filter(|disk| disk / 2 == pair).map(|disk| disk % 2));
            for (copy, blocks) in split(op, blocks, left, stream) {
                if blocks > 0 {
                    plan.push(Access::new((2 * pair + copy) as u16, op, blocks));
                }
            }
            pair = (pair + 1) % pairs;
        }
    }
}
