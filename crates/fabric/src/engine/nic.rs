//! What a host does between its transports and its link: the time that it takes for each packet, and
//! whose packets it takes when the link is busy.

use super::scene::Scene;
use crate::hosts::HostPort;
use sojourn_kernel::{Ahead, Span, Time};
use std::collections::VecDeque;

/// How many full packets may be before a link when one more is taken: enough that it never rests.
const AHEAD: u64 = 2;

/// What puts a host's packets on its link. It has several at a time in work, so that what it takes
/// for each keeps the link from no other.
pub(super) struct Nic {
    /// One more than the most picoseconds that a packet takes.
    times: u64,
    chance: Ahead,
    /// When its last packet arrives at the other end.
    last: Time,
    /// How long the link takes for a full packet; nothing where no transport waits for it.
    full: Option<Span>,
    /// When the link has sent all that it was given, as transports see it.
    busy_until: Time,
    /// Flows that are held, the one whose turn it is first, and whether one is to be resumed.
    held: VecDeque<u32>,
    resumes: bool,
}

impl Nic {
    /// Of host number `host`.
    pub(super) fn new(scene: &Scene, host: usize) -> Nic {
        let full = scene.network.links[host].spec.rate.span(scene.largest.into());
        Nic {
            times: scene.overhead(host).ps() + 1,
            chance: Ahead::new(scene.streams.stream("overhead", host as u64)),
            last: Time::ZERO,
            full: (scene.hosts.port == HostPort::Backpressure).then_some(full),
            busy_until: Time::ZERO,
            held: VecDeque::new(),
            resumes: false,
        }
    }

    /// When the next packet arrives that would arrive at `soonest`: after a time that is evenly
    /// distributed, and after the packet before it.
    #[inline]
    pub(super) fn arrival(&mut self, soonest: Time) -> Time {
        let ready = soonest + Span::from_ps(self.chance.below(self.times));
        self.last = ready.max(self.last + Span::from_ps(1));
        self.last
    }

    /// How many packets a flow may send at `now` whose turn it is not; none is for any number.
    #[inline]
    pub(super) fn room(&self, now: Time) -> Option<usize> {
        let full = self.full?;
        if !self.held.is_empty() {
            return Some(0);
        }
        let takes = |ahead: &u64| self.busy_until <= now + full * *ahead;
        Some((0..=AHEAD).rev().take_while(takes).count())
    }

    /// The link was given a packet at `now` that takes it `span`.
    #[inline]
    pub(super) fn given(&mut self, now: Time, span: Span) {
        if self.full.is_some() {
            self.busy_until = self.busy_until.max(now) + span;
        }
    }

    /// `flow` would send more: it is held until it is its turn.
    pub(super) fn hold(&mut self, flow: u32) {
        if !self.held.contains(&flow) {
            self.held.push_back(flow);
        }
    }

    /// When there is room for one that is held, if one is and that was not asked yet.
    #[inline]
    pub(super) fn resume_at(&mut self, now: Time) -> Option<Time> {
        if self.held.is_empty() || std::mem::replace(&mut self.resumes, true) {
            return None;
        }
        let ahead = self.full.map_or(Span::ZERO, |full| full * AHEAD);
        Some(now.max(Time::from_ps(self.busy_until.ps().saturating_sub(ahead.ps()))))
    }

    /// The flow whose turn it is: the most urgent one; of those that are as urgent, or where none is,
    /// that which has been held longest.
    pub(super) fn resume(&mut self, urgency: impl Fn(u32) -> Option<u32>) -> u32 {
        self.resumes = false;
        let first = self.held.front().copied().expect("one is held");
        if self.held.len() == 1 || urgency(first).is_none() {
            return self.held.pop_front().expect("one is held");
        }
        let places = 0..self.held.len();
        let best = places.min_by_key(|&place| urgency(self.held[place])).expect("one is held");
        self.held.remove(best).expect("it is held")
    }
}
