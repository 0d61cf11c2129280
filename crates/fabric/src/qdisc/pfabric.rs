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
    waiting: Vec<Entry>,
    /// No waiting packet has a higher number; often, but not always, one has this one.
    worst: u32,
    room: Room,
    ties: Ties,
    dequeue: Dequeue,
    /// Whether the order of arrival has to be kept.
    ordered: bool,
    stream: Stream,
}

/// One waiting packet.
#[derive(Clone, Copy, Debug)]
struct Entry {
    priority: u32,
    id: PacketId,
}

impl Builder for PFabric {
    type Port = PFabricPort;

    fn port(&self, stream: Stream) -> PFabricPort {
        PFabricPort {
            waiting: Vec::with_capacity(16),
            worst: 0,
            room: Room::new(self.buffer, self.counting),
            ties: self.ties,
            dequeue: self.dequeue,
            ordered: self.ties == Ties::Arrival || self.dequeue == Dequeue::EarliestOfFlow,
            stream,
        }
    }
}

impl PFabricPort {
    /// The place of the packet to take: of those whose priority `beats` all others the first, the
    /// last, or any.
    #[inline]
    fn pick(&mut self, beats: impl Fn(u32, u32) -> bool, first: bool) -> usize {
        let (mut place, mut best, mut ties) = (0, self.waiting[0].priority, 1);
        for (i, &Entry { priority, .. }) in self.waiting.iter().enumerate().skip(1) {
            let beaten = beats(priority, best);
            let tied = priority == best;
            place = if beaten | (tied & !first) { i } else { place };
            ties = if beaten { 1 } else { ties + u64::from(tied) };
            best = if beaten { priority } else { best };
        }
        if ties > 1 && self.ties == Ties::Random {
            let nth = self.stream.below(ties) as usize;
            let tied = |(i, entry): (usize, &Entry)| (entry.priority == best).then_some(i);
            let mut places = self.waiting.iter().enumerate().filter_map(tied);
            place = places.nth(nth).expect("as many as were counted");
        }
        place
    }

    #[inline]
    fn remove(&mut self, place: usize) -> PacketId {
        match self.ordered {
            true => self.waiting.remove(place).id,
            false => self.waiting.swap_remove(place).id,
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
            if priority >= self.worst {
                drop(id, slab);
                return;
            }
            let place = self.pick(|a, b| a > b, false);
            self.worst = self.waiting[place].priority;
            if priority >= self.worst {
                continue;
            }
            let victim = self.remove(place);
            self.room.give(slab[victim].size);
            drop(victim, slab);
        }
        self.worst = self.worst.max(priority);
        self.room.take(size);
        self.waiting.push(Entry { priority, id });
    }

    #[inline]
    fn pass(&mut self, _: &mut Packet) {}

    #[inline]
    fn dequeue(&mut self, slab: &mut Slab) -> PacketId {
        let mut place = self.pick(|a, b| a < b, true);
        if self.dequeue == Dequeue::EarliestOfFlow {
            let Packet { flow, kind, .. } = slab[self.waiting[place].id];
            let same = |entry: &Entry| slab[entry.id].flow == flow && slab[entry.id].kind == kind;
            place = self.waiting.iter().position(same).expect("the packet itself");
        }
        let id = self.remove(place);
        self.room.give(slab[id].size);
        id
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn waiting(&self, _: &Slab) -> Vec<PacketId> {
        self.waiting.iter().map(|entry| entry.id).collect()
    }
}
