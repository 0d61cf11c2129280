//! Ports that wait for each other in a circle, so that none ever goes on.

use crate::topology::Network;
use std::collections::BTreeMap;

/// A port that has stopped the one at the other end of its link, at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The port, by which packets came in.
    pub port: u32,
    /// How many bytes have to leave until it lets the other one go on.
    pub excess: u64,
    /// The ports at which bytes wait that came in by it, and how many.
    pub waits: Vec<(u32, u64)>,
}

/// Ports that never go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlock {
    /// Ports by which packets come in, in circles: each waits for the next of its circle.
    pub circles: Vec<Vec<u32>>,
    /// Ports that wait for a circle without being in one.
    pub victims: Vec<u32>,
}

impl Deadlock {
    /// The deadlock among `blocked` ports of `network`; none where each can go on.
    ///
    /// The greatest set of blocked ports each of which stays blocked because of the others: what came in by a port
    /// and waits where nothing stops it will leave, and if that is enough, the port goes on and is none of them.
    pub fn among(blocked: &[Blocked], network: &Network) -> Option<Deadlock> {
        let mut stuck: BTreeMap<u32, &Blocked> =
            blocked.iter().map(|blocked| (blocked.port, blocked)).collect();
        loop {
            let is_stuck = |port: u32| stuck.contains_key(&network.far_end(port));
            let goes_on = |blocked: &&Blocked| {
                let leaves = blocked.waits.iter().filter(|(port, _)| !is_stuck(*port));
                leaves.map(|(_, bytes)| bytes).sum::<u64>() >= blocked.excess
            };
            let free: Vec<u32> =
                stuck.values().copied().filter(goes_on).map(|one| one.port).collect();
            if free.is_empty() {
                break;
            }
            stuck.retain(|port, _| !free.contains(port));
        }
        if stuck.is_empty() {
            return None;
        }
        let next = |port: u32| -> Vec<u32> {
            let waits = stuck[&port].waits.iter().map(|(port, _)| network.far_end(*port));
            waits.filter(|port| stuck.contains_key(port)).collect()
        };
        Some(Deadlock::of(stuck.keys().copied().collect(), next))
    }

    /// The circles among `ports`, each of which waits for those that `next` says.
    fn of(ports: Vec<u32>, next: impl Fn(u32) -> Vec<u32>) -> Deadlock {
        let reached = |from: u32| {
            let (mut seen, mut open) = (Vec::new(), next(from));
            while let Some(port) = open.pop() {
                if !seen.contains(&port) {
                    seen.push(port);
                    open.extend(next(port));
                }
            }
            seen
        };
        let reach: BTreeMap<u32, Vec<u32>> =
            ports.iter().map(|&port| (port, reached(port))).collect();
        let mut deadlock = Deadlock::default();
        for &port in &ports {
            if !reach[&port].contains(&port) {
                deadlock.victims.push(port);
            } else if !deadlock.circles.iter().flatten().any(|&other| other == port) {
                let mutual = |other: &u32| reach[other].contains(&port);
                deadlock.circles.push(walk(
                    port,
                    reach[&port].iter().copied().filter(mutual).collect(),
                    &next,
                ));
            }
        }
        deadlock
    }
}

/// The ports of one circle from `first` on, as one waits for the next as far as that goes; then the others.
fn walk(first: u32, mut circle: Vec<u32>, next: &impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    circle.sort_unstable();
    let mut walked = vec![first];
    let ahead = |port: u32, walked: &[u32]| {
        next(port).into_iter().find(|port| circle.contains(port) && !walked.contains(port))
    };
    while let Some(port) = ahead(*walked.last().expect("a port"), &walked) {
        walked.push(port);
    }
    let others: Vec<u32> = circle.iter().copied().filter(|port| !walked.contains(port)).collect();
    walked.extend(others);
    walked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(edges: &'static [(u32, u32)]) -> impl Fn(u32) -> Vec<u32> {
        move |port| edges.iter().filter(|edge| edge.0 == port).map(|edge| edge.1).collect()
    }

    #[test]
    fn circles_are_told_from_those_that_wait_for_them() {
        let ports = (0..8).collect();
        let edges = &[(0, 2), (2, 4), (4, 0), (1, 2), (3, 1), (5, 6), (6, 5), (7, 7)];
        let found = Deadlock::of(ports, next(edges));
        let circles = vec![vec![0, 2, 4], vec![5, 6], vec![7]];
        assert_eq!(found, Deadlock { circles, victims: vec![1, 3] });
    }
}
