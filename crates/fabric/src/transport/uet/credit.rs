//! RCCC: credit of the receiving hosts (UEC 1.0, section 3.6.14, whose text is not public: as in
//! uet-htsim), and how hosts behind an oversubscribed fabric hold it back.

use super::PULL;
use crate::transport::{End, Outbox, Setup};
use sojourn_core::{Light, Rate, Span, Time};
use std::collections::VecDeque;

/// Credit is counted in units of so many bytes.
pub(super) const QUANTUM: i64 = 256;

/// Quanta that a PULL gives at most: 16 KiB.
const PULL_QUANTA: u32 = 64;

/// Quanta for whose time a host waits after a PULL that gave none.
const LEAST_QUANTA: u32 = 4;

/// The share of its link that a host gives credit for.
const SHARE: f64 = 0.99;

/// PULLs of a flow go by so many entropy values in turn.
const PULL_ENTROPIES: u32 = 128;

/// What a receiver knows of the credit of one flow. Counts are quanta since the flow began, modulo 2^32.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    given: u32,
    /// What its sender wants it to have in all.
    wanted: u32,
    pulls: u32,
    /// Whether it waits for credit that is wanted, and whether it takes what nobody else wants.
    waits: bool,
    idles: bool,
}

impl Account {
    /// Quanta that are wanted and not given; negative for those given ahead.
    fn backlog(&self) -> i32 {
        self.wanted.wrapping_sub(self.given) as i32
    }
}

/// The credit of one receiving host.
#[derive(Debug)]
pub(super) struct Giver {
    waiting: VecDeque<u32>,
    idle: VecDeque<u32>,
    /// When the next PULL may leave.
    free: Time,
    /// The wake-up that is set for it.
    wake: Option<Time>,
    /// Time of a quantum, in picoseconds.
    quantum: f64,
    throttle: Option<Throttle>,
}

/// What happens to one flow's credit at its receiving host.
pub(super) struct Giving<'a> {
    pub(super) accounts: &'a mut [Account],
    pub(super) setup: &'a Setup,
    pub(super) outbox: &'a mut Outbox,
    /// Quanta that may be given ahead.
    pub(super) ahead: i32,
    /// Whether a flow has arrived whole.
    pub(super) is_done: &'a dyn Fn(u32) -> bool,
}

impl Giver {
    /// The credit of a host whose link has `rate`.
    pub(super) fn new(rate: Rate, throttle: Option<Throttle>) -> Giver {
        let quantum = (8 * QUANTUM) as f64 * 1e12 / rate.bits_per_second() as f64 / SHARE;
        Giver {
            waiting: VecDeque::new(),
            idle: VecDeque::new(),
            free: Time::ZERO,
            wake: None,
            quantum,
            throttle,
        }
    }

    /// Takes in that the sender of `flow` wants credit up to `target`. With `must` the flow gets a turn even
    /// where it asked for as much before: its packet was trimmed, or it asked without one.
    pub(super) fn want(&mut self, flow: u32, target: u32, must: bool, mut giving: Giving<'_>) {
        let account = &mut giving.accounts[flow as usize];
        let more = target.wrapping_sub(account.wanted) as i32 > 0;
        if more {
            account.wanted = target;
        }
        if (more || must) && !account.waits {
            account.waits = true;
            self.waiting.push_back(flow);
            self.give(&mut giving);
        }
    }

    /// Handles a wake-up at `at`.
    pub(super) fn wake(&mut self, at: Time, mut giving: Giving<'_>) {
        if self.wake == Some(at) {
            self.wake = None;
            self.give(&mut giving);
        }
    }

    /// Sends the next PULL if it is due, and sets the wake-up for the one after it.
    fn give(&mut self, giving: &mut Giving<'_>) {
        let now = giving.outbox.now;
        while now >= self.free
            && let Some((flow, quanta)) = self.next(giving)
        {
            let account = &mut giving.accounts[flow as usize];
            account.given = account.given.wrapping_add(quanta);
            account.pulls += 1;
            let entropy = (account.pulls % PULL_ENTROPIES) as u16;
            let pull = giving.setup.answer(PULL, flow, account.given);
            giving.outbox.packets.push(crate::packet::Packet { echo: entropy, ..pull });
            self.put_back(flow, giving);
            let rate = self.throttle.as_ref().map_or(1.0, |throttle| throttle.rate);
            let time =
                self.quantum / rate * f64::from(if quanta == 0 { LEAST_QUANTA } else { quanta });
            self.free = now + Span::from_ps((time as u64).max(1));
        }
        let next = self.waiting.front().or(self.idle.front());
        if let (Some(&flow), None) = (next, self.wake) {
            self.wake = Some(self.free);
            giving.outbox.wake(self.free, flow, End::Receiver);
        }
    }

