//! Internets that a list sends to: domains, how many subscribers each has, and how their hosts are.

mod drawn;
mod listed;
mod outages;
mod peer;

pub use drawn::{In1997, Office, Today};
pub use listed::Listed;
pub use peer::{Met, Peer, Way};

use crate::world::{Machine, Names, Say, World, WorldObserver};
use sojourn_core::parameters::Refusal;
use sojourn_core::{Span, Streams, variants};
use sojourn_mail_engine::Engine;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

variants! {
    /// An internet.
    pub enum Internet: "kind of internet" => internet {
        Today(Today),
        In1997(In1997),
        Office(Office),
        Listed(Listed),
    }
}

/// A recipient domain, and its one host, which it shares with the domains of the same provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// How many subscribers are there.
    pub subscribers: u32,
    /// Its host.
    pub peer: Peer,
    /// The registered domain of who runs the host; without one, the domain has a host alone.
    pub provider: Option<String>,
}

/// A kind of internet.
trait Kind {
    /// Its domains in one replication.
    fn domains(&self, streams: Streams) -> Result<Vec<Domain>, Refusal>;

    /// The domain's number of each subscriber in the order of the list, where that is given.
    fn order(&self, _: &[Domain]) -> Result<Option<Vec<u32>>, Refusal> {
        Ok(None)
    }
}

impl Internet {
    /// Its domains in one replication.
    pub fn domains(&self, streams: Streams) -> Result<Vec<Domain>, Refusal> {
        internet!(self, |params| params.domains(streams))
    }

    /// The number of each subscriber's domain among `domains`, in the order of the list, where that
    /// is given.
    pub fn order(&self, domains: &[Domain]) -> Result<Option<Vec<u32>>, Refusal> {
        internet!(self, |params| params.order(domains))
    }
}

/// How long what name servers say holds.
const LIFETIME: Span = Span::from_s(3600);

impl<W: WorldObserver> World<Met, W> {
    /// A world of these domains around an engine without mail. Every host is in a separate network;
    /// that of a provider is like the one of its first domain.
    pub fn of(
        domains: &[Domain],
        streams: Streams,
        engine: Engine,
        machine: Machine,
        observer: W,
    ) -> World<Met, W> {
        let mut world = World::new(engine, machine, observer);
        let mut shared: BTreeMap<&str, IpAddr> = BTreeMap::new();
        for (number, domain) in (0..).zip(domains) {
            let own = address(number);
            let provider = domain.provider.as_deref();
            let address = provider.map_or(own, |name| *shared.entry(name).or_insert(own));
            if address == own {
                world.add_host(own, Met::new(domain.peer.clone(), streams, number.into()));
            }
            let say = match provider {
                Some(name) => Say::Provider(name.into(), address),
                None => Say::Hosts(vec![(10, vec![address])]),
            };
            world.add_names(
                &domain.name,
                Names { takes: domain.peer.names, lifetime: LIFETIME, say },
            );
        }
        world
    }
}

/// The address of the `number`-th host: the first of a network of 256.
fn address(number: u32) -> IpAddr {
    Ipv4Addr::from(0x0100_0001 + (number << 8)).into()
}
