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

/// A recipient domain, and its one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// How many subscribers are there.
    pub subscribers: u32,
    /// Its host.
    pub peer: Peer,
}

/// Reads a file that a study names: its text, or why not.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// A kind of internet.
trait Kind {
    /// Its domains in one replication.
    fn domains(&self, streams: Streams, read: Read<'_>) -> Result<Vec<Domain>, Refusal>;

    /// The domain's number of each subscriber in the order of the list, where that is given.
    fn order(&self, _: &[Domain], _: Read<'_>) -> Result<Option<Vec<u32>>, Refusal> {
        Ok(None)
    }

    /// The names of the files that it reads.
    fn files(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

impl Internet {
    /// Its domains in one replication.
    pub fn domains(&self, streams: Streams, read: Read<'_>) -> Result<Vec<Domain>, Refusal> {
        internet!(self, |params| params.domains(streams, read))
    }

    /// The number of each subscriber's domain among `domains`, in the order of the list, where that
    /// is given.
    pub fn order(&self, domains: &[Domain], read: Read<'_>) -> Result<Option<Vec<u32>>, Refusal> {
        internet!(self, |params| params.order(domains, read))
    }

    /// The names of the files that it reads.
    pub fn files(&mut self) -> Vec<&mut String> {
        internet!(self, |params| params.files())
    }
}

/// How long what name servers say holds.
const LIFETIME: Span = Span::from_s(3600);

impl<W: WorldObserver> World<Met, W> {
    /// A world of these domains around an engine without mail. Every host is in a separate network.
    pub fn of(
        domains: &[Domain],
        streams: Streams,
        engine: Engine,
        machine: Machine,
        observer: W,
    ) -> World<Met, W> {
        let mut world = World::new(engine, machine, observer);
        for (number, domain) in (0..).zip(domains) {
            let address = address(number);
            world.add_host(address, Met::new(domain.peer.clone(), streams, number.into()));
            let say = Say::Hosts(vec![(10, vec![address])]);
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
