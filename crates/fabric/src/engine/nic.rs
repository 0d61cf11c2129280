//! A host's network interface: whose packets it takes when the link is busy, and how late they leave.

use super::scenario::Scenario;
use crate::hosts::HostPort;
use crate::transport::Asked;
use sojourn_core::{Light, Span, Time};
use std::collections::VecDeque;

/// Full packets before a link when a flow [ahead](Asked::Ahead) of it is resumed: enough that the link
/// never rests.
const LEFT: u64 = 1;

/// Packets that such a flow may send, as with the fair queueing of Linux (`quantum` of tc-fq(8)).
const QUANTUM: usize = 2;

/// Later than any run lasts: a host that is stopped has its link busy until then.
const STOPPED: Time = Time::from_ps(1 << 60);

/// When a host with backpressure asks its flows, by what is before its link.
struct Room {
    /// As many packets may go as there are limits above the time that the link needs for what it has.
    limits: [Span; 3],
    /// What may be before the link when a flow that is held is resumed, and the packets that it may
    /// then send.
    left: Span,
    quantum: usize,
}

impl Room {
    /// Of a host that asks as `asked` and whose link takes `full` for a full packet.
    fn new(asked: Asked, full: Span) -> Room {
        let limit = |packets| full * packets + Span::from_ps(1);
        match asked {
            Asked::Ahead => Room {
                limits: [limit(LEFT + 1), limit(1), limit(0)],
                left: full * LEFT,
                quantum: QUANTUM,
            },
            Asked::AtTheLink => {
                Room { limits: [limit(0), Span::ZERO, Span::ZERO], left: Span::ZERO, quantum: 1 }
            }
        }
    }
}

/// A host's network interface: delays each packet by a random time, and says which flow may send when
/// the link is busy. It works on several packets at a time, so that the delay of one does not keep the
/// link from others.
pub(super) struct Nic {
    /// One more than the longest delay of a packet, in picoseconds.
    times: u64,
    chance: Light,
    /// When its last packet arrives at the other end.
    last: Time,
    /// None without backpressure.
    room: Option<Room>,
    /// When the link has sent all that it was given, as transports see it.
    busy_until: Time,
    /// When the link can take a packet of a flow that is held; never where none is.
    resumes: Time,
    /// Flows that are held, the one whose turn it is first.
    held: VecDeque<u32>,
}

impl Nic {
    /// The interface of host number `host`.
    pub(super) fn new(scenario: &Scenario, host: usize, asked: Asked) -> Nic {
        let full = scenario.network.links[host].spec.rate.span(scenario.largest.into());
        let delay = scenario.overhead(host);
        // Where nothing is delayed, what is drawn does not matter, and hosts are many.
        let entity = if delay == Span::ZERO { 0 } else { host as u64 };
        let backpressure = scenario.hosts.port == HostPort::Backpressure;
        Nic {
            times: delay.ps() + 1,
            chance: Light::new(scenario.streams.stream("overhead", entity)),
            last: Time::ZERO,
            room: backpressure.then(|| Room::new(asked, full)),
            busy_until: Time::ZERO,
            resumes: Time::NEVER,
            held: VecDeque::new(),
        }
    }

    /// Arrival time of the next packet, `soonest` without delay: later by a uniform random time, and
    /// after the packet before it.
    #[inline(always)]
    pub(super) fn arrival(&mut self, soonest: Time) -> Time {
        let ready = soonest + Span::from_ps(self.chance.below(self.times));
        self.last = ready.max(self.last + Span::from_ps(1));
        self.last
    }

    /// Packets that a flow which is not being resumed may send at `now`.
    #[inline(always)]
    pub(super) fn capacity(&self, now: Time) -> usize {
        let Some(room) = &self.room else { return usize::MAX };
        if self.resumes != Time::NEVER {
            return 0;
        }
        let ahead = Span::from_ps(self.busy_until.ps().saturating_sub(now.ps()));
        room.limits.iter().map(|&limit| usize::from(ahead < limit)).sum()
    }

    /// Packets that a flow may send which is being resumed.
    pub(super) fn quantum(&self) -> usize {
        self.room.as_ref().map_or(usize::MAX, |room| room.quantum)
    }

    /// Counts a packet that the link was given at `now`, whose transmission takes `span`.
    #[inline(always)]
    pub(super) fn given(&mut self, now: Time, span: Span) {
        if self.room.is_none() {
            return;
        }
        self.busy_until = self.busy_until.max(now) + span;
        if self.resumes != Time::NEVER {
            self.resumes = self.has_room(now);
        }
    }

    /// Holds `flow`, which would send more at `now`, until it is resumed.
    pub(super) fn hold(&mut self, flow: u32, now: Time) {
        self.held.push_back(flow);
        self.resumes = self.has_room(now);
    }

    /// When the next held flow is resumed; never where none is held.
    #[inline(always)]
    pub(super) fn resumes(&self) -> Time {
        self.resumes
    }

    /// Resumes a flow at `now` and returns it: the most urgent one, and of equally urgent ones the one
    /// held longest.
    pub(super) fn resume(&mut self, now: Time, urgency: impl Fn(u32) -> Option<u32>) -> u32 {
        let one = self.held.len() == 1 || urgency(self.held[0]).is_none();
        let most = |held: &VecDeque<u32>| (0..held.len()).min_by_key(|place| urgency(held[*place]));
        let flow = match one {
            true => self.held.pop_front(),
            false => most(&self.held).and_then(|place| self.held.remove(place)),
        };
        let flow = flow.expect("a host that is asked holds a flow");
        self.resumes = if self.held.is_empty() { Time::NEVER } else { self.has_room(now) };
        flow
    }

    /// Has no flow send while the port is stopped: as if the link had all that it can ever send.
    pub(super) fn stop(&mut self) {
        self.busy_until = STOPPED;
        if self.resumes != Time::NEVER {
            self.resumes = STOPPED;
        }
    }

    /// Has flows send again at `now`; the link takes until `busy_until` for what waits before it.
    pub(super) fn go_on(&mut self, now: Time, busy_until: Time) {
        self.busy_until = busy_until;
        if self.resumes != Time::NEVER {
            self.resumes = self.has_room(now);
        }
    }

    /// When few enough packets are before the link for one more, at `now` or later.
    #[inline(always)]
    fn has_room(&self, now: Time) -> Time {
        let left = self.room.as_ref().map_or(Span::ZERO, |room| room.left);
        now.max(Time::from_ps(self.busy_until.ps().saturating_sub(left.ps())))
    }
}
