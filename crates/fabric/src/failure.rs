//! Links that fail: wholly, in part, or now and then a packet.

use crate::convergence::{Convergence, Outage};
use crate::topology::Network;
use sojourn_core::parameters::{Check, Refusal, Setting, Shape, Value};
use sojourn_core::{Span, Stream, Streams, Time, nested, parameters};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

parameters! {
    /// Links that fail. What is sent over a link that is down is lost, until routes know and leave it out.
    /// Flows have the ideal times of the whole fabric.
    pub struct Failure: "failure" {
        /// The links between two neighbours: "2.0 > 1.3", from switch 0 of tier 2 to switch 3 of tier 1,
        /// that way alone, or "2.0 - 1.3", both ways. Tier 0 are the switches with hosts, and a host
        /// is "host 5". Switches of a tier are counted in the order of the topology's.
        pub link: Option<Links>,
        /// All links of a switch, both ways: "1.3".
        pub switch: Option<Node>,
        /// So many cables between switches, both ways, drawn for each replication.
        pub random: Option<u32>,
        /// The share of its speed that a link still has; 0 for one that is down, which takes packets
        /// and loses them.
        pub capacity: f64 [0.0..=1.0] = 1.0,
        /// The share of packets that is lost, each at random.
        pub loss: f64 [0.0..=1.0] = 0.0,
        /// When it begins.
        pub from: Span = Span::ZERO,
        /// When it is over; never by default.
        pub until: Option<Span> = None,
        /// How long after a link begins to fail routes leave its cable out, and after its end take it in
        /// again; never by default, as in uet-htsim. With 0s hardly any packet is lost. The longer it is,
        /// the longer flows wait that cannot change their path themselves. A flow that is left without a
        /// route for good ends there, unfinished.
        pub known_after: Option<Span> = None,
    }
}
nested!(Failure);

impl Check for Failure {
    fn check(&self) -> Result<(), Refusal> {
        let named = [self.link.is_some(), self.switch.is_some(), self.random.is_some()];
        if named.into_iter().filter(|&named| named).count() != 1 {
            let names = named.iter().filter(|&&named| named).count();
            let given = Value::Text(format!("{names} of link, switch and random"));
            return Err(Refusal::value(&given, "one of them"));
        }
        if self.capacity == 1.0 && self.loss == 0.0 {
            let expected = "less than 1, or a loss beside it: nothing fails otherwise";
            return Err(Refusal::of(&self.capacity, expected).under("capacity"));
        }
        match self.until.filter(|until| *until <= self.from) {
            Some(until) => {
                let expected = format!("a time after from, {}", self.from);
                Err(Refusal::of(&until, expected).under("until"))
            }
            None => Ok(()),
        }
    }
}

/// A node of a fabric, as a study names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A host by its number.
    Host(u32),
    /// A switch by its tier, and its place there.
    Switch {
        /// How many switches are between it and the nearest host.
        tier: u32,
        /// Its place among the switches of that tier.
        place: u32,
    },
}

impl FromStr for Node {
    type Err = ();

    fn from_str(text: &str) -> Result<Node, ()> {
        let number = |text: &str| text.trim().parse().map_err(|_| ());
        if let Some(host) = text.trim().strip_prefix("host ") {
            return Ok(Node::Host(number(host)?));
        }
        let (tier, place) = text.split_once('.').ok_or(())?;
        Ok(Node::Switch { tier: number(tier)?, place: number(place)? })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Host(host) => write!(f, "host {host}"),
            Node::Switch { tier, place } => write!(f, "{tier}.{place}"),
        }
    }
}

/// The links between two nodes, one way or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Links {
    from: Node,
    to: Node,
    both_ways: bool,
}

impl FromStr for Links {
    type Err = ();

    fn from_str(text: &str) -> Result<Links, ()> {
        let both_ways = !text.contains('>');
        let (from, to) = text.split_once(if both_ways { '-' } else { '>' }).ok_or(())?;
        Ok(Links { from: from.parse()?, to: to.parse()?, both_ways })
    }
}

