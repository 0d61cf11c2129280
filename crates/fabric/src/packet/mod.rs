//! Packets, and where they lie.

mod arena;
mod late_notes;
mod load;

pub(crate) use arena::{NIL, RUN, VISIT};
pub use arena::{PacketArena, PacketId};
pub(crate) use late_notes::LateNotes;
pub(crate) use load::Load;

use sojourn_core::random::mix;
use sojourn_core::{Span, Time};

/// The largest number of ports of one switch.
pub const MAX_PORTS: usize = 1024;
/// The largest number of next hops that a switch can choose among.
pub const MAX_WAYS: usize = 255;
/// The largest number of hosts: packets know them by numbers of 16 bits.
pub const MAX_HOSTS: usize = 1 << 16;

/// Bits of a key below the time.
const TIME_SHIFT: u32 = 8;

/// Arrival keys hold 20 hours of picoseconds: flows may arrive for half of them, ...
pub const LATEST_ARRIVAL: Span = Span::from_s(36_000);
/// ... a run may go on for so long after the last arrival, ...
pub const LONGEST_DRAIN: Span = Span::from_s(32_000);
/// ... a timer may run for so long, ...
pub const LONGEST_TIMER: Span = Span::from_s(3_600);
/// ... and a full packet may be on a link for so long.
pub const LONGEST_CROSSING: Span = Span::from_s(60);

/// The purpose of a packet, as far as the engine, queues and paths know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Kind(u8);

impl Kind {
    /// Carries a part of a flow to its receiver.
    pub const DATA: Kind = Kind(0);
    /// Tells the sender what has arrived.
    pub const ACK: Kind = Kind(1);

    /// A control packet of a transport, which numbers its own from 0 and alone knows what they say.
    pub const fn control(number: u8) -> Kind {
        assert!(number < Kind::FIRST_NOTE - 2, "more kinds of control packets than a byte holds");
        Kind(2 + number)
    }

    /// Never leaves its host: a note that a flow begins.
    pub(crate) const START: Kind = Kind(Kind::FIRST_NOTE);
    /// Never leaves its host: a note to itself that a flow's timer may be due.
    pub(crate) const WAKE: Kind = Kind(Kind::FIRST_NOTE + 1);
    /// Never leaves its host: a note to look how far a flow has come.
    pub(crate) const LOOK: Kind = Kind(Kind::FIRST_NOTE + 2);
    /// Crosses one link: a pause frame. `sequence` says for how many quanta the other end is stopped; with 0 it
    /// goes on.
    pub(crate) const PAUSE: Kind = Kind(Kind::FIRST_NOTE + 3);
    /// Never leaves its host: a note that a rank has something to do; `flow` is the rank.
    pub(crate) const RANK: Kind = Kind(Kind::FIRST_NOTE + 4);

    const FIRST_NOTE: u8 = u8::MAX - 4;

    /// Whether it is a note, which is no packet.
    pub(crate) const fn is_note(self) -> bool {
        self.0 >= Kind::FIRST_NOTE
    }
}

/// One packet: 32 bytes, two to a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Packet {
    /// When it arrives at the next node, in picoseconds, above what decides between arrivals at the same
    /// time: at a switch the last bits of the number of the port it arrives by, and then
    /// `at_a_tie` in `engine/routing.rs`; at a host a class of notes. See [`Packet::arriving`].
    pub(crate) key: u64,
    /// On a link, the interface at its other end; else the next packet of the list that this one is
    /// in.
    pub(crate) next: PacketId,
    /// The flow it belongs to.
    pub flow: u32,
    /// Data: its place in the flow, counted in packets. Else the transport decides what it says.
    pub sequence: u32,
    /// Priority; a lower number goes first.
    pub priority: u32,
    /// The host it is for.
    pub to: u16,
    /// Size on the wire, in bytes.
    pub size: u16,
    /// Data: the entropy by which paths may be chosen, as the IPv6 flow label (RFC 6438). Else the
    /// transport decides what it says.
    pub echo: u16,
    /// Its purpose.
    pub kind: Kind,
    /// What queues read and write, [`ECT`], [`CE`], [`TRIMMABLE`], [`TRIMMED`] and
    /// [`TRIMMED_AT_LAST`], and the [marks of its transport](TRANSPORT_MARKS).
    pub marks: u8,
}

const _: () = assert!(std::mem::size_of::<Packet>() == 32);

/// ECN-capable transport (RFC 3168, section 5).
pub const ECT: u8 = 1;
/// Congestion experienced: a queue marked the packet (RFC 3168, section 5).
pub const CE: u8 = 2;
/// A queue trimmed the payload.
pub const TRIMMED: u8 = 8;
/// A queue may trim the payload instead of dropping the packet.
pub const TRIMMABLE: u8 = 32;
/// A queue that trimmed the payload sends to the host that the packet is for.
pub const TRIMMED_AT_LAST: u8 = 128;
/// Marks that only the transport of a packet reads and writes.
pub const TRANSPORT_MARKS: [u8; 3] = [4, 16, 64];
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
        kind: Kind::WAKE,
        marks: 0,
    };

    /// The key of an arrival at time `at` by the node's port number `port`.
    #[inline]
    pub(crate) const fn arriving(at: Time, port: u8) -> u64 {
        at.ps() << TIME_SHIFT | port as u64
    }

    /// A hash of all that it is but for its place in a list. What has the same hash is the same packet, unless
    /// two hashes of 64 bits are equal by chance.
    pub(crate) fn hash(&self, salt: u64) -> u64 {
        let Packet { key, next: _, flow, sequence, priority, to, size, echo, kind, marks } = *self;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let small = u64::from(to) << 48 | u64::from(size) << 32 | u64::from(echo) << 16;
        let small = small | u64::from(kind.0) << 8 | u64::from(marks);
        let halves = [key, pair(flow, sequence), pair(priority, 0), small];
        halves.into_iter().fold(salt, |hash, half| mix(hash ^ half))
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

    /// Whether it carries a part of a flow, which a queue may have to wait with or trim.
    #[inline]
    pub(crate) const fn has_payload(&self) -> bool {
        self.kind.0 == Kind::DATA.0 && self.marks & TRIMMED == 0
    }

    /// The interface at the other end of the link that it is on.
    #[inline(always)]
    pub(crate) const fn interface(&self) -> u32 {
        self.next.interface()
    }

    /// When it arrives at the node it is under way to.
    #[inline]
    pub const fn arrives(&self) -> Time {
        Time::from_ps(self.key >> TIME_SHIFT)
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
}
