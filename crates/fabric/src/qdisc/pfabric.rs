//! pFabric's port: priority scheduling and priority dropping in a tiny buffer (section 2.2).

use super::{Builder, Counting, Discipline, Room, check_buffer};
use crate::packet::{Packet, PacketId, Slab};
use sojourn_kernel::parameters::{Check, Refusal};
use sojourn_kernel::{Bytes, Stream, choices, parameters};

parameters! {
    /// Sends the packet of the highest priority first (the lowest number); when there is no room,
    /// drops the packets of the lowest priority (pFabric section 2.2).
    pub struct PFabric: "pfabric" {
        /// Room for waiting packets, at each port: one bandwidth-delay product is enough.
        pub buffer: Bytes = Bytes(22_500),
        /// Whether the room counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
        /// Which of several packets of equal priority is meant.
        pub ties: Ties = Ties::Random,
        /// Which packet of the best flow goes first.
        pub dequeue: Dequeue = Dequeue::Best,
    }
}

impl Check for PFabric {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)
    }
}

choices! {
    /// Which of several packets of equal priority is meant.
    pub enum Ties: "way to break ties" {
        /// Any of them, all equally likely: the paper's text.
        Random = "random",
        /// To send, the one that came first; to drop, the one that came last: the authors' code.
        Arrival = "arrival",
    }
}

choices! {
    /// Which packet of the best flow goes first.
    pub enum Dequeue: "way to dequeue" {
        /// The packet of the highest priority itself: the paper's text.
        Best = "best",
        /// The packet of the same flow that has waited longest: the authors' code, which so keeps
        /// a resent early packet from starving behind later ones.
        EarliestOfFlow = "earliest-of-flow",
    }
}

/// What a pFabric port keeps: a few packets, searched from end to end. For the 15 that fit, nothing
/// is quicker.
#[derive(Debug)]
pub struct PFabricPort {
    priorities: Vec<u32>,
    ids: Vec<PacketId>,
    room: Room,
    ties: Ties,
    dequeue: Dequeue,
    /// Whether the order of arrival has to be kept.
    ordered: bool,
    stream: Stream,
}

impl Builder for PFabric {
    type Port = PFabricPort;

    fn port(&self, stream: Stream) -> PFabricPort {
        PFabricPort {
            priorities: Vec::with_capacity(16),
            ids: Vec::with_capacity(16),
            room: Room::new(self.buffer, self.counting),
            ties: self.ties,
            dequeue: self.dequeue,
            ordered: self.ties == Ties::Arrival || self.dequeue == Dequeue::EarliestOfFlow,
            stream,
        }
    }
}

impl PFabricPort {
    /// The place of the packet to take: among those whose priority `beats` all others, the first,
    /// the last, or any.
    #[inline]
    fn pick(&mut self, beats: impl Fn(u32, u32) -> bool, first: bool) -> usize {
        let (mut place, mut best, mut ties) = (0, self.priorities[0], 1);
        for (i, &priority) in self.priorities.iter().enumerate().skip(1) {
            if beats(priority, best) {
                (place, best, ties) = (i, priority, 1);
            } else if priority == best {
                ties += 1;
                if !first {
                    place = i;
                }
            }
        }
        if ties > 1 && self.ties == Ties::Random {
            let mut nth = self.stream.below(ties);
            let tied = |&priority: &u32| {
                let here = priority == best && nth == 0;
                nth -= u64::from(priority == best && nth > 0);
                here
            };
            place = self.priorities.iter().position(tied).expect("as many as were counted");
        }
        place
    }

    #[inline]
    fn remove(&mut self, place: usize) -> PacketId {
        if self.ordered {
            self.priorities.remove(place);
            self.ids.remove(place)
        } else {
            self.priorities.swap_remove(place);
            self.ids.swap_remove(place)
        }
    }
}

impl Discipline for PFabricPort {
    #[inline]
    fn enqueue(
        &mut self,
        id: PacketId,
        slab: &mut Slab,
        mut drop: impl FnMut(PacketId, &mut Slab),
    ) {
        let Packet { priority, size, .. } = slab[id];
        while !self.room.fits(size) {
            let worst = self.pick(|a, b| a > b, false);
            if priority >= self.priorities[worst] {
                drop(id, slab);
                return;
            }
            let victim = self.remove(worst);
            self.room.give(slab[victim].size);
            drop(victim, slab);
        }
        self.room.take(size);
        self.priorities.push(priority);
        self.ids.push(id);
    }

    #[inline]
    fn pass(&mut self, _: &mut Packet) {}

    #[inline]
    fn dequeue(&mut self, slab: &mut Slab) -> Option<PacketId> {
        if self.ids.is_empty() {
            return None;
        }
        let mut place = self.pick(|a, b| a < b, true);
        if self.dequeue == Dequeue::EarliestOfFlow {
            let Packet { flow, kind, .. } = slab[self.ids[place]];
            let same = |id: &PacketId| slab[*id].flow == flow && slab[*id].kind == kind;
            place = self.ids.iter().position(same).expect("the packet itself");
        }
        let id = self.remove(place);
        self.room.give(slab[id].size);
        Some(id)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn waiting(&self, _: &Slab) -> Vec<PacketId> {
        self.ids.clone()
    }
}