    /// The flow whose turn it is, and the quanta for it: those that it wants, or else a PULL's worth ahead.
    fn next(&mut self, giving: &Giving<'_>) -> Option<(u32, u32)> {
        while let Some(flow) = self.waiting.pop_front() {
            if !(giving.is_done)(flow) {
                let wanted = giving.accounts[flow as usize].backlog().max(0) as u32;
                return Some((flow, wanted.min(PULL_QUANTA)));
            }
        }
        while let Some(flow) = self.idle.pop_front() {
            if !(giving.is_done)(flow) {
                return Some((flow, PULL_QUANTA));
            }
        }
        None
    }

    /// Puts a flow that was given credit into the line that it is for now.
    fn put_back(&mut self, flow: u32, giving: &mut Giving<'_>) {
        let account = &mut giving.accounts[flow as usize];
        if account.waits {
            if account.backlog() > 0 {
                self.waiting.push_back(flow);
                return;
            }
            account.waits = false;
            if !std::mem::replace(&mut account.idles, true) {
                self.idle.push_back(flow);
            }
        } else if account.backlog() > -giving.ahead {
            self.idle.push_back(flow);
        } else {
            account.idles = false;
        }
    }

    /// Counts a packet that has come, for a host behind an oversubscribed fabric.
    pub(super) fn count(&mut self, seen: Seen, flow: u32, outbox: &mut Outbox) {
        if let Some(throttle) = &mut self.throttle {
            throttle.count(seen, flow, outbox);
        }
    }

    /// Looks at `at` whether to give more or less.
    pub(super) fn review(&mut self, at: Time, flow: u32, outbox: &mut Outbox) {
        if let Some(throttle) = &mut self.throttle {
            throttle.review(at, flow, outbox);
        }
    }
}

/// A packet that has come to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Whole,
    Marked,
    TrimmedInside,
    TrimmedAtLast,
}

/// Holds the credit of a host back while packets to it are marked or trimmed inside of the fabric.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    /// The share of its credit that a host gives.
    rate: f64,
    least: f64,
    /// The average share of marked packets.
    marked: f64,
    /// Reviews in a row without a decrease.
    increases: u32,
    round_trip: Span,
    chance: Light,
    /// Packets since the last review.
    packets: u32,
    marks: u32,
    inside: u32,
    at_last: u32,
    /// The review that is set.
    next: Option<Time>,
}

/// The share of marked packets that is borne.
const BORNE: f64 = 0.3;

/// What is added at a review without a decrease.
const STEP: f64 = 0.01;

impl Throttle {
    /// For a host in a fabric with such a round trip, whose hosts send `oversubscription` times what its
    /// core can carry.
    pub(super) fn new(oversubscription: f64, round_trip: Span, chance: Light) -> Throttle {
        Throttle {
            rate: 1.0,
            least: (0.9 / oversubscription).max(0.01),
            marked: 0.0,
            increases: 0,
            round_trip,
            chance,
            packets: 0,
            marks: 0,
            inside: 0,
            at_last: 0,
            next: None,
        }
    }

    fn count(&mut self, seen: Seen, flow: u32, outbox: &mut Outbox) {
        self.packets += 1;
        match seen {
            Seen::Whole => {}
            Seen::Marked => self.marks += 1,
            Seen::TrimmedInside => self.inside += 1,
            Seen::TrimmedAtLast => self.at_last += 1,
        }
        if self.next.is_none() {
            // The packet was sent about half a round trip ago, and reviews go on since then.
            self.set(flow, self.round_trip / 2, outbox);
        }
    }

    /// Sets the next review: after 1.5 round trips, a quarter more or less, of which some have passed.
    fn set(&mut self, flow: u32, passed: Span, outbox: &mut Outbox) {
        let span = self.round_trip.ps() / 8 * 9 + self.chance.below(self.round_trip.ps() / 4 * 3);
        let at = outbox.now + Span::from_ps((span - passed.ps()).max(1));
        self.next = Some(at);
        outbox.wake(at, flow, End::Receiver);
    }

    fn review(&mut self, at: Time, flow: u32, outbox: &mut Outbox) {
        if self.next != Some(at) {
            return;
        }
        self.next = None;
        let is_quiet = self.packets == 0;
        self.decide();
        if !(is_quiet && self.rate == 1.0) {
            self.set(flow, Span::ZERO, outbox);
        }
    }

    fn decide(&mut self) {
        let whole = self.packets - self.inside - self.at_last;
        let share = if whole > 0 { f64::from(self.marks) / f64::from(whole) } else { 0.0 };
        let mut decreased = self.inside > 0;
        if decreased {
            self.rate -= f64::from(self.inside) / f64::from(self.packets);
        }
        self.marked = (self.marked + share) / 2.0;
        if self.marked > BORNE {
            self.rate *= 1.0 - (self.marked - BORNE) / 2.0;
            decreased = true;
        }
        if decreased {
            self.increases = 0;
        } else {
            let steps = if self.marks == 0 { 1u64 << self.increases.min(32) } else { 1 };
            self.rate += STEP * steps as f64;
            self.increases += 1;
        }
        self.rate = self.rate.clamp(self.least, 1.0);
        (self.packets, self.marks, self.inside, self.at_last) = (0, 0, 0, 0);
    }
}
