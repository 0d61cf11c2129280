//! Shortest access time first.

use super::{ArmView, Order, least};
use crate::device::Op;
use crate::device::hdd::Spot;
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Shortest access time first (Jacobson and Wilkes, *Disk scheduling algorithms based on
    /// rotational position*, HPL-CSP-91-7, 1991): the access whose first sector the head is over
    /// soonest, seek and rotation together. Some may starve. For mechanical positioning.
    pub struct Satf: "satf" {}
}

impl Check for Satf {}

impl Order for Satf {
    const NEEDS_ARMS: Option<bool> = Some(true);

    fn choose(&self, view: ArmView<'_>, waiting: impl Iterator<Item = (Op, Spot)>) -> usize {
        least(waiting.map(|(op, spot)| {
            let (moves, waits) = view.geometry.approach(view.arm, op, &spot, view.now);
            moves + waits
        }))
    }
}
