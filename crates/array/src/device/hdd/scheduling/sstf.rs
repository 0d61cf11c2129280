//! Shortest seek time first.

use super::{ArmView, Order, least};
use crate::device::Op;
use crate::device::hdd::Spot;
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Shortest seek time first (Seltzer, Chen and Ousterhout, *Disk Scheduling Revisited*, USENIX
    /// Winter 1990): the access on the nearest cylinder, of equally near ones the first to come. Far
    /// ones may starve. For mechanical positioning.
    pub struct Sstf: "sstf" {}
}

impl Check for Sstf {}

impl Order for Sstf {
    const NEEDS_ARMS: Option<bool> = Some(true);

    fn choose(&self, view: ArmView<'_>, waiting: impl Iterator<Item = (Op, Spot)>) -> usize {
        least(waiting.map(|(_, spot)| spot.cylinder.abs_diff(view.arm.cylinder)))
    }
}
