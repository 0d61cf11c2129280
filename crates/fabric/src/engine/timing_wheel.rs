//! Packets under way, by arrival time: a timing wheel with buckets (Varghese and Lauck 1987).
//!
//! Time is cut into windows no longer than the lookahead: the time the smallest packet needs to
//! cross the quickest link. What leaves a port inside a window therefore arrives in a later one,
//! and within a window every port can be visited once, on its own, in any order.
//!
//! For each window and each block of units there is a bucket, and the packets of a bucket lie one behind
//! another in runs of the arena.

use super::partition::BlockId;
use crate::packet::{NIL, Packet, PacketArena, PacketId, RUN};
use sojourn_core::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Windows of the wheel: a bit of a word for each.
const NEAR: u64 = u64::BITS as u64;

/// A bucket with no more packets than this keeps its run: in a fabric with little under way it will be
/// filled again soon. A fuller one gives it back, so that the next to be written is still in the caches.
const FEW: u32 = 6;

/// Windows of the ring; what lies further ahead goes into the heap.
const FAR: usize = 2048;

/// Windows that a packet can wait for its link and still go into the ring. The rest of the ring, as many
/// windows as the wheel has, is for its transmission and propagation.
pub(super) const REACH: u64 = FAR as u64 - NEAR;

/// Everything under way: packets on the links, notes that hosts send themselves, and units that have
/// to be visited.
#[derive(Debug)]
pub(super) struct TimingWheel {
    window: u64,
    /// 2^64 / window, rounded up: dividing by a multiplication.
    inverse: u64,
    /// Number of the current window, and its first picosecond.
    current: u64,
    begins: u64,
    /// How far the wheel reaches, in picoseconds from `begins`.
    reach: u64,
    /// Buckets of a window, one a block: a multiple of eight.
    blocks: usize,
    buckets: Buckets,
    /// The bucket of the block that is open.
    open: usize,
    /// A wider ring of windows for what lies further ahead, and a bit for each that has something.
    far: Vec<Vec<Far>>,
    far_windows: [u64; FAR / 64],
    /// What lies further still, first key first.
    later: BinaryHeap<Reverse<(u64, Far)>>,
    /// The first window for which anything lies far ahead, or further.
    soonest: u64,
}

/// The buckets of the wheel, window by window and block by block.
#[derive(Debug)]
struct Buckets {
    /// The packets of each.
    packets: Vec<Bucket>,
    /// Units that have something to do besides, by their place in the block.
    visits: Vec<Vec<u16>>,
    /// A bit for each window in which there is anything.
    windows: u64,
    /// 1 for each bucket that holds anything, else 0: those of eight blocks are read at once.
    due: Vec<[u8; 8]>,
    /// For each run of the arena the next one of the same bucket, where there is one.
    after: Vec<PacketId>,
}

/// Packets one behind another, in runs of the arena.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Where its first run begins.
    first: PacketId,
    /// Where the next packet goes, and where its last run ends; the same where that is full, and
    /// where there is none yet.
    next: PacketId,
    end: PacketId,
}

impl Bucket {
    /// Without a run.
    const EMPTY: Bucket = Bucket { first: NIL, next: NIL, end: NIL };

    /// Whether it has one run.
    #[inline(always)]
    fn has_one_run(&self) -> bool {
        self.first.plus(RUN) == self.end
    }

    /// Whether its last run is full, or there is none.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.next == self.end
    }

    /// The next place of its last run, which is not full.
    #[inline(always)]
    fn take_place(&mut self) -> PacketId {
        let place = self.next;
        self.next = place.plus(1);
        place
    }
}

/// A packet that lies singly in the arena, or none and a unit of the block to be visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    packet: PacketId,
    block: BlockId,
    unit: u16,
}

impl Buckets {
    fn new(buckets: usize) -> Buckets {
        Buckets {
            packets: vec![Bucket::EMPTY; buckets],
            visits: vec![Vec::new(); buckets],
            windows: 0,
            due: vec![[0; 8]; buckets / 8],
            after: Vec::new(),
        }
    }

