//! Which flows cross which link.

use crate::flow::Flow;
use crate::path::{hashed, salt, salt_of};
use crate::topology::Network;
use sojourn_core::Streams;

/// The flows by the links that they cross.
#[derive(Debug)]
pub(super) struct Crossings {
    salt: u64,
    /// Where the flows of each link begin in `flows`, and where those of the last one end.
    starts: Vec<usize>,
    /// Numbers of flows, link by link, each by time of arrival.
    flows: Vec<u32>,
}

impl Crossings {
    /// The links of `network` that the hashes of `flows` choose in the replication of `streams`.
    pub(super) fn new(network: &Network, flows: &[Flow], streams: Streams) -> Crossings {
        let links = network.links.len();
        let mut crossings =
            Crossings { salt: salt(streams), starts: vec![0; links + 1], flows: Vec::new() };
        let mut ends = vec![0; links + 1];
        for (number, flow) in (0..).zip(flows) {
            for link in crossings.path(network, number, flow) {
                ends[link as usize + 1] += 1;
            }
        }
        for link in 0..links {
            ends[link + 1] += ends[link];
        }
        crossings.starts.clone_from(&ends);
        let mut crossing = vec![0; ends[links]];
        for (number, flow) in (0..).zip(flows) {
            for link in crossings.path(network, number, flow) {
                crossing[ends[link as usize]] = number;
                ends[link as usize] += 1;
            }
        }
        crossings.flows = crossing;
        crossings
    }

    /// The links that `flow`, number `number`, crosses, in order.
    pub(super) fn path<'a>(
        &self,
        network: &'a Network,
        number: u32,
        flow: &Flow,
    ) -> impl Iterator<Item = u32> + use<'a> {
        self.way(network, number, (flow.from, flow.to), false)
    }

    /// The links that its acknowledgements cross, in order.
    pub(super) fn path_back<'a>(
        &self,
        network: &'a Network,
        number: u32,
        flow: &Flow,
    ) -> impl Iterator<Item = u32> + use<'a> {
        self.way(network, number, (flow.to, flow.from), true)
    }

    fn way<'a>(
        &self,
        network: &'a Network,
        number: u32,
        (from, to): (u16, u16),
        back: bool,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let salt = self.salt;
        let mut next = Some(u32::from(from));
        std::iter::from_fn(move || {
            let link = next?;
            let node = network.links[link as usize].to;
            next = node.checked_sub(network.hosts as u32).map(|switch| {
                let mut ways = network.next(switch, to);
                let way = hashed(number, back, salt_of(switch, salt), ways.len() as u32);
                ways.nth(way as usize).expect("a way on")
            });
            Some(link)
        })
    }

    /// The numbers of the flows that cross `link`.
    pub(super) fn of(&self, link: u32) -> &[u32] {
        let link = link as usize;
        &self.flows[self.starts[link]..self.starts[link + 1]]
    }

    /// The links that any flow crosses.
    pub(super) fn used(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.starts.len() as u32 - 1).filter(|&link| !self.of(link).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Execution, Progress};
    use crate::estimate::tests::{ready, sparse};
    use crate::scheme::Scheme;
    use crate::topology::{Clos, FatTree, LeafSpine, Topology};
    use sojourn_core::Span;
    use sojourn_core::parameters::defaults;

    /// What the packet engine sent by every port is what flows that cross it have, and the
    /// acknowledgements of those that come back by it.
    #[test]
    fn flows_cross_the_links_that_their_packets_take() {
        let shapes = [
            Topology::LeafSpine(LeafSpine { racks: 3, hosts: 4, spines: 3, ..defaults() }),
            Topology::FatTree(FatTree { k: 4, ..defaults() }),
            Topology::Clos(Clos {
                pods: 2,
                racks: 2,
                hosts: 2,
                planes: 2,
                spines: 2,
                ..defaults()
            }),
        ];
        for topology in shapes {
            let hosts = topology.graph().hosts() as u16;
            let ready = ready(topology, &sparse(hosts, 60));
            let Scheme::Packets(scheme) = &ready.scheme else { panic!("a scheme of packets") };
            let outcome = ready.simulate(scheme, Execution::new(&Progress::default())).unwrap();
            let (network, flows, packets) = (&ready.network, &ready.jobs.flows, &ready.packets);
            let crossings = Crossings::new(network, flows, ready.streams);
            let mut sent = vec![Span::ZERO; network.links.len()];
            for (number, flow) in (0..).zip(&**flows) {
                let mut send = |link: u32, bytes: u16, times: u32| {
                    let rate = network.links[link as usize].spec.rate;
                    sent[link as usize] += rate.span(bytes.into()) * u64::from(times);
                };
                let count = packets.count(flow.bytes);
                for link in crossings.path(network, number, flow) {
                    send(link, packets.full(), count - 1);
                    send(link, packets.wire(packets.last_payload(flow.bytes)), 1);
                    let own = crossings.of(link).iter().filter(|&&other| other == number);
                    assert_eq!(own.count(), 1);
                }
                for link in crossings.path_back(network, number, flow) {
                    send(link, packets.ack.0 as u16, count);
                }
            }
            assert_eq!(outcome.busy, sent);
            let crossed: usize = crossings.used().map(|link| crossings.of(link).len()).sum();
            assert_eq!(crossed, crossings.flows.len());
            assert!(crossings.used().all(|link| crossings.of(link).is_sorted()));
        }
    }
}
