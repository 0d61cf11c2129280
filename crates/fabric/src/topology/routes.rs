//! Shortest paths: the ports by which a packet leaves each switch.
//!
//! A table for each switch would be most of what a large fabric's packets wait for. But switches at
//! the same place of a regular fabric leave for the same hosts by ports of the same numbers, so they
//! share one row of the table: a fat-tree has one row for all edges, one a pod, and one for all cores.

use crate::packet::{MAX_PORTS, MAX_WAYS};
use std::collections::BTreeMap;
use std::hint::select_unpredictable;

/// The routes of all switches to all *edges*, the switches that hosts hang on.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// How many edges there are.
    edges: usize,
    /// The edge of each host, as an index.
    edge_of: Vec<u16>,
    /// Of each switch.
    exits: Vec<Exit>,
    /// Row by row the ways on to each edge.
    rows: Vec<Ways>,
    /// Numbers of ports at their switches: first for each host the one that leads to it, then those
    /// of all ways.
    members: Vec<u16>,
}

/// Where the routes of a switch stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    /// Its first port.
    first_port: u32,
    /// Where its row begins.
    row: u32,
    /// Which edge it is itself, or [`Exit::NO_EDGE`].
    edge: u16,
}

/// The tables of [`Routes`] as they are looked up.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a> {
    edge_of: &'a [u16],
    rows: &'a [Ways],
    members: &'a [u16],
}

/// Next hops: a run of [`Routes::members`], its start above eight bits of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ways(u32);

/// Which ports of a switch: a bit for each, in groups.
type Ports = [u16; MAX_PORTS / 16];
const NO_PORTS: Ports = [0; MAX_PORTS / 16];

/// How many steps away a switch is. Of these a processor compares eight at once.
type Steps = i16;

impl Exit {
    /// No host hangs on the switch. There are fewer edges than this.
    const NO_EDGE: u16 = u16::MAX;

    /// Whether hosts hang on the switch.
    #[inline]
    pub(crate) fn is_edge(self) -> bool {
        self.edge != Exit::NO_EDGE
    }
}

impl Ways {
    /// No ways on: the switch is the edge, and only the port to the host is left.
    const NONE: Ways = Ways(0);

    fn new(start: usize, count: usize) -> Ways {
        assert!(start < 1 << 24 && count <= MAX_WAYS, "{start} {count}");
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

/// What routes are found from.
#[derive(Clone, Copy)]
pub(super) struct Cables<'a> {
    /// The first port of each switch, and one past the last of all.
    pub(super) first_port: &'a [u32],
    /// The switch on the other end of each port of a switch, none where that is a host.
    pub(super) peers: &'a [Option<u32>],
    /// The switch that each host hangs on, and the number of its port there.
    pub(super) hosts: &'a [(u32, u16)],
}

impl Routes {
    /// Of all shortest paths. Panics if some hosts cannot reach each other.
    pub(super) fn new(cables: Cables<'_>) -> Routes {
        Routes::by(&[cables])
    }