    /// Notes that something lies in a bucket of `window`. To ask whether it is the first would cost more.
    #[inline(always)]
    fn mark(&mut self, window: u64, bucket: usize) {
        self.windows |= 1 << (window % NEAR);
        let due = self.due.as_flattened_mut();
        debug_assert!(bucket < due.len());
        // SAFETY: as in `known_mut`.
        unsafe { *due.get_unchecked_mut(bucket) = 1 };
    }

    /// The bucket of that number, which exists.
    #[inline(always)]
    fn known_mut(&mut self, bucket: usize) -> &mut Bucket {
        debug_assert!(bucket < self.packets.len());
        // SAFETY: numbers come from `TimingWheel::bucket`, and there is a bucket for each window of the
        // wheel and each block.
        unsafe { self.packets.get_unchecked_mut(bucket) }
    }

    /// Gives a bucket another run of `arena`, behind those that it has.
    #[cold]
    #[inline(never)]
    fn add_run(&mut self, bucket: usize, arena: &mut PacketArena) {
        let run = arena.take_run();
        let bucket = &mut self.packets[bucket];
        if bucket.end == NIL {
            bucket.first = run;
        } else {
            let last = bucket.end.run() - 1;
            if self.after.len() <= last {
                self.after.resize(last + 1, NIL);
            }
            self.after[last] = run;
        }
        (bucket.next, bucket.end) = (run, run.plus(RUN));
    }

    /// The runs of a bucket, from the first to the last, as far as they are filled.
    fn runs(&self, bucket: Bucket) -> impl Iterator<Item = Range<PacketId>> + '_ {
        let Bucket { first, next, end } = bucket;
        let mut run = (end != NIL).then_some(first);
        std::iter::from_fn(move || {
            let start = run?;
            let last = start.plus(RUN) == end;
            run = (!last).then(|| self.after[start.run()]);
            Some(start..if last { next } else { start.plus(RUN) })
        })
    }
}

impl TimingWheel {
    /// For `blocks` blocks and windows of `window`.
    pub(super) fn new(blocks: usize, window: Span) -> TimingWheel {
        let window = window.ps();
        let blocks = blocks.next_multiple_of(8);
        TimingWheel {
            window,
            inverse: u64::MAX / window + 1,
            current: 0,
            begins: 0,
            reach: window * NEAR,
            blocks,
            buckets: Buckets::new(NEAR as usize * blocks),
            open: 0,
            far: vec![Vec::new(); FAR],
            far_windows: [0; FAR / 64],
            later: BinaryHeap::new(),
            soonest: u64::MAX,
        }
    }

    /// When the current window begins.
    #[inline]
    pub(super) fn begins(&self) -> Time {
        Time::from_ps(self.begins)
    }

    /// When the current window is over.
    #[inline]
    pub(super) fn ends(&self) -> Time {
        Time::from_ps(self.begins + self.window)
    }

    /// The number of the current window.
    #[inline]
    pub(super) fn current(&self) -> u64 {
        self.current
    }

    /// The number of the window that `at` lies in.
    pub(super) fn window_of(&self, at: Time) -> u64 {
        at.ps() / self.window
    }

    /// When the window that `at` lies in is over.
    pub(super) fn end_of_window(&self, at: Time) -> Time {
        Time::from_ps((self.window_of(at) + 1) * self.window)
    }

    /// The window of `at`, if the wheel reaches so far. `at` is not before `begins`.
    #[inline(always)]
    fn near(&self, at: Time) -> Option<u64> {
        let ahead = at.ps() - self.begins;
        // Exact: this is below 2^64 / window.
        let windows = ((u128::from(ahead) * u128::from(self.inverse)) >> 64) as u64;
        (ahead < self.reach).then_some(self.current + windows)
    }

    #[inline(always)]
    fn bucket(&self, window: u64, block: BlockId) -> usize {
        debug_assert!(usize::from(block) < self.blocks);
        (window % NEAR) as usize * self.blocks + block as usize
    }

