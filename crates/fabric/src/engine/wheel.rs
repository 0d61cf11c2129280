//! What is under way, by when it arrives: a timing wheel with buckets (Varghese and Lauck 1987).
//!
//! Time is cut into windows no longer than the lookahead: the time the smallest packet needs to
//! cross the quickest link. What leaves a port inside a window therefore arrives in a later one,
//! and within a window every port can be visited once, on its own, in any order.
//!
//! For each window and each block of units there is a bucket, and the packets of a bucket lie one behind
//! another in runs of the slab.

use super::layout::BlockId;
use crate::packet::{NIL, Packet, PacketId};
use crate::slab::{RUN, Slab};
use sojourn_kernel::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// How many windows the wheel has: a bit of a word for each.
const NEAR: u64 = u64::BITS as u64;

/// How many windows something may lie ahead before it goes into the heap.
const FAR: usize = 2048;

/// So many windows ahead something can lie before it costs more.
pub(super) const REACH: u64 = FAR as u64 - NEAR;

/// A longer window gains nothing, and as many of these as the wheel has are below 2^64 / window.
const MAX_WINDOW: Span = Span::from_ps(1 << 28);

/// How long windows are where nothing that leaves a port arrives within the `lookahead`.
pub(super) fn window(lookahead: Span) -> Span {
    lookahead.min(MAX_WINDOW)
}

/// The shortest lookahead: of a window of one picosecond no inverse is known.
pub(crate) const SHORTEST_LOOKAHEAD: Span = Span::from_ps(2);

/// Everything under way: packets on the links, notes that hosts send themselves, and units that have
/// to be visited.
#[derive(Debug)]
pub(super) struct Wheel {
    window: u64,
    /// 2^64 / window, rounded up: dividing by a multiplication.
    inverse: u64,
    /// Number of the current window, and its first picosecond.
    current: u64,
    begins: u64,
    /// How far the wheel reaches, in picoseconds from `begins`.
    reach: u64,
    blocks: usize,
    buckets: Buckets,
    /// A wider ring of windows for what lies further ahead.
    far: Vec<Vec<Far>>,
    far_len: usize,
    /// What lies further still, first key first.
    later: BinaryHeap<Reverse<(u64, Far)>>,
    /// The first window for which anything lies far ahead, or further.
    soonest: u64,
}

/// Window by window and block by block what lies near.
#[derive(Debug)]
struct Buckets {
    /// The packets of each.
    packets: Vec<Bucket>,
    /// Units that have something to do besides, by their place in the block.
    visits: Vec<Vec<u16>>,
    /// A bit for each window in which there is anything.
    windows: u64,
    /// A bit for each block: 64 blocks of one window after another, then the next 64.
    due: Vec<[u64; NEAR as usize]>,
    /// For each run of the slab the next one of the same bucket, where there is one.
    after: Vec<PacketId>,
}

/// Packets one behind another, in runs of the slab.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Where its first run begins.
    first: PacketId,
    /// Where the next packet goes, and where its last run ends; the same where that is full, and
    /// where there is none yet.
    next: PacketId,
    end: PacketId,
}

impl Bucket {
    /// Whether its last run is full, or there is none.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.next == self.end
    }
}

/// A packet that lies singly in the slab, or none and a unit of the block to be visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Far {
    packet: PacketId,
    block: BlockId,
    unit: u16,
}

impl Buckets {
    fn new(blocks: usize) -> Buckets {
        let buckets = NEAR as usize * blocks;
        Buckets {
            packets: vec![Bucket::default(); buckets],
            visits: vec![Vec::new(); buckets],
            windows: 0,
            due: vec![[0; NEAR as usize]; blocks.div_ceil(64)],
            after: Vec::new(),
        }
    }

    /// Something lies in the bucket of `block` for `window`.
    #[inline(always)]
    fn mark(&mut self, window: u64, block: BlockId) {
        let slot = window % NEAR;
        self.windows |= 1 << slot;
        self.due[usize::from(block / 64)][slot as usize] |= 1 << (block % 64);
    }

    /// Gives bucket `number` another run of `slab`.
    #[inline(always)]
    fn add_run(&mut self, number: usize, slab: &mut Slab) {
        let run = slab.take_run();
        if self.packets[number].end != NIL {
            return self.chain(number, run);
        }
        self.packets[number] = Bucket { first: run, next: run, end: run + RUN };
    }

    /// Puts `run` behind the runs that a bucket has.
    #[cold]
    #[inline(never)]
    fn chain(&mut self, bucket: usize, run: PacketId) {
        let bucket = &mut self.packets[bucket];
        let last = number(bucket.end - RUN);
        if self.after.len() <= last {
            self.after.resize(last + 1, NIL);
        }
        self.after[last] = run;
        (bucket.next, bucket.end) = (run, run + RUN);
    }

