//! RAID 01: a mirror of stripes.

use super::mirrors::{one_left, split};
use super::raid0::stripe;
use super::{Lay, Plan, check_disks, check_failed};
use crate::disk::Op;
use sojourn_kernel::parameters::{Check, Refusal};
use sojourn_kernel::{Stream, parameters};

parameters! {
    /// A mirror of stripes (paper section 3.2): blocks are striped over the first half of the disks,
    /// and again over the second half. A request starts on a random column; block j is on the j-th
    /// column from there, cyclically. A read takes the first half of its blocks from one side, chosen
    /// at random, and the rest from the other; a write goes to both sides.
    pub struct Raid01: "raid01" {
        /// How many disks, both sides together.
        pub disks: u16 = 4,
        /// A disk that has failed, and with it its whole side of the mirror.
        pub failed: Option<u16> = None,
    }
}

impl Check for Raid01 {
    fn check(&self) -> Result<(), Refusal> {
        check_disks(self.disks, 2, true)?;
        check_failed(self.failed, self.disks)
    }
}

impl Lay for Raid01 {
    fn disks(&self) -> usize {
        self.disks.into()
    }

    #[inline]
    fn lay(&self, op: Op, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        let columns = u32::from(self.disks) / 2;
        let start = stream.below(columns.into()) as u32;
        let left = one_left(self.failed.map(|disk| u32::from(disk) / columns));
        let mut before = 0;
        for (side, blocks) in split(op, blocks, left, stream) {
            let mut from = start;
            if op == Op::Read {
                from += before;
                before += blocks;
            }
            if from >= columns {
                from %= columns;
            }
            stripe(op, blocks, side * columns, columns, from, plan);
        }
    }
}