    /// A place for a packet that reaches `block` at `at`. The packet itself says at which interface.
    #[inline(always)]
    pub(super) fn place(&mut self, block: BlockId, at: Time, arena: &mut PacketArena) -> PacketId {
        let Some(window) = self.near(at) else { return self.far_place(block, at, arena) };
        let number = self.bucket(window, block);
        self.buckets.mark(window, number);
        if self.buckets.known_mut(number).is_full() {
            self.buckets.add_run(number, arena);
        }
        self.buckets.known_mut(number).take_place()
    }

    /// Puts `packet` into the bucket of its arrival.
    pub(super) fn put(&mut self, block: BlockId, packet: Packet, arena: &mut PacketArena) {
        let place = self.place(block, packet.arrives(), arena);
        *arena.known_mut(place) = packet;
    }

    /// Puts a note for the open block into its bucket, which is read already. Returns its place.
    pub(super) fn add(&mut self, note: Packet, arena: &mut PacketArena) -> PacketId {
        if self.buckets.known_mut(self.open).is_full() {
            self.buckets.add_run(self.open, arena);
        }
        let place = self.buckets.known_mut(self.open).take_place();
        *arena.known_mut(place) = note;
        place
    }

    /// Has the unit at that place of `block` visited at `at`.
    #[inline]
    pub(super) fn visit(&mut self, block: BlockId, unit: u16, at: Time) {
        let Some(window) = self.near(at) else {
            return self.put_far(at, Far { packet: NIL, block, unit });
        };
        let bucket = self.bucket(window, block);
        self.buckets.mark(window, bucket);
        self.buckets.visits[bucket].push(unit);
    }

    // Not rare where lines send ahead; but without `cold` the compiler makes the near case slower.
    #[cold]
    #[inline(never)]
    fn far_place(&mut self, block: BlockId, at: Time, arena: &mut PacketArena) -> PacketId {
        let packet = arena.place();
        self.put_far(at, Far { packet, block, unit: 0 });
        packet
    }

    fn put_far(&mut self, at: Time, far: Far) {
        let window = at.ps() / self.window;
        self.soonest = self.soonest.min(window);
        if window - self.current < FAR as u64 {
            let slot = window as usize % FAR;
            self.far[slot].push(far);
            self.far_windows[slot / 64] |= 1 << (slot % 64);
        } else {
            self.later.push(Reverse((Packet::arriving(at, 0), far)));
        }
    }

    /// The next window in which there is something to do, but at most `last`.
    #[inline]
    pub(super) fn next(&self, last: u64) -> u64 {
        let first = self.current + 1;
        let next = match self.buckets.windows.rotate_right((first % NEAR) as u32) {
            0 => self.soonest,
            windows => first + u64::from(windows.trailing_zeros()),
        };
        debug_assert!(last >= first);
        next.min(last)
    }

    /// The first window from `first` on for which something waits far ahead.
    fn first_far(&self, first: u64) -> u64 {
        let later = |Reverse((key, _)): &Reverse<(u64, Far)>| (key >> 8) / self.window;
        let later = self.later.peek().map_or(u64::MAX, later);
        self.first_in_ring(first).unwrap_or(u64::MAX).min(later)
    }

    /// The first window from `first` on for which something lies in the ring. Nothing does for windows
    /// before.
    fn first_in_ring(&self, first: u64) -> Option<u64> {
        let word =
            |nth: u64| self.far_windows[(first / 64 + nth) as usize % self.far_windows.len()];
        // The word of `first` is looked at twice: windows before its bit come a round later.
        (0..=self.far_windows.len() as u64).find_map(|nth| {
            let bits = if nth == 0 { word(0) & !0 << (first % 64) } else { word(nth) };
            (bits != 0).then(|| (first / 64 + nth) * 64 + u64::from(bits.trailing_zeros()))
        })
    }

    /// Moves on to `window`. No earlier window holds anything.
    #[inline]
    pub(super) fn go_on_to(&mut self, window: u64, arena: &mut PacketArena) {
        self.current = window;
        self.begins = window * self.window;
        if self.soonest < self.current + NEAR {
            self.bring(arena);
        }
    }

