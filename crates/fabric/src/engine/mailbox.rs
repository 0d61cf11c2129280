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

/// How many windows a note may lie ahead before it goes into the heap.
const FAR_WINDOWS: usize = 2048;

/// Everything under way. A *unit* is what is visited as one: a host with its port, or a switch's
/// port.
#[derive(Debug)]
pub(super) struct Mailbox {
    window: Span,
    /// 2^64 / window, rounded up: dividing by a multiplication.
    inverse: u64,
    units: usize,
    /// Number of the current window.
    current: u64,
    /// A ring of windows: for each unit, the head of a list through the packets.
    near: Vec<PacketId>,
    mask: u64,
    /// For each window of the ring, the units that have something to do in it.
    due: Vec<u64>,
    /// How many bits are set in `due`.
    busy: usize,
    /// A wider ring of windows for what lies further ahead: (unit, packet).
    far: Vec<Vec<(u32, PacketId)>>,
    far_len: usize,
    /// What lies further still: (window, unit, packet), first window first.
    later: BinaryHeap<Reverse<(u64, u32, PacketId)>>,
}

impl Mailbox {
    /// For `units` units, windows of `window`, and links that hold a packet for at most `longest`.
    pub(super) fn new(units: usize, window: Span, longest: Span) -> Mailbox {
        let window = window.max(Span::from_ps(2));
        let ring = (longest.ps() / window.ps() + 2).next_power_of_two().min(64);
        Mailbox {
            window,
            inverse: u64::MAX / window.ps() + 1,
            units,
            current: 0,
            near: vec![NIL; ring as usize * units],
            mask: ring - 1,
            due: vec![0; ring as usize * units.div_ceil(64)],
            busy: 0,
            far: vec![Vec::new(); FAR_WINDOWS],
            far_len: 0,
            later: BinaryHeap::new(),
        }
    }

    /// Number of the window that `at`, not before the current window, lies in.
    #[inline]
    fn window_of(&self, at: Time) -> u64 {
        let ahead = at.ps() - self.current * self.window.ps();
        if ahead >> 44 != 0 {
            return self.current + ahead / self.window.ps();
        }
        self.current + ((u128::from(ahead) * u128::from(self.inverse)) >> 64) as u64
    }

    /// When the current window begins.
    pub(super) fn begins(&self) -> Time {
        Time::from_ps(self.current * self.window.ps())
    }

    /// When the current window is over.
    pub(super) fn ends(&self) -> Time {
        Time::from_ps((self.current + 1) * self.window.ps())
    }

    #[inline]
    fn words(&self) -> usize {
        self.units.div_ceil(64)
    }

    /// `unit` has something to do at `at`, which lies at most the longest link ahead.
    #[inline]
    pub(super) fn visit(&mut self, unit: u32, at: Time) {
        let window = self.window_of(at);
        if window - self.current <= self.mask {
            self.mark(window & self.mask, unit);
        } else {
            self.put_far(window, unit, NIL);
        }
    }

    #[inline]
    fn mark(&mut self, slot: u64, unit: u32) {
        let words = self.words();
        let word = &mut self.due[slot as usize * words + unit as usize / 64];
        let bit = 1 << (unit % 64);
        self.busy += usize::from(*word & bit == 0);
        *word |= bit;
    }

    /// Packet `id` reaches `unit` at the time in its key.
    #[inline]
    pub(super) fn deliver(&mut self, unit: u32, id: PacketId, slab: &mut Slab) {
        let window = self.window_of(slab[id].arrives());
        if window - self.current <= self.mask {
            let slot = window & self.mask;
            let head = &mut self.near[slot as usize * self.units + unit as usize];
            slab[id].next = *head;
            *head = id;
            self.mark(slot, unit);
        } else {
            self.put_far(window, unit, id);
        }
    }

    fn put_far(&mut self, window: u64, unit: u32, id: PacketId) {
        if window - self.current < FAR_WINDOWS as u64 {
            self.far[window as usize % FAR_WINDOWS].push((unit, id));
            self.far_len += 1;
        } else {
            self.later.push(Reverse((window, unit, id)));
        }
    }

    /// Moves on to the next window in which there is something to do, not beyond the one that
    /// `limit` lies in.
    pub(super) fn advance(&mut self, limit: Time, slab: &mut Slab) {
        let last = self.window_of(limit);
        loop {
            self.current += 1;
            if self.busy == 0 {
                self.current = self.next_far().min(last).max(self.current);
            }
            self.fetch(slab);
            if self.busy > 0 && self.has_work() || self.current >= last {
                return;
            }
        }
    }

    /// The first window from the current one on for which something waits far ahead.
    fn next_far(&self) -> u64 {
        let heap = self
            .later
            .peek()
            .map_or(u64::MAX, |Reverse((window, ..))| *window);
        if self.far_len == 0 {
            return heap;
        }
        let ring = (self.current..self.current + FAR_WINDOWS as u64)
            .find(|window| !self.far[*window as usize % FAR_WINDOWS].is_empty());
        ring.unwrap_or(u64::MAX).min(heap)
    }

    /// Whether any unit is due in the current window.
    fn has_work(&self) -> bool {
        let start = (self.current & self.mask) as usize * self.words();
        self.due[start..start + self.words()]
            .iter()
            .any(|word| *word != 0)
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
        if id == NIL {
            self.mark(self.current & self.mask, unit);
        } else {
            self.deliver(unit, id, slab);
        }
    }

    /// The units due in the current window, 64 at a time: takes the bits of `word`.
    #[inline]
    pub(super) fn take_due(&mut self, word: usize) -> u64 {
        let at = (self.current & self.mask) as usize * self.words() + word;
        let bits = std::mem::take(&mut self.due[at]);
        self.busy -= bits.count_ones() as usize;
        bits
    }

    /// Takes what arrives at `unit` in the current window: appends (key, packet) to `arrivals`.
    #[inline]
    pub(super) fn take(&mut self, unit: u32, slab: &Slab, arrivals: &mut Vec<(u64, PacketId)>) {
        let at = (self.current & self.mask) as usize * self.units + unit as usize;
        let mut id = std::mem::replace(&mut self.near[at], NIL);
        while id != NIL {
            let packet = &slab[id];
            arrivals.push((packet.key, id));
            id = packet.next;
        }
    }
}
