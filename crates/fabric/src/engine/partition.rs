//! Which part of a fabric is simulated where: the sides of a partition, one a thread, and the blocks
//! that the units of a side are put into.
//!
//! A *unit* is what is visited as one: a host with its port, or a switch's port. Blocks are neighbours
//! whose state fits into a cache together: what reaches them in a window is opened at once, and then
//! they are visited one after the other.

use crate::topology::Network;
use std::ops::Range;

/// Most sides: each has a bit in a word.
const MOST_SIDES: usize = u64::BITS as usize;

/// Which side each unit is on.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) count: usize,
    of: Vec<u8>,
}

impl Partition {
    /// Cuts `network` into at most `most` sides with about equally many hosts. A switch stays whole and
    /// with its hosts; one without hosts goes to the side to which most of its links to switches lead that
    /// were placed before. Where that leaves a choice, each side takes its share of neighbouring switches.
    pub(super) fn new(network: &Network, most: usize) -> Partition {
        let count = most.min(network.racks()).clamp(1, MOST_SIDES);
        let mut of_rack = vec![0; network.racks()];
        let mut hosts_of_rack = vec![0; network.racks()];
        for host in 0..network.hosts {
            hosts_of_rack[network.rack_of(host)] += 1;
        }
        let mut before = 0;
        for (side, hosts) in of_rack.iter_mut().zip(hosts_of_rack) {
            *side = before * count / network.hosts;
            before += hosts;
        }
        let mut sides =
            Placing { network, of: vec![None; network.switches], ports: vec![0; count] };
        let mut level = Vec::new();
        for host in 0..network.hosts {
            let switch = network.links[host].to as usize - network.hosts;
            if sides.of[switch].is_none() {
                sides.place(switch, of_rack[network.rack_of(host)]);
                level.push(switch);
            }
        }
        while !level.is_empty() {
            level = sides.place_next_to(&level);
        }
        let switches = &sides.of;
        let side =
            |link: usize| match (network.links[link].from as usize).checked_sub(network.hosts) {
                Some(switch) => switches[switch].unwrap_or(0) as u8,
                None => of_rack[network.rack_of(link)] as u8,
            };
        Partition { count, of: (0..network.links.len()).map(side).collect() }
    }

    /// The side that `unit` is on.
    #[inline]
    pub(super) fn of(&self, unit: u32) -> usize {
        self.of[unit as usize].into()
    }
}

/// Switches while they are placed on sides.
struct Placing<'a> {
    network: &'a Network,
    of: Vec<Option<usize>>,
    /// Ports of each side.
    ports: Vec<usize>,
}

impl Placing<'_> {
    fn place(&mut self, switch: usize, side: usize) {
        self.of[switch] = Some(side);
        self.ports[side] += self.network.ports_of(switch).len();
    }

    /// The switches on the other ends of the links of `switch`.
    fn neighbours(&self, switch: usize) -> impl Iterator<Item = usize> {
        let network = self.network;
        let ends = network.ports_of(switch).map(|port| network.links[port].to as usize);
        ends.filter_map(|node| node.checked_sub(network.hosts))
    }

    /// Places the switches that are linked with `level` and have no side yet.
    fn place_next_to(&mut self, level: &[usize]) -> Vec<usize> {
        let near = level.iter().flat_map(|&switch| self.neighbours(switch));
        let mut next: Vec<usize> = near.filter(|&switch| self.of[switch].is_none()).collect();
        next.sort_unstable();
        next.dedup();
        let of = self.of.clone();
        let mut undecided = Vec::new();
        for &switch in &next {
            let mut links = vec![0; self.ports.len()];
            for side in self.neighbours(switch).filter_map(|near| of[near]) {
                links[side] += 1;
            }
            let most = links.iter().copied().max().expect("a partition has at least one side");
            let sides: Vec<usize> = (0..links.len()).filter(|&side| links[side] == most).collect();
            match sides[..] {
                [side] => self.place(switch, side),
                _ => undecided.push((switch, sides)),
            }
        }
        self.share_out(&undecided);
        next
    }

    /// Places `switches`, each on one of some sides: on the first of these with fewer ports than its share,
    /// or else on the one with fewest.
    fn share_out(&mut self, switches: &[(usize, Vec<usize>)]) {
        let more = switches.iter().map(|(switch, _)| self.network.ports_of(*switch).len());
        let all = self.ports.iter().sum::<usize>() + more.sum::<usize>();
        let share = all.div_ceil(self.ports.len());
        for (switch, sides) in switches {
            let has_room = |side: &&usize| self.ports[**side] < share;
            let fewest = || sides.iter().min_by_key(|side| (self.ports[**side], **side));
            let side = sides.iter().find(has_room).or_else(fewest).expect("a side");
            self.place(*switch, *side);
        }
    }
}

