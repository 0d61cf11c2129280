//! Hosts: what is known of each address, shared by all domains whose mail goes there.

mod network;

use self::network::Network;
use crate::event::MailHost;
use crate::ids::{DestinationId, HostId, NetworkId};
use crate::moment::Moment;
use crate::policy::Limits;
use crate::table::{ClockHand, Table};
use sojourn_smtp::client::Tls;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// One address that takes mail.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) address: IpAddr,
    pub(crate) network: NetworkId,
    /// Destinations whose mail goes here.
    pub(crate) routed: u32,
    /// All its sessions, and those of them that it has greeted.
    pub(crate) sessions: u32,
    pub(crate) established: u32,
    /// Failures in a row since it last answered a transaction, when the first was, and until when
    /// it is left alone.
    pub(crate) failures: u32,
    pub(crate) first_failure: Moment,
    pub(crate) down_until: Moment,
    /// Sessions that it is given, as far as is known, and the most that one of its destinations may
    /// have.
    allowed: u32,
    most: u32,
    successes: u32,
    /// A number that it refused to exceed, and until when that is believed.
    ceiling: (u32, Moment),
    /// Whether its TLS did not work when it was tried.
    pub(crate) tls_broken: bool,
    /// Whether it broke off a transaction that was begun before the one before it was answered, and
    /// so gets one after the other.
    pub(crate) no_pipelining: bool,
    /// Whether it takes transactions whole, commands and message together (PIPELINING, CHUNKING).
    pub(crate) takes_whole: bool,
    /// Destinations that want a session here.
    pub(crate) line: VecDeque<DestinationId>,
}

/// Whether a host can have one more session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostCapacity {
    Free,
    Full,
    /// It is left alone until this time.
    Down(Moment),
}

/// A host that takes a destination's mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) preference: u16,
    pub(crate) host: HostId,
    pub(crate) name: Arc<str>,
}

/// What stands between a destination and one more session.
#[derive(Debug)]
pub(crate) enum Choice {
    Host(HostId, Arc<str>),
    /// All hosts of the best preference that answers have their limit.
    HostFull(HostId),
    NetworkFull(NetworkId),
    /// Too many sessions wait already for hosts that did not answer last time.
    TooManyProbes,
    /// No host is to be tried before this time.
    Down(Moment),
}

/// All hosts, numbered as they become known; the id of one that is forgotten is given again.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    list: Table<HostId, Host>,
    pub(crate) networks: Table<NetworkId, Network>,
    by_address: BTreeMap<IpAddr, HostId>,
    by_prefix: BTreeMap<IpAddr, NetworkId>,
    free: Vec<HostId>,
    free_networks: Vec<NetworkId>,
    hand: ClockHand,
}

impl Index<HostId> for Hosts {
    type Output = Host;

    fn index(&self, id: HostId) -> &Host {
        &self.list[id]
    }
}

impl IndexMut<HostId> for Hosts {
    fn index_mut(&mut self, id: HostId) -> &mut Host {
        &mut self.list[id]
    }
}

impl Hosts {
    fn find_or_add(&mut self, address: IpAddr, limits: &Limits) -> HostId {
        if let Some(&known) = self.by_address.get(&address) {
            return known;
        }
        self.forget_one(limits.remembered.get());
        let network = *self
            .by_prefix
            .entry(network_of(address))
            .or_insert_with(|| self.networks.place(&mut self.free_networks, Network::new(limits)));
        self.networks[network].hosts += 1;
        let host = Host {
            address,
            network,
            routed: 0,
            sessions: 0,
            established: 0,
            failures: 0,
            first_failure: Moment::ZERO,
            down_until: Moment::ZERO,
            allowed: limits.initial.get(),
            most: limits.destination.get(),
            successes: 0,
            ceiling: (u32::MAX, Moment::ZERO),
            tls_broken: false,
            no_pipelining: false,
            takes_whole: false,
            line: VecDeque::new(),
        };
        let number = self.list.place(&mut self.free, host);
        self.by_address.insert(address, number);
        number
    }

    /// The routes to `hosts`, which are retained from now on: by preference, those of one preference
    /// in the order of their chances (RFC 5321 section 5.1).
    pub(crate) fn route_to(
        &mut self,
        hosts: Vec<MailHost>,
        limits: &Limits,
        chance: impl Fn(u32) -> f64,
    ) -> Vec<Route> {
        let mut ranked: Vec<_> =
            (0..).zip(hosts).map(|(i, it)| (it.preference, chance(i), it)).collect();
        ranked.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut routes: Vec<Route> = Vec::new();
        for (preference, _, MailHost { name, addresses, .. }) in ranked {
            for address in addresses {
                let host = self.find_or_add(address, limits);
                if routes.iter().all(|known| known.host != host) {
                    self.list[host].routed += 1;
                    routes.push(Route { preference, host, name: Arc::clone(&name) });
                }
            }
        }
        routes
    }

    /// A destination's mail does not go this way any more.
    pub(crate) fn release(&mut self, routes: &[Route]) {
        for route in routes {
            self.list[route.host].routed -= 1;
        }
    }

