//! Where the packets of one side of a fabric lie.
//!
//! Those that wait lie singly, and their places are used again, latest first. Those under way lie in
//! runs, one behind another, so that they are written and read in sequence: a large fabric's packets do
//! not fit into the caches, and a load from memory whose address the load before it gives takes longest.

use crate::packet::{NIL, Packet, PacketId};
use sojourn_core::Time;
use std::ops::Range;

/// How many packets a run has room for: an odd number of cache lines, so that runs do not all begin
/// in the same sets of a cache.
pub(crate) const RUN: u32 = 66;

/// Ends a list with nothing else in it, of a unit that has something else to do.
pub(crate) const VISIT: PacketId = 1;

/// All packets of one side.
#[derive(Debug)]
pub struct Slab {
    packets: Vec<Packet>,
    /// Free places of packets that lie singly, and how many there are in all.
    free: Vec<PacketId>,
    singles: usize,
    /// Where free runs begin.
    free_runs: Vec<PacketId>,
}

impl Default for Slab {
    fn default() -> Slab {
        // The first run is never given out: there lie the ends of lists.
        Slab {
            packets: vec![Packet::LAST; RUN as usize],
            free: Vec::new(),
            singles: 0,
            free_runs: Vec::new(),
        }
    }
}

impl Slab {
    /// Takes a packet in.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.place();
        *self.known_mut(id) = packet;
        id
    }

    /// Takes in a copy of the packet `id`.
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

    /// Lets a packet go.
    #[inline]
    pub fn free(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// How many packets lie singly.
    pub fn len(&self) -> usize {
        self.singles - self.free.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cold]
    fn first_of_more(&mut self) -> PacketId {
        let run = self.grow();
        self.singles += RUN as usize;
        self.free.extend((run + 1..run + RUN).rev());
        run
    }

    /// From now on lists end at `ends`: [`NIL`] arrives then, and all that is in a list before.
    #[inline]
    pub(crate) fn lists_end(&mut self, ends: Time) {
        for last in [NIL, VISIT] {
            self.known_mut(last).key = Packet::arriving(ends, 0);
        }
    }

    /// Whether a list of arrivals has nothing more in it.
    #[inline]
    pub(crate) fn is_end(id: PacketId) -> bool {
        id <= VISIT
    }

    /// Puts a note into a list of arrivals, at its place: by key, and of one moment by flow.
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

    /// Puts a list in order that has what was put in last first; of notes that nothing else tells
    /// apart, the one that was put in first stays first. What is put in late happens late more often
    /// than early, and so finds its place soon.
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

    /// Room for a run of packets, which are to be written before they are read.
    pub(crate) fn take_run(&mut self) -> PacketId {
        self.free_runs.pop().unwrap_or_else(|| self.grow())
    }

    /// Another run.
    #[cold]
    fn grow(&mut self) -> PacketId {
        let first = self.packets.len();
        let end = first + RUN as usize;
        assert!(end < PacketId::MAX as usize, "more than 4294967294 packets in the fabric");
        if end > self.packets.capacity() {
            // Room that is not written yet takes address space and no memory; what is moved from takes
            // both, until the system has it back. Where so much is refused, `resize` asks for less.
            let most = PacketId::MAX as usize - first;
            let _ = self.packets.try_reserve_exact((3 * first).min(most));
        }
        self.packets.resize(end, Packet::LAST);
        first as PacketId
    }

    /// A run has been read. It is the next to be given out: a part of it is still in the caches.
    #[inline]
    pub(crate) fn give_back(&mut self, run: PacketId) {
        self.free_runs.push(run);
    }

    /// The packets of a run, or of a part of it.
    #[inline]
    pub(crate) fn run(&mut self, part: Range<PacketId>) -> &mut [Packet] {
        &mut self.packets[part.start as usize..part.end as usize]
    }

    /// The packet at `id`, which this slab gave out: what the index operator does, without asking
    /// whether there is such a place.
    #[inline]
    pub(crate) fn known(&self, id: PacketId) -> &Packet {
        debug_assert!((id as usize) < self.packets.len());
        // SAFETY: ids are the ends of lists or come from `place` or `take_run` of this slab, and a
        // slab never shrinks. A discipline gives back those that it was given.
        unsafe { self.packets.get_unchecked(id as usize) }
    }

    /// The packet at `id`, to be changed; like [`Slab::known`].
    #[inline]
    pub(crate) fn known_mut(&mut self, id: PacketId) -> &mut Packet {
        debug_assert!((id as usize) < self.packets.len());
        // SAFETY: as in `known`.
        unsafe { self.packets.get_unchecked_mut(id as usize) }
    }
}

impl std::ops::Index<PacketId> for Slab {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id as usize]
    }
}

impl std::ops::IndexMut<PacketId> for Slab {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }
}
