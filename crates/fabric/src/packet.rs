//! Packets, and the arena in which those of one side of a fabric lie.
//!
//! Those that wait lie singly, and their places are used again, latest first. Those under way lie in
//! runs, one behind another, so that they are written and read in sequence: a large fabric's packets do
//! not fit into the caches, and a load from memory whose address the load before it gives takes longest.

use sojourn_core::{Span, Time};
use std::ops::Range;

/// The place of a packet in the [`PacketArena`]. Only an arena makes one, and it never shrinks, so that a
/// [`Queue`](crate::queue::Queue) can return no place that does not exist; see also
/// `PacketArena::free`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct PacketId(u32);

impl PacketId {
    /// The place `count` behind this one.
    #[inline(always)]
    pub(crate) const fn plus(self, count: u32) -> PacketId {
        PacketId(self.0 + count)
    }

    /// How many places this one is behind `first`.
    #[inline(always)]
    pub(crate) const fn since(self, first: PacketId) -> u32 {
        self.0 - first.0
    }

    /// All places from this one to `end`.
    pub(crate) fn upto(self, end: PacketId) -> impl Iterator<Item = PacketId> {
        (self.0..end.0).map(PacketId)
    }

    /// The value of [`Packet::next`] for an interface.
    #[inline(always)]
    pub(crate) const fn of_interface(number: u32) -> PacketId {
        PacketId(number)
    }

    /// Which of the arena's runs this one is in.
    #[inline(always)]
    pub(crate) const fn run(self) -> usize {
        (self.0 / RUN) as usize
    }
}

/// No packet. In its place lies one that arrives after all others of a list, so that the end of a list
/// needs no separate check.
pub(crate) const NIL: PacketId = PacketId(0);

/// The largest number of ports of one switch: the port a packet came in by is part of its arrival
/// key.
pub const MAX_PORTS: usize = 256;

/// Arrival keys hold 20 hours of picoseconds: flows may arrive for half of them, ...
pub const LATEST_ARRIVAL: Span = Span::from_s(36_000);
/// ... a run may go on for so long after the last arrival, ...
pub const LONGEST_DRAIN: Span = Span::from_s(32_000);
/// ... a timer may run for so long, ...
pub const LONGEST_TIMER: Span = Span::from_s(3_600);
/// ... and a full packet may be on a link for so long.
pub const LONGEST_CROSSING: Span = Span::from_s(60);

/// The purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Carries a part of a flow to its receiver.
    Data,
    /// Tells the sender what has arrived.
    Ack,
    /// Tells the sender that a packet has arrived without its payload (NDP).
    Nack,
    /// Asks the sender for another packet (NDP).
    Pull,
    /// Never leaves its host: a note to itself that a flow's timer may be due.
    Wake,
    /// Never leaves its host: a note that a flow begins.
    Start,
    /// Never leaves its host: a note to look how far a flow has come.
    Look,
}

/// One packet: 32 bytes, two to a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Packet {
    /// When it arrives at the next node, in picoseconds, above the number of the port it arrives
    /// by: unique at that node, so ties are settled by rule. See [`Packet::arriving`].
    pub(crate) key: u64,
    /// On a link, the interface at its other end; else the next packet of the list that this one is
    /// in.
    pub(crate) next: PacketId,
    /// The flow it belongs to.
    pub flow: u32,
    /// Data: its place in the flow, counted in packets. ACK: the first packet still missing, or the
    /// one that has arrived, as the transport has it. NACK: the packet that came trimmed. PULL: how
    /// many there were of this flow, this one included.
    pub sequence: u32,
    /// Priority; a lower number goes first.
    pub priority: u32,
    /// The host it is for.
    pub to: u16,
    /// Size on the wire, in bytes.
    pub size: u16,
    /// Data: the entropy by which paths may be chosen, as the IPv6 flow label (RFC 6438). ACK: as the
    /// transport has it, the entropy of the packet that caused it, or how far above `sequence` that
    /// packet lies; 0 when it is covered. NACK: the low bits of the number of the PULL that will
    /// follow it.
    pub echo: u16,
    /// Its purpose.
    pub kind: Kind,
    /// Marks of queues and receivers: [`ECT`], [`CE`], [`ECE`], [`TRIMMED`], [`PROBE`],
    /// [`TRIMMABLE`].
    pub marks: u8,
}

/// ECN-capable transport (RFC 3168, section 5).
pub const ECT: u8 = 1;
/// Congestion experienced: a queue marked the packet (RFC 3168, section 5).
pub const CE: u8 = 2;
/// An ACK echoes a congestion mark (RFC 3168, section 6.1).
pub const ECE: u8 = 4;
/// A queue trimmed the payload.
pub const TRIMMED: u8 = 8;
/// The sender only asks whether anything gets through: the packet carries nothing of its flow.
pub const PROBE: u8 = 16;
/// A queue may trim the payload instead of dropping the packet.
pub const TRIMMABLE: u8 = 32;
/// How many traffic classes there are, as in IEEE 802.1Q.
pub const CLASSES: usize = 8;

