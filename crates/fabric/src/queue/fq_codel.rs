//! FQ-CoDel: a queue for each flow under CoDel, in rounds, new flows first (RFC 8290).

use super::codel::{ControlLaw, Controller};
use super::fifo::Fifo;
use super::{Buffered, Capacity, Counting, Outlet, Queue, check_buffer, make_room};
use crate::packet::{Kind, Packet, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::random::mix;
use sojourn_core::{Bytes, Time, parameters};
use std::cmp::Reverse;
use std::collections::VecDeque;

parameters! {
    /// A queue for each flow, found by a hash, and CoDel within each. In its turn a flow may send a
    /// quantum more; flows that have just begun to send go first, once each. When the buffer is full,
    /// drops the packet that has waited longest of the flow with most bytes (FQ-CoDel, RFC 8290). The
    /// defaults are those of RFC 8290 and Linux, for the Internet; between the hosts of a data centre,
    /// `target` "50us" and `interval` "1ms". Linux drops up to 64 packets at a time from a full buffer,
    /// this one no more than it has to.
    pub struct FqCoDel: "fq-codel" {
        /// What CoDel aims at in the queue of a flow.
        pub law: ControlLaw [flatten],
        /// Whether a packet whose transport understands ECN is marked instead of dropped by CoDel.
        pub ecn: bool = true,
        /// Number of queues. Flows in the same queue are treated as one flow.
        pub flows: u32 [1..=MOST_FLOWS] = 1024,
        /// Bytes that a flow may send in each round, 256 B to 1 GB.
        pub quantum: Bytes = Bytes(1_514),
        /// Room for waiting packets of all flows, at each port: 10,240 packets.
        pub buffer: Bytes = Bytes(15_360_000),
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Packets,
    }
}

impl Check for FqCoDel {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)?;
        if !QUANTA.contains(&self.quantum.0) {
            return Err(Refusal::of(&self.quantum, "\"256B\" to \"1GB\"").under("quantum"));
        }
        Ok(())
    }
}

/// A lane's number has 16 bits, and one of them is [`NO_LANE`].
const MOST_FLOWS: u32 = u16::MAX as u32;

/// Quanta from the least of Linux to what fits into a deficit.
const QUANTA: std::ops::RangeInclusive<u64> = 256..=1_000_000_000;

/// One queue, of the flows of one hash.
#[derive(Debug)]
struct Lane {
    hash: u16,
    packets: Fifo,
    /// What it may send before its next quantum; below zero after a packet larger than that.
    deficit: i64,
    /// Whether it is in one of the lists.
    is_listed: bool,
    controller: Controller,
}

const NO_LANE: u16 = u16::MAX;

/// What an FQ-CoDel port keeps. Only flows that have packets, or have lost one, have a lane.
#[derive(Debug)]
pub struct FqCoDelPort {
    law: ControlLaw,
    ecn: bool,
    quantum: i64,
    salt: u64,
    flows: u32,
    /// The lane of each hash; empty before the first packet comes.
    lanes_by_hash: Vec<u16>,
    lanes: Vec<Lane>,
    /// Lanes that can be used again.
    unused: Vec<u16>,
    /// Flows that have just begun to send, and the others, in the order of their turns.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    capacity: Capacity,
    bytes: u32,
    /// Size of the largest packet so far.
    largest: u16,
}

impl Buffered for FqCoDel {
    type Port = FqCoDelPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, mut outlet: Outlet) -> FqCoDelPort {
        FqCoDelPort {
            law: self.law.clone(),
            ecn: self.ecn,
            quantum: self.quantum.0 as i64,
            salt: outlet.stream.bits(),
            flows: self.flows,
            lanes_by_hash: Vec::new(),
            lanes: Vec::new(),
            unused: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            capacity: room,
            bytes: 0,
            largest: 0,
        }
    }

    fn endless(&self, outlet: Outlet) -> FqCoDelPort {
        FqCoDelPort { law: ControlLaw::endless(), ..self.with_room(Capacity::endless(), outlet) }
    }
}

