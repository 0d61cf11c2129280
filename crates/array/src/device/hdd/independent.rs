//! Independent positioning: every access goes to a random place (paper section 2).

use super::scheduling::Scheduling;
use super::{Arms, Platters};
use crate::device::chances::{Chances, Pairs};
use crate::device::{
    Found, InOrder, PositioningCost, Service, ServiceModel, ServiceStart, ServiceTimes, Task,
};
use crate::layout::{Access, Approach};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, Streams, Time, parameters};

parameters! {
    /// Every access goes to a random place, wherever the head is: all seeks and rotations are drawn
    /// independently (paper section 2), but for what section 3.3 says of an access that comes back
    /// to its request's place. What a sequential or a local workload gains is not seen.
    pub struct Independent: "independent" {}
}

impl Check for Independent {}

/// Disks that serve each access at a random place, wherever the head was.
#[derive(Clone, Debug)]
pub struct IndependentService {
    /// The times of the parts of an access.
    pub drive: Platters,
    /// The arms, and which addresses each has.
    pub arms: Arms,
    /// The order in which each disk serves.
    pub scheduling: Scheduling,
}

/// The random streams of a disk's positioning: `moves` of seeks with the rotation behind them,
/// `rotations` of rotations alone.
#[derive(Clone, Debug)]
pub struct Head {
    moves: Chances,
    rotations: Chances,
}

impl IndependentService {
    /// A service after a seek and a rotation: the shortest of as many as the scheduling chooses from.
    #[inline]
    fn seek(&self, head: &mut Head, task: &Task<()>, waiting: usize) -> Service {
        // The least chance is that of the shortest.
        let mut chance = head.moves.next();
        if !self.scheduling.is_in_order() {
            for _ in 1..self.scheduling.choices(waiting) {
                chance = chance.min(head.moves.next());
            }
        }
        let takes = self.drive.position(task.op, chance) + task.transfer;
        Service { takes, cost: PositioningCost::Full }
    }

    /// The service of an access that may be back at its request's place (paper section 3.3). Positioning
    /// costs a seek and a rotation, but for these:
    ///
    /// - Directly behind the request's last access, if the disk served no other in between: nothing.
    /// - Back to what the request has read, if the disk was idle on arrival and served no other in
    ///   between: a random part of a rotation; where the reading has just ended, a whole one less the
    ///   time since, and for `RewriteLess` less the transfer.
    /// - To the end of the request's full stripes, if the disk served no other in between: nothing if
    ///   it was still serving them on arrival, else a rotation.
    fn come_back(
        &self,
        head: &mut Head,
        task: &Task<()>,
        own: bool,
        waiting: usize,
        between_phases: Span,
    ) -> Service {
        let span = match (task.approach, task.found, own) {
            (Approach::FollowOn, _, true) | (Approach::Reconstruct, Found::Busy, true) => {
                return Service::of(task.transfer);
            }
            (Approach::Rewrite, Found::JustDone, true) => self.rest_of_rotation(between_phases),
            (Approach::RewriteLess, Found::JustDone, true) => {
                self.rest_of_rotation(between_phases + task.transfer)
            }
            (Approach::Rewrite | Approach::RewriteLess, Found::Idle, true)
            | (Approach::Reconstruct, _, true) => self.drive.rotate(head.rotations.next()),
            _ => return self.seek(head, task, waiting),
        };
        Service { takes: span + task.transfer, cost: PositioningCost::Partial }
    }

    /// The time until the platter is where it was `passed` ago.
    fn rest_of_rotation(&self, passed: Span) -> Span {
        let rotation = self.drive.rotation().ps();
        Span::from_ps(rotation - passed.ps().checked_rem(rotation).unwrap_or(0))
    }
}

impl ServiceModel for IndependentService {
    type Spot = ();
    type State = Head;
    type InOrder = Pairs;

    const REMEMBERS: bool = true;

    fn state(&self, streams: Streams, disk: u64) -> Head {
        let chances = |purpose| Chances::new(streams.stream(purpose, disk));
        Head { moves: chances("moves"), rotations: chances("rotations") }
    }

    #[inline(always)]
    fn transfer(&self, chance: u32, access: &Access) -> Span {
        self.drive.transfer(chance, access.blocks)
    }

    #[inline(always)]
    fn spot(&self, _: &Access) {}

    #[inline(always)]
    fn start(&self, head: &mut Head, task: &Task<()>, start: ServiceStart) -> Service {
        match task.approach {
            Approach::Random => self.seek(head, task, start.waiting),
            _ => self.come_back(head, task, start.own, start.waiting, start.between_phases),
        }
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

    fn service_times(&self) -> Option<&dyn ServiceTimes> {
        Some(&self.drive)
    }
}

/// Both chances of an access at once: of its transfer, and of its positioning.
impl InOrder<IndependentService> for Pairs {
    fn new(_: &IndependentService, streams: Streams, disk: u64) -> Pairs {
        Pairs::of([streams.stream("places", disk), streams.stream("moves", disk)])
    }

    #[inline(always)]
    fn start(
        &mut self,
        model: &IndependentService,
        access: &Access,
        _: Time,
        _: usize,
    ) -> (Span, Service) {
        let [place, chance] = self.next();
        let transfer = model.transfer(place, access);
        let takes = model.drive.position(access.op, chance) + transfer;
        (transfer, Service { takes, cost: PositioningCost::Full })
    }
}
