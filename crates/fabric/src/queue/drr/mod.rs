//! Per-flow fair queueing: deficit round robin (Shreedhar and Varghese, SIGCOMM 1995).

mod lanes;

use super::{BUFFER, Buffered, Capacity, Counting, Outlet, Queue, check_buffer, make_room};
use crate::packet::{Packet, PacketArena, PacketId};
use lanes::Lanes;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Time, choices, parameters};
use std::collections::VecDeque;

parameters! {
    /// A queue for each flow, served in rounds: in its turn a flow may send a quantum more than it
    /// has sent, and keeps what it could not use for want of a packet small enough as long as
    /// packets of it wait (deficit round robin, Shreedhar and Varghese, SIGCOMM 1995).
    /// Flows are distinguished exactly, not by a hash as there. A flow's ACKs, which go the other way,
    /// are a flow like any other at the ports that they pass.
    pub struct Drr: "drr" {
        /// Bytes that a flow may send in each round, at least a full packet.
        pub quantum: Bytes = Bytes(1_500),
        /// Which packet is dropped when the buffer is full.
        pub victim: Victim = Victim::Longest,
        /// Room for the waiting packets of all flows at each port.
        pub buffer: Bytes = BUFFER,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

choices! {
    /// Which packet is dropped when the buffer is full.
    pub enum Victim: "victim" {
        /// The last one of the flow of which most bytes wait, the packet that comes counted in; of
        /// several such flows, that with the highest number. Who sends too much loses: buffer
        /// stealing (McKenney, INFOCOM 1990), which the paper takes over.
        Longest = "longest",
        /// The packet that comes, whosever it is.
        Arriving = "arriving",
    }
}

impl Check for Drr {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)
    }
}

impl Buffered for Drr {
    type Port = DrrPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, _: Outlet) -> DrrPort {
        DrrPort {
            lanes: Lanes::default(),
            round: VecDeque::new(),
            begun: false,
            capacity: room,
            quantum: self.quantum.0 as u32,
            victim: self.victim,
        }
    }

    fn check_others(&self, largest: u16) -> Result<(), Refusal> {
        if self.quantum.0 < largest.into() || self.quantum.0 > LARGEST_QUANTUM {
            let expected = format!("a full packet of {largest}B to \"1GB\"");
            return Err(Refusal::of(&self.quantum, expected).under("quantum"));
        }
        Ok(())
    }
}

/// A deficit of one quantum and a packet fits into 32 bits.
const LARGEST_QUANTUM: u64 = 1_000_000_000;

/// What a port keeps.
#[derive(Debug)]
pub struct DrrPort {
    lanes: Lanes,
    /// The lanes in which packets wait, in the order of their turns.
    round: VecDeque<u32>,
    /// Whether the first of them has had its quantum.
    begun: bool,
    capacity: Capacity,
    quantum: u32,
    victim: Victim,
}

impl DrrPort {
    /// A lane has no packet any more: it leaves the round.
    fn leave(&mut self, lane: u32) {
        let place = self
            .round
            .iter()
            .position(|other| *other == lane)
            .expect("a lane with packets is in the round");
        self.round.remove(place);
        self.begun &= place > 0;
        self.lanes.close(lane);
    }
}

impl Queue for DrrPort {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let &Packet { flow, size, .. } = arena.known(id);
        if !make_room(self, id, arena, |port, size| port.capacity.fits(size), drop) {
            return;
        }
        self.capacity.take(size);
        let lane = match self.lanes.find(flow) {
            Some(lane) => lane,
            None => {
                let lane = self.lanes.open(flow);
                self.round.push_back(lane);
                lane
            }
        };
        self.lanes.push(lane, id, size);
    }

    #[inline]
    fn evict(&mut self, arriving: PacketId, arena: &mut PacketArena) -> Option<PacketId> {
        let &Packet { flow, size, .. } = arena.known(arriving);
        let longest = match self.victim {
            Victim::Longest => self.lanes.longer_than(flow, size)?,
            Victim::Arriving => return None,
        };
        let victim = self.lanes.pop_last(longest, arena);
        self.capacity.give(arena.known(victim).size);
        if self.lanes[longest].is_empty() {
            self.leave(longest);
        }
        Some(victim)
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
        loop {
            let lane = self.round[0];
            let quantum = if self.begun { 0 } else { self.quantum };
            self.begun = true;
            if let Some(id) = self.lanes.pop_first(lane, quantum, arena) {
                self.capacity.give(arena.known(id).size);
                if self.lanes[lane].is_empty() {
                    self.leave(lane);
                }
                return Some(id);
            }
            self.round.rotate_left(1);
            self.begun = false;
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.round.is_empty()
    }

    fn waiting(&self, _: &PacketArena) -> Vec<PacketId> {
        self.round.iter().flat_map(|lane| self.lanes[*lane].packets()).collect()
    }

    fn peak(&self) -> u64 {
        self.capacity.peak()
    }
}

#[cfg(test)]
mod tests;
