//! Mechanical positioning: arm and platter are where the last access and the time have left them.

use super::scheduling::{ArmView, Scheduling};
use super::{Arm, Arms, Geometry, Platters, Spot};
use crate::device::{Op, Plain, PositioningCost, Service, ServiceModel, ServiceStart, Task};
use crate::layout::Access;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, Streams, Time, choices, parameters};
use std::collections::VecDeque;

parameters! {
    /// Arms and platters are where the last access and the time have left them: the seek is as long
    /// as the way, the rotation goes on to the wanted sector, a transfer crosses tracks and
    /// cylinders. Requests have addresses; what has none is anywhere. Sequential and local accesses,
    /// and stripes on disks in step, cost what they cost. Arms start over the outermost cylinder.
    pub struct Mechanical: "mechanical" {
        /// Rotational position of the disks' platters relative to each other.
        pub spindles: Spindles = Spindles::Drawn,
    }
}

choices! {
    /// How the platters of an array's disks are turned against each other.
    pub enum Spindles: "way to turn" {
        /// Each by a random angle.
        Drawn = "drawn",
        /// Not at all: their spindles are synchronised.
        InStep = "in-step",
    }
}

impl Check for Mechanical {}

/// Disks whose arms and platters are simulated.
#[derive(Clone, Debug)]
pub struct MechanicalService {
    /// The geometry of what each arm reaches.
    pub geometry: Geometry,
    /// How long accesses to random places take: a bound for any.
    pub drive: Platters,
    /// The arms, and which addresses each has.
    pub arms: Arms,
    /// The order in which each disk serves.
    pub scheduling: Scheduling,
    /// Rotational position of the disks' platters relative to each other.
    pub spindles: Spindles,
}

impl ServiceModel for MechanicalService {
    type Spot = Spot;
    type State = Arm;
    type InOrder = Plain<MechanicalService>;

    const REMEMBERS: bool = true;

    fn state(&self, streams: Streams, disk: u64) -> Arm {
        let rotation = self.geometry.rotation().ps();
        let phase = match self.spindles {
            Spindles::Drawn => streams.stream("spindles", disk).below(rotation),
            Spindles::InStep => 0,
        };
        self.geometry.arm(Span::from_ps(phase))
    }

    fn transfer(&self, _: u32, access: &Access) -> Span {
        self.geometry.transfer(access.op, self.arms.within(access), access.blocks)
    }

    fn spot(&self, access: &Access) -> Spot {
        self.geometry.spot(self.arms.within(access), access.blocks)
    }

    fn start(&self, arm: &mut Arm, task: &Task<Spot>, start: ServiceStart) -> Service {
        let (positioning, cost) = self.go(arm, task.op, &task.spot, start.now);
        Service { takes: positioning + task.transfer, cost }
    }

    fn longest(&self, blocks: u32) -> f64 {
        self.drive.longest(blocks)
    }

    fn arms(&self) -> usize {
        self.arms.count()
    }

    fn arm(&self, access: &Access) -> usize {
        self.arms.of(access)
    }

    fn in_order(&self) -> bool {
        self.scheduling.is_in_order()
    }

    fn choose(&self, arm: &Arm, waiting: &VecDeque<Task<Spot>>, now: Time) -> usize {
        let view = ArmView { geometry: &self.geometry, arm, now };
        self.scheduling.choose(view, waiting.iter().map(|task| (task.op, task.spot)))
    }
}

impl MechanicalService {
    /// The positioning time to a spot, and what it took; leaves the arm where the access ends.
    fn go(&self, arm: &mut Arm, op: Op, spot: &Spot, now: Time) -> (Span, PositioningCost) {
        let (moves, waits) = self.geometry.approach(arm, op, spot, now);
        let cost = match (arm.cylinder == spot.cylinder, moves + waits) {
            (true, Span::ZERO) => PositioningCost::None,
            (true, _) => PositioningCost::Partial,
            (false, _) => PositioningCost::Full,
        };
        self.geometry.leave(arm, spot);
        (moves + waits, cost)
    }
}
