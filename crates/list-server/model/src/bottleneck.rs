//! What may hold delivery back, and a case without it.

use crate::internet::{Domain, Peer};
use crate::world::Machine;
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, choices};
use sojourn_mail_engine::Config;
use sojourn_mail_engine::policy::{SplitKind, split};
use std::num::NonZeroU32;

choices! {
    /// What may hold delivery back. Taking it away, with everything else as it was and every host's
    /// draws the same, says by how much it does.
    pub enum Cause: "cause of delay" {
        /// Nothing is taken away.
        Nothing = "nothing",
        /// Hosts that are out, for a while or for good.
        DeadHosts = "dead-hosts",
        /// Greylists.
        Greylists = "greylists",
        /// Hosts that are slower, or farther, than that of the median subscriber: they are like it.
        SlowHosts = "slow-hosts",
        /// Limits that this server sets itself on one destination: sessions of a destination, and
        /// the table of limits of single domains, hosts and providers.
        HostLimits = "host-limits",
        /// Limits of hosts and providers, which refuse what is more: sessions at a time, recipients
        /// in a minute and in a transaction.
        ProviderLimits = "provider-limits",
        /// Slots: limits on sessions in all and of a network, and envelopes that hold more than one
        /// destination, which are served one after the other.
        Slots = "slots",
        /// Writes to the disk, which take no time then.
        Disk = "disk",
        /// The processor and the line.
        Machine = "machine",
        /// The time that name servers take for an answer.
        Dns = "dns",
        /// All of these.
        Everything = "everything",
    }
}

/// The causes that can be taken away alone.
const ALONE: [Cause; 9] = [
    Cause::DeadHosts,
    Cause::Greylists,
    Cause::SlowHosts,
    Cause::HostLimits,
    Cause::ProviderLimits,
    Cause::Slots,
    Cause::Disk,
    Cause::Machine,
    Cause::Dns,
];

/// More sessions than there are recipients.
const NO_LIMIT: NonZeroU32 = NonZeroU32::MAX;

/// What a cause is taken away from.
pub(super) struct Parts {
    pub(super) domains: Vec<Domain>,
    pub(super) policy: Config,
    pub(super) machine: Machine,
}

impl Cause {
    /// Takes it away.
    pub(super) fn remove(self, parts: &mut Parts) {
        let Parts { domains, policy, machine } = parts;
        let peers = domains.iter_mut().map(|domain| &mut domain.peer);
        match self {
            Cause::Nothing => {}
            Cause::DeadHosts => peers.for_each(|peer| peer.down = 0.0),
            Cause::Greylists => peers.for_each(|peer| peer.greylisting = None),
            Cause::SlowHosts => {
                let reply = median(domains, |peer| peer.reply);
                let round_trip = median(domains, |peer| peer.round_trip);
                for Domain { peer, .. } in domains {
                    peer.reply = peer.reply.min(reply);
                    peer.round_trip = peer.round_trip.min(round_trip);
                }
            }
            Cause::HostLimits => {
                (policy.limits.destination, policy.limits.initial) = (NO_LIMIT, NO_LIMIT);
                policy.domain.clear();
            }
            Cause::ProviderLimits => peers.for_each(|peer| {
                (peer.sessions, peer.per_minute, peer.recipients) = (None, None, None);
            }),
            Cause::Slots => {
                (policy.limits.sessions, policy.limits.network) = (NO_LIMIT, NO_LIMIT);
                if matches!(
                    policy.split,
                    SplitKind::Whole(_) | SplitKind::Chunks(_) | SplitKind::Dealt(_)
                ) {
                    policy.split = SplitKind::ByDestination(defaults::<split::ByDestination>());
                }
            }
            Cause::Disk => machine.write = Span::ZERO,
            Cause::Machine => (machine.work, machine.line) = (Span::ZERO, None),
            Cause::Dns => peers.for_each(|peer| peer.names = Span::ZERO),
            Cause::Everything => ALONE.iter().for_each(|cause| cause.remove(parts)),
        }
    }
}

/// A time of the host of the median subscriber.
fn median(domains: &[Domain], of: impl Fn(&Peer) -> Span) -> Span {
    let mut times: Vec<(Span, u64)> =
        domains.iter().map(|it| (of(&it.peer), it.subscribers.into())).collect();
    times.sort_unstable();
    let half = times.iter().map(|time| time.1).sum::<u64>().div_ceil(2);
    let mut below = 0;
    let middle = times.iter().find(|time| {
        below += time.1;
        below >= half
    });
    middle.expect("a list has subscribers").0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use sojourn_mail_engine::policy::split::Chunks;

    fn parts() -> Parts {
        let domain = |name: &str, subscribers, reply| Domain {
            name: name.into(),
            subscribers,
            peer: Peer {
                reply: Span::from_ms(reply),
                down: 0.1,
                per_minute: NonZeroU32::new(5),
                ..defaults()
            },
            provider: None,
        };
        let domains = vec![domain("a", 1, 900), domain("b", 5, 30), domain("c", 2, 10)];
        let chunks = SplitKind::Chunks(defaults::<Chunks>());
        let policy = Config { split: chunks, ..Policy::default().0 };
        Parts { domains, policy, machine: defaults() }
    }

    #[test]
    fn slow_hosts_become_like_that_of_the_median_subscriber() {
        let mut parts = parts();
        Cause::SlowHosts.remove(&mut parts);
        let replies = parts.domains.iter().map(|it| it.peer.reply);
        assert_eq!(replies.collect::<Vec<_>>(), [30, 30, 10].map(Span::from_ms));
        assert!(parts.domains.iter().all(|it| it.peer.down == 0.1));
    }

    #[test]
    fn slots_are_sessions_and_shared_envelopes() {
        let mut parts = parts();
        Cause::Slots.remove(&mut parts);
        assert_eq!(parts.policy.limits.sessions, NO_LIMIT);
        assert_eq!(parts.policy.limits.destination, Policy::default().0.limits.destination);
        assert!(matches!(parts.policy.split, SplitKind::ByDestination(_)));
    }

    #[test]
    fn limits_are_ours_or_the_providers() {
        let (mut ours, mut theirs) = (parts(), parts());
        Cause::HostLimits.remove(&mut ours);
        Cause::ProviderLimits.remove(&mut theirs);
        let limits = |parts: &Parts| {
            let peer = &parts.domains[0].peer;
            (peer.per_minute.is_some(), parts.policy.limits.destination == NO_LIMIT)
        };
        assert_eq!((limits(&ours), limits(&theirs)), ((true, true), (false, false)));
    }

    #[test]
    fn everything_is_each_of_them() {
        let mut parts = parts();
        Cause::Everything.remove(&mut parts);
        assert!(parts.domains.iter().all(|it| it.peer.down == 0.0 && it.peer.names == Span::ZERO));
        assert_eq!(parts.policy.limits.initial, NO_LIMIT);
        assert!(parts.domains.iter().all(|it| it.peer.per_minute.is_none()));
        assert_eq!((parts.machine.write, parts.machine.line), (Span::ZERO, None));
    }
}
