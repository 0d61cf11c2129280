//! The graph of a fabric: what a topology lays, and what one replication draws of it.

use super::Network;
use sojourn_core::{Rate, Span, Streams, choices};

choices! {
    /// When a switch may send a packet on.
    pub enum Forwarding: "forwarding" {
        /// Once it is there whole.
        StoreAndForward = "store-and-forward",
        /// Once its first bytes are there, as many as the smallest packet has, if it came by a link
        /// that no port of the switch is faster than. Queues take it whole at that moment.
        CutThrough = "cut-through",
    }
}

/// How fast and how long a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bits per second, each way.
    pub rate: Rate,
    /// Propagation, each way.
    pub delay: Span,
}

/// Hosts with one link each, switches, and the links between switches, as a topology lays them.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) switches: usize,
    pub(super) hosts: Vec<(usize, LinkSpec)>,
    pub(super) cables: Vec<(usize, usize, LinkSpec)>,
    spread: Span,
    clocks: Ppm,
    forwarding: Forwarding,
}

/// How far clocks may be off, in millionths.
pub type Ppm = u32;

/// More than this no link is off: IEEE 802.3 allows 100 millionths.
pub(super) const MOST_PPM: Ppm = 1000;

impl Graph {
    /// `switches` switches, nothing connected yet.
    pub fn new(switches: usize) -> Graph {
        Graph {
            switches,
            hosts: Vec::new(),
            cables: Vec::new(),
            spread: Span::ZERO,
            clocks: 0,
            forwarding: Forwarding::StoreAndForward,
        }
    }

    /// Hangs the next host on `switch`.
    pub fn host(&mut self, switch: usize, link: LinkSpec) {
        self.hosts.push((switch, link));
    }

    /// Connects two switches; several cables between the same two are parallel links.
    pub fn cable(&mut self, a: usize, b: usize, link: LinkSpec) {
        self.cables.push((a, b, link));
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The link of each host.
    pub fn nics(&self) -> impl Iterator<Item = LinkSpec> + '_ {
        self.hosts.iter().map(|&(_, link)| link)
    }

    /// All links, each way counted once.
    pub fn links(&self) -> impl Iterator<Item = LinkSpec> + '_ {
        self.nics().chain(self.cables.iter().map(|&(_, _, link)| link))
    }

    /// The speeds of the ports of each switch.
    pub fn ports(&self) -> Vec<Vec<Rate>> {
        let mut ports = vec![Vec::new(); self.switches];
        for &(switch, link) in &self.hosts {
            ports[switch].push(link.rate);
        }
        for &(a, b, link) in &self.cables {
            ports[a].push(link.rate);
            ports[b].push(link.rate);
        }
        ports
    }

    /// The links from switches that hosts hang on to other switches, each end that such a switch
    /// has counted.
    pub fn uplinks(&self) -> impl Iterator<Item = LinkSpec> + '_ {
        let edges: Vec<bool> = self.edges().collect();
        let ends = self.cables.iter().flat_map(|&(a, b, link)| [(a, link), (b, link)]);
        ends.filter(move |&(switch, _)| edges[switch]).map(|(_, link)| link)
    }

    /// Whether hosts hang on each switch.
    pub fn edges(&self) -> impl Iterator<Item = bool> + use<> {
        self.on_each().into_iter().map(|hosts| hosts > 0)
    }

    /// The probability that two different hosts, chosen evenly, hang on different switches.
    pub fn share_between_racks(&self) -> f64 {
        let all = self.hosts.len() as f64;
        let inside = self.on_each().into_iter().map(|hosts| hosts as f64 * (hosts as f64 - 1.0));
        1.0 - inside.sum::<f64>() / (all * (all - 1.0))
    }

    /// How many hosts hang on each switch.
    fn on_each(&self) -> Vec<u32> {
        let mut hosts = vec![0; self.switches];
        for &(switch, _) in &self.hosts {
            hosts[switch] += 1;
        }
        hosts
    }

    /// Adds up to `spread` to the propagation of each host's link, drawn evenly, when the fabric is
    /// [made ready](Graph::drawn).
    pub fn spread_hosts(&mut self, spread: Span) {
        self.spread = spread;
    }

    /// Lets the clock that each host's link runs by be off by up to `clocks`, drawn evenly.
    pub fn drift_hosts(&mut self, clocks: Ppm) {
        self.clocks = clocks;
    }

    /// The graph with switches that send packets on in this way.
    pub fn forwarding(self, forwarding: Forwarding) -> Graph {
        Graph { forwarding, ..self }
    }

    /// How fast a link into each switch must be for packets to be cut through: as its fastest port,
    /// but for clocks that are off. None where switches wait for whole packets.
    pub(super) fn cutting(&self) -> Vec<Option<Rate>> {
        let cuts = self.forwarding == Forwarding::CutThrough;
        let enough = |ports: Vec<Rate>| {
            let fastest = ports.into_iter().max().filter(|_| cuts)?;
            Some(ticking(fastest, MOST_PPM, 0))
        };
        self.ports().into_iter().map(enough).collect()
    }

    /// A host's link as far and as slow as it may be drawn.
    pub fn farthest(&self, link: LinkSpec) -> LinkSpec {
        LinkSpec {
            rate: ticking(link.rate, self.clocks, 0),
            delay: link.delay.saturating_add(self.spread),
        }
    }

    /// The graph with each host's link as one replication draws it.
    pub fn drawn(&self, streams: Streams) -> Graph {
        let mut graph = Graph { spread: Span::ZERO, clocks: 0, ..self.clone() };
        for (host, (_, link)) in (0..).zip(&mut graph.hosts) {
            let mut stream = streams.stream("host-delays", host);
            link.delay += Span::from_ps(stream.below(self.spread.ps() + 1));
            if self.clocks > 0 {
                let mut stream = streams.stream("host-clocks", host);
                let off = off(link.rate, self.clocks);
                link.rate = ticking(link.rate, self.clocks, stream.below(2 * off + 1));
            }
        }
        graph
    }

    /// Numbers the ports and finds the shortest paths. Panics when a host cannot reach another or a
    /// switch has over [`MAX_PORTS`](crate::packet::MAX_PORTS) ports: topologies check their
    /// parameters before.
    pub fn network(&self) -> Network {
        Network::new(self)
    }
}

/// Bits per second that `clocks` make of `rate`.
fn off(rate: Rate, clocks: Ppm) -> u64 {
    rate.bits_per_second() / 1_000_000 * u64::from(clocks)
}

/// `rate` by the slowest of `clocks`, and `more` bits per second.
fn ticking(rate: Rate, clocks: Ppm, more: u64) -> Rate {
    let slowest = rate.bits_per_second() - off(rate, clocks);
    Rate::new(slowest + more).expect("a clock is off by less than its whole")
}