    /// The runs of a bucket, from the first to the last, as far as they are filled.
    fn runs(&self, bucket: usize) -> impl Iterator<Item = Range<PacketId>> + '_ {
        let Bucket { first, next, end } = self.packets[bucket];
        let mut run = (end != NIL).then_some(first);
        std::iter::from_fn(move || {
            let start = run?;
            let last = start + RUN == end;
            run = (!last).then(|| self.after[number(start)]);
            Some(start..if last { next } else { start + RUN })
        })
    }
}

/// Which of the slab's runs begins at `first`.
#[inline]
fn number(first: PacketId) -> usize {
    (first / RUN) as usize
}

impl Wheel {
    /// For `blocks` blocks and windows of `window`.
    pub(super) fn new(blocks: usize, window: Span) -> Wheel {
        let window = window.ps();
        Wheel {
            window,
            inverse: u64::MAX / window + 1,
            current: 0,
            begins: 0,
            reach: window * NEAR,
            blocks,
            buckets: Buckets::new(blocks),
            far: vec![Vec::new(); FAR],
            far_len: 0,
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

    /// When the window that `at` lies in is over.
    pub(super) fn end_of_window(&self, at: Time) -> Time {
        Time::from_ps((at.ps() / self.window + 1) * self.window)
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
        (window % NEAR) as usize * self.blocks + block as usize
    }

    /// Where a packet is to lie that reaches `block` at `at`. The packet itself says at which
    /// interface.
    #[inline(always)]
    pub(super) fn place(&mut self, block: BlockId, at: Time, slab: &mut Slab) -> PacketId {
        let Some(window) = self.near(at) else { return self.far_place(block, at, slab) };
        let number = self.bucket(window, block);
        if self.bucket_mut(number).is_full() {
            self.begin_run(number, window, block, slab);
        }
        let bucket = self.bucket_mut(number);
        bucket.next += 1;
        bucket.next - 1
    }

    #[inline(always)]
    fn bucket_mut(&mut self, number: usize) -> &mut Bucket {
        debug_assert!(number < self.buckets.packets.len());
        // SAFETY: there is a bucket for each window of the wheel and each block, and there are no
        // other blocks.
        unsafe { self.buckets.packets.get_unchecked_mut(number) }
    }

    /// Puts `packet` where it is to lie.
    pub(super) fn put(&mut self, block: BlockId, packet: Packet, slab: &mut Slab) {
        let place = self.place(block, packet.arrives(), slab);
        *slab.known_mut(place) = packet;
    }

    /// The last run of a bucket is full, or there is none.
    #[cold]
    #[inline(never)]
    fn begin_run(&mut self, number: usize, window: u64, block: BlockId, slab: &mut Slab) {
        self.buckets.add_run(number, slab);
        self.buckets.mark(window, block);
    }

    /// Puts a note for the open `block` into its bucket, which is read already. Gives where it lies.
    pub(super) fn add(&mut self, block: BlockId, note: Packet, slab: &mut Slab) -> PacketId {
        let number = self.bucket(self.current, block);
        if self.buckets.packets[number].is_full() {
            self.buckets.add_run(number, slab);
        }
        let bucket = &mut self.buckets.packets[number];
        *slab.known_mut(bucket.next) = note;
        bucket.next += 1;
        bucket.next - 1
    }

    /// The unit at that place of `block` has something to do at `at`.
    #[inline]
    pub(super) fn visit(&mut self, block: BlockId, unit: u16, at: Time) {
        let Some(window) = self.near(at) else {
            return self.put_far(at, Far { packet: NIL, block, unit });
        };
        let bucket = self.bucket(window, block);
        // To ask after the push whether it was the first costs 9 instructions a hop.
        if self.buckets.visits[bucket].is_empty() {
            self.buckets.mark(window, block);
        }
        self.buckets.visits[bucket].push(unit);
    }

    // Not rare where lines send ahead; but not told so, the compiler makes the near way slower.
    #[cold]
    #[inline(never)]
    fn far_place(&mut self, block: BlockId, at: Time, slab: &mut Slab) -> PacketId {
        let packet = slab.place();
        self.put_far(at, Far { packet, block, unit: 0 });
        packet
    }

    fn put_far(&mut self, at: Time, far: Far) {
        let window = at.ps() / self.window;
        self.soonest = self.soonest.min(window);
        if window - self.current < FAR as u64 {
            self.far[window as usize % FAR].push(far);
            self.far_len += 1;
        } else {
            self.later.push(Reverse((Packet::arriving(at, 0), far)));
        }
    }

    /// When the next window begins in which there is something to do, or the one that `limit` lies
    /// in if that comes first.
    #[inline]
    pub(super) fn next(&self, limit: Time) -> Time {
        let near = match self.buckets.windows.rotate_right(((self.current + 1) % NEAR) as u32) {
            0 => u64::MAX,
            windows => self.current + 1 + u64::from(windows.trailing_zeros()),
        };
        // This is nearly always so, and needs no division.
        if near != u64::MAX && near * self.window <= limit.ps() {
            return Time::from_ps(near * self.window);
        }
        let last = (limit.ps() / self.window).max(self.current + 1);
        let next = if near == u64::MAX { self.next_far(last) } else { near };
        Time::from_ps(next.min(last) * self.window)
    }

    /// The first window, up to `last`, for which something waits far ahead.
    fn next_far(&self, last: u64) -> u64 {
        let later = |Reverse((key, _)): &Reverse<(u64, Far)>| (key >> 8) / self.window;
        let later = self.later.peek().map_or(u64::MAX, later);
        if self.far_len == 0 {
            return later;
        }
        // What lies in the ring is no further ahead than the ring is long.
        let end = (self.current + FAR as u64).min(last + 1);
        let from = self.soonest.max(self.current + 1);
        let ring = (from..end).find(|window| !self.far[*window as usize % FAR].is_empty());
        ring.unwrap_or(u64::MAX).min(later)
    }

    /// Moves on to the window that `at` lies in. Nothing is left in those before.
    #[inline]
    pub(super) fn go_on_to(&mut self, at: Time, slab: &mut Slab) {
        self.current = self.near(at).unwrap_or_else(|| at.ps() / self.window);
        self.begins = self.current * self.window;
        if self.soonest < self.current + NEAR {
            self.bring(slab);
        }
    }

    /// Brings near what lies far ahead as soon as the wheel reaches it, before anything else goes
    /// into the same windows: what a link carries stays in order.
    #[cold]
    #[inline(never)]
    fn bring(&mut self, slab: &mut Slab) {
        let end = self.current + NEAR;
        while let Some(&Reverse((key, far))) = self.later.peek()
            && (key >> 8) < end * self.window
        {
            self.later.pop();
            self.bring_one((key >> 8) / self.window, far, slab);
        }
        for window in self.soonest..end {
            let slot = window as usize % FAR;
            let mut all = std::mem::take(&mut self.far[slot]);
            self.far_len -= all.len();
            for far in all.drain(..) {
                self.bring_one(window, far, slab);
            }
            self.far[slot] = all;
        }
        self.soonest = end;
        self.soonest = self.next_far(u64::MAX - 1);
    }

    fn bring_one(&mut self, window: u64, far: Far, slab: &mut Slab) {
        let Far { packet, block, unit } = far;
        if packet == NIL {
            self.visit(block, unit, Time::from_ps(window * self.window));
        } else {
            let place = self.place(block, slab.known(packet).arrives(), slab);
            *slab.known_mut(place) = *slab.known(packet);
            slab.free(packet);
        }
    }

    /// How many words it takes to have a bit for each block.
    #[inline]
    pub(super) fn words(&self) -> usize {
        self.buckets.due.len()
    }

    /// Which 64 blocks, those of `word`, have something to do in the current window: takes their bits.
    #[inline]
    pub(super) fn take_due(&mut self, word: usize) -> u64 {
        let Buckets { windows, due, .. } = &mut self.buckets;
        let slot = self.current % NEAR;
        *windows &= !(1 << slot);
        std::mem::take(&mut due[word][slot as usize])
    }

    /// Reads the packets that reach `block` in the current window, in the order in which they were put
    /// there: run by run where they lie.
    #[inline(always)]
    pub(super) fn read(&self, block: BlockId, mut run: impl FnMut(Range<PacketId>)) {
        let number = self.bucket(self.current, block);
        let Bucket { first, next, end } = self.buckets.packets[number];
        // Mostly there is one run, or none.
        if first + RUN == end {
            run(first..next);
        } else if end != NIL {
            self.buckets.runs(number).for_each(run);
        }
    }

    /// Nothing is left to be done in `block` in the current window.
    #[inline(always)]
    pub(super) fn close(&mut self, block: BlockId, slab: &mut Slab) {
        let number = self.bucket(self.current, block);
        let Bucket { first, end, .. } = self.buckets.packets[number];
        if first + RUN == end {
            slab.free_run(first);
        } else if end != NIL {
            self.buckets.runs(number).for_each(|run| slab.free_run(run.start));
        }
        self.buckets.packets[number] = Bucket::default();
    }

    /// Takes the units that are to be visited besides.
    #[inline(always)]
    pub(super) fn take_visits(&mut self, block: BlockId, visit: impl FnMut(u16)) {
        let number = self.bucket(self.current, block);
        let visits = &mut self.buckets.visits[number];
        visits.iter().copied().for_each(visit);
        visits.clear();
    }

    /// The packets and notes under way that lie near, and those that lie far.
    pub(super) fn packets(
        &self,
    ) -> (impl Iterator<Item = PacketId>, impl Iterator<Item = PacketId>) {
        let buckets = 0..self.buckets.packets.len();
        let near = buckets.flat_map(|bucket| self.buckets.runs(bucket)).flatten();
        let later = self.later.iter().map(|Reverse((_, far))| far);
        let far = self.far.iter().flatten().chain(later).map(|far| far.packet);
        (near, far.filter(|&packet| packet != NIL))
    }
}
