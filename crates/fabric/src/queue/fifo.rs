//! First in, first out: the line that drop-tail and ECN queues share.

use super::Room;
use crate::packet::{NIL, Packet, PacketId, Slab};

/// A line of packets, linked through the packets themselves, in a buffer of its own.
#[derive(Debug)]
pub(super) struct Fifo {
    head: PacketId,
    tail: PacketId,
    room: Room,
    bytes: u32,
}

impl Fifo {
    pub(super) fn new(room: Room) -> Fifo {
        Fifo { head: NIL, tail: NIL, room, bytes: 0 }
    }

    /// Appends a packet, or says that it does not fit.
    #[inline]
    pub(super) fn push(&mut self, id: PacketId, slab: &mut Slab) -> bool {
        let size = slab.known(id).size;
        if !self.room.fits(size) {
            return false;
        }
        self.room.take(size);
        self.bytes += u32::from(size);
        slab.known_mut(id).next = NIL;
        if self.head == NIL {
            self.head = id;
        } else {
            slab.known_mut(self.tail).next = id;
        }
        self.tail = id;
        true
    }

    /// Puts the packet `id` into the place of the last one, which `id` then names. False when there
    /// is no last one, or when the new one is too large for its room.
    pub(super) fn exchange_last(&mut self, id: PacketId, slab: &mut Slab) -> bool {
        if self.head == NIL {
            return false;
        }
        let (last, new) = (slab[self.tail], slab[id]);
        self.room.give(last.size);
        if !self.room.fits(new.size) {
            self.room.take(last.size);
            return false;
        }
        self.room.take(new.size);
        self.bytes += u32::from(new.size);
        self.bytes -= u32::from(last.size);
        slab[self.tail] = Packet { next: last.next, ..new };
        slab[id] = last;
        true
    }

    /// Takes the first packet, which is there.
    #[inline]
    pub(super) fn pop(&mut self, slab: &Slab) -> PacketId {
        let id = self.head;
        let packet = slab.known(id);
        self.head = packet.next;
        self.room.give(packet.size);
        self.bytes -= u32::from(packet.size);
        id
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

    pub(super) fn waiting(&self, slab: &Slab) -> Vec<PacketId> {
        std::iter::successors((self.head != NIL).then_some(self.head), |&id| {
            let next = slab[id].next;
            (next != NIL).then_some(next)
        })
        .collect()
    }
}
