//! One line, first in, first out, and a rule that writes into its packets.

use super::Queue;
use super::fifo::Fifo;
use crate::packet::{CE, ECT, Packet, PacketArena, PacketId};
use sojourn_core::Time;
use std::fmt::Debug;

/// What a port writes into the packets of its line.
pub trait Rule: Debug {
    /// Looks at a packet that has come; with it, `waiting` bytes wait.
    fn came(&mut self, packet: &mut Packet, waiting: u32);

    /// Looks at a packet that leaves at `now`; behind it, `waiting` bytes wait.
    #[inline]
    fn leaves(&mut self, _packet: &mut Packet, _waiting: u32, _now: Time) {}

    /// Counts a packet of `size` bytes that the port sends past the line.
    #[inline]
    fn passed_by(&mut self, _size: u16) {}
}

/// Writes nothing.
#[derive(Debug)]
pub struct Untouched;

impl Rule for Untouched {
    #[inline]
    fn came(&mut self, _: &mut Packet, _: u32) {}
}

/// Marks a packet whose transport understands it.
#[inline]
pub(super) fn mark(packet: &mut Packet) {
    if packet.marks & ECT != 0 {
        packet.marks |= CE;
    }
}

/// A port with one line, which drops what does not fit.
#[derive(Debug)]
pub struct LinePort<R> {
    fifo: Fifo,
    rule: R,
}

impl<R> LinePort<R> {
    /// A port with the line `fifo`, in whose packets `rule` writes.
    pub(super) fn new(fifo: Fifo, rule: R) -> LinePort<R> {
        LinePort { fifo, rule }
    }
}

impl<R: Rule> Queue for LinePort<R> {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        if self.fifo.push(id, arena) {
            self.rule.came(arena.known_mut(id), self.fifo.bytes());
        } else {
            drop(id, arena);
        }
    }

    #[inline]
    fn pass(&mut self, packet: &mut Packet) -> bool {
        let (size, now) = (packet.size.into(), packet.arrives());
        self.rule.came(packet, size);
        self.rule.leaves(packet, 0, now);
        true
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let id = self.fifo.pop(arena);
        self.rule.leaves(arena.known_mut(id), self.fifo.bytes(), now);
        Some(id)
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

    #[inline]
    fn passed_by(&mut self, size: u16) {
        self.rule.passed_by(size);
    }
}