    /// The host for one more session, where `may_probe` says whether one that did not answer last
    /// time may be tried. One of a worse preference is tried only when all better ones do not answer,
    /// never because of this server's limits.
    pub(crate) fn choose(&self, routes: &[Route], may_probe: bool, now: Moment) -> Choice {
        let mut earliest = Moment::NEVER;
        for group in routes.chunk_by(|a, b| a.preference == b.preference) {
            let mut blocked = None;
            for &Route { host: id, ref name, .. } in group {
                let host = &self.list[id];
                let network = &self.networks[host.network];
                match host.room(now) {
                    HostCapacity::Down(until) => earliest = earliest.min(until),
                    HostCapacity::Full => blocked = Some(Choice::HostFull(id)),
                    HostCapacity::Free if network.is_full() => {
                        blocked = Some(Choice::NetworkFull(host.network));
                    }
                    HostCapacity::Free if host.failures > 0 && !may_probe => {
                        blocked.get_or_insert(Choice::TooManyProbes);
                    }
                    HostCapacity::Free => return Choice::Host(id, Arc::clone(name)),
                }
            }
            if let Some(blocked) = blocked {
                return blocked;
            }
        }
        Choice::Down(earliest)
    }

    /// One session more is open with a host.
    pub(crate) fn add_session(&mut self, id: HostId) {
        let host = &mut self.list[id];
        host.sessions += 1;
        self.networks[host.network].sessions += 1;
    }

    /// One less is; whether the host had greeted it, and whether its answer is overdue.
    pub(crate) fn remove_session(&mut self, id: HostId, was_greeted: bool, is_overdue: bool) {
        let host = &mut self.list[id];
        host.sessions -= 1;
        host.established -= u32::from(was_greeted);
        self.networks[host.network].remove_session(is_overdue);
    }

    /// A transaction was answered; whether more sessions fit than before, with the host or in its
    /// network. `named` says whether it was for one recipient alone.
    pub(crate) fn answered(
        &mut self,
        id: HostId,
        now: Moment,
        named: bool,
        limits: &Limits,
    ) -> bool {
        let host = &mut self.list[id];
        let fits = self.networks[host.network].answered(limits);
        host.answered(now, named) || fits
    }

    /// Destinations that want a session in a host's network.
    pub(crate) fn network_line(&mut self, id: HostId) -> &mut VecDeque<DestinationId> {
        &mut self.networks[self.list[id].network].line
    }

    /// Whether one of these takes transactions whole.
    pub(crate) fn takes_whole(&self, routes: &[Route]) -> bool {
        routes.iter().any(|route| self.list[route.host].takes_whole)
    }

    /// Whether another destination than this one wants a session with a host, or in its network.
    pub(crate) fn has_other_in_line(&self, id: HostId, destination: DestinationId) -> bool {
        let host = &self.list[id];
        let lines = host.line.iter().chain(&self.networks[host.network].line);
        lines.into_iter().any(|&other| other != destination)
    }

    /// None is given more sessions than are set now.
    pub(crate) fn set_limits(&mut self, limits: &Limits) {
        self.list.values_mut().for_each(|host| host.set_limits(limits));
        self.networks.values_mut().for_each(|it| it.set_limits(limits));
    }

    /// How many are known.
    pub(crate) fn known(&self) -> usize {
        self.by_address.len()
    }

    /// Forgets one that no mail goes to, where `most` are known.
    fn forget_one(&mut self, most: u32) {
        if self.known() < most as usize {
            return;
        }
        let by_address = &self.by_address;
        let forgotten = self.hand.find(&mut self.list, |it| {
            let at_rest = it.routed == 0 && it.sessions == 0 && it.line.is_empty();
            at_rest && by_address.contains_key(&it.address)
        });
        let Some(number) = forgotten else { return };
        let &Host { address, network, .. } = &self.list[number];
        self.by_address.remove(&address);
        self.free.push(number);
        let near = &mut self.networks[network];
        near.hosts -= 1;
        if near.hosts == 0 {
            self.by_prefix.remove(&network_of(address));
            self.free_networks.push(network);
        }
    }
}

/// The network that an address is in. One customer may have 48 bits of IPv6.
fn network_of(address: IpAddr) -> IpAddr {
    prefix(address, 24, 48)
}

impl Host {
    fn set_limits(&mut self, limits: &Limits) {
        self.most = limits.destination.get();
        self.allowed = self.allowed.min(self.most);
    }

    /// Allows a destination the number of sessions that an operator has set. It gets them at once, unless
    /// its host refused or did not answer.
    pub(crate) fn allow(&mut self, sessions: u32) {
        self.most = self.most.max(sessions);
        if self.failures == 0 && self.ceiling.0 == u32::MAX {
            self.allowed = self.allowed.max(sessions);
        }
    }

    /// How a session with it turns to TLS: what was tried and did not work is not tried again where
    /// it need not.
    pub(crate) fn tls(&self, wanted: Tls) -> Tls {
        if self.tls_broken && wanted == Tls::Opportunistic { Tls::Never } else { wanted }
    }