impl fmt::Display for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Links { from, to, both_ways } = self;
        write!(f, "{from} {} {to}", if *both_ways { "-" } else { ">" })
    }
}

/// Declares that a study names such a thing by a text.
macro_rules! named {
    ($type:ty, $expected:literal) => {
        impl Setting for $type {
            fn expected() -> String {
                $expected.to_owned()
            }

            fn shape() -> Shape {
                Shape::Text(None)
            }

            fn read(value: &Value) -> Result<$type, Refusal> {
                let read = match value {
                    Value::Text(text) => text.parse().ok(),
                    _ => None,
                };
                read.ok_or_else(|| Refusal::value(value, Self::expected()))
            }

            fn write(&self) -> Option<Value> {
                Some(Value::Text(self.to_string()))
            }
        }
    };
}

named!(Node, "a switch by its tier and place, such as \"1.3\"");
named!(Links, "two neighbours, such as \"2.0 > 1.3\", \"2.0 - 1.3\" or \"0.1 > host 5\"");

/// What fails on one link, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Episode {
    from: Time,
    until: Time,
    capacity: f64,
    loss: f64,
}

/// A link that fails at times.
#[derive(Clone, Debug)]
pub(crate) struct Fails {
    episodes: Box<[Episode]>,
    chance: Stream,
}

impl Fails {
    /// How long a packet takes the link, which it begins to cross at `at` and would take for `whole`; nothing
    /// where it is lost. Episodes at one time add up.
    pub(crate) fn slowed(&mut self, whole: Span, at: Time) -> Option<Span> {
        let now = self.episodes.iter().filter(|own| (own.from..own.until).contains(&at));
        let (capacity, kept) = now.fold((1.0, 1.0), |(capacity, kept), episode| {
            (capacity * episode.capacity, kept * (1.0 - episode.loss))
        });
        if capacity == 0.0 || kept < 1.0 && self.chance.uniform() >= kept {
            return None;
        }
        Some(Span::from_ps((whole.ps() as f64 / capacity).round() as u64))
    }
}

/// The links that fail, and how routes learn of it.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    /// The episodes, by the ports that send on the links.
    episodes: BTreeMap<u32, Vec<Episode>>,
    convergence: Convergence,
}

impl Failures {
    /// What `failures` are in `network`; those at random are drawn from `streams`.
    pub(crate) fn of(
        failures: &[Failure],
        network: &Network,
        streams: Streams,
    ) -> Result<Failures, Refusal> {
        let (mut all, mut outages) = (BTreeMap::<u32, Vec<Episode>>::new(), Vec::new());
        for (nth, failure) in (0..).zip(failures) {
            let episode = Episode {
                from: Time::ZERO + failure.from,
                until: failure.until.map_or(Time::NEVER, |until| Time::ZERO + until),
                capacity: failure.capacity,
                loss: failure.loss,
            };
            let ports = failure.ports(network, streams, nth)?;
            for &port in &ports {
                all.entry(port).or_default().push(episode);
            }
            if let Some(delay) = failure.known_after {
                let known = |at: Time| if at == Time::NEVER { at } else { at + delay };
                let known = known(episode.from)..known(episode.until);
                let are_dead = failure.capacity == 0.0 || failure.loss == 1.0;
                outages.push(Outage { known, ports, are_dead });
            }
        }
        Ok(Failures { episodes: all, convergence: Convergence::of(&outages, network) })
    }

    /// What fails on the link that `port` sends on, if anything does; `chance` says which packets are lost.
    pub(crate) fn on(&self, port: u32, chance: impl FnOnce() -> Stream) -> Option<Fails> {
        let episodes = self.at(port);
        (!episodes.is_empty()).then(|| Fails { episodes: episodes.into(), chance: chance() })
    }

    /// The episodes of the link that `port` sends on.
    fn at(&self, port: u32) -> &[Episode] {
        self.episodes.get(&port).map_or(&[], Vec::as_slice)
    }

