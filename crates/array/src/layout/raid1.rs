//! RAID 1: copies.

use super::mirrors::{one_left, split};
use super::{Access, Lay, Plan, check_disks, check_failed};
use crate::disk::Op;
use sojourn_kernel::parameters::{Check, Refusal};
use sojourn_kernel::{Stream, parameters};

parameters! {
    /// Two copies of everything. A read takes the first half of its blocks from one copy, chosen at
    /// random, and the rest from the other; a write goes to both.
    pub struct Raid1: "raid1" {
        /// A disk that has failed: reads go to the other, writes leave it out.
        pub failed: Option<u16> = None,
    }
}

impl Check for Raid1 {
    fn check(&self) -> Result<(), Refusal> {
        check_failed(self.failed, 2).and(check_disks(2, 2, true))
    }
}

impl Lay for Raid1 {
    fn disks(&self) -> usize {
        2
    }

    #[inline]
    fn lay(&self, op: Op, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        let failed = self.failed.map(u32::from);
        for (copy, blocks) in split(op, blocks, one_left(failed), stream) {
            if blocks > 0 {
                plan.push(Access::new(copy as u16, op, blocks));
            }
        }
    }
}
