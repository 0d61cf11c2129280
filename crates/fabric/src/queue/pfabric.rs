//! pFabric's port: priority scheduling and priority dropping in a tiny buffer (section 2.2).

use super::{Buffered, Capacity, Counting, Outlet, Queue, check_buffer, make_room};
use crate::packet::{Packet, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Stream, Time, choices, parameters};

parameters! {
    /// Sends the packet of the highest priority first (the lowest number); when the buffer is full,
    /// drops the packets of the lowest priority (pFabric section 2.2).
    pub struct PFabric: "pfabric" {
        /// Room for waiting packets at each port: one bandwidth-delay product is enough.
        pub buffer: Bytes = Bytes(22_500),
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
        /// Which of several packets of equal priority is chosen.
        pub ties: Ties = Ties::Random,
        /// Which packet of the most urgent flow goes first.
        pub dequeue: Dequeue = Dequeue::Best,
    }
}

impl Check for PFabric {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)
    }
}

choices! {
    /// Which of several packets of equal priority is chosen.
    pub enum Ties: "way to break ties" {
        /// Any of them, all equally likely: the paper's text.
        Random = "random",
        /// To send, the one that came first; to drop, the one that came last: the authors' code.
        Arrival = "arrival",
    }
}

choices! {
    /// Which packet of the most urgent flow goes first.
    pub enum Dequeue: "way to dequeue" {
        /// The packet of the highest priority itself: the paper's text.
        Best = "best",
        /// The packet of the same flow that has waited longest: the authors' code, which so keeps
        /// a resent early packet from starving behind later ones.
        EarliestOfFlow = "earliest-of-flow",
    }
}

/// What a pFabric port keeps: the waiting packets in the order in which they will go, the next one
/// last. Ties are broken when a packet comes: put at a random place among its equals, it leaves
/// their order as random as a draw at every decision would.
#[derive(Debug)]
pub struct PFabricPort {
    waiting: Vec<Entry>,
    capacity: Capacity,
    ties: Ties,
    dequeue: Dequeue,
    /// How many packets have come so far.
    arrivals: u32,
    stream: Stream,
}

/// One waiting packet.
#[derive(Clone, Copy, Debug)]
struct Entry {
    priority: u32,
    id: PacketId,
    /// Which arrival it was.
    arrival: u32,
}

impl Buffered for PFabric {
    type Port = PFabricPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, outlet: Outlet) -> PFabricPort {
        PFabricPort {
            waiting: Vec::with_capacity(16),
            capacity: room,
            ties: self.ties,
            dequeue: self.dequeue,
            arrivals: 0,
            stream: outlet.stream,
        }
    }
}

impl PFabricPort {
    /// Where a packet of `priority` goes: before all that are worse, and among its equals after
    /// those that came earlier or anywhere.
    #[inline]
    fn place(&mut self, priority: u32) -> usize {
        let worse = self.waiting.iter().rev().position(|entry| entry.priority >= priority);
        let Some(better) = worse else { return 0 };
        let end = self.waiting.len() - better;
        let equal = self.waiting[..end].iter().rev().take_while(|entry| entry.priority == priority);
        match equal.count() {
            0 => end,
            equals => match self.ties {
                Ties::Arrival => end - equals,
                Ties::Random => end - self.stream.below(equals as u64 + 1) as usize,
            },
        }
    }

    /// The place of the packet that has waited longest of those that travel with the one at the
    /// end: same flow, same direction.
    fn earliest_of_flow(&self, arena: &PacketArena) -> usize {
        let Packet { flow, kind, .. } = arena[self.waiting[self.waiting.len() - 1].id];
        let same = |&place: &usize| {
            let packet = &arena[self.waiting[place].id];
            packet.flow == flow && packet.kind == kind
        };
        let age = |&place: &usize| self.arrivals.wrapping_sub(self.waiting[place].arrival);
        (0..self.waiting.len()).filter(same).max_by_key(age).expect("the one at the end")
    }
}