impl Packet {
    /// One that arrives after all others.
    pub(crate) const LAST: Packet = Packet {
        key: u64::MAX,
        next: NIL,
        flow: u32::MAX,
        sequence: 0,
        priority: 0,
        to: 0,
        size: 0,
        echo: 0,
        kind: Kind::Wake,
        marks: 0,
    };

    /// The key of an arrival at time `at` by the node's port number `port`.
    #[inline]
    pub(crate) const fn arriving(at: Time, port: u8) -> u64 {
        at.ps() << 8 | port as u64
    }

    /// Becomes a copy of `other`, but for its key and what is next.
    ///
    /// These two were mostly written a moment ago, each by itself. A processor cannot forward two stores to
    /// one load, so a copy of the whole packet waits until both are in its cache: half as long again as all
    /// else took in sparse windows. To copy field by field takes twice as many instructions. So the second
    /// half is copied in one piece, and of the first half what is needed.
    #[inline(always)]
    pub(crate) fn become_copy_of(&mut self, other: &Packet, key: u64, next: PacketId) {
        const { assert!(std::mem::offset_of!(Packet, sequence) == 16) };
        self.key = key;
        self.next = next;
        self.flow = other.flow;
        // SAFETY: the half from `sequence` on is 16 initialised bytes of plain numbers without gaps, at
        // a multiple of 16, and has all of them from another packet.
        unsafe {
            let half = (&raw const *other).cast::<u128>().add(1).read();
            (&raw mut *self).cast::<u128>().add(1).write(half);
        }
    }

    /// The interface at the other end of the link that it is on.
    #[inline(always)]
    pub(crate) const fn interface(&self) -> u32 {
        self.next.0
    }

    /// When it arrives at the node it is under way to.
    #[inline]
    pub(crate) const fn arrives(&self) -> Time {
        Time::from_ps(self.key >> 8)
    }
}

/// How many packets fit into a run: an odd number of cache lines, so that runs do not all begin
/// in the same sets of a cache.
pub(crate) const RUN: u32 = 66;

/// The end of an empty list of arrivals, of a unit that has something else to do.
pub(crate) const VISIT: PacketId = PacketId(1);

const FOREIGN: &str = "a queue returned a packet of another arena";

/// All packets of one side.
#[derive(Debug)]
pub struct PacketArena {
    packets: Vec<Packet>,
    /// Free places of packets that lie singly, and how many there are in all.
    free: Vec<PacketId>,
    singles: usize,
    /// Where free runs begin.
    free_runs: Vec<PacketId>,
    /// The traffic class of each flow; empty where all are of class 0.
    classes: Box<[u8]>,
    /// Bytes that are left of a packet that was trimmed.
    trimmed: u16,
}

impl PacketArena {
    /// Without packets. `classes` has the traffic class of each flow, or nothing where all are of
    /// class 0; `trimmed` bytes are left of a packet whose payload is trimmed.
    pub(crate) fn new(classes: Box<[u8]>, trimmed: u16) -> PacketArena {
        // The first run is never given out: there lie the ends of lists.
        PacketArena {
            packets: vec![Packet::LAST; RUN as usize],
            free: Vec::new(),
            singles: 0,
            free_runs: Vec::new(),
            classes,
            trimmed,
        }
    }

    /// The traffic class of the packet `id`: that of its flow.
    #[inline]
    pub fn class(&self, id: PacketId) -> usize {
        self.classes.get(self[id].flow as usize).copied().unwrap_or_default().into()
    }

    /// Takes the payload away from the packet `id`, so that its header can go on alone. Returns
    /// whether its transport allows that; otherwise nothing changes.
    pub fn trim(&mut self, id: PacketId) -> bool {
        let trimmed = self.trimmed;
        let packet = &mut self[id];
        let may = packet.marks & (TRIMMABLE | TRIMMED) == TRIMMABLE;
        if may {
            packet.size = trimmed;
            packet.marks |= TRIMMED;
        }
        may
    }

