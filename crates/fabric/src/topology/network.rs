//! A fabric ready to be simulated: its ports numbered, its shortest paths found.

use super::{Graph, LinkSpec};
use crate::packet::MAX_PORTS;
use sojourn_kernel::{Rate, Span};
use std::collections::VecDeque;
use std::hint::select_unpredictable;

/// One direction of a link, and the port that sends on it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The node it leaves: hosts first, then switches.
    pub from: u32,
    /// The node it leads to.
    pub to: u32,
    /// The number, at the node it leads to, of the port on the other end.
    pub arrives_by: u8,
    /// Whether the switch it leads to sends a packet on once its header is there.
    pub cuts: bool,
    /// Speed and length.
    pub spec: LinkSpec,
}

/// One link of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Its speed and length.
    pub link: LinkSpec,
    /// Whether it is on its way on once its header is there.
    pub cuts: bool,
    /// How many links like it a flow that is sprayed can use at once, at most.
    pub parallel: u64,
}

/// A fabric ready to be simulated.
///
/// Nodes: hosts `0..hosts`, then switches. Ports: a host's only port has the host's number, the
/// ports of switches follow, those of one switch together (hosts first, then cables as laid).
#[derive(Clone, Debug)]
pub struct Network {
    /// How many hosts there are.
    pub hosts: usize,
    /// How many switches there are.
    pub switches: usize,
    /// All links by the number of the port that sends on them.
    pub links: Vec<Link>,
    /// The first port of each switch, and one past the last of all.
    first_port: Vec<u32>,
    /// The switch a host hangs on, as an index into `edges`.
    edge_of: Vec<u16>,
    /// The switches with hosts.
    edges: Vec<u32>,
    /// For each switch and edge: the ways on; none where the switch is that edge.
    routes: Vec<Ways>,
    /// Ports: first for each host the one that leads to it, then those of each route together.
    members: Vec<u32>,
}

/// Next hops: a run of [`Network::members`], its start above eight bits of its length. There is one
/// for each switch and edge, so small matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ways(u32);

impl Ways {
    /// No ways on: the switch is the edge.
    const NONE: Ways = Ways(0);

    fn new(start: usize, count: usize) -> Ways {
        assert!(start < 1 << 24 && count < 1 << 8, "{start} {count}");
        Ways((start << 8 | count) as u32)
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(self) -> u32 {
        self.0 & 0xff
    }

    #[inline]
    fn start(self) -> u32 {
        self.0 >> 8
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
            (first_port[switch] + used[switch] - 1, (used[switch] - 1) as u8)
        };
        let mut down_port = Vec::with_capacity(hosts);
        for (host, &(switch, spec)) in graph.hosts.iter().enumerate() {
            let (port, number) = take(switch);
            let (host, node) = (host as u32, (hosts + switch) as u32);
            let whole = Link { from: host, to: node, arrives_by: number, cuts: false, spec };
            links[host as usize] = whole;
            links[port as usize] = Link { from: node, to: host, arrives_by: 0, ..whole };
            down_port.push(port);
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

        let mut edges: Vec<u32> = graph.hosts.iter().map(|&(switch, _)| switch as u32).collect();
        edges.sort_unstable();
        edges.dedup();
        let edge_of = graph
            .hosts
            .iter()
            .map(|&(switch, _)| edges.binary_search(&(switch as u32)).expect("an edge") as u16)
            .collect();
        let mut network = Network {
            hosts,
            switches: graph.switches,
            links,
            first_port,
            edge_of,
            edges,
            routes: Vec::new(),
            members: down_port,
        };
        network.find_routes();
        network
    }

    /// Breadth first from every edge; a next hop is a port to a switch that is one step nearer.
    fn find_routes(&mut self) {
        let (switches, edges) = (self.switches, self.edges.len());
        self.routes = vec![Ways::NONE; switches * edges];
        let mut steps = vec![u32::MAX; switches];
        let mut queue = VecDeque::new();
        let mut hops = Vec::new();
        for edge in 0..edges {
            steps.fill(u32::MAX);
            steps[self.edges[edge] as usize] = 0;
            queue.push_back(self.edges[edge] as usize);
            while let Some(switch) = queue.pop_front() {
                for (_, peer) in self.cables_of(switch) {
                    if steps[peer] == u32::MAX {
                        steps[peer] = steps[switch] + 1;
                        queue.push_back(peer);
                    }
                }
            }
            for switch in 0..switches {
                if steps[switch] == 0 || steps[switch] == u32::MAX {
                    continue;
                }
                hops.clear();
                hops.extend(
                    self.cables_of(switch)
                        .filter(|&(_, peer)| steps[peer] == steps[switch] - 1)
                        .map(|(port, _)| port),
                );
                self.routes[switch * edges + edge] = self.run_of(switch, edge, &hops);
            }
        }
        for from in &self.edges {
            for edge in 0..edges {
                let reached = self.edges[edge] == *from
                    || self.routes[*from as usize * edges + edge].count() > 0;
                assert!(reached, "some hosts cannot reach each other");
            }
        }
    }

    /// Where `hops` stand in `members`: with the same hops to the edge before, they are shared.
    fn run_of(&mut self, switch: usize, edge: usize, hops: &[u32]) -> Ways {
        for earlier in (0..edge).rev() {
            let run = self.routes[switch * self.edges.len() + earlier];
            if self.members_of(run) == hops {
                return run;
            }
        }
        let start = self.members.len();
        self.members.extend_from_slice(hops);
        Ways::new(start, hops.len())
    }

    fn members_of(&self, run: Ways) -> &[u32] {
        &self.members[run.start() as usize..(run.start() + run.count()) as usize]
    }

    /// The ports of `switch` that lead to other switches, and which.
    fn cables_of(&self, switch: usize) -> impl Iterator<Item = (u32, usize)> + '_ {
        (self.first_port[switch]..self.first_port[switch + 1]).filter_map(|port| {
            let to = self.links[port as usize].to as usize;
            (to >= self.hosts).then(|| (port, to - self.hosts))
        })
    }

