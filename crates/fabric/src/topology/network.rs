//! A fabric ready to be simulated: its ports numbered, its shortest paths found.

use super::routes::{Cables, Routes};
use super::{Graph, LinkSpec};
use crate::packet::MAX_PORTS;
use sojourn_core::{Rate, Span};
use std::collections::BTreeSet;

/// One direction of a link, and the port that sends on it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The node that the link leaves: hosts first, then switches.
    pub from: u32,
    /// The node that the link leads to.
    pub to: u32,
    /// The number, at the node it leads to, of the port on the other end.
    pub arrives_by: u16,
    /// Whether the switch it leads to sends a packet on once its header is there.
    pub cuts: bool,
    /// Rate and propagation delay.
    pub spec: LinkSpec,
}

/// The switch on the other end of each port of a switch that is `used`, none where that is a host.
fn peers(links: &[Link], hosts: usize, used: impl Fn(u32) -> bool) -> Vec<Option<u32>> {
    let peer = |(port, link): (u32, &Link)| {
        let switch = link.to.checked_sub(hosts as u32)?;
        used(port).then_some(switch)
    };
    (hosts as u32..).zip(&links[hosts..]).map(peer).collect()
}

/// The switch that each host hangs on, and the number of its port there.
fn at_switches(links: &[Link], hosts: usize) -> Vec<(u32, u16)> {
    links[..hosts].iter().map(|link| (link.to - hosts as u32, link.arrives_by)).collect()
}

/// Times of any link, exact at every rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExactTiming {
    delay: Span,
    rate: Rate,
    /// Transmission time of a header, where the next switch cuts through.
    header: Option<Span>,
}

impl ExactTiming {
    /// The times of `link`, where headers have so many bytes.
    pub(crate) fn new(link: &Link, header: u16) -> ExactTiming {
        let rate = link.spec.rate;
        let header = link.cuts.then(|| rate.span(header.into()));
        ExactTiming { delay: link.spec.delay, rate, header }
    }

    /// Transmission time of `size` bytes.
    pub(crate) fn span(&self, size: u16) -> Span {
        self.rate.span(size.into())
    }

    /// Time from the first bit of `size` bytes on the link until the other end may send them on, or has
    /// them.
    pub(crate) fn crossing(&self, size: u16) -> Span {
        self.header.unwrap_or_else(|| self.span(size)) + self.delay
    }
}

/// One link of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Rate and propagation delay.
    pub link: LinkSpec,
    /// Whether the switch at its end sends a packet on once its header is there.
    pub cuts: bool,
    /// Parallel links like it that a sprayed flow can use at once, at most.
    pub parallel: u64,
}

/// A fabric ready to be simulated.
///
/// Nodes: hosts `0..hosts`, then switches. Ports: a host's only port has the host's number, the
/// ports of switches follow, those of one switch together (hosts first, then cables as laid).
#[derive(Clone, Debug)]
pub struct Network {
    /// Number of hosts.
    pub hosts: usize,
    /// Number of switches.
    pub switches: usize,
    /// All links by the number of the port that sends on them.
    pub links: Vec<Link>,
    /// The first port of each switch, and one past the last of all.
    first_port: Vec<u32>,
    /// The shortest paths.
    pub(crate) routes: Routes,
    /// How far apart its hosts are.
    pub(crate) reach: Reach,
}

/// The way between the two hosts that are farthest apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reach {
    /// Its propagation.
    pub(crate) delay: Span,
    /// Its links.
    pub(crate) hops: u32,
    /// The time that they take for a byte, all together.
    pub(crate) byte: Span,
}

impl Reach {
    /// The round trip over it of a packet of `out` bytes and one of `back` bytes while nothing waits: the largest
    /// base round trip of the fabric.
    pub(crate) fn base_round_trip(self, out: u64, back: u64) -> Span {
        self.delay * 2 + self.byte * (out + back)
    }

    /// The round trip over it of a packet of `out` bytes and one of `back` bytes, on links of one `rate`.
    pub(crate) fn round_trip(self, rate: Rate, out: u64, back: u64) -> Span {
        self.delay * 2 + (rate.span(out) + rate.span(back)) * u64::from(self.hops)
    }
}