impl Queue for PFabricPort {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let &Packet { priority, size, .. } = arena.known(id);
        if !make_room(self, id, arena, |port, size| port.capacity.fits(size), drop) {
            return;
        }
        self.capacity.take(size);
        let place = self.place(priority);
        self.waiting.insert(place, Entry { priority, id, arrival: self.arrivals });
        self.arrivals = self.arrivals.wrapping_add(1);
    }

    #[inline]
    fn evict(&mut self, arriving: PacketId, arena: &mut PacketArena) -> Option<PacketId> {
        let worst = *self.waiting.first()?;
        if arena.known(arriving).priority >= worst.priority {
            return None;
        }
        self.waiting.remove(0);
        self.capacity.give(arena.known(worst.id).size);
        Some(worst.id)
    }

    #[inline]
    fn pass(&mut self, _: &mut Packet) -> bool {
        true
    }

    #[inline]
    fn dequeue(
        &mut self,
        _: Time,
        arena: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let next = match self.dequeue {
            Dequeue::Best => self.waiting.pop(),
            Dequeue::EarliestOfFlow => Some(self.waiting.remove(self.earliest_of_flow(arena))),
        };
        let id = next.expect("a queue that is asked has a packet").id;
        self.capacity.give(arena.known(id).size);
        Some(id)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn waiting(&self, _: &PacketArena) -> Vec<PacketId> {
        self.waiting.iter().map(|entry| entry.id).collect()
    }

    fn peak(&self) -> u64 {
        self.capacity.peak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Kind, NIL};
    use crate::queue::{Builder, no_drop};
    use proptest::prelude::*;
    use sojourn_core::Streams;
    use sojourn_core::parameters::defaults;

    fn packet(priority: u32, size: u16, flow: u32) -> Packet {
        Packet {
            key: 0,
            next: NIL,
            flow,
            sequence: 0,
            priority,
            to: 0,
            size,
            echo: 0,
            kind: Kind::DATA,
            marks: 0,
        }
    }

    fn sent(port: &mut PFabricPort, arena: &mut PacketArena) -> PacketId {
        port.dequeue(Time::ZERO, arena, no_drop).expect("a packet")
    }

    /// Offers a packet; the priorities of those that were dropped.
    fn offer(port: &mut PFabricPort, arena: &mut PacketArena, packet: Packet) -> Vec<u32> {
        let mut dropped = Vec::new();
        let id = arena.insert(packet);
        port.enqueue(Time::ZERO, Time::ZERO, id, arena, |id, arena| {
            dropped.push(arena[id].priority)
        });
        dropped
    }

    /// By hand: four packets fit. Equal to the worst is dropped, better takes its place.
    #[test]
    fn drops_by_the_text() {
        let queue = PFabric { buffer: Bytes(6_000), ..defaults() };
        let (mut port, mut arena) =
            (queue.port(Outlet::alone(Streams::new(1, 0).stream("t", 0))), PacketArena::default());
        for priority in [5, 9, 7, 9] {
            assert_eq!(offer(&mut port, &mut arena, packet(priority, 1500, 0)), []);
        }
        assert_eq!(offer(&mut port, &mut arena, packet(9, 1500, 0)), [9]);
        assert_eq!(offer(&mut port, &mut arena, packet(8, 1500, 0)), [9]);
        assert_eq!(offer(&mut port, &mut arena, packet(0, 1500, 0)), [9]);
        assert_eq!(offer(&mut port, &mut arena, packet(9, 40, 0)), [9]);
        let order: Vec<u32> = (0..4)
            .map(|_| {
                let id = sent(&mut port, &mut arena);
                arena[id].priority
            })
            .collect();
        assert_eq!(order, [0, 5, 7, 8]);
        assert!(port.is_empty());
    }

    /// Which of three equals goes first, and which is dropped: each a third of the time, with a 99
    /// % interval, whatever has come and gone before.
    #[test]
    fn ties_are_broken_evenly() {
        let queue = PFabric { buffer: Bytes(4_500), ..defaults() };
        let (mut first, mut lost) = ([0u32; 3], [0u32; 3]);
        let trials = 30_000;
        let mut port = queue.port(Outlet::alone(Streams::new(3, 0).stream("t", 0)));
        for _ in 0..trials {
            let mut arena = PacketArena::default();
            // The first of the equals has a rival before the others come, and beats or loses it.
            for flow in [0, 1, 2] {
                offer(&mut port, &mut arena, packet(7, 1500, flow));
            }
            let id = sent(&mut port, &mut arena);
            first[arena[id].flow as usize] += 1;
            let flow = arena[id].flow;
            offer(&mut port, &mut arena, packet(7, 1500, flow));
            let mut dropped = 0;
            let id = arena.insert(packet(1, 1500, 9));
            port.enqueue(Time::ZERO, Time::ZERO, id, &mut arena, |id, arena| {
                dropped = arena[id].flow
            });
            lost[dropped as usize] += 1;
            while !port.is_empty() {
                sent(&mut port, &mut arena);
            }
        }
        let deviation = (f64::from(trials) * 2.0 / 9.0).sqrt();
        for count in first.into_iter().chain(lost) {
            assert!((f64::from(count) - f64::from(trials) / 3.0).abs() < 2.576 * deviation);
        }
    }

    proptest! {
        /// Against a plain list searched anew at every step: the same packets wait, and with ties
        /// by arrival the same ones go and are dropped, in the same order.
        #[test]
        fn agrees_with_a_plain_list(
            steps in prop::collection::vec((0u32..6, 0u32..3, any::<bool>(), any::<bool>()), 1..80),
            earliest in any::<bool>(),
        ) {
            let dequeue = if earliest { Dequeue::EarliestOfFlow } else { Dequeue::Best };
            let queue =
                PFabric { buffer: Bytes(7_500), ties: Ties::Arrival, dequeue, ..defaults() };
            let mut port = queue.port(Outlet::alone(Streams::new(1, 0).stream("t", 0)));
            let (mut arena, mut plain) = (PacketArena::default(), Vec::<PacketId>::new());
            for (priority, flow, small, take) in steps {
                if take && !plain.is_empty() {
                    let best = *plain.iter().min_by_key(|&&id| arena[id].priority).unwrap();
                    let mut same = plain.iter().filter(|&&id| arena[id].flow == arena[best].flow);
                    let expected = if earliest { *same.next().unwrap() } else { best };
                    plain.retain(|&id| id != expected);
                    prop_assert_eq!(sent(&mut port, &mut arena), expected);
                    continue;
                }
                let size = if small { 40 } else { 1500 };
                let id = arena.insert(packet(priority, size, flow));
                let (mut expected, mut dropped) = (Vec::new(), Vec::new());
                plain.push(id);
                let bytes = |plain: &[PacketId], arena: &PacketArena| -> u32 {
                    plain.iter().map(|&id| u32::from(arena[id].size)).sum()
                };
                while bytes(&plain, &arena) > 7_500 {
                    let worst = plain.iter().map(|&id| arena[id].priority).max().unwrap();
                    let last = plain.iter().rposition(|&id| arena[id].priority == worst).unwrap();
                    expected.push(plain.remove(last));
                }
                port.enqueue(Time::ZERO, Time::ZERO, id, &mut arena, |id, _| dropped.push(id));
                prop_assert_eq!(dropped, expected);
                prop_assert_eq!(port.waiting(&arena).len(), plain.len());
            }
        }
    }
}
