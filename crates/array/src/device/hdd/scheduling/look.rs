//! The elevator.

use super::{ArmView, Order, least};
use crate::device::Op;
use crate::device::hdd::Spot;
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// LOOK, the elevator: the access on the nearest cylinder in the direction in which the arm
    /// last moved; the arm turns where none is left ahead. Of those on one cylinder the first to
    /// come. For mechanical positioning.
    pub struct Look: "look" {}
}

impl Check for Look {}

impl Order for Look {
    const NEEDS_ARMS: Option<bool> = Some(true);

    fn choose(&self, view: ArmView<'_>, waiting: impl Iterator<Item = (Op, Spot)>) -> usize {
        let arm = view.arm;
        least(waiting.map(|(_, spot)| {
            let behind = match arm.outwards {
                true => spot.cylinder > arm.cylinder,
                false => spot.cylinder < arm.cylinder,
            };
            (behind, spot.cylinder.abs_diff(arm.cylinder))
        }))
    }
}