    /// Moves what lies far ahead into the wheel as soon as the wheel reaches it, before anything else goes
    /// into the same windows, so that the packets of a link stay in order.
    #[cold]
    #[inline(never)]
    fn bring(&mut self, arena: &mut PacketArena) {
        let end = self.current + NEAR;
        while let Some(&Reverse((key, far))) = self.later.peek()
            && (key >> 8) < end * self.window
        {
            self.later.pop();
            self.bring_one((key >> 8) / self.window, far, arena);
        }
        while let Some(window) = self.first_in_ring(self.current).filter(|&window| window < end) {
            let slot = window as usize % FAR;
            self.far_windows[slot / 64] &= !(1 << (slot % 64));
            let mut all = std::mem::take(&mut self.far[slot]);
            for far in all.drain(..) {
                self.bring_one(window, far, arena);
            }
            self.far[slot] = all;
        }
        self.soonest = self.first_far(end);
    }

    fn bring_one(&mut self, window: u64, far: Far, arena: &mut PacketArena) {
        let Far { packet, block, unit } = far;
        if packet == NIL {
            self.visit(block, unit, Time::from_ps(window * self.window));
        } else {
            let place = self.place(block, arena.known(packet).arrives(), arena);
            *arena.known_mut(place) = *arena.known(packet);
            arena.free(packet);
        }
    }

    /// Groups of eight blocks.
    #[inline]
    pub(super) fn eights(&self) -> usize {
        self.blocks / 8
    }

    /// Of eight blocks, those that are `wanted` and have something to do in the current window: for each
    /// the lowest bit of a byte.
    #[inline]
    pub(super) fn take_due(&mut self, eight: usize, wanted: u64) -> u64 {
        let Buckets { windows, due, .. } = &mut self.buckets;
        let slot = self.current % NEAR;
        *windows &= !(1 << slot);
        let due = &mut due[slot as usize * self.blocks / 8 + eight];
        let all = u64::from_le_bytes(*due);
        *due = (all & !wanted).to_le_bytes();
        all & wanted
    }

    /// Opens the bucket of `block` for the current window.
    #[inline(always)]
    pub(super) fn open(&mut self, block: BlockId) {
        self.open = self.bucket(self.current, block);
    }

    /// Reads the packets that reach the open block, in the order in which they were put there: run by
    /// run where they lie.
    #[inline(always)]
    pub(super) fn read(&self, mut run: impl FnMut(Range<PacketId>)) {
        let bucket = self.buckets.packets[self.open];
        // Mostly there is one run, or none.
        if bucket.has_one_run() {
            run(bucket.first..bucket.next);
        } else if bucket.end != NIL {
            self.buckets.runs(bucket).for_each(run);
        }
    }

    /// Closes the open block: frees its runs, but for that of a bucket which held few packets.
    #[inline(always)]
    pub(super) fn close(&mut self, arena: &mut PacketArena) {
        let bucket = self.buckets.known_mut(self.open);
        if bucket.has_one_run() && bucket.next.since(bucket.first) <= FEW {
            bucket.next = bucket.first;
            return;
        }
        let bucket = std::mem::replace(bucket, Bucket::EMPTY);
        if bucket.has_one_run() {
            arena.give_back(bucket.first);
        } else if bucket.end != NIL {
            self.buckets.runs(bucket).for_each(|run| arena.give_back(run.start));
        }
    }

    /// Takes out the units of the open block that have a visit due.
    #[inline(always)]
    pub(super) fn take_visits(&mut self, visit: impl FnMut(u16)) {
        let visits = &mut self.buckets.visits[self.open];
        visits.iter().copied().for_each(visit);
        visits.clear();
    }

    /// The packets and notes under way that lie near, and those that lie far.
    pub(super) fn packets(
        &self,
    ) -> (impl Iterator<Item = PacketId>, impl Iterator<Item = PacketId>) {
        let runs = self.buckets.packets.iter().flat_map(|&bucket| self.buckets.runs(bucket));
        let near = runs.flat_map(|run| run.start.upto(run.end));
        let later = self.later.iter().map(|Reverse((_, far))| far);
        let far = self.far.iter().flatten().chain(later).map(|far| far.packet);
        (near, far.filter(|&packet| packet != NIL))
    }
}
