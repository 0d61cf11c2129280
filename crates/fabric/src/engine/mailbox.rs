//! What is under way: packets on the links and notes that hosts send themselves, by the window of
//! time in which they arrive.
//!
//! Time is cut into windows no longer than the lookahead: the time the smallest packet needs to
//! cross the quickest link. What leaves a port inside a window therefore arrives in a later one,
//! and within a window every port can be visited once, on its own, in any order.

use crate::packet::{NIL, PacketId, Slab};
use sojourn_kernel::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The nearest windows, as many as a packet can be on a link, but no more than this.
const MAX_NEAR: u64 = 64;

/// How many windows a note may lie ahead before it goes into the heap.
const FAR_WINDOWS: usize = 2048;

/// Everything under way. A *unit* is what is visited as one: a host with its port, or a switch's
/// port.
#[derive(Debug)]
pub(super) struct Mailbox {
    window: u64,
    /// 2^64 / window, rounded up: dividing by a multiplication.
    inverse: u64,
    /// Number of the current window, and its first picosecond.
    current: u64,
    begins: u64,
    /// How far the near windows reach, in picoseconds from `begins`.
    reach: u64,
    /// A ring of windows a unit: the heads of lists through the packets, last arrival first.
    near: Vec<PacketId>,
    mask: u64,
    shift: u32,
    /// For each window of the ring, the units that have something to do in it.
    due: Vec<u64>,
    words: usize,
    /// A wider ring of windows for what lies further ahead: (unit, packet, or NIL for a visit).
    far: Vec<Vec<(u32, PacketId)>>,
    far_len: usize,
    /// What lies further still: (window, unit, packet), first window first.
    later: BinaryHeap<Reverse<(u64, u32, PacketId)>>,
}

impl Mailbox {
    /// For `units` units, windows of `window`, and links that hold a packet for at most `longest`.
    pub(super) fn new(units: usize, window: Span, longest: Span) -> Mailbox {
        let window = window.ps().clamp(2, MAX_WINDOW);
        let ring = (longest.ps() / window + 2).next_power_of_two().min(MAX_NEAR);
        Mailbox {
            window,
            inverse: u64::MAX / window + 1,
            current: 0,
            begins: 0,
            reach: ring * window,
            near: vec![NIL; ring as usize * units],
            mask: ring - 1,
            shift: ring.trailing_zeros(),
            due: vec![0; ring as usize * units.div_ceil(64)],
            words: units.div_ceil(64),
            far: vec![Vec::new(); FAR_WINDOWS],
            far_len: 0,
            later: BinaryHeap::new(),
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

    /// The place of `at` in the ring, if that reaches so far. `at` is not before `begins`.
    #[inline]
    fn slot(&self, at: Time) -> Option<u64> {
        let ahead = at.ps() - self.begins;
        if ahead >= self.reach {
            return None;
        }
        // Exact: `reach` is below 2^64 / window.
        let windows = ((u128::from(ahead) * u128::from(self.inverse)) >> 64) as u64;
        Some((self.current + windows) & self.mask)
    }

    #[inline]
    fn mark(&mut self, slot: u64, unit: u32) {
        self.due[slot as usize * self.words + (unit / 64) as usize] |= 1 << (unit % 64);
    }

    /// `unit` has something to do at `at`.
    #[inline]
    pub(super) fn visit(&mut self, unit: u32, at: Time) {
        match self.slot(at) {
            Some(slot) => self.mark(slot, unit),
            None => self.put_far(unit, at, NIL),
        }
    }

    /// Packet `id` reaches `unit` at `at`, the time in its key.
    #[inline(always)]
    pub(super) fn deliver(&mut self, unit: u32, at: Time, id: PacketId, slab: &mut Slab) {
        match self.slot(at) {
            Some(slot) => {
                let head = &mut self.near[((unit as usize) << self.shift) + slot as usize];
                if *head == NIL {
                    *head = id;
                    slab[id].next = NIL;
                    self.mark(slot, unit);
                } else {
                    slab.link_backwards(head, id);
                }
            }
            None => self.put_far(unit, at, id),
        }
    }

    #[cold]
    fn put_far(&mut self, unit: u32, at: Time, id: PacketId) {
        let window = at.ps() / self.window;
        if window - self.current < FAR_WINDOWS as u64 {
            self.far[window as usize % FAR_WINDOWS].push((unit, id));
            self.far_len += 1;
        } else {
            self.later.push(Reverse((window, unit, id)));
        }
    }

    /// Moves on to the next window in which there is something to do, or to the one that `limit`
    /// lies in if that comes first.
    pub(super) fn advance(&mut self, limit: Time, slab: &mut Slab) {
        let last = (limit.ps() / self.window).max(self.current + 1);
        let near = (1..=self.mask).find(|ahead| self.has_work(self.current + ahead));
        let near = near.map_or(u64::MAX, |ahead| self.current + ahead);
        self.current = near.min(self.next_far(near.min(last))).min(last);
        self.begins = self.current * self.window;
        self.fetch(slab);
    }

    /// Whether any unit is due in `window`, one of the near ones.
    #[inline]
    fn has_work(&self, window: u64) -> bool {
        let start = (window & self.mask) as usize * self.words;
        self.due[start..start + self.words].iter().any(|word| *word != 0)
    }

    /// The first window after the current one, up to `last`, for which something waits far ahead.
    fn next_far(&self, last: u64) -> u64 {
        let heap = self.later.peek().map_or(u64::MAX, |Reverse((window, ..))| *window);
        if self.far_len == 0 {
            return heap;
        }
        let end = (self.current + FAR_WINDOWS as u64).min(last + 1);
        let ring = (self.current + 1..end)
            .find(|window| !self.far[*window as usize % FAR_WINDOWS].is_empty());
        ring.unwrap_or(u64::MAX).min(heap)
    }

    /// Brings what lies far ahead for the current window near.
    fn fetch(&mut self, slab: &mut Slab) {
        while let Some(Reverse((window, ..))) = self.later.peek()
            && *window <= self.current
        {
            let Reverse((_, unit, id)) = self.later.pop().expect("peeked");
            self.bring(unit, id, slab);
        }
        let slot = self.current as usize % FAR_WINDOWS;
        if !self.far[slot].is_empty() {
            let mut notes = std::mem::take(&mut self.far[slot]);
            self.far_len -= notes.len();
            for (unit, id) in notes.drain(..) {
                self.bring(unit, id, slab);
            }
            self.far[slot] = notes;
        }
    }

    fn bring(&mut self, unit: u32, id: PacketId, slab: &mut Slab) {
        match id {
            NIL => self.mark(self.current & self.mask, unit),
            id => self.deliver(unit, slab[id].arrives(), id, slab),
        }
    }

    /// How many words [`take_due`](Mailbox::take_due) has.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// The units due in the current window, 64 at a time: takes the bits of `word`.
    #[inline]
    pub(super) fn take_due(&mut self, word: usize) -> u64 {
        let slot = (self.current & self.mask) as usize;
        std::mem::take(&mut self.due[slot * self.words + word])
    }

    /// Takes the list of what arrives at `unit` in the current window, in order.
    #[inline]
    pub(super) fn take(&mut self, unit: u32, slab: &mut Slab) -> PacketId {
        let slot = (self.current & self.mask) as usize;
        let head = std::mem::replace(&mut self.near[((unit as usize) << self.shift) + slot], NIL);
        if slab[head].next == NIL { head } else { slab.reverse(head) }
    }
}

/// A longer window gains nothing, and 64 of these are below 2^64 / window.
const MAX_WINDOW: u64 = 1 << 28;
