//! The barrier at which the threads meet that simulate the sides of a fabric, and the packets that cross
//! from one side to another.
//!
//! What leaves a port inside a window arrives in a later one, so while a window lasts no side needs
//! to know what the others do. When it is over the sides meet: they hand over the packets that
//! cross, and agree on the next window in which any of them has something to do. A side that
//! waits for the others begins the next window with the blocks that no link from another side leads
//! to, if that window is certain to come. The number of sides changes no row: every packet arrives at
//! the port and the time at which it would arrive with one.

use super::partition::{BlockId, Layout};
use super::port::Boundary;
use super::timing_wheel::TimingWheel;
use crate::packet::{Packet, PacketArena};
use sojourn_core::Time;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state of one side, or of all together, when a window is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowSummary {
    /// The next window with anything to do.
    pub(super) next: u64,
    /// Flows and watches that are done.
    pub(super) done: usize,
}

/// The barrier at which all sides meet and exchange packets after each window. Threads spin at it and
/// never sleep.
pub(super) struct SpinBarrier {
    posts: Vec<Post>,
    /// Packets from each side to each other one: a list for every second meeting, so that one is read
    /// while the next is written.
    parcels: [Vec<Mutex<Vec<Packet>>>; 2],
    /// Whether a side has failed or was cancelled.
    stopped: AtomicBool,
}

/// What one side publishes for the others, in separate cache lines (128 bytes: two are fetched at once).
#[derive(Default)]
#[repr(align(128))]
struct Post {
    /// Meetings that it has come to.
    meetings: AtomicU64,
    /// What it published at the last two.
    words: [Words; 2],
}

#[derive(Default)]
struct Words {
    next: AtomicU64,
    done: AtomicU64,
    /// A bit for each side that gets packets from it.
    parcels: AtomicU64,
    /// Whether its thread lost its processor to other programs.
    disturbed: AtomicBool,
}

impl SpinBarrier {
    pub(super) fn new(sides: usize) -> SpinBarrier {
        let parcels = || (0..sides * sides).map(|_| Mutex::default()).collect();
        SpinBarrier {
            posts: (0..sides).map(|_| Post::default()).collect(),
            parcels: [parcels(), parcels()],
            stopped: AtomicBool::new(false),
        }
    }

    /// Stops all sides: none waits for another any more.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Returns a guard that stops all sides when this thread panics, or unwinds as it is cancelled.
    pub(super) fn tell_of_failure(&self) -> impl Drop {
        struct Watch<'a>(&'a SpinBarrier);
        impl Drop for Watch<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.stop();
                }
            }
        }
        Watch(self)
    }

    fn parcel(&self, meeting: usize, from: usize, to: usize) -> &Mutex<Vec<Packet>> {
        &self.parcels[meeting][from * self.posts.len() + to]
    }

    /// Waits until side `from` has come to so many `meetings`. Returns whether that took long; none when
    /// all sides stop.
    #[inline]
    fn wait_for(&self, from: usize, meetings: u64) -> Option<bool> {
        let came = || self.posts[from].meetings.load(Ordering::Acquire) >= meetings;
        let waited = wait_until(|| came() || self.stopped.load(Ordering::Acquire));
        came().then_some(waited)
    }
}

/// Checks before a thread yields its processor between checks: some 50 us.
const LOOKS: u32 = 1_000;

/// Waits until `is_so`, which another thread brings about. Returns whether that took long: then the other
/// one may have waited for this processor.
#[inline]
fn wait_until(is_so: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        if is_so() {
            return false;
        }
        std::hint::spin_loop();
    }
    while !is_so() {
        std::thread::yield_now();
    }
    true
}

/// One side at the barrier.
pub(super) struct Side<'a> {
    pub(super) number: usize,
    layout: &'a Layout,
    /// Which blocks links from other sides lead to, eight by eight.
    hears: Vec<[u8; 8]>,
    barrier: &'a SpinBarrier,
    meetings: u64,
    /// Whether it waited long at the last one.
    pub(super) waited: bool,
    /// Packets for each side when the window is over, and when the first of them arrives.
    leaving: Vec<Vec<Packet>>,
    soonest: Time,
}

