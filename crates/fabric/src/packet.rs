//! Packets.

use sojourn_core::{Span, Time};

/// Where a packet lies in the [`Slab`](crate::slab::Slab).
pub type PacketId = u32;

/// No packet. In its place lies one that arrives after all others of a list, so that the end of a list
/// needs no question of its own.
pub const NIL: PacketId = 0;

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

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Carries a part of a flow to its receiver.
    Data,
    /// Tells the sender what has arrived.
    Ack,
    /// Tells the sender that a packet has arrived without its payload.
    Nack,
    /// Asks the sender for another packet.
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
    /// Lower goes first.
    pub priority: u32,
    /// The host it is for.
    pub to: u16,
    /// Bytes on the wire.
    pub size: u16,
    /// Data: how many bytes are left of it when a queue trims it; 0 when none may. ACK: how far above
    /// `sequence` the packet lies that caused it; 0 when that one is covered. NACK: the low bits of
    /// the number of the PULL that will follow it.
    pub echo: u16,
    /// What it is for.
    pub kind: Kind,
    /// What queues and receivers noted, see [`ECT`], [`CE`], [`ECE`], [`TRIMMED`] and
    /// [`PROBE`].
    pub marks: u8,
}

/// The transport understands congestion marks.
pub const ECT: u8 = 1;
/// A queue marked the packet.
pub const CE: u8 = 2;
/// An ACK echoes a mark.
pub const ECE: u8 = 4;
/// A queue took the payload away.
pub const TRIMMED: u8 = 8;
/// The sender only asks whether anything gets through: the packet carries nothing of its flow.
pub const PROBE: u8 = 16;
/// The class of a packet's flow stands above the other marks, where queues ask for it.
const CLASS_SHIFT: u32 = 5;
/// How many traffic classes there are, as in IEEE 802.1Q.
pub const CLASSES: usize = 1 << (u8::BITS - CLASS_SHIFT);

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

    /// Notes the class of the flow it belongs to.
    #[inline]
    pub(crate) const fn classify(&mut self, class: u8) {
        self.marks |= class << CLASS_SHIFT;
    }

    /// The class noted.
    #[inline]
    pub(crate) const fn class(&self) -> usize {
        (self.marks >> CLASS_SHIFT) as usize
    }

    /// When it arrives at the node it is under way to.
    #[inline]
    pub(crate) const fn arrives(&self) -> Time {
        Time::from_ps(self.key >> 8)
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
