//! RAID 0: striping without redundancy.

use super::{Access, Lay, Plan, check_disks, shares};
use crate::disk::Op;
use sojourn_kernel::parameters::{Check, Refusal};
use sojourn_kernel::{Stream, parameters};

parameters! {
    /// Blocks striped over all disks, no redundancy. A request starts on a random disk.
    pub struct Raid0: "raid0" {
        /// How many disks.
        pub disks: u16 = 4,
    }
}

impl Check for Raid0 {
    fn check(&self) -> Result<(), Refusal> {
        check_disks(self.disks, 1, false)
    }
}

impl Lay for Raid0 {
    fn disks(&self) -> usize {
        self.disks.into()
    }

    #[inline]
    fn lay(&self, op: Op, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        let disks = u32::from(self.disks);
        let start = stream.below(disks.into()) as u32;
        stripe(op, blocks, 0, disks, start, plan);
    }
}

/// Deals `blocks` blocks out to the `disks` disks from `first` on, the `start`-th of them first.
#[inline]
pub(super) fn stripe(op: Op, blocks: u32, first: u32, disks: u32, start: u32, plan: &mut Plan) {
    let mut disk = start;
    for blocks in shares(blocks, disks) {
        plan.push(Access::new((first + disk) as u16, op, blocks));
        disk += 1;
        if disk == disks {
            disk = 0;
        }
    }
}
