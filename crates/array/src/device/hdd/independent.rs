//! Independent positioning: every access goes to a random place (paper section 2).

use super::chances::{Chances, Pairs};
use crate::device::scheduling::Scheduling;
use crate::device::{Drive, Found, PositioningCost, ServiceModel, ServiceStart, Task};
use crate::layout::{Access, Approach};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, Streams, Time, parameters};
use std::collections::VecDeque;

parameters! {
    /// Every access goes to a random place, wherever the head is: all seeks and rotations are drawn
    /// independently (paper section 2), but for what section 3.3 says of an access that comes back
    /// to its request's place. What a sequential or a local workload gains is not seen.
    pub struct Independent: "independent" {}
}

impl Check for Independent {}

/// Disks that serve each access at a random place, wherever the head was.
#[derive(Clone, Debug)]
pub struct IndependentService<D> {
    /// The times of the parts of an access.
    pub drive: D,
    /// The order in which each disk serves.
    pub scheduling: Scheduling,
}

/// The random streams of a disk's positioning.
#[derive(Clone, Debug)]
pub struct Head {
    moves: Chances,
    rotations: Chances,
}

impl<D: Drive> IndependentService<D> {
    /// A seek and a rotation: the shortest of as many as the scheduling chooses from.
    #[inline]
    fn seek(&self, head: &mut Head, task: &Task<()>, waiting: usize) -> (Span, PositioningCost) {
        let choices = match &self.scheduling {
            Scheduling::Fcfs(_) => 1,
            scheduling => scheduling.choices(waiting),
        };
        // The least chance is that of the shortest.
        let mut chance = head.moves.next();
        for _ in 1..choices {
            chance = chance.min(head.moves.next());
        }
        (self.drive.position(task.op, chance), PositioningCost::Full)
    }

    /// The positioning of an access that may be back at its request's place (paper section 3.3). It costs
    /// a seek and a rotation, but for these:
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
        start: ServiceStart,
    ) -> (Span, PositioningCost) {
        let span = match (task.approach, task.found, start.own) {
            (Approach::FollowOn, _, true) | (Approach::Reconstruct, Found::Busy, true) => {
                return (Span::ZERO, PositioningCost::None);
            }
            (Approach::Rewrite, Found::JustDone, true) => {
                self.rest_of_rotation(start.between_phases)
            }
            (Approach::RewriteLess, Found::JustDone, true) => {
                self.rest_of_rotation(start.between_phases + task.transfer)
            }
            (Approach::Rewrite | Approach::RewriteLess, Found::Idle, true)
            | (Approach::Reconstruct, _, true) => self.drive.rotate(head.rotations.next()),
            _ => return self.seek(head, task, start.waiting),
        };
        (span, PositioningCost::Partial)
    }

    /// The time until the platter is where it was `passed` ago.
    fn rest_of_rotation(&self, passed: Span) -> Span {
        let rotation = self.drive.rotation().ps();
        Span::from_ps(rotation - passed.ps().checked_rem(rotation).unwrap_or(0))
    }
}

impl<D: Drive> ServiceModel for IndependentService<D> {
    type Spot = ();
    type Places = Chances;
    type State = Head;
    type FcfsDisk = Pairs;

    fn places(&self, streams: Streams, disk: u64) -> Chances {
        Chances::new(streams.stream("places", disk))
    }

    fn state(&self, streams: Streams, disk: u64) -> Head {
        let chances = |purpose| Chances::new(streams.stream(purpose, disk));
        Head { moves: chances("moves"), rotations: chances("rotations") }
    }

    #[inline(always)]
    fn place(&self, places: &mut Chances) -> u32 {
        places.next()
    }

    #[inline(always)]
    fn transfer(&self, place: u32, access: &Access) -> Span {
        self.drive.transfer(place, access.op, access.blocks)
    }

    #[inline(always)]
    fn spot(&self, _: &Access) {}

    #[inline(always)]
    fn choose(&self, _: &Head, _: &VecDeque<Task<()>>, _: Time) -> usize {
        0
    }

    fn servers(&self) -> usize {
        self.drive.servers()
    }

    fn slowed(&self, alone: Span, others: impl FnOnce() -> usize) -> Span {
        self.drive.slowed(alone, others)
    }

    fn in_order(&self) -> bool {
        self.scheduling.is_in_order()
    }

    #[inline(always)]
    fn position(
        &self,
        head: &mut Head,
        task: &Task<()>,
        start: ServiceStart,
    ) -> (Span, PositioningCost) {
        match task.approach {
            Approach::Random => self.seek(head, task, start.waiting),
            _ => self.come_back(head, task, start),
        }
    }

    fn fcfs_disk(&self, streams: Streams, disk: u64) -> Pairs {
        Pairs::new([streams.stream("places", disk), streams.stream("moves", disk)])
    }

    #[inline(always)]
    fn serve(&self, disk: &mut Pairs, access: &Access, _: Time) -> (Span, Span, PositioningCost) {
        let [place, chance] = disk.next();
        let positioning = self.drive.position(access.op, chance);
        (positioning, self.transfer(place, access), PositioningCost::Full)
    }
}
