//! The ways through a fabric: how many there are between two hosts, and that they are alike.

use crate::common::*;
use sojourn_fabric::topology::{Network, Topology};
use std::collections::BTreeSet;

fn build(topology: &Topology) -> Network {
    topology.graph().network()
}

/// How many different shortest paths lead from `switch` to host `to`, and how many links each has;
/// panics when two differ in length.
fn paths(network: &Network, switch: u32, to: u16) -> (u64, usize) {
    let mut found: Option<(u64, usize)> = None;
    for port in network.next(switch, to) {
        let link = network.links[port as usize];
        let (ways, length) = match (link.to as usize).checked_sub(network.hosts) {
            Some(next) => paths(network, next as u32, to),
            None => {
                assert_eq!(link.to, u32::from(to), "a port leads to another host");
                (1, 0)
            }
        };
        let (all, before) = found.unwrap_or((0, length + 1));
        assert_eq!(before, length + 1, "two next hops are not equally far");
        found = Some((all + ways, before));
    }
    found.expect("at least one next hop")
}

/// Paths from host to host.
fn between(network: &Network, from: u16, to: u16) -> (u64, usize) {
    let switch = network.links[usize::from(from)].to as usize - network.hosts;
    let (ways, length) = paths(network, switch as u32, to);
    (ways, length + 1)
}

#[test]
fn the_papers_fat_tree() {
    let network = build(&fat_tree(6));
    // Hosts 0 to 2 are a rack, 0 to 8 a pod: 3 aggregations in the pod, 9 cores in all.
    assert_eq!(between(&network, 0, 2), (1, 2));
    assert_eq!(between(&network, 0, 3), (3, 4));
    assert_eq!(between(&network, 0, 8), (3, 4));
    assert_eq!(between(&network, 0, 9), (9, 6));
    assert_eq!(between(&network, 53, 0), (9, 6));
}

/// (k/2)² paths between pods, k/2 in a pod, one in a rack.
#[test]
fn fat_trees_of_any_even_k() {
    for k in [2u32, 4, 8, 16, 32] {
        let network = build(&fat_tree(k));
        let (half, last) = (u64::from(k) / 2, network.hosts as u16 - 1);
        assert_eq!(between(&network, 0, last), (half * half, 6), "k = {k}");
        if k > 2 {
            assert_eq!(between(&network, 0, half as u16), (half, 4), "k = {k}");
            assert_eq!(between(&network, 0, 1), (1, 2), "k = {k}");
        }
    }
}

#[test]
fn parallel_uplinks_are_paths_of_their_own() {
    let network = build(&Topology::LeafSpine(leaf_spine(3, 4, 2, 3)));
    assert_eq!(between(&network, 0, 3), (1, 2));
    // Six ways up, and from each spine three down.
    assert_eq!(between(&network, 0, 4), (18, 4));
}

fn every() -> Vec<Topology> {
    vec![
        single_switch(2),
        single_switch(17),
        Topology::LeafSpine(leaf_spine(1, 2, 1, 1)),
        Topology::LeafSpine(leaf_spine(4, 3, 3, 2)),
        Topology::LeafSpine(leaf_spine(9, 2, 1, 1)),
        fat_tree(2),
        fat_tree(4),
        fat_tree(6),
    ]
}

/// Every host reaches every other, by paths of one length, as long there as back, over the links
/// that `path` names.
#[test]
fn every_pair_is_connected_both_ways() {
    for topology in every() {
        let network = build(&topology);
        let hosts = network.hosts as u16;
        for from in 0..hosts {
            for to in (0..hosts).filter(|&to| to != from) {
                let (ways, length) = between(&network, from, to);
                assert_eq!((ways, length), between(&network, to, from));
                assert_eq!(network.path(from.into(), to.into()).len(), length);
            }
        }
    }
}

/// Links come in pairs: each port's link is answered by one back, of the same speed and length,
/// and no two links arrive at a node by the same port.
#[test]
fn links_go_both_ways() {
    for topology in every() {
        let network = build(&topology);
        let mut arrivals = BTreeSet::new();
        for (port, link) in network.links.iter().enumerate() {
            let back = match (link.to as usize).checked_sub(network.hosts) {
                Some(switch) => network.ports_of(switch).start + usize::from(link.arrives_by),
                None => link.to as usize,
            };
            let back = network.links[back];
            assert_eq!((back.from, back.to, back.spec), (link.to, link.from, link.spec), "{port}");
            assert!(arrivals.insert((link.to, link.arrives_by)), "two by one port");
        }
        let ports: usize = (0..network.switches).map(|s| network.ports_of(s).len()).sum();
        assert_eq!(network.links.len(), network.hosts + ports);
    }
}

/// All shortest paths of a pair have the same links: what the ideal completion time relies on.
#[test]
fn all_paths_of_a_pair_have_the_same_links() {
    fn walk(
        network: &Network,
        switch: u32,
        to: u16,
        path: &mut Vec<u64>,
        seen: &mut Vec<Vec<u64>>,
    ) {
        for port in network.next(switch, to) {
            let link = network.links[port as usize];
            path.push(link.spec.rate.bits_per_second() ^ link.spec.delay.ps());
            match (link.to as usize).checked_sub(network.hosts) {
                Some(next) => walk(network, next as u32, to, path, seen),
                None => seen.push(path.clone()),
            }
            path.pop();
        }
    }
    for topology in every() {
        let network = build(&topology);
        let mut seen = Vec::new();
        let last = network.hosts as u16 - 1;
        let switch = network.links[0].to - network.hosts as u32;
        walk(&network, switch, last, &mut Vec::new(), &mut seen);
        assert!(seen.iter().all(|path| *path == seen[0]));
    }
}
