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

/// So many windows ahead something can lie before it costs more.
pub(super) const REACH: u64 = FAR_WINDOWS as u64 - MAX_NEAR;

/// How long windows are where nothing that leaves a port arrives within the `lookahead`.
pub(super) fn window(lookahead: Span) -> Span {
    lookahead.min(MAX_WINDOW)
}

/// The shortest lookahead: of a window of one picosecond no inverse is known.
pub(crate) const SHORTEST_LOOKAHEAD: Span = Span::from_ps(2);

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
    /// For each window of the ring, a place a unit: the heads of lists through the packets, last
    /// delivered first.
    near: Vec<PacketId>,
    mask: u64,
    /// How many places a window of the ring has: the units, rounded up to whole words of `words`.
    units: u64,
    /// A bit for each place of `near`: whether the unit has something to do in that window.
    due: Vec<u64>,
    /// A bit for each word of `due` that is not zero.
    words: Vec<u64>,
    /// A wider ring of windows for what lies further ahead: (unit, packet, or NIL for a visit).
    far: Vec<Vec<(u32, PacketId)>>,
    far_len: usize,
    /// What lies further still: (window, unit, packet), first window first.
    later: BinaryHeap<Reverse<(u64, u32, PacketId)>>,
}

impl Mailbox {
    /// For `units` units, windows of `window`, and links that hold a packet for at most `longest`.
    pub(super) fn new(units: usize, window: Span, longest: Span) -> Mailbox {
        let window = window.ps();
        let units = units.next_multiple_of(64 * 64);
        let ring = (longest.ps() / window + 2).next_power_of_two().min(MAX_NEAR);
        Mailbox {
            window,
            inverse: u64::MAX / window + 1,
            current: 0,
            begins: 0,
            reach: ring * window,
            near: vec![NIL; ring as usize * units],
            mask: ring - 1,
            units: units as u64,
            due: vec![0; ring as usize * units / 64],
            words: vec![0; ring as usize * units / (64 * 64)],
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

    /// When the window that `at` lies in is over.
    pub(super) fn end_of_window(&self, at: Time) -> Time {
        Time::from_ps((at.ps() / self.window + 1) * self.window)
    }

    /// The place of `unit` in the window of `at`, if the ring reaches so far. `at` is not before
    /// `begins`.
    #[inline]
    fn place(&self, unit: u32, at: Time) -> Option<usize> {
        let ahead = at.ps() - self.begins;
        if ahead >= self.reach {
            return None;
        }
        // Exact: `reach` is below 2^64 / window.
        let windows = ((u128::from(ahead) * u128::from(self.inverse)) >> 64) as u64;
        Some(self.place_in(self.current + windows, unit))
    }

    /// The place of `unit` in `window`, one of the near ones.
    #[inline]
    fn place_in(&self, window: u64, unit: u32) -> usize {
        ((window & self.mask) * self.units + u64::from(unit)) as usize
    }

    #[inline]
    fn mark(&mut self, place: usize) {
        let word = place / 64;
        self.due[word] |= 1 << (place % 64);
        self.words[word / 64] |= 1 << (word % 64);
    }

    /// `unit` has something to do at `at`.
    #[inline]
    pub(super) fn visit(&mut self, unit: u32, at: Time) {
        match self.place(unit, at) {
            Some(place) => self.mark(place),
            None => self.put_far(unit, at, NIL),
        }
    }

    /// Packet `id`, in no list, reaches `unit` at `at`, the time in its key.
    #[inline(always)]
    pub(super) fn deliver(&mut self, unit: u32, at: Time, id: PacketId, slab: &mut Slab) {
        match self.place(unit, at) {
            Some(place) => {
                // Whether it is the first cannot be guessed, so nobody asks.
                slab.known_mut(id).next = std::mem::replace(&mut self.near[place], id);
                self.mark(place);
            }
            None => self.put_far(unit, at, id),
        }
    }

    // Not rare where lines send ahead; but not told so, the compiler makes the near way slower.
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

    /// When the next window begins in which there is something to do, or the one that `limit` lies
    /// in if that comes first.
    pub(super) fn next(&self, limit: Time) -> Time {
        let last = (limit.ps() / self.window).max(self.current + 1);
        let near = (1..=self.mask).find(|ahead| self.has_work(self.current + ahead));
        let near = near.map_or(u64::MAX, |ahead| self.current + ahead);
        let next = near.min(self.next_far(near.min(last))).min(last);
        Time::from_ps(next * self.window)
    }

    /// Moves on to the window that `at` lies in. Nothing is left in those before.
    pub(super) fn go_on_to(&mut self, at: Time, slab: &mut Slab) {
        self.current = at.ps() / self.window;
        self.begins = self.current * self.window;
        self.fetch(slab);
    }

    /// Whether any unit is due in `window`, one of the near ones.
    #[inline]
    fn has_work(&self, window: u64) -> bool {
        let start = self.place_in(window, 0) / (64 * 64);
        self.words[start..start + self.blocks()].iter().any(|words| *words != 0)
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
            NIL => self.mark(self.place_in(self.current, unit)),
            id => self.deliver(unit, slab[id].arrives(), id, slab),
        }
    }

    /// How many blocks of 64 times 64 units there are.
    pub(super) fn blocks(&self) -> usize {
        self.units as usize / (64 * 64)
    }

    /// Which 64s of units of `block` have something to do in the current window: takes their bits.
    #[inline]
    pub(super) fn take_words(&mut self, block: usize) -> u64 {
        let start = self.place_in(self.current, 0) / (64 * 64);
        std::mem::take(&mut self.words[start + block])
    }

    /// Which of the 64 units from `first` on have something to do in the current window: takes
    /// their bits.
    #[inline]
    pub(super) fn take_due(&mut self, first: u32) -> u64 {
        let word = self.place_in(self.current, first) / 64;
        std::mem::take(&mut self.due[word])
    }

    /// Takes the list of what arrives at `unit` in the current window, in order.
    #[inline]
    pub(super) fn take(&mut self, unit: u32, slab: &mut Slab) -> PacketId {
        let place = self.place_in(self.current, unit);
        let head = std::mem::replace(&mut self.near[place], NIL);
        if slab.known(head).next == NIL { head } else { slab.sorted(head) }
    }
}

/// A longer window gains nothing, and 64 of these are below 2^64 / window.
const MAX_WINDOW: Span = Span::from_ps(1 << 28);