impl Network {
    pub(super) fn new(graph: &Graph) -> Network {
        let hosts = graph.hosts.len();
        let mut degree = vec![0u32; graph.switches];
        for &(switch, _) in &graph.hosts {
            degree[switch] += 1;
        }
        for &(a, b, _) in &graph.cables {
            degree[a] += 1;
            degree[b] += 1;
        }
        let mut first_port = Vec::with_capacity(graph.switches + 1);
        let mut next = hosts as u32;
        for &ports in &degree {
            assert!(ports as usize <= MAX_PORTS, "a switch has over {MAX_PORTS} ports");
            first_port.push(next);
            next += ports;
        }
        first_port.push(next);

        let nowhere = Link { from: 0, to: 0, arrives_by: 0, cuts: false, spec: NO_LINK };
        let mut links = vec![nowhere; next as usize];
        let mut used = vec![0u32; graph.switches];
        let mut take = |switch: usize| {
            used[switch] += 1;
            (first_port[switch] + used[switch] - 1, (used[switch] - 1) as u16)
        };
        for (host, &(switch, spec)) in graph.hosts.iter().enumerate() {
            let (port, number) = take(switch);
            let (host, node) = (host as u32, (hosts + switch) as u32);
            let whole = Link { from: host, to: node, arrives_by: number, cuts: false, spec };
            links[host as usize] = whole;
            links[port as usize] = Link { from: node, to: host, arrives_by: 0, ..whole };
        }
        for &(a, b, spec) in &graph.cables {
            let ((port_a, number_a), (port_b, number_b)) = (take(a), take(b));
            let (node_a, node_b) = ((hosts + a) as u32, (hosts + b) as u32);
            let whole = Link { from: node_a, to: node_b, arrives_by: number_b, cuts: false, spec };
            links[port_a as usize] = whole;
            links[port_b as usize] =
                Link { from: node_b, to: node_a, arrives_by: number_a, ..whole };
        }
        let cutting = graph.cutting();
        for link in &mut links {
            let enough = (link.to as usize).checked_sub(hosts).and_then(|switch| cutting[switch]);
            link.cuts = enough.is_some_and(|enough| link.spec.rate >= enough);
        }

        let peers = peers(&links, hosts, |_| true);
        let at = at_switches(&links, hosts);
        let routes = Routes::new(Cables { first_port: &first_port, peers: &peers, hosts: &at });
        let reach = Reach::default();
        let network = Network { hosts, switches: graph.switches, links, first_port, routes, reach };
        Network { reach: network.farthest(), ..network }
    }

    /// The routes without the cables of the ports that are `out`. Where these were the only way they are taken
    /// all the same, but for those that are `dead`; and where only dead ones lead there, these.
    pub(crate) fn routes_without(&self, out: &BTreeSet<u32>, dead: &BTreeSet<u32>) -> Routes {
        let Network { hosts, ref links, ref first_port, .. } = *self;
        let (whole, at) = (peers(links, hosts, |_| true), at_switches(links, hosts));
        let left = peers(links, hosts, |port| !self.is_out(port, out));
        let alive = peers(links, hosts, |port| !self.is_out(port, dead));
        let cables = |peers| Cables { first_port, peers, hosts: &at };
        Routes::by(&[cables(&left), cables(&alive), cables(&whole)])
    }

    /// For each host a number, the same for those that reach each other without the cables that are `out`.
    pub(crate) fn parts_without(&self, out: &BTreeSet<u32>) -> Vec<u32> {
        let mut parts = vec![u32::MAX; self.hosts + self.switches];
        for first in 0..parts.len() {
            let mut next = vec![first];
            while let Some(node) = next.pop() {
                if parts[node] != u32::MAX {
                    continue;
                }
                parts[node] = first as u32;
                let ports = match node.checked_sub(self.hosts) {
                    Some(switch) => self.ports_of(switch),
                    None => node..node + 1,
                };
                let ports = ports.filter(|&port| !self.is_out(port as u32, out));
                next.extend(ports.map(|port| self.links[port].to as usize));
            }
        }
        parts.truncate(self.hosts);
        parts
    }

    /// Whether the cable of `port` is out, which it is when either direction is.
    fn is_out(&self, port: u32, out: &BTreeSet<u32>) -> bool {
        out.contains(&port) || out.contains(&self.far_end(port))
    }

    /// The tier of each switch: 0 for those with hosts, and one more for each link away from them.
    pub(crate) fn tiers(&self) -> Vec<u32> {
        let mut tiers = vec![u32::MAX; self.switches];
        let mut here: Vec<usize> = (0..self.switches).filter(|&s| self.is_edge(s)).collect();
        for tier in 0.. {
            here.iter().for_each(|&switch| tiers[switch] = tier);
            let ports = here.iter().flat_map(|&switch| self.ports_of(switch));
            let ends = ports.filter_map(|port| self.switch_at(self.links[port].to));
            here = ends.filter(|&switch| tiers[switch] == u32::MAX).collect();
            if here.is_empty() {
                break;
            }
        }
        tiers
    }

    /// How many times more the hosts can send than the scarcest tier of the fabric carries on, at least 1.
    pub(crate) fn oversubscription(&self) -> f64 {
        let speed = |link: &Link| link.spec.rate.bits_per_second() as f64;
        let tiers = self.tiers();
        let mut carried = vec![0.0; self.switches];
        for link in &self.links[self.hosts..] {
            let ends = (self.switch_at(link.from), self.switch_at(link.to));
            if let (Some(from), Some(to)) = ends
                && tiers[to] > tiers[from]
            {
                carried[tiers[from] as usize] += speed(link);
            }
        }
        let sent: f64 = self.links[..self.hosts].iter().map(speed).sum();
        carried.into_iter().filter(|&up| up > 0.0).map(|up| sent / up).fold(1.0, f64::max)
    }

