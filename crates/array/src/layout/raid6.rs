//! RAID 6: striping with two rotating parities.

use super::parity::{Done, FollowOn, Parity, Rewrite, Stripes, WriteStart};
use super::{Failed, Layout, MAX_DISKS};
use sojourn_core::parameters;
use sojourn_core::parameters::{Check, Refusal};

parameters! {
    /// Striping with two parity blocks a stripe on neighbouring disks, which rotate together. As
    /// RAID 5, but a partial stripe writes both parities, and reads ahead whichever is less: the
    /// blocks to be written and both parities, or the stripe's other blocks.
    pub struct Raid6: "raid6" {
        /// Number of disks.
        pub disks: u16 [4..=MAX_DISKS] = 6,
        /// Numbers of one or two failed disks, whose data is computed from the others.
        pub failed: Failed = Failed::default(),
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

impl Check for Raid6 {
    fn check(&self) -> Result<(), Refusal> {
        self.failed.check(self.disks, 2)
    }
}

impl Parity for Raid6 {
    fn stripes(&self) -> Stripes<'_> {
        let Raid6 { disks, write_start, pre_read, rewrite, done, .. } = *self;
        let failed = self.failed.disks();
        Stripes { disks, parities: 2, failed, write_start, pre_read, rewrite, done }
    }

    fn rebuilt(&self) -> Layout {
        Layout::Raid6(Raid6 { failed: Failed::default(), ..self.clone() })
    }
}
