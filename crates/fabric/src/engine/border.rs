//! How packets cross from one side of a fabric to another, each simulated by a thread of its own.
//!
//! What leaves a port inside a window arrives in a later one, so while a window lasts no side needs
//! to know what the others do. When it is over the sides meet: they hand over the packets that
//! cross, and agree on the next window in which anybody has something to do. What arrives where and
//! when is the same for any number of sides, and so are the rows.

use super::bell::Bell;
use super::mailbox::Mailbox;
use super::sides::Sides;
use crate::packet::{Packet, Slab};
use sojourn_kernel::Time;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What one side says when a window is over, and what all say together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    /// When there is something to do next.
    pub(super) next: Time,
    /// How many flows and watches are done.
    pub(super) done: usize,
}

/// What lies around the part of a fabric that one thread simulates.
pub(super) trait Border {
    /// Whether `unit` is on this side.
    fn is_mine(&self, unit: u32) -> bool;

    /// A packet is under way to `unit` on another side.
    fn hand_over(&mut self, unit: u32, packet: Packet);

    /// The window is over: puts what comes from other sides into `mailbox` and gives what all say
    /// together. Nothing, said by anybody, is that everything stops.
    fn meet(&mut self, said: Option<Said>, mailbox: &mut Mailbox, slab: &mut Slab) -> Option<Said>;
}

/// One thread simulates all: there is nobody to meet.
pub(super) struct Whole;

impl Border for Whole {
    #[inline(always)]
    fn is_mine(&self, _: u32) -> bool {
        true
    }

    fn hand_over(&mut self, _: u32, _: Packet) {
        unreachable!("everything is on one side");
    }

    #[inline]
    fn meet(&mut self, said: Option<Said>, _: &mut Mailbox, _: &mut Slab) -> Option<Said> {
        said
    }
}

/// Where all sides meet.
pub(super) struct Crossing {
    posts: Vec<Post>,
    /// What goes from each side to each other one: a list for every second meeting, so that one is
    /// read while the next is written.
    parcels: [Vec<Mutex<Vec<Packet>>>; 2],
    /// A side has failed, or was told to stop.
    stopped: AtomicBool,
    bell: Bell,
}

/// What one side lets the others know, in cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Post {
    /// How many meetings it has come to.
    meetings: AtomicU64,
    /// What it said at the last two.
    words: [Words; 2],
}

#[derive(Default)]
struct Words {
    next: AtomicU64,
    done: AtomicU64,
    /// A bit for each side that it hands packets to.
    parcels: AtomicU64,
}

impl Crossing {
    pub(super) fn new(sides: usize) -> Crossing {
        let parcels = || (0..sides * sides).map(|_| Mutex::default()).collect();
        Crossing {
            posts: (0..sides).map(|_| Post::default()).collect(),
            parcels: [parcels(), parcels()],
            stopped: AtomicBool::new(false),
            bell: Bell::new(sides),
        }
    }

    /// Nobody need wait for anybody any more.
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// The others need not wait for a side that fails.
    pub(super) fn tell_of_failure(&self) -> impl Drop {
        struct Watch<'a>(&'a Crossing);
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

    /// Waits until side `from` has come to so many `meetings`; nothing if all is to stop.
    #[inline]
    fn wait_for(&self, from: usize, meetings: u64) -> Option<()> {
        let came = || self.posts[from].meetings.load(Ordering::SeqCst) >= meetings;
        self.bell.wait_until(|| came() || self.stopped.load(Ordering::SeqCst));
        came().then_some(())
    }
}

/// One side's end of the crossing.
pub(super) struct Side<'a> {
    number: usize,
    sides: &'a Sides,
    crossing: &'a Crossing,
    meetings: u64,
    /// What goes to each side when the window is over, and when the first of it arrives. The unit
    /// that a packet goes to stands where a packet in a list has the next one.
    leaving: Vec<Vec<Packet>>,
    soonest: Time,
}

impl<'a> Side<'a> {
    pub(super) fn new(number: usize, sides: &'a Sides, crossing: &'a Crossing) -> Side<'a> {
        let leaving = vec![Vec::new(); sides.count];
        Side { number, sides, crossing, meetings: 0, leaving, soonest: Time::NEVER }
    }
}

impl Border for Side<'_> {
    #[inline]
    fn is_mine(&self, unit: u32) -> bool {
        self.sides.of(unit) == self.number
    }

    #[inline]
    fn hand_over(&mut self, unit: u32, packet: Packet) {
        self.soonest = self.soonest.min(packet.arrives());
        self.leaving[self.sides.of(unit)].push(Packet { next: unit, ..packet });
    }

    fn meet(&mut self, said: Option<Said>, mailbox: &mut Mailbox, slab: &mut Slab) -> Option<Said> {
        let crossing = self.crossing;
        let Some(said) = said else {
            crossing.stop();
            return None;
        };
        let meeting = (self.meetings % 2) as usize;
        let mut parcels = 0;
        for (to, leaving) in self.leaving.iter_mut().enumerate().filter(|(_, all)| !all.is_empty())
        {
            parcels |= 1 << to;
            let mut parcel = crossing.parcel(meeting, self.number, to).lock().expect(UNHARMED);
            std::mem::swap(leaving, &mut parcel);
        }
        let own = &crossing.posts[self.number];
        let next = said.next.min(std::mem::replace(&mut self.soonest, Time::NEVER));
        own.words[meeting].next.store(next.ps(), Ordering::Relaxed);
        own.words[meeting].done.store(said.done as u64, Ordering::Relaxed);
        own.words[meeting].parcels.store(parcels, Ordering::Relaxed);
        self.meetings += 1;
        own.meetings.store(self.meetings, Ordering::SeqCst);
        crossing.bell.ring();

        let mut all = Said { next, ..said };
        for from in (0..self.sides.count).filter(|from| *from != self.number) {
            crossing.wait_for(from, self.meetings)?;
            let words = &crossing.posts[from].words[meeting];
            all.next = all.next.min(Time::from_ps(words.next.load(Ordering::Relaxed)));
            all.done += words.done.load(Ordering::Relaxed) as usize;
            if words.parcels.load(Ordering::Relaxed) & 1 << self.number != 0 {
                let mut parcel =
                    crossing.parcel(meeting, from, self.number).lock().expect(UNHARMED);
                for packet in parcel.drain(..) {
                    let id = slab.insert(packet);
                    mailbox.deliver(packet.next, packet.arrives(), id, slab);
                }
            }
        }
        Some(all)
    }
}

const UNHARMED: &str = "a side that fails stops all others";
