//! First in, first out: the line that drop-tail and ECN queues share.

use super::Capacity;
use crate::packet::{NIL, Packet, PacketArena, PacketId};

/// A line of packets, linked through the packets themselves, in a buffer for it alone.
#[derive(Debug)]
pub(super) struct Fifo {
    head: PacketId,
    tail: PacketId,
    capacity: Capacity,
    bytes: u32,
}

impl Fifo {
    pub(super) fn new(capacity: Capacity) -> Fifo {
        Fifo { head: NIL, tail: NIL, capacity, bytes: 0 }
    }

    /// Appends a packet, or says that it does not fit.
    #[inline]
    pub(super) fn push(&mut self, id: PacketId, arena: &mut PacketArena) -> bool {
        let size = arena.known(id).size;
        if !self.capacity.fits(size) {
            return false;
        }
        self.capacity.take(size);
        self.bytes += u32::from(size);
        arena.known_mut(id).next = NIL;
        if self.head == NIL {
            self.head = id;
        } else {
            arena.known_mut(self.tail).next = id;
        }
        self.tail = id;
        true
    }

    /// Puts the packet `id` into the place of the last one, which `id` then names. False when there
    /// is no last one, or when the new one is too large for the buffer.
    pub(super) fn exchange_last(&mut self, id: PacketId, arena: &mut PacketArena) -> bool {
        if self.head == NIL {
            return false;
        }
        let (last, new) = (arena[self.tail], arena[id]);
        self.capacity.give(last.size);
        if !self.capacity.fits(new.size) {
            self.capacity.take(last.size);
            return false;
        }
        self.capacity.take(new.size);
        self.bytes += u32::from(new.size);
        self.bytes -= u32::from(last.size);
        arena[self.tail] = Packet { next: last.next, ..new };
        arena[id] = last;
        true
    }

    /// Takes the first packet, which is there.
    #[inline]
    pub(super) fn pop(&mut self, arena: &PacketArena) -> PacketId {
        let id = self.head;
        let packet = arena.known(id);
        self.head = packet.next;
        self.capacity.give(packet.size);
        self.bytes -= u32::from(packet.size);
        id
    }

    /// The first packet.
    #[inline]
    pub(super) fn first(&self) -> Option<PacketId> {
        (self.head != NIL).then_some(self.head)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Bytes that wait.
    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The most bytes of its buffer that were taken at once.
    pub(super) fn peak(&self) -> u64 {
        self.capacity.peak()
    }

    pub(super) fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        std::iter::successors((self.head != NIL).then_some(self.head), |&id| {
            let next = arena[id].next;
            (next != NIL).then_some(next)
        })
        .collect()
    }
}
