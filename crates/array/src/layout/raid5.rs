//! RAID 5: striping with rotating parity.

use super::parity::{Done, FollowOn, Parity, Rewrite, Stripes, WriteStart};
use super::{FailedDisk, Layout, MAX_DISKS};
use sojourn_core::parameters;
use sojourn_core::parameters::{Check, Refusal};

parameters! {
    /// Striping with one parity block a stripe, which rotates (paper section 3.3). A write of whole
    /// stripes reads nothing ahead. What is left over is read-modify-write (old data and parity are
    /// read, then both written) below half a stripe, and otherwise reconstruct-write (the stripe's
    /// other blocks are read, then data and parity written). The second phase goes before all else
    /// that waits, without interrupting.
    pub struct Raid5: "raid5" {
        /// Number of disks.
        pub disks: u16 [3..=MAX_DISKS] = 4,
        /// Number of a failed disk, whose data is computed from the others.
        pub failed: FailedDisk = FailedDisk::default(),
        /// Disk of the first block of a write with `places = "anywhere"`; otherwise the address
        /// decides. By default `after-parity`.
        pub write_start: Option<WriteStart> = None,
        /// With independent positioning: how the head reaches a pre-read directly after the
        /// request's own full stripes. By default `in-place`.
        pub pre_read: Option<FollowOn> = None,
        /// With independent positioning: how the head of the disk with the last pre-read returns to
        /// write the block. By default in a `rotation`.
        pub rewrite: Option<Rewrite> = None,
        /// When a write with a second phase is complete.
        pub done: Done = Done::All,
    }
}

impl Check for Raid5 {
    fn check(&self) -> Result<(), Refusal> {
        self.failed.check(self.disks)
    }
}

impl Parity for Raid5 {
    fn stripes(&self) -> Stripes<'_> {
        let Raid5 { disks, write_start, pre_read, rewrite, done, .. } = *self;
        let failed = self.failed.disks();
        Stripes { disks, parities: 1, failed, write_start, pre_read, rewrite, done }
    }

    fn rebuilt(&self) -> Layout {
        Layout::Raid5(Raid5 { failed: FailedDisk::default(), ..self.clone() })
    }
}
