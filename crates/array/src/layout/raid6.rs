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
        /// How many disks.
        pub disks: u16 [4..=MAX_DISKS] = 6,
        /// One or two disks that have failed: what they held is computed from the others.
        pub failed: Failed = Failed::default(),
        /// Which disk has the first block of a write to `places = "anywhere"`, else its address says
        /// it. Without it: `after-parity`.
        pub write_start: Option<WriteStart> = None,
        /// How the head gets to a pre-read that comes directly after the request's own full stripes,
        /// where positioning is independent; without it `in-place`.
        pub pre_read: Option<FollowOn> = None,
        /// How the head of the disk whose pre-read was the last gets back to write the block, where
        /// positioning is independent; without it in a `rotation`.
        pub rewrite: Option<Rewrite> = None,
        /// When a write with a second phase is done.
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