    /// The ways by which a packet for host `to` may leave `switch`; none when only the port to the
    /// host itself is left.
    #[inline]
    pub(crate) fn ways(&self, switch: u32, to: u16) -> Ways {
        let edge = self.edge_of[to as usize];
        self.routes[switch as usize * self.edges.len() + edge as usize]
    }

    /// The port that the `way`-th of `ways` to host `to` leaves by.
    #[inline]
    pub(crate) fn port(&self, ways: Ways, way: u32, to: u16) -> u32 {
        let member = select_unpredictable(ways.count() == 0, to.into(), ways.start() + way);
        self.members[member as usize]
    }

    /// The ports by which a packet for host `to` may leave `switch`, at least one.
    pub fn next(&self, switch: u32, to: u16) -> &[u32] {
        match self.ways(switch, to) {
            Ways::NONE => std::slice::from_ref(&self.members[to as usize]),
            ways => self.members_of(ways),
        }
    }

    /// The most ways a packet has on from `switch`, at least one.
    pub fn most_ways(&self, switch: usize) -> u32 {
        let routes = &self.routes[switch * self.edges.len()..(switch + 1) * self.edges.len()];
        routes.iter().map(|ways| ways.count()).max().unwrap_or(1).max(1)
    }

    /// The links a packet from `from` to `to` crosses on one of its shortest paths (all of them
    /// have the same links in every topology here, up to symmetry).
    pub fn path(&self, from: usize, to: usize) -> Vec<Hop> {
        let first = &self.links[from];
        let mut path = vec![Hop { link: first.spec, cuts: first.cuts, parallel: 1 }];
        let mut node = self.links[from].to as usize;
        let mut parallel = 1;
        while node >= self.hosts {
            let ways = self.next((node - self.hosts) as u32, to as u16);
            let link = &self.links[ways[0] as usize];
            node = link.to as usize;
            parallel = if node < self.hosts { 1 } else { parallel * ways.len() as u64 };
            path.push(Hop { link: link.spec, cuts: link.cuts, parallel });
        }
        path
    }

    /// The ports of `switch`.
    pub fn ports_of(&self, switch: usize) -> std::ops::Range<usize> {
        self.first_port[switch] as usize..self.first_port[switch + 1] as usize
    }

    /// The switch that `port` is of: not a host's port.
    #[inline]
    pub fn switch_of(&self, port: u32) -> usize {
        self.links[port as usize].from as usize - self.hosts
    }

    /// Whether hosts hang on `switch`.
    #[inline]
    pub fn is_edge(&self, switch: usize) -> bool {
        self.edges.binary_search(&(switch as u32)).is_ok()
    }

    /// How many switches have hosts.
    pub fn racks(&self) -> usize {
        self.edges.len()
    }

    /// The index of the edge switch that `host` hangs on, among the switches with hosts.
    pub fn rack_of(&self, host: usize) -> usize {
        self.edge_of[host] as usize
    }
}

const NO_LINK: LinkSpec = LinkSpec { rate: Rate::gbps(1), delay: Span::ZERO };