/// The number of a block, counted over all sides.
pub(super) type BlockId = u16;

/// Most units of a block: hosts, or switches' ports.
pub(super) const MOST_UNITS: usize = 4096;

/// One block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its units: hosts, or all ports of some switches.
    pub(super) units: Range<u32>,
    pub(super) are_hosts: bool,
    /// Whether links from other sides lead to any of them.
    pub(super) hears: bool,
    /// Its side, and how many units of that side come before it.
    pub(super) side: usize,
    pub(super) place: usize,
}

impl Block {
    /// Whether it takes the units of `new`: places are left, and they are of the same kind. A block that
    /// links from other sides lead to may also take units that none leads to.
    fn takes(&self, new: &Block) -> bool {
        let kind = |block: &Block| (block.side, block.are_hosts);
        let has_room = self.units.len() + new.units.len() <= MOST_UNITS;
        has_room && kind(self) == kind(new) && (self.hears || !new.hears)
    }

    /// Its `nth` unit.
    #[inline]
    pub(super) fn unit(&self, nth: u16) -> Unit {
        Unit { nth, place: self.place + usize::from(nth) }
    }
}

/// A unit of the open block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// Its place in its block.
    pub(super) nth: u16,
    /// Its place among the units of its side.
    pub(super) place: usize,
}

/// All blocks, in the order of their units: first those of hosts.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    /// The block of each unit.
    of: Vec<BlockId>,
}

impl Layout {
    /// The blocks of `network`, each on one of `sides`.
    pub(super) fn new(network: &Network, sides: &Partition) -> Layout {
        let mut layout = Layout { blocks: Vec::new(), of: Vec::with_capacity(network.links.len()) };
        let mut places = vec![0; sides.count];
        let mut add = |units: Range<usize>, are_hosts| {
            if units.is_empty() {
                return;
            }
            let units = units.start as u32..units.end as u32;
            let side = sides.of(units.start);
            let is_elsewhere = |unit| sides.of(network.far_end(unit)) != side;
            let hears = units.clone().any(is_elsewhere);
            let place = places[side];
            places[side] += units.len();
            layout.add(Block { units, are_hosts, hears, side, place });
        };
        for host in 0..network.hosts {
            add(host..host + 1, true);
        }
        for switch in 0..network.switches {
            add(network.ports_of(switch), false);
        }
        layout
    }

    /// Adds units to the last block, or as a new one.
    fn add(&mut self, new: Block) {
        let end = new.units.end;
        match self.blocks.last_mut() {
            Some(last) if last.takes(&new) => last.units.end = end,
            _ => self.blocks.push(new),
        }
        let number = BlockId::try_from(self.blocks.len() - 1).expect("a block has a number");
        self.of.resize(end as usize, number);
    }

    /// The block of `unit`.
    #[inline]
    pub(super) fn of(&self, unit: u32) -> BlockId {
        self.of[unit as usize]
    }

    /// One value for each unit of `side`, by place. The memory for all is allocated at once, since what a
    /// growing list leaves behind stays with the process.
    pub(super) fn for_units<P>(&self, side: usize, make: impl FnMut(u32) -> P) -> Vec<P> {
        let count = self.own(side).map(|block| block.units.len()).sum();
        let mut all = Vec::with_capacity(count);
        all.extend(self.units(side).map(make));
        all
    }