impl FqCoDelPort {
    /// The hash of a packet's flow; what goes back is another flow.
    fn hash(&self, packet: &Packet) -> u16 {
        let flow = u64::from(packet.flow) << 1 | u64::from(packet.kind != Kind::DATA);
        ((u128::from(mix(flow ^ self.salt)) * u128::from(self.flows)) >> 64) as u16
    }

    /// The lane of the flows of `hash`.
    fn lane_of(&mut self, hash: u16) -> u16 {
        if self.lanes_by_hash.is_empty() {
            self.lanes_by_hash = vec![NO_LANE; self.flows as usize];
        }
        let of_hash = &mut self.lanes_by_hash[usize::from(hash)];
        if *of_hash == NO_LANE {
            *of_hash = self.unused.pop().unwrap_or(self.lanes.len() as u16);
            let lane = Lane {
                hash,
                packets: Fifo::new(Capacity::endless()),
                deficit: 0,
                is_listed: false,
                controller: Controller::default(),
            };
            match self.lanes.get_mut(usize::from(*of_hash)) {
                Some(unused) => *unused = lane,
                None => self.lanes.push(lane),
            }
        }
        *of_hash
    }

    /// Takes an empty lane, which is no longer in a list, out of use, unless CoDel has to remember it.
    fn retire(&mut self, number: u16) {
        let lane = &mut self.lanes[usize::from(number)];
        lane.is_listed = false;
        if lane.controller.is_fresh() {
            self.lanes_by_hash[usize::from(lane.hash)] = NO_LANE;
            self.unused.push(number);
        }
    }

    /// Lets all flows go: the link came to rest, and any that sends again has just begun to.
    fn rest(&mut self) {
        while let Some(lane) = self.new.pop_front().or_else(|| self.old.pop_front()) {
            self.lanes[usize::from(lane)].controller.rest();
            self.retire(lane);
        }
    }
}

impl Queue for FqCoDelPort {
    fn enqueue(
        &mut self,
        now: Time,
        link_free: Time,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        if self.is_empty() && link_free <= now {
            self.rest();
        }
        if !make_room(self, id, arena, |port, size| port.capacity.fits(size), drop) {
            return;
        }
        let packet = *arena.known(id);
        self.capacity.take(packet.size);
        self.bytes += u32::from(packet.size);
        self.largest = self.largest.max(packet.size);
        let number = self.lane_of(self.hash(&packet));
        let lane = &mut self.lanes[usize::from(number)];
        lane.packets.push(id, arena);
        if !lane.is_listed {
            lane.is_listed = true;
            lane.deficit = self.quantum;
            self.new.push_back(number);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = list.pop_front()?;
            let lane = &mut self.lanes[usize::from(number)];
            if lane.deficit <= 0 {
                lane.deficit += self.quantum;
                self.old.push_back(number);
                continue;
            }
            let (packets, capacity, bytes) =
                (&mut lane.packets, &mut self.capacity, &mut self.bytes);
            let largest = u32::from(self.largest);
            let pop = |arena: &mut PacketArena| {
                let id = (!packets.is_empty()).then(|| packets.pop(arena))?;
                let size = arena.known(id).size;
                capacity.give(size);
                *bytes -= u32::from(size);
                Some((id, *bytes > largest))
            };
            let next = lane.controller.dequeue(&self.law, self.ecn, now, arena, pop, &mut drop);
            match next {
                Some(id) => {
                    lane.deficit -= i64::from(arena.known(id).size);
                    if is_new { &mut self.new } else { &mut self.old }.push_front(number);
                    return Some(id);
                }
                // A new flow goes through the old ones once, so that it cannot starve them.
                None if is_new => self.old.push_back(number),
                None => self.retire(number),
            }
        }
    }