    /// Of all shortest paths over the first of `layers` that leads there at all; each has the same switches
    /// and hosts. Panics if some hosts cannot reach each other over the last one.
    pub(super) fn by(layers: &[Cables<'_>]) -> Routes {
        let cables = layers.last().expect("a layer");
        let mut of_hosts: Vec<u32> = cables.hosts.iter().map(|&(switch, _)| switch).collect();
        let edge_of = |switch: u32, edges: &[u32]| edges.binary_search(&switch).ok();
        let mut edges = of_hosts.clone();
        edges.sort_unstable();
        edges.dedup();
        assert!(edges.len() <= usize::from(Exit::NO_EDGE), "{} switches with hosts", edges.len());
        for switch in &mut of_hosts {
            *switch = edge_of(*switch, &edges).expect("an edge") as u32;
        }
        let mut routes = Routes {
            edges: edges.len(),
            edge_of: of_hosts.into_iter().map(|edge| edge as u16).collect(),
            exits: Vec::with_capacity(cables.switches()),
            rows: Vec::new(),
            members: cables.hosts.iter().map(|&(_, port)| port).collect(),
        };
        let layers: Vec<Layer> =
            layers.iter().map(|&cables| Layer { cables, steps: cables.steps(&edges) }).collect();
        let mut runs = BTreeMap::new();
        for switch in 0..cables.switches() {
            let row = routes.row(&layers, switch, &mut runs);
            let edge = edge_of(switch as u32, &edges).map_or(Exit::NO_EDGE, |edge| edge as u16);
            let (first_port, row) = (cables.first_port[switch], routes.shared(&row));
            routes.exits.push(Exit { first_port, row, edge });
        }
        let whole = layers.last().expect("a layer");
        for &edge in &edges {
            let reached = whole.of(edge as usize, edges.len()).iter().all(|&far| far != Steps::MAX);
            assert!(reached, "some hosts cannot reach each other");
        }
        routes
    }

    /// The ways of `switch` to each edge.
    fn row(
        &mut self,
        layers: &[Layer<'_>],
        switch: usize,
        runs: &mut BTreeMap<Ports, Ways>,
    ) -> Vec<Ways> {
        let groups = layers[0].cables.ports(switch).len().div_ceil(16);
        // Group by group for each edge the ports that lead nearer.
        let mut nearer = vec![vec![0u16; self.edges]; groups];
        // Which edges no layer so far leads to.
        let mut missing = vec![true; self.edges];
        for layer in layers {
            let of = |switch: usize| layer.of(switch, self.edges);
            for (port, peer) in layer.cables.of(switch) {
                let bit = 1 << (port % 16);
                let steps = of(peer).iter().zip(of(switch)).zip(&missing);
                for (ports, ((there, here), missing)) in nearer[port / 16].iter_mut().zip(steps) {
                    *ports |= if *missing & (there < here) { bit } else { 0 };
                }
            }
            for (missing, far) in missing.iter_mut().zip(of(switch)) {
                *missing &= *far == Steps::MAX;
            }
        }
        // Neighbours mostly share theirs: only where they change are they looked up.
        let mut changes = vec![false; self.edges];
        changes[0] = true;
        for group in &nearer {
            for (change, both) in changes[1..].iter_mut().zip(group.windows(2)) {
                *change |= both[0] != both[1];
            }
        }
        let mut row = vec![Ways::NONE; self.edges];
        let mut ways = Ways::NONE;
        for (edge, change) in changes.into_iter().enumerate() {
            if change {
                let mut ports = NO_PORTS;
                for (ports, group) in ports.iter_mut().zip(&nearer) {
                    *ports = group[edge];
                }
                let members = &mut self.members;
                ways = *runs.entry(ports).or_insert_with(|| run(&ports, members));
            }
            row[edge] = ways;
        }
        row
    }

    /// Where `row` begins among all, or one that is like it. Where a switch is the edge itself its
    /// row is not asked, so anything may stand there.
    fn shared(&mut self, row: &[Ways]) -> u32 {
        let like = |known: &[Ways]| {
            let mut both = known.iter().zip(row);
            both.all(|(a, b)| a == b || *a == Ways::NONE || *b == Ways::NONE)
        };
        let place = self.rows.chunks_exact(self.edges).position(like);
        let start = place.map_or(self.rows.len(), |place| place * self.edges);
        if start == self.rows.len() {
            self.rows.extend_from_slice(row);
        }
        for (known, own) in self.rows[start..].iter_mut().zip(row) {
            if *known == Ways::NONE {
                *known = *own;
            }
        }
        start as u32
    }

    /// The edge that `host` hangs on.
    #[inline]
    pub(super) fn edge_of(&self, host: usize) -> usize {
        self.edge_of[host].into()
    }

    /// How many edges there are.
    pub(super) fn edges(&self) -> usize {
        self.edges
    }

    /// The routes of `switch`.
    pub(crate) fn exit(&self, switch: usize) -> Exit {
        self.exits[switch]
    }

    /// Whether hosts hang on `switch`.
    #[inline]
    pub(super) fn is_edge(&self, switch: usize) -> bool {
        self.exits[switch].is_edge()
    }

    /// The tables, to be looked up.
    #[inline(always)]
    pub(crate) fn lookup(&self) -> Lookup<'_> {
        Lookup { edge_of: &self.edge_of, rows: &self.rows, members: &self.members }
    }

    /// The most ways a packet has on from `switch`, at least one.
    pub(super) fn most_ways(&self, switch: usize) -> u32 {
        let Exit { row, edge, .. } = self.exits[switch];
        let row = &self.rows[row as usize..][..self.edges];
        let others = (0..).zip(row).filter(|&(to, _)| to != edge);
        others.map(|(_, ways)| ways.count()).max().unwrap_or(1).max(1)
    }
}

impl Lookup<'_> {
    /// The ways by which a packet for host `to` may leave by `exit`; none when only the port to the
    /// host itself is left.
    #[inline(always)]
    pub(crate) fn ways(&self, exit: Exit, to: u16) -> Ways {
        debug_assert!(usize::from(to) < self.edge_of.len());
        // SAFETY: flows are between hosts of the fabric.
        let edge = unsafe { *self.edge_of.get_unchecked(usize::from(to)) };
        let way = exit.row as usize + usize::from(edge);
        debug_assert!(way < self.rows.len());
        // SAFETY: exits begin where `shared` put a row, which is as long as there are edges.
        let ways = unsafe { *self.rows.get_unchecked(way) };
        select_unpredictable(edge == exit.edge, Ways::NONE, ways)
    }