    /// What messages and tables call the node with that number among all nodes.
    pub(crate) fn node_name(&self, node: u32) -> String {
        match self.switch_at(node) {
            Some(switch) => format!("switch {switch}"),
            None => format!("host {node}"),
        }
    }

    /// The switch with the number `node` among all nodes, if it is one.
    fn switch_at(&self, node: u32) -> Option<usize> {
        (node as usize).checked_sub(self.hosts)
    }

    /// Looks from one host to all racks, and from the host of the farthest one to all again: in a fabric
    /// whose parts are alike, and in a tree, no way is longer.
    fn farthest(&self) -> Reach {
        let mut of_rack = vec![None; self.racks()];
        for host in 0..self.hosts {
            let far = &mut of_rack[self.rack_of(host)];
            let is_farther =
                |other: usize| self.links[host].spec.delay > self.links[other].spec.delay;
            if far.is_none_or(is_farther) {
                *far = Some(host);
            }
        }
        let from = |host: usize| {
            let others = of_rack.iter().flatten().filter(move |&&other| other != host);
            let way = |&other: &usize| {
                let path = self.path(host, other);
                let delay = path.iter().map(|hop| hop.link.delay).sum();
                let byte = path.iter().map(|hop| hop.link.rate.span(1)).sum();
                (Reach { delay, hops: path.len() as u32, byte }, other)
            };
            others.map(way).max()
        };
        let Some((_, far)) = from(0) else { return self.within_a_rack() };
        from(far).map_or_else(Reach::default, |(reach, _)| reach)
    }

    /// The way between the hosts of the only rack.
    fn within_a_rack(&self) -> Reach {
        let two_longest = |of: fn(&Link) -> Span| {
            let mut spans: Vec<Span> = self.links[..self.hosts].iter().map(of).collect();
            spans.sort_unstable();
            spans.iter().rev().take(2).copied().sum()
        };
        let (delay, byte) =
            (two_longest(|link| link.spec.delay), two_longest(|link| link.spec.rate.span(1)));
        Reach { delay, hops: 2, byte }
    }

    /// The ports by which a packet for host `to` may leave `switch`, at least one.
    pub fn next(&self, switch: u32, to: u16) -> impl ExactSizeIterator<Item = u32> + '_ {
        let exit = self.routes.exit(switch as usize);
        let lookup = self.routes.lookup();
        let ways = lookup.ways(exit, to);
        (0..ways.count().max(1)).map(move |way| lookup.port(exit, ways, way, to))
    }

    /// Most next hops of a packet from `switch`, at least one.
    pub fn most_ways(&self, switch: usize) -> u32 {
        self.routes.most_ways(switch)
    }

    /// The links a packet from `from` to `to` crosses on one of its shortest paths (all of them
    /// have the same links in every topology here, up to symmetry).
    pub fn path(&self, from: usize, to: usize) -> Vec<Hop> {
        let first = &self.links[from];
        let mut path = vec![Hop { link: first.spec, cuts: first.cuts, parallel: 1 }];
        let mut node = self.links[from].to as usize;
        let mut parallel = 1;
        while node >= self.hosts {
            let mut ways = self.next((node - self.hosts) as u32, to as u16);
            let count = ways.len() as u64;
            let link = &self.links[ways.next().expect("a way on") as usize];
            node = link.to as usize;
            parallel = if node < self.hosts { 1 } else { parallel * count };
            path.push(Hop { link: link.spec, cuts: link.cuts, parallel });
        }
        path
    }

    /// The ports of `switch`.
    pub fn ports_of(&self, switch: usize) -> std::ops::Range<usize> {
        self.first_port[switch] as usize..self.first_port[switch + 1] as usize
    }

    /// The switch that `port` is of; none where it is a host's.
    #[inline]
    pub fn switch_of(&self, port: u32) -> Option<usize> {
        (self.links[port as usize].from as usize).checked_sub(self.hosts)
    }

    /// The port on the other end of the link that `port` sends on.
    pub fn far_end(&self, port: u32) -> u32 {
        let link = &self.links[port as usize];
        match (link.to as usize).checked_sub(self.hosts) {
            Some(switch) => self.first_port[switch] + u32::from(link.arrives_by),
            None => link.to,
        }
    }

    /// Whether `switch` has hosts.
    #[inline]
    pub fn is_edge(&self, switch: usize) -> bool {
        self.routes.is_edge(switch)
    }

    /// Number of switches with hosts.
    pub fn racks(&self) -> usize {
        self.routes.edges()
    }

    /// The index of the edge switch that `host` hangs on, among the switches with hosts.
    pub fn rack_of(&self, host: usize) -> usize {
        self.routes.edge_of(host)
    }
}

const NO_LINK: LinkSpec = LinkSpec { rate: Rate::gbps(1), delay: Span::ZERO };