    /// Whether it can have one more session. A host that did not answer last time is given one
    /// until it answers.
    pub(crate) fn room(&self, now: Moment) -> HostCapacity {
        match self.failures {
            0 if self.sessions < self.allowed => HostCapacity::Free,
            0 => HostCapacity::Full,
            _ if now < self.down_until => HostCapacity::Down(self.down_until),
            _ if self.sessions == 0 => HostCapacity::Free,
            _ => HostCapacity::Full,
        }
    }

    /// A transaction was answered; whether more sessions fit than before.
    fn answered(&mut self, now: Moment, named: bool) -> bool {
        let recovered = std::mem::take(&mut self.failures) > 0;
        self.successes += 1;
        let (ceiling, until) = self.ceiling;
        let most = if now < until { ceiling } else { u32::MAX };
        // One recipient's transaction takes a round trip where texts do not follow each other.
        let enough = if named && !self.takes_whole { 1 } else { self.allowed };
        if self.successes < enough || self.allowed >= most.min(self.most) {
            return recovered;
        }
        self.successes = 0;
        self.allowed += 1;
        true
    }

    /// It refused or dropped a session while it has others: as many as it greeted, and not more.
    pub(crate) fn overloaded(&mut self, now: Moment, limits: &Limits) {
        self.allowed = self.established.clamp(1, self.allowed);
        self.successes = 0;
        self.ceiling = (self.allowed, now + limits.relearn);
    }

    /// It did not answer, and has no other session: it is left alone, and begins
    /// again with one session. How many times in a row.
    pub(crate) fn failed(&mut self, now: Moment) -> u32 {
        if self.failures == 0 {
            self.first_failure = now;
        }
        self.failures += 1;
        self.allowed = 1;
        self.ceiling = (u32::MAX, now);
        self.successes = 0;
        self.failures
    }
}

/// The first bits of an address, of IPv4 or of IPv6. An IPv4 address in the form of IPv6 counts as
/// the former.
pub fn prefix(address: IpAddr, v4_bits: u32, v6_bits: u32) -> IpAddr {
    let after = |width: u32, bits: u32| width.saturating_sub(bits);
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(after(32, v4_bits)).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(after(128, v6_bits)).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Span;
    use sojourn_core::parameters::defaults;

    fn host() -> Host {
        let mut hosts = Hosts::default();
        hosts.find_or_add("192.0.2.1".parse().unwrap(), &defaults());
        hosts.list.into_rows().pop().unwrap()
    }

    #[test]
    fn a_network_has_24_or_48_bits() {
        let limits = defaults();
        let mut hosts = Hosts::default();
        let texts = [
            "192.0.2.1",
            "192.0.2.255",
            "192.0.3.1",
            "2001:db8::1",
            "2001:db8:0:9::",
            "2001:db8:1::",
            "192.0.2.1",
        ];
        let numbers = texts.map(|text| hosts.find_or_add(text.parse().unwrap(), &limits));
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 0].map(HostId));
        let networks: Vec<_> = hosts.list.values().map(|it| it.network).collect();
        assert_eq!(networks, [0, 0, 1, 2, 2, 3].map(NetworkId));
    }

    #[test]
    fn concurrency_grows_with_success_and_stays_below_a_refusal_for_a_while() {
        let (mut host, limits): (_, Limits) = (host(), defaults());
        assert_eq!((0..5).filter(|_| host.answered(Moment::ZERO, false)).count(), 1);
        assert_eq!(host.allowed, 6);
        host.established = 3;
        host.overloaded(Moment::ZERO, &limits);
        (0..1000).for_each(|_| assert!(!host.answered(Moment::ZERO, false)));
        assert_eq!(host.allowed, 3);
        let relearnt = Moment::ZERO + limits.relearn;
        assert_eq!((0..1000).filter(|_| host.answered(relearnt, false)).count(), 17);
        assert_eq!(host.allowed, limits.destination.get());
    }

    #[test]
    fn concurrency_grows_with_each_success_where_a_copy_takes_a_round_trip() {
        for (takes_whole, grown) in [(false, 5), (true, 1)] {
            let mut host = host();
            host.takes_whole = takes_whole;
            assert_eq!((0..5).filter(|_| host.answered(Moment::ZERO, true)).count(), grown);
        }
    }

    #[test]
    fn a_host_that_did_not_answer_is_probed_by_one_session() {
        let mut host = host();
        let (now, later) = (Moment::ZERO, Moment::ZERO + Span::from_s(60));
        assert_eq!(host.failed(now), 1);
        host.down_until = later;
        assert_eq!(
            (host.room(now), host.room(later)),
            (HostCapacity::Down(later), HostCapacity::Free)
        );
        host.sessions = 1;
        assert_eq!(host.room(later), HostCapacity::Full);
        assert!(host.answered(later, false));
        assert_eq!(host.room(later), HostCapacity::Free);
    }
}
