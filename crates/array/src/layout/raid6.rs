//! RAID 6: striping with two rotating parities.

use super::parity::{Done, FollowOn, Rewrite, Stripes, WriteStart};
use super::{Lay, Plan, check_disks, check_failed};
use crate::disk::Op;
use sojourn_kernel::parameters::{Check, Refusal};
use sojourn_kernel::{Stream, parameters};

parameters! {
    /// Striping with two parity blocks a stripe on neighbouring disks, which rotate together. As
    /// RAID 5, but a partial stripe writes both parities, and reads ahead whichever is less: the
    /// blocks to be written and both parities, or the stripe's other blocks.
    pub struct Raid6: "raid6" {
        /// How many disks.
        pub disks: u16 = 6,
        /// A disk that has failed: what it held is computed from the others.
        pub failed: Option<u16> = None,
        /// Which disk has the first block of a write.
        pub write_start: WriteStart = WriteStart::FirstDisk,
        /// How the head gets to a pre-read that comes directly after the request's own full stripes.
        pub pre_read: FollowOn = FollowOn::InPlace,
        /// How the head of the disk whose pre-read was the last gets back to write the block.
        pub rewrite: Rewrite = Rewrite::Rotation,
        /// When a write with a second phase is done.
        pub done: Done = Done::All,
    }
}

impl Check for Raid6 {
    fn check(&self) -> Result<(), Refusal> {
        check_disks(self.disks, 4, false)?;
        check_failed(self.failed, self.disks)
    }
}

impl Raid6 {
    fn stripes(&self) -> Stripes {
        let Raid6 { disks, failed, write_start, pre_read, rewrite, done } = *self;
        Stripes { disks, parities: 2, failed, write_start, pre_read, rewrite, done }
    }
}

impl Lay for Raid6 {
    fn disks(&self) -> usize {
        self.disks.into()
    }

    #[inline]
    fn lay(&self, op: Op, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        self.stripes().lay(op, blocks, stream, plan);
    }

    fn one_phase(&self, op: Op) -> bool {
        op == Op::Read
    }
}