    /// Adds a packet.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.place();
        *self.known_mut(id) = packet;
        id
    }

    /// Adds a copy of the packet `id`.
    #[inline]
    pub(crate) fn insert_copy(&mut self, id: PacketId) -> PacketId {
        let place = self.place();
        let packet = *self.known(id);
        self.known_mut(place).become_copy_of(&packet, packet.key, NIL);
        place
    }

    /// A place for a packet that is to lie singly.
    #[inline]
    pub(crate) fn place(&mut self) -> PacketId {
        match self.free.pop() {
            Some(id) => id,
            None => self.first_of_more(),
        }
    }

    /// Frees the place of a packet, whose packet can be read until the next is added. Panics at an id
    /// of another arena that is larger: a queue could have kept one.
    #[inline]
    pub(crate) fn free(&mut self, id: PacketId) {
        assert!((id.0 as usize) < self.packets.len(), "{FOREIGN}");
        self.free.push(id);
    }

    /// Packets that lie singly.
    pub fn len(&self) -> usize {
        self.singles - self.free.len()
    }

    /// Whether no packet lies singly.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cold]
    fn first_of_more(&mut self) -> PacketId {
        let run = self.grow();
        self.singles += RUN as usize;
        self.free.extend((run.0 + 1..run.0 + RUN).rev().map(PacketId));
        run
    }

    /// Sets the time at which lists of arrivals end: [`NIL`] arrives at `ends`, everything else before.
    #[inline]
    pub(crate) fn lists_end(&mut self, ends: Time) {
        for last in [NIL, VISIT] {
            self.known_mut(last).key = Packet::arriving(ends, 0);
        }
    }

    /// Whether `id` is the end of a list of arrivals.
    #[inline]
    pub(crate) fn is_end(id: PacketId) -> bool {
        id <= VISIT
    }

    /// Inserts a note into a list of arrivals, in order of key and then of flow.
    pub(crate) fn link(&mut self, head: &mut PacketId, id: PacketId) {
        let own = self.order(id);
        let (mut before, mut after) = (NIL, *head);
        while self.order(after) <= own {
            before = after;
            after = self.known(after).next;
        }
        self.link_between(head, before, id, after);
    }

    fn link_between(
        &mut self,
        head: &mut PacketId,
        before: PacketId,
        id: PacketId,
        after: PacketId,
    ) {
        self.known_mut(id).next = after;
        match before {
            NIL => *head = id,
            before => self.known_mut(before).next = id,
        }
    }

    #[inline]
    fn order(&self, id: PacketId) -> (u64, u32) {
        (self.known(id).key, self.known(id).flow)
    }

    /// Sorts a list in which what was put in last comes first; of notes with equal key and flow, the one
    /// that was put in first comes first. What was put in late mostly arrives late, so that an insertion
    /// finds its place soon.
    #[inline]
    pub(crate) fn sorted(&mut self, head: PacketId) -> PacketId {
        let (mut sorted, mut left) = (head, self.known(head).next);
        self.known_mut(head).next = NIL;
        while left != NIL {
            let id = left;
            left = self.known(id).next;
            let own = self.order(id);
            let (mut before, mut after) = (NIL, sorted);
            while self.order(after) < own {
                before = after;
                after = self.known(after).next;
            }
            self.link_between(&mut sorted, before, id, after);
        }
        sorted
    }

    /// Takes a free run, whose packets have to be written before they are read.
    pub(crate) fn take_run(&mut self) -> PacketId {
        self.free_runs.pop().unwrap_or_else(|| self.grow())
    }

    /// Adds a run at the end.
    #[cold]
    fn grow(&mut self) -> PacketId {
        let first = self.packets.len();
        let end = first + RUN as usize;
        assert!(end < u32::MAX as usize, "more than 4294967294 packets in the fabric");
        if end > self.packets.capacity() {
            // Places that are not written yet take address space and no memory; what is moved from takes
            // both, until the system has it back. Where so much is refused, `resize` asks for less.
            let most = u32::MAX as usize - first;
            let _ = self.packets.try_reserve_exact((3 * first).min(most));
        }
        self.packets.resize(end, Packet::LAST);
        PacketId(first as u32)
    }

    /// Frees a run that has been read. It is the next to be taken: a part of it is still in the caches.
    #[inline]
    pub(crate) fn give_back(&mut self, run: PacketId) {
        self.free_runs.push(run);
    }

    /// The packets of a run, or of a part of it, each with its place.
    #[inline]
    pub(crate) fn run(
        &mut self,
        part: Range<PacketId>,
    ) -> impl Iterator<Item = (PacketId, &mut Packet)> {
        let Range { start: PacketId(start), end: PacketId(end) } = part;
        (start..).map(PacketId).zip(&mut self.packets[start as usize..end as usize])
    }

    /// The packet at `id`, a place of this arena: like the index operator, without a check.
    #[inline]
    pub(crate) fn known(&self, id: PacketId) -> &Packet {
        debug_assert!((id.0 as usize) < self.packets.len());
        // SAFETY: ids are the ends of lists or come from `place` or `take_run` of this arena, which
        // never shrinks. Nothing outside of this crate makes an id or an arena, and `free` checks those
        // that a queue returns.
        unsafe { self.packets.get_unchecked(id.0 as usize) }
    }

    /// The packet at `id`, to be changed; like [`PacketArena::known`].
    #[inline]
    pub(crate) fn known_mut(&mut self, id: PacketId) -> &mut Packet {
        debug_assert!((id.0 as usize) < self.packets.len());
        // SAFETY: as in `known`.
        unsafe { self.packets.get_unchecked_mut(id.0 as usize) }
    }
}

#[cfg(test)]
impl Default for PacketArena {
    /// For flows of class 0, with headers of 40 bytes.
    fn default() -> PacketArena {
        PacketArena::new(Box::default(), 40)
    }
}

impl std::ops::Index<PacketId> for PacketArena {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id.0 as usize]
    }
}

impl std::ops::IndexMut<PacketId> for PacketArena {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_moment_of_a_run_has_a_key() {
        let latest = LATEST_ARRIVAL + LONGEST_DRAIN + LONGEST_TIMER + LONGEST_CROSSING;
        assert!(latest.ps() < 1 << 56);
    }

    #[test]
    fn two_packets_share_a_cache_line() {
        assert_eq!(std::mem::size_of::<Packet>(), 32);
    }
}