impl<'a> Side<'a> {
    pub(super) fn new(number: usize, layout: &'a Layout, barrier: &'a SpinBarrier) -> Side<'a> {
        let leaving = vec![Vec::new(); barrier.posts.len()];
        let mut hears = vec![[0; 8]; layout.blocks.len().div_ceil(8)];
        for (hears, block) in hears.as_flattened_mut().iter_mut().zip(&layout.blocks) {
            *hears = block.hears.into();
        }
        let soonest = Time::NEVER;
        Side { number, layout, hears, barrier, meetings: 0, waited: false, leaving, soonest }
    }

    /// Publishes this side's state at the end of a window, and hands over the packets that cross.
    pub(super) fn publish(&mut self, summary: WindowSummary, disturbed: bool, wheel: &TimingWheel) {
        let barrier = self.barrier;
        let meeting = (self.meetings % 2) as usize;
        let mut parcels = 0;
        for (to, leaving) in self.leaving.iter_mut().enumerate().filter(|(_, all)| !all.is_empty())
        {
            parcels |= 1 << to;
            let mut parcel = barrier.parcel(meeting, self.number, to).lock().expect(UNHARMED);
            std::mem::swap(leaving, &mut parcel);
        }
        let own = &barrier.posts[self.number];
        let soonest = std::mem::replace(&mut self.soonest, Time::NEVER);
        let next = summary.next.min(wheel.window_of(soonest));
        let words = &own.words[meeting];
        words.next.store(next, Ordering::Relaxed);
        words.done.store(summary.done as u64, Ordering::Relaxed);
        words.parcels.store(parcels, Ordering::Relaxed);
        words.disturbed.store(disturbed, Ordering::Relaxed);
        self.meetings += 1;
        own.meetings.store(self.meetings, Ordering::Release);
    }

    /// Puts the packets from other sides into `wheel`. Returns the state of all sides together, and
    /// whether the thread of any is disturbed; none when all sides stop.
    pub(super) fn collect_from_others(
        &mut self,
        wheel: &mut TimingWheel,
        arena: &mut PacketArena,
    ) -> Option<(WindowSummary, bool)> {
        let barrier = self.barrier;
        let meeting = ((self.meetings - 1) % 2) as usize;
        let (mut all, mut disturbed) = (WindowSummary { next: u64::MAX, done: 0 }, false);
        self.waited = false;
        for from in 0..barrier.posts.len() {
            self.waited |= barrier.wait_for(from, self.meetings)?;
            let words = &barrier.posts[from].words[meeting];
            all.next = all.next.min(words.next.load(Ordering::Relaxed));
            all.done += words.done.load(Ordering::Relaxed) as usize;
            disturbed |= words.disturbed.load(Ordering::Relaxed);
            if words.parcels.load(Ordering::Relaxed) & 1 << self.number != 0 {
                let mut parcel = barrier.parcel(meeting, from, self.number).lock().expect(UNHARMED);
                for packet in parcel.drain(..) {
                    let block = self.layout.of(packet.interface());
                    debug_assert!(self.layout.blocks[usize::from(block)].hears);
                    wheel.put(block, packet, arena);
                }
            }
        }
        Some((all, disturbed))
    }
}

impl Boundary for Side<'_> {
    const CUT: bool = true;

    fn side(&self) -> usize {
        self.number
    }

    #[inline]
    fn is_mine(&self, block: BlockId) -> bool {
        self.layout.blocks[usize::from(block)].side == self.number
    }

    #[inline]
    fn hears(&self, eight: usize) -> u64 {
        u64::from_le_bytes(self.hears[eight])
    }

    #[inline]
    fn hand_over(&mut self, block: BlockId, packet: Packet) {
        self.soonest = self.soonest.min(packet.arrives());
        self.leaving[self.layout.blocks[usize::from(block)].side].push(packet);
    }
}

const UNHARMED: &str = "a side that fails stops all others";
