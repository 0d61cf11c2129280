//! Drop-tail: first in, first out, and what does not fit is lost.

use super::fifo::Fifo;
use super::{BUFFER, Buffered, Capacity, Counting, Outlet, Queue, check_buffer};
use crate::packet::{Packet, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Time, parameters};

parameters! {
    /// First in, first out; a packet that does not fit is dropped. The pFabric paper's TCP runs
    /// over 225 KB of it (section 3, scheme i).
    pub struct DropTail: "drop-tail" {
        /// Room for waiting packets at each port. If it is small, packets are dropped; if it is
        /// large, all packets may wait longer.
        pub buffer: Bytes = BUFFER,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

impl Check for DropTail {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)
    }
}

/// What a drop-tail port keeps.
#[derive(Debug)]
pub struct DropTailPort(Fifo);

impl Buffered for DropTail {
    type Port = DropTailPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, _: Outlet) -> DropTailPort {
        DropTailPort(Fifo::new(room))
    }
}

impl Queue for DropTailPort {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        if !self.0.push(id, arena) {
            drop(id, arena);
        }
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
        Some(self.0.pop(arena))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.0.waiting(arena)
    }

    fn peak(&self) -> u64 {
        self.0.peak()
    }
}