    /// The packet that has waited longest of the flow of which most bytes wait, the packet that comes
    /// counted in; of several such flows, that of the lowest hash.
    fn evict(&mut self, arriving: PacketId, arena: &mut PacketArena) -> Option<PacketId> {
        let &packet = arena.known(arriving);
        let own = self.hash(&packet);
        let comes = u32::from(packet.size);
        let length = |lane: &Lane| {
            let bytes = lane.packets.bytes() + if lane.hash == own { comes } else { 0 };
            (bytes, Reverse(lane.hash))
        };
        let fattest = (0..self.lanes.len()).max_by_key(|&lane| length(&self.lanes[lane]))?;
        if length(&self.lanes[fattest]) < (comes, Reverse(own)) {
            return None;
        }
        let lane = &mut self.lanes[fattest];
        let id = (!lane.packets.is_empty()).then(|| lane.packets.pop(arena))?;
        let size = arena.known(id).size;
        self.capacity.give(size);
        self.bytes -= u32::from(size);
        Some(id)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.lanes.iter().flat_map(|lane| lane.packets.waiting(arena)).collect()
    }

    fn peak(&self) -> u64 {
        self.capacity.peak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Builder;
    use proptest::prelude::*;
    use sojourn_core::parameters::defaults;
    use sojourn_core::{Span, Streams};

    /// The lists of RFC 8290, section 4, as plain as they are described, with CoDel's own controller in each
    /// queue.
    struct Plain {
        queues: Vec<(Vec<PacketId>, i64, Controller)>,
        new: Vec<usize>,
        old: Vec<usize>,
        largest: u32,
        params: FqCoDel,
    }

    impl Plain {
        fn bytes(&self, arena: &PacketArena) -> u32 {
            let all = self.queues.iter().flat_map(|queue| &queue.0);
            all.map(|&id| u32::from(arena[id].size)).sum()
        }

        fn enqueue(&mut self, hash: usize, id: PacketId, arena: &PacketArena) -> Vec<PacketId> {
            self.largest = self.largest.max(arena[id].size.into());
            self.queues[hash].0.push(id);
            if !self.new.contains(&hash) && !self.old.contains(&hash) {
                self.new.push(hash);
                self.queues[hash].1 = self.params.quantum.0 as i64;
            }
            let mut dropped = Vec::new();
            while u64::from(self.bytes(arena)) > self.params.buffer.0 {
                let bytes = |ids: &Vec<PacketId>| -> u32 {
                    ids.iter().map(|&id| u32::from(arena[id].size)).sum()
                };
                let length = |&hash: &usize| (bytes(&self.queues[hash].0), Reverse(hash));
                let most = (0..self.queues.len()).max_by_key(length).expect("a queue");
                dropped.push(self.queues[most].0.remove(0));
            }
            dropped
        }

        fn dequeue(
            &mut self,
            now: Time,
            arena: &mut PacketArena,
        ) -> (Option<PacketId>, Vec<PacketId>) {
            let mut dropped = Vec::new();
            loop {
                let is_new = !self.new.is_empty();
                let list = if is_new { &mut self.new } else { &mut self.old };
                if list.is_empty() {
                    return (None, dropped);
                }
                let hash = list.remove(0);
                if self.queues[hash].1 <= 0 {
                    self.queues[hash].1 += self.params.quantum.0 as i64;
                    self.old.push(hash);
                    continue;
                }
                let mut bytes = self.bytes(arena);
                let (ids, deficit, controller) = &mut self.queues[hash];
                let largest = self.largest;
                let pop = |arena: &mut PacketArena| {
                    let id = (!ids.is_empty()).then(|| ids.remove(0))?;
                    bytes -= u32::from(arena[id].size);
                    Some((id, bytes > largest))
                };
                let drop = |id, _: &mut PacketArena| dropped.push(id);
                let law = &self.params.law;
                let next = controller.dequeue(law, self.params.ecn, now, arena, pop, drop);
                if let Some(id) = next {
                    *deficit -= i64::from(arena[id].size);
                    if is_new { &mut self.new } else { &mut self.old }.insert(0, hash);
                    return (next, dropped);
                }
                if is_new {
                    self.old.push(hash);
                }
            }
        }
    }

    fn params() -> FqCoDel {
        let law = ControlLaw { target: Span::from_us(2), interval: Span::from_us(20) };
        FqCoDel {
            law,
            flows: 4,
            quantum: Bytes(1_000),
            buffer: Bytes(12_000),
            counting: Counting::Bytes,
            ..defaults()
        }
    }

    proptest! {
        /// What goes, what is dropped, and when, with few hashes, a small buffer and a link that is at times
        /// idle. Flows that the port forgets are the same as flows that it has never seen.
        #[test]
        fn agrees_with_plain_lists(
            steps in prop::collection::vec((0u64..3_000, 0u32..12, 0u64..4, any::<bool>()), 1..300),
        ) {
            let mut port = params().port(Outlet::alone(Streams::new(1, 0).stream("t", 0)));
            let empty = || (Vec::new(), 0, Controller::default());
            let queues = (0..4).map(|_| empty()).collect();
            let mut plain =
                Plain { queues, new: Vec::new(), old: Vec::new(), largest: 0, params: params() };
            let (mut arena, mut now, mut free) = (PacketArena::default(), Time::ZERO, Time::ZERO);
            for (gap, flow, size, sends) in steps {
                now += Span::from_ns(gap);
                while sends && free <= now && !port.is_empty() {
                    let mut dropped = Vec::new();
                    let next = port.dequeue(free, &mut arena, |id, _| dropped.push(id));
                    prop_assert_eq!((next, dropped), plain.dequeue(free, &mut arena));
                    free += Span::from_ns(1_200);
                }
                if port.is_empty() && free <= now {
                    // The link asks for one more packet when the last has left.
                    prop_assert_eq!(plain.dequeue(free, &mut arena), (None, Vec::new()));
                    free = now;
                }
                let size = [40, 700, 1_500, 1_500][size as usize];
                let packet = Packet {
                    key: Packet::arriving(now, 0),
                    flow,
                    size,
                    kind: Kind::DATA,
                    ..Packet::LAST
                };
                let id = arena.insert(packet);
                let expected = plain.enqueue(port.hash(&packet).into(), id, &arena);
                let mut dropped = Vec::new();
                port.enqueue(now, free, id, &mut arena, |id, _| dropped.push(id));
                prop_assert_eq!(dropped, expected);
                prop_assert_eq!(port.waiting(&arena).len(), plain.queues.iter().map(|q| q.0.len()).sum());
            }
        }
    }

    /// A flow that has sent for long has a full round to wait; one that begins goes next.
    #[test]
    fn a_new_flow_goes_first() {
        let mut port = FqCoDel { flows: 1024, ..params() }
            .port(Outlet::alone(Streams::new(1, 0).stream("t", 0)));
        let mut arena = PacketArena::default();
        let mut order = Vec::new();
        for flow in [1, 1, 1, 1, 2] {
            if flow == 2 {
                let id = port.dequeue(Time::ZERO, &mut arena, super::super::no_drop);
                order.push(arena[id.expect("a packet")].flow);
            }
            let (kind, key) = (Kind::DATA, 0);
            let id = arena.insert(Packet { flow, size: 1_500, kind, key, ..Packet::LAST });
            port.enqueue(Time::ZERO, Time::from_ps(1), id, &mut arena, super::super::no_drop);
        }
        while !port.is_empty() {
            let id = port.dequeue(Time::ZERO, &mut arena, super::super::no_drop);
            order.push(arena[id.expect("a packet")].flow);
        }
        assert_eq!(order, [1, 2, 1, 1, 1]);
    }
}
