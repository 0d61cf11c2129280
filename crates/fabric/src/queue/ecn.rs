//! ECN threshold marking on a drop-tail queue, as DCTCP wants it.

use super::fifo::Fifo;
use super::{BUFFER, Buffered, Capacity, Counting, Outlet, Queue, THRESHOLD, check_buffer};
use crate::packet::{CE, ECT, Packet, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Time, parameters};

parameters! {
    /// Drop-tail that marks a packet on arrival when, with it, more than the threshold waits: the
    /// instantaneous queue, no averaging (RFC 8257 section 3.1; pFabric section 3, scheme ii).
    pub struct Ecn: "ecn" {
        /// Room for waiting packets at each port. If it is small, packets are dropped; if it is
        /// large, all packets may wait longer.
        pub buffer: Bytes = BUFFER,
        /// Waiting bytes above which an arriving packet is marked. If it is low, links may run
        /// empty; if it is high, all packets wait longer.
        pub threshold: Bytes = THRESHOLD,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

impl Check for Ecn {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)?;
        check_threshold(self.threshold, self.buffer)
    }
}

/// Refuses a threshold that no queue can exceed.
pub(super) fn check_threshold(threshold: Bytes, buffer: Bytes) -> Result<(), Refusal> {
    if threshold > buffer {
        let expected = format!("at most the buffer, {buffer}");
        return Err(Refusal::of(&threshold, expected).under("threshold"));
    }
    Ok(())
}

/// What an ECN port keeps.
#[derive(Debug)]
pub struct EcnPort {
    fifo: Fifo,
    threshold: u32,
}

impl Buffered for Ecn {
    type Port = EcnPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, _: Outlet) -> EcnPort {
        EcnPort { fifo: Fifo::new(room), threshold: self.marks_above() }
    }

    fn endless(&self, _: Outlet) -> EcnPort {
        EcnPort { fifo: Fifo::new(Capacity::endless()), threshold: u32::MAX }
    }
}

impl Ecn {
    pub(super) fn marks_above(&self) -> u32 {
        u32::try_from(self.threshold.0).unwrap_or(u32::MAX)
    }
}

/// Marks a packet whose transport understands it.
#[inline]
pub(super) fn mark(packet: &mut Packet) {
    if packet.marks & ECT != 0 {
        packet.marks |= CE;
    }
}

impl Queue for EcnPort {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        if !self.fifo.push(id, arena) {
            drop(id, arena);
        } else if self.fifo.bytes() > self.threshold {
            mark(arena.known_mut(id));
        }
    }

    #[inline]
    fn pass(&mut self, packet: &mut Packet) -> bool {
        if u32::from(packet.size) > self.threshold {
            mark(packet);
        }
        true
    }

    #[inline]
    fn dequeue(
        &mut self,
        _: Time,
        arena: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        Some(self.fifo.pop(arena))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.fifo.waiting(arena)
    }

    fn peak(&self) -> u64 {
        self.fifo.peak()
    }
}