    /// How routes change.
    pub(crate) fn convergence(&self) -> &Convergence {
        &self.convergence
    }

    /// Whether nothing fails.
    pub(crate) fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// The ports whose links fail, each with the least share of its speed that it may have, 0 aside.
    pub(crate) fn least(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.episodes.iter().map(|(&port, episodes)| {
            let shares = episodes.iter().map(|episode| episode.capacity);
            (port, shares.filter(|&share| share > 0.0).product())
        })
    }

    /// The share of its speed that the link of `port` has all the time.
    pub(crate) fn always(&self, port: u32) -> f64 {
        let lasting = |e: &&Episode| e.from == Time::ZERO && e.until == Time::NEVER;
        let shares = self.at(port).iter().filter(lasting).map(|episode| episode.capacity);
        shares.product()
    }
}

impl Failure {
    /// The ports that send on the links that fail.
    fn ports(&self, network: &Network, streams: Streams, nth: u64) -> Result<Vec<u32>, Refusal> {
        if let Some(links) = self.link {
            return links.ports(network).map_err(|refusal| refusal.under("link"));
        }
        if let Some(node) = self.switch {
            let switch = node.of(network).map_err(|refusal| refusal.under("switch"))?;
            let Some(switch) = (switch as usize).checked_sub(network.hosts) else {
                return Err(Refusal::of(&node, "a switch").under("switch"));
            };
            let own = network.ports_of(switch).map(|port| port as u32);
            return Ok(own.flat_map(|port| [port, network.far_end(port)]).collect());
        }
        let count = self.random.expect("one of three is given") as usize;
        let between = network.hosts as u32..network.links.len() as u32;
        let mut cables: Vec<u32> = between.filter(|&port| network.far_end(port) > port).collect();
        if count > cables.len() {
            let expected = format!("at most {}, the cables between switches", cables.len());
            return Err(Refusal::of(&(count as u32), expected).under("random"));
        }
        let mut stream = streams.stream("failures", nth);
        for place in 0..count {
            let other = place + stream.below((cables.len() - place) as u64) as usize;
            cables.swap(place, other);
        }
        Ok(cables[..count].iter().flat_map(|&port| [port, network.far_end(port)]).collect())
    }
}

impl Node {
    /// Its number in `network`.
    fn of(self, network: &Network) -> Result<u32, Refusal> {
        let (number, expected) = match self {
            Node::Host(host) => {
                let known = (host as usize) < network.hosts;
                (known.then_some(host), format!("at most {} for a host", network.hosts - 1))
            }
            Node::Switch { tier, place } => {
                let tiers = network.tiers();
                let of_tier = |&switch: &usize| tiers[switch] == tier;
                let mut switches = (0..network.switches).filter(of_tier);
                let count = switches.clone().count();
                let switch = switches.nth(place as usize);
                let highest = tiers.iter().max().copied().unwrap_or_default();
                let expected = match count {
                    0 => format!("a tier from 0 to {highest}"),
                    _ => format!("a place below {count} in tier {tier}"),
                };
                (switch.map(|switch| (network.hosts + switch) as u32), expected)
            }
        };
        number.ok_or_else(|| Refusal::of(&self, expected))
    }
}

impl Links {
    fn ports(self, network: &Network) -> Result<Vec<u32>, Refusal> {
        let (from, to) = (self.from.of(network)?, self.to.of(network)?);
        let ports = |from: u32, to: u32| {
            let is_it = move |link: &crate::topology::Link| link.from == from && link.to == to;
            (0..).zip(&network.links).filter(move |(_, link)| is_it(link)).map(|(port, _)| port)
        };
        let mut all: Vec<u32> = ports(from, to).collect();
        if all.is_empty() {
            return Err(Refusal::of(&self, "two nodes with a link between them"));
        }
        if self.both_ways {
            all.extend(ports(to, from));
        }
        Ok(all)
    }
}
