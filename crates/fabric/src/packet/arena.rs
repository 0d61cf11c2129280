//! Where the packets of a fabric lie.
//!
//! Those that wait lie singly, and their places are used again, latest first. Those under way lie in
//! runs, one behind another, so that they are written and read in sequence: a large fabric's packets do
//! not fit into the caches, and a load from memory whose address the load before it gives takes longest.

use super::{Packet, TIME_SHIFT, TRIMMABLE, TRIMMED};
use sojourn_core::Time;
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

    /// The interface that [`of_interface`](PacketId::of_interface) has put here.
    #[inline(always)]
    pub(crate) const fn interface(self) -> u32 {
        self.0
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

/// How many packets fit into a run: an odd number of cache lines, so that runs do not all begin
/// in the same sets of a cache.
pub(crate) const RUN: u32 = 66;

/// The end of an empty list of arrivals, of a unit that has something else to do.
pub(crate) const VISIT: PacketId = PacketId(1);

/// How many notes an insertion into a list passes at most before another way is taken, whose time grows
/// with the logarithm of the list's length.
const MOST_STEPS: u32 = 64;

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

    /// Inserts a note into a list of arrivals, in order of key and then of flow, behind those that are
    /// equal. Returns whether its place is near the head; where it is not, nothing changes.
    pub(crate) fn link(&mut self, head: &mut PacketId, id: PacketId) -> bool {
        let own = self.order(id);
        let (mut before, mut after) = (NIL, *head);
        for _ in 0..MOST_STEPS {
            if self.order(after) > own {
                self.link_between(head, before, id, after);
                return true;
            }
            before = after;
            after = self.known(after).next;
        }
        false
    }

    /// Puts a note before all others of a list.
    pub(crate) fn link_first(&mut self, head: &mut PacketId, id: PacketId) {
        self.link_between(head, NIL, id, *head);
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

    /// What lists are sorted by: the key, and the flow.
    #[inline]
    pub(crate) fn order(&self, id: PacketId) -> (u64, u32) {
        (self.known(id).key, self.known(id).flow)
    }

    /// Sorts the list of a host, in which what was put in last comes first; of notes with equal key and flow,
    /// the one that was put in first comes first. What was put in late mostly arrives late, so that an
    /// insertion finds its place soon. There is no bound to their number: at the first that does not, what is
    /// left is merged.
    #[inline]
    pub(crate) fn sorted_at_host(&mut self, head: PacketId) -> PacketId {
        let (mut sorted, mut left) = (head, self.known(head).next);
        self.known_mut(head).next = NIL;
        while !PacketArena::is_end(left) {
            let id = left;
            left = self.known(id).next;
            let own = self.order(id);
            let (mut before, mut after) = (NIL, sorted);
            let mut steps = 0;
            while self.order(after) < own {
                before = after;
                after = self.known(after).next;
                steps += 1;
            }
            self.link_between(&mut sorted, before, id, after);
            if steps > MOST_STEPS {
                return self.merged(sorted, left);
            }
        }
        sorted
    }

    /// Sorts the list of a port of a switch, in which what was put in last comes first, by time alone. Also
    /// returns whether some arrive at the same time. An insertion finds its place soon, for the packets of one
    /// link come one after the other: as many as there are links can be out of order.
    #[inline]
    pub(crate) fn sorted_at_switch(&mut self, head: PacketId) -> (PacketId, bool) {
        let (mut sorted, mut left) = (head, self.known(head).next);
        self.known_mut(head).next = NIL;
        // Of two keys with one time, the bits that differ are below the time.
        let mut least_difference = u64::MAX;
        while !PacketArena::is_end(left) {
            let id = left;
            left = self.known(id).next;
            let own = self.known(id).key;
            let first_of_its_time = own >> TIME_SHIFT << TIME_SHIFT;
            let (mut before, mut after) = (NIL, sorted);
            while self.known(after).key < first_of_its_time {
                before = after;
                after = self.known(after).next;
            }
            least_difference = least_difference.min(self.known(after).key ^ own);
            self.link_between(&mut sorted, before, id, after);
        }
        (sorted, least_difference < 1 << TIME_SHIFT)
    }

    /// Puts the packets of a `sorted` list of a switch that arrive at the same time into an order that depends
    /// on nothing but them and `salt`, which is the switch's. Two come by their keys; of more than two, or of
    /// two with one key, every order is equally likely. `all` is scratch memory.
    #[cold]
    pub(crate) fn with_ties_settled(
        &mut self,
        sorted: PacketId,
        salt: u64,
        all: &mut Vec<PacketId>,
    ) -> PacketId {
        all.clear();
        let mut end = sorted;
        while !PacketArena::is_end(end) {
            all.push(end);
            end = self.known(end).next;
        }
        let mut rest = &mut all[..];
        while let Some(&first) = rest.first() {
            let at = self.known(first).arrives();
            let count = rest.iter().take_while(|&&id| self.known(id).arrives() == at).count();
            let (tied, others) = rest.split_at_mut(count);
            self.settle(tied, salt);
            rest = others;
        }
        let mut head = end;
        for &id in all.iter().rev() {
            self.link_first(&mut head, id);
        }
        head
    }

    fn settle(&mut self, tied: &mut [PacketId], salt: u64) {
        let key = |id: &PacketId| self.known(*id).key;
        match tied {
            [] | [_] => return,
            // A switch of over 256 ports has equal keys.
            [first, second] if key(first) != key(second) => {
                tied.sort_unstable_by_key(key);
                return;
            }
            _ => {}
        }
        let mut keys: Vec<u64> = tied.iter().map(key).collect();
        keys.sort_unstable();
        tied.sort_by_cached_key(|&id| self.known(id).hash(salt));
        for (&id, key) in tied.iter().zip(keys) {
            self.known_mut(id).key = key;
        }
    }

    /// Merges the list `left`, in which what was put in last comes first, into one that is `sorted` and was
    /// put in later.
    #[cold]
    fn merged(&mut self, sorted: PacketId, left: PacketId) -> PacketId {
        let list = |first: PacketId| {
            let after = |id: &PacketId| Some(self.known(*id).next);
            std::iter::successors(Some(first), after).take_while(|id| !PacketArena::is_end(*id))
        };
        let mut all: Vec<PacketId> = list(left).collect();
        all.reverse();
        all.extend(list(sorted));
        all.sort_by_key(|&id| self.order(id));
        let mut head = NIL;
        for id in all.into_iter().rev() {
            self.link_first(&mut head, id);
        }
        head
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

    /// Has the processor fetch the packet at `id`, where it can, while other work goes on.
    #[inline(always)]
    pub(crate) fn fetch(&self, id: PacketId) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint reads nothing, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(self.known(id)).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = id;
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