    /// The units of `side`, by their places.
    pub(super) fn units(&self, side: usize) -> impl Iterator<Item = u32> + '_ {
        self.own(side).flat_map(|block| block.units.clone())
    }

    fn own(&self, side: usize) -> impl Iterator<Item = &Block> + '_ {
        self.blocks.iter().filter(move |block| block.side == side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{FatTree, LeafSpine, SingleSwitch, Topology};
    use sojourn_core::parameters::defaults;

    fn network(topology: Topology) -> Network {
        topology.graph().network()
    }

    /// The sides of the ports of each switch: one.
    fn of_switches(network: &Network, sides: &Partition) -> Vec<usize> {
        let of = |switch| {
            let mut ports = network.ports_of(switch).map(|port| sides.of(port as u32));
            let first = ports.next().expect("a switch has ports");
            assert!(ports.all(|side| side == first), "switch {switch} is cut");
            first
        };
        (0..network.switches).map(of).collect()
    }

    fn count(of: &[usize], side: usize) -> usize {
        of.iter().filter(|of| **of == side).count()
    }

    /// k = 8: 8 pods of 4 edge and 4 aggregation switches, 16 hosts each, and 16 core switches.
    #[test]
    fn a_fat_tree_is_cut_between_pods_and_through_its_core() {
        let network = network(Topology::FatTree(FatTree { k: 8, ..defaults() }));
        let sides = Partition::new(&network, 4);
        let switches = of_switches(&network, &sides);
        for side in 0..4 {
            assert_eq!(count(&switches, side), 2 * (4 + 4) + 4);
        }
        for (port, link) in network.links.iter().enumerate() {
            let core = |node: u32| {
                (node as usize) >= network.hosts && {
                    let switch = node as usize - network.hosts;
                    let mut ports = network.ports_of(switch);
                    ports.all(|port| {
                        let next = network.links[port].to as usize;
                        next >= network.hosts && !network.is_edge(next - network.hosts)
                    })
                }
            };
            if !core(link.from) && !core(link.to) {
                let other = match link.to as usize {
                    host if host < network.hosts => sides.of(host as u32),
                    node => switches[node - network.hosts],
                };
                assert_eq!(sides.of(port as u32), other, "a link within a pod is cut: {link:?}");
            }
        }
    }

    #[test]
    fn spines_are_shared_out() {
        let shape = LeafSpine { racks: 6, spines: 4, ..defaults() };
        let network = network(Topology::LeafSpine(shape));
        let sides = Partition::new(&network, 2);
        assert_eq!([0, 1].map(|side| count(&of_switches(&network, &sides), side)), [5, 5]);
    }

    /// Nor does a fabric have more sides than switches with hosts, or than 64.
    #[test]
    fn one_switch_has_one_side() {
        let sides = |topology, most| Partition::new(&network(topology), most).count;
        let single = || Topology::SingleSwitch(SingleSwitch { hosts: 8, ..defaults() });
        let tree = |k| Topology::FatTree(FatTree { k, ..defaults() });
        assert_eq!([sides(single(), 1), sides(single(), 4)], [1, 1]);
        assert_eq!([sides(tree(4), 3), sides(tree(4), 100), sides(tree(16), 100)], [3, 8, 64]);
    }

    fn layout(network: &Network, sides: usize) -> (Layout, Partition) {
        let sides = Partition::new(network, sides);
        (Layout::new(network, &sides), sides)
    }

    /// k = 8 in two halves: 64 hosts and 16 edge switches of each have links within their side only, so a
    /// side can do most of a window before it gets the packets of the other.
    #[test]
    fn blocks_without_links_from_another_side_hear_nothing() {
        let network = Topology::FatTree(FatTree { k: 8, ..defaults() }).graph().network();
        let (whole, _) = layout(&network, 1);
        assert!(whole.blocks.iter().all(|block| !block.hears));
        let (halves, sides) = layout(&network, 2);
        let crosses = |unit: u32| sides.of(unit) != sides.of(network.far_end(unit));
        let mut deaf = 0;
        for block in halves.blocks.iter().filter(|block| !block.hears) {
            assert!(!block.units.clone().any(crosses), "{block:?}");
            deaf += block.units.len();
        }
        assert!(deaf >= 2 * (64 + 16 * 8), "{deaf}");
        assert!((0..network.links.len() as u32).any(crosses));
    }
}