    /// The port that the `way`-th of `ways` to host `to` leaves by.
    #[inline(always)]
    pub(crate) fn port(&self, exit: Exit, ways: Ways, way: u32, to: u16) -> u32 {
        let member = select_unpredictable(ways.count() == 0, to.into(), ways.start() + way);
        debug_assert!((member as usize) < self.members.len());
        // SAFETY: there is a member for each host, and behind them those of all ways.
        exit.first_port + u32::from(unsafe { *self.members.get_unchecked(member as usize) })
    }
}

/// Adds the numbers of `ports` to the members.
fn run(ports: &Ports, members: &mut Vec<u16>) -> Ways {
    if *ports == NO_PORTS {
        return Ways::NONE;
    }
    let start = members.len();
    let leads = |port: &u16| ports[usize::from(port / 16)] >> (port % 16) & 1 == 1;
    members.extend((0..MAX_PORTS as u16).filter(leads));
    Ways::new(start, members.len() - start)
}

/// Cables, and how far each edge is over them.
struct Layer<'a> {
    cables: Cables<'a>,
    steps: Vec<Steps>,
}

impl Layer<'_> {
    /// How many steps it is from `switch` to each of so many `edges`.
    fn of(&self, switch: usize, edges: usize) -> &[Steps] {
        &self.steps[switch * edges..][..edges]
    }
}

