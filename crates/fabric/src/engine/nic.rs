//! What a host does between its transports and its link: the time that it takes for each packet, and
//! whose packets it takes when the link is busy.

use super::scenario::Scenario;
use crate::hosts::HostPort;
use sojourn_core::{Light, Span, Time};
use std::collections::VecDeque;

/// How many full packets are before a link when it is the turn of a flow that is held: enough that
/// the link never rests.
const LEFT: u64 = 1;

/// How many packets such a flow sends in its turn, as with the fair queueing of Linux (`quantum` of
/// tc-fq(8)).
pub(super) const QUANTUM: usize = 2;

/// What puts a host's packets on its link. It has several at a time in work, so that what it takes
/// for each keeps the link from no other.
pub(super) struct Nic {
    /// One more than the most picoseconds that a packet takes.
    times: u64,
    chance: Light,
    /// When its last packet arrives at the other end.
    last: Time,
    /// How long the link takes for a full packet; nothing where no transport waits for it.
    full: Option<Span>,
    /// When the link has sent all that it was given, as transports see it.
    busy_until: Time,
    /// When there is room for a flow that is held; never where none is.
    resumes: Time,
    /// Flows that are held, the one whose turn it is first.
    held: VecDeque<u32>,
}

impl Nic {
    /// Of host number `host`.
    pub(super) fn new(scenario: &Scenario, host: usize) -> Nic {
        let full = scenario.network.links[host].spec.rate.span(scenario.largest.into());
        Nic {
            times: scenario.overhead(host).ps() + 1,
            chance: Light::new(scenario.streams.stream("overhead", host as u64)),
            last: Time::ZERO,
            full: (scenario.hosts.port == HostPort::Backpressure).then_some(full),
            busy_until: Time::ZERO,
            resumes: Time::NEVER,
            held: VecDeque::new(),
        }
    }

    /// When the next packet arrives that would arrive at `soonest`: after a time that is evenly
    /// distributed, and after the packet before it.
    #[inline(always)]
    pub(super) fn arrival(&mut self, soonest: Time) -> Time {
        let ready = soonest + Span::from_ps(self.chance.below(self.times));
        self.last = ready.max(self.last + Span::from_ps(1));
        self.last
    }

    /// How many packets a flow may send at `now` whose turn it is not.
    #[inline(always)]
    pub(super) fn room(&self, now: Time) -> usize {
        let Some(full) = self.full else { return usize::MAX };
        let ahead = Span::from_ps(self.busy_until.ps().saturating_sub(now.ps()));
        match self.resumes == Time::NEVER && ahead <= full * (LEFT + 1) {
            true => 1 + usize::from(ahead <= full) + usize::from(ahead == Span::ZERO),
            false => 0,
        }
    }

    /// The link was given a packet at `now` that takes it `span`.
    #[inline(always)]
    pub(super) fn given(&mut self, now: Time, span: Span) {
        if self.full.is_none() {
            return;
        }
        self.busy_until = self.busy_until.max(now) + span;
        if self.resumes != Time::NEVER {
            self.resumes = self.has_room(now);
        }
    }

    /// `flow`, which is not held, would send more at `now`: it is held until it is its turn.
    pub(super) fn hold(&mut self, flow: u32, now: Time) {
        self.held.push_back(flow);
        self.resumes = self.has_room(now);
    }

    /// When it is some flow's turn that is held; never where none is.
    #[inline(always)]
    pub(super) fn resumes(&self) -> Time {
        self.resumes
    }

    /// The flow whose turn it is at `now`, held no longer: the most urgent one; of those that are as
    /// urgent, or where none is, that which has been held longest.
    pub(super) fn resume(&mut self, now: Time, urgency: impl Fn(u32) -> Option<u32>) -> u32 {
        let one = self.held.len() == 1 || urgency(self.held[0]).is_none();
        let most = |held: &VecDeque<u32>| (0..held.len()).min_by_key(|place| urgency(held[*place]));
        let place = if one { Some(0) } else { most(&self.held) };
        let flow = place.and_then(|place| self.held.remove(place)).expect("one is held");
        self.resumes = if self.held.is_empty() { Time::NEVER } else { self.has_room(now) };
        flow
    }

    /// When few enough packets are before the link for one more, at `now` or later.
    #[inline(always)]
    fn has_room(&self, now: Time) -> Time {
        let ahead = self.full.map_or(Span::ZERO, |full| full * LEFT);
        now.max(Time::from_ps(self.busy_until.ps().saturating_sub(ahead.ps())))
    }
}
