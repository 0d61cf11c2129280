//! Between a host's port and its link: the time that the host takes for each packet.

use super::scene::Scene;
use sojourn_kernel::{Ahead, Span, Time};

/// The card that puts a host's packets on its link. It has several at a time in work, so that the
/// time it takes for each never keeps the link from the others.
pub(super) struct Nic {
    /// One more than the most picoseconds that a packet takes.
    times: u64,
    chance: Ahead,
    /// When all that it was given has left.
    free: Time,
}

impl Nic {
    /// Of host number `host`.
    pub(super) fn new(scene: &Scene, host: usize) -> Nic {
        let link = scene.network.links[host].spec;
        Nic {
            times: scene.hosts.longest(link, scene.largest).ps() + 1,
            chance: Ahead::new(scene.streams.stream("overhead", host as u64)),
            free: Time::ZERO,
        }
    }

    /// How long after `now`, when the port sends it, a packet begins to leave that takes `span`.
    #[inline]
    pub(super) fn delay(&mut self, now: Time, span: Span) -> Span {
        let ready = now + Span::from_ps(self.chance.below(self.times));
        let begins = ready.max(self.free);
        self.free = begins + span;
        begins - now
    }
}