impl Cables<'_> {
    fn switches(&self) -> usize {
        self.first_port.len() - 1
    }

    /// The ports of `switch`.
    fn ports(&self, switch: usize) -> &[Option<u32>] {
        let first = self.first_port[0];
        let ports = self.first_port[switch] - first..self.first_port[switch + 1] - first;
        &self.peers[ports.start as usize..ports.end as usize]
    }

    /// Those of them that lead to other switches, by their numbers, and these switches.
    fn of(&self, switch: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let ports = self.ports(switch).iter().enumerate();
        ports.filter_map(|(port, peer)| Some((port, (*peer)? as usize)))
    }

    /// How many steps it is from each switch to each of `edges`: no longer than from a neighbour and
    /// one more (Bellman 1958), for all edges at once until nothing changes.
    fn steps(&self, edges: &[u32]) -> Vec<Steps> {
        let width = edges.len();
        let mut steps = vec![Steps::MAX; self.switches() * width];
        for (edge, &switch) in edges.iter().enumerate() {
            steps[switch as usize * width + edge] = 0;
        }
        let mut order: Vec<usize> = (0..self.switches()).collect();
        let mut changes = true;
        while changes {
            changes = false;
            for &switch in &order {
                let mut row = steps[switch * width..][..width].to_vec();
                for (_, peer) in self.of(switch) {
                    for (own, of_peer) in row.iter_mut().zip(&steps[peer * width..][..width]) {
                        *own = (*own).min(of_peer.saturating_add(1));
                    }
                }
                let known = &mut steps[switch * width..][..width];
                changes |= known != row;
                known.copy_from_slice(&row);
            }
            // What is known of those numbered last goes on to the first ones.
            order.reverse();
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::{FatTree, Graph, LinkSpec, Network};
    use proptest::prelude::*;
    use sojourn_core::parameters::defaults;
    use sojourn_core::{Rate, Span};
    use sojourn_properties::cases;
    use std::collections::BTreeSet;

    const LINK: LinkSpec = LinkSpec { rate: Rate::gbps(10), delay: Span::ZERO };

    /// One row for the edges, one a pod for what is above them, and one for the cores.
    #[test]
    fn switches_at_the_same_place_share_a_row() {
        for k in [4, 8] {
            let routes = FatTree { k, ..defaults() }.graph().network().routes;
            assert_eq!(routes.rows.len(), (1 + k as usize + 1) * routes.edges);
        }
    }

    proptest! {
        #![proptest_config(cases(400))]

        /// Where some cables are out, packets leave by ports to neighbours that are one step nearer over those
        /// left; where these lead nowhere, as in the whole fabric. Hosts are in one part exactly where
        /// they reach each other.
        #[test]
        fn ports_lead_around_what_is_out(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 1..9),
            more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..9),
            out in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        ) {
            let switches = parents.len() + 1;
            let mut graph = Graph::new(switches);
            (0..switches).for_each(|switch| graph.host(switch, LINK));
            for (switch, parent) in (1..).zip(&parents) {
                graph.cable(parent.index(switch), switch, LINK);
            }
            for (a, b) in more.iter().map(|(a, b)| (a.index(switches), b.index(switches))) {
                if a != b {
                    graph.cable(a, b, LINK);
                }
            }
            let whole = graph.network();
            let ports = whole.hosts as u32..whole.links.len() as u32;
            let between: Vec<u32> = ports.filter(|&port| whole.far_end(port) >= whole.hosts as u32).collect();
            let out: BTreeSet<u32> = out.iter().map(|place| between[place.index(between.len())]).collect();
            let routes = whole.routes_without(&out, &out);
            let mut rest: Network = whole.clone();
            rest.routes = routes;
            let parts = whole.parts_without(&out);
            let is_left = |port: u32| !out.contains(&port) && !out.contains(&whole.far_end(port));
            for to in 0..switches {
                let mut steps = vec![u32::MAX; switches];
                steps[to] = 0;
                for _ in 0..switches {
                    for &port in between.iter().filter(|&&port| is_left(port)) {
                        let link = whole.links[port as usize];
                        let [from, to] = [link.from, link.to].map(|node| node as usize - whole.hosts);
                        steps[from] = steps[from].min(steps[to].saturating_add(1));
                    }
                }
                for from in (0..switches).filter(|&from| from != to) {
                    prop_assert_eq!(parts[from] == parts[to], steps[from] != u32::MAX);
                    let nearer = |port: &u32| {
                        let peer = whole.links[*port as usize].to.checked_sub(whole.hosts as u32);
                        is_left(*port) && peer.is_some_and(|peer| steps[peer as usize] < steps[from])
                    };
                    let expected: Vec<u32> = match steps[from] {
                        u32::MAX => whole.next(from as u32, to as u16).collect(),
                        _ => whole.ports_of(from).map(|port| port as u32).filter(nearer).collect(),
                    };
                    prop_assert_eq!(rest.next(from as u32, to as u16).collect::<Vec<_>>(), expected);
                }
            }
        }

        /// On fabrics of any shape, parallel links and switches without hosts among them: a packet
        /// may leave by the ports to neighbours that are one step nearer, and by no other.
        #[test]
        fn ports_lead_one_step_nearer(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
            more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..14),
            hosts in prop::collection::vec(any::<prop::sample::Index>(), 2..14),
        ) {
            let switches = parents.len() + 1;
            let mut graph = Graph::new(switches);
            for host in &hosts {
                graph.host(host.index(switches), LINK);
            }
            let mut cables: Vec<(usize, usize)> =
                (1..).zip(&parents).map(|(switch, parent)| (parent.index(switch), switch)).collect();
            let others = more.iter().map(|(a, b)| (a.index(switches), b.index(switches)));
            cables.extend(others.filter(|(a, b)| a != b));
            for &(a, b) in &cables {
                graph.cable(a, b, LINK);
            }
            let network = graph.network();
            let far = switches * 2;
            for (to, host) in (0..).zip(&hosts) {
                let edge = host.index(switches);
                let mut steps = vec![far; switches];
                steps[edge] = 0;
                for _ in 0..switches {
                    for &(a, b) in &cables {
                        (steps[a], steps[b]) = (steps[a].min(steps[b] + 1), steps[b].min(steps[a] + 1));
                    }
                }
                for switch in 0..switches {
                    let leads = |port: &usize| {
                        match (network.links[*port].to as usize).checked_sub(network.hosts) {
                            Some(peer) => steps[peer] + 1 == steps[switch],
                            None => network.links[*port].to == u32::from(to),
                        }
                    };
                    let expected: Vec<u32> =
                        network.ports_of(switch).filter(leads).map(|port| port as u32).collect();
                    prop_assert_eq!(network.next(switch as u32, to).collect::<Vec<_>>(), expected);
                    let most = (0..hosts.len() as u16).map(|to| network.next(switch as u32, to).len());
                    prop_assert_eq!(network.most_ways(switch) as usize, most.max().unwrap_or(1));
                }
            }
        }
    }
}
