//! The model of one link: the hosts that send over it, and how long their flows take.
//!
//! Senders have their own links, so that no flow comes faster than its host can send; the link has
//! its own speed and queue. All else is so fast that nothing waits there, and so long that a round
//! trip takes what it takes in an empty fabric.

use super::Access;
use super::crossings::Crossings;
use crate::case::Ready;
use crate::engine::{Cancelled, Progress};
use crate::flow::Ideals;
use crate::flow::{Completion, Flow, Packets};
use crate::hosts::Hosts;
use crate::job::{Averaging, Jobs};
use crate::scheme::Scheme;
use crate::topology::{Graph, LinkSpec};
use crate::workload::Drawn;
use sojourn_core::{Execution, Rate, Span, Time};
use std::collections::BTreeMap;

/// A rate at which nothing waits: a byte a picosecond.
const FAST: Rate = Rate::gbps(8_000);

/// Most ends of flows on the switch beside the link; more have switches in between ...
const ROOM: usize = 120;
/// ... with so many each, ...
const CHUNK: usize = 250;
/// ... for which there are ports enough in fabrics of so many hosts.
pub(super) const MOST_HOSTS: usize = 50_000;

/// The delay of a flow that did not finish.
pub(super) const LOST: i64 = i64::MAX;

/// The result of simulating one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTimes {
    /// The port that sends on it.
    pub link: u32,
    /// For each of its flows, by time of arrival: by how many picoseconds it took longer than
    /// alone, on account of the link; [`i64::MAX`] where it did not finish.
    pub delays: Vec<i64>,
    /// Events of the simulation.
    pub events: u64,
}

/// One end of a flow.
#[derive(Clone, Copy, Debug)]
struct End {
    rate: Rate,
    /// Delay of its link, and of all links between that and the one that is simulated.
    near: Span,
    far: Span,
}

/// A link with the flows that cross it.
pub(super) struct LinkModel<'a> {
    ready: &'a Ready,
    link: u32,
    flows: Vec<Flow>,
    senders: BTreeMap<u16, End>,
    receivers: BTreeMap<u16, End>,
}

impl<'a> LinkModel<'a> {
    pub(super) fn new(ready: &'a Ready, crossings: &Crossings, link: u32) -> LinkModel<'a> {
        let network = &*ready.network;
        let numbers = crossings.of(link);
        let mut model = LinkModel {
            ready,
            link,
            flows: Vec::with_capacity(numbers.len()),
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
        };
        let spec = |port: u32| network.links[port as usize].spec;
        let crossing = |ports: &[u32]| -> Span {
            ports.iter().map(|&port| idle(spec(port), &ready.packets)).sum()
        };
        for &number in numbers {
            let flow = ready.jobs.flows[number as usize];
            model.flows.push(flow);
            let path: Vec<u32> = crossings.path(network, number, &flow).collect();
            let place =
                path.iter().position(|&port| port == link).expect("a flow of a link crosses it");
            if let [own, between @ ..] = &path[..place] {
                let LinkSpec { rate, delay } = spec(*own);
                let end = End { rate, near: delay, far: crossing(between) };
                model.senders.insert(flow.from, end);
            }
            if let [between @ .., own] = &path[place + 1..] {
                let end = End { rate: FAST, near: crossing(&[*own]), far: crossing(between) };
                model.receivers.insert(flow.to, end);
            }
        }
        model
    }

    /// How much longer each flow takes than alone on account of the link.
    pub(super) fn times(
        &self,
        access: Access,
        progress: &Progress,
    ) -> Result<LinkTimes, Cancelled> {
        let spec = self.ready.network.links[self.link as usize].spec;
        let (mut delays, mut events) = self.excess(spec, progress)?;
        if access == Access::Once && !self.senders.is_empty() {
            let open = LinkSpec { rate: FAST, delay: idle(spec, &self.ready.packets) };
            let (before, more) = self.excess(open, progress)?;
            events += more;
            for (delay, before) in delays.iter_mut().zip(before) {
                if *delay != LOST && before != LOST {
                    *delay -= before;
                }
            }
        }
        Ok(LinkTimes { link: self.link, delays, events })
    }

    /// How much longer each flow takes than alone where the link is `spec`; and how many events
    /// that took.
    fn excess(&self, spec: LinkSpec, progress: &Progress) -> Result<(Vec<i64>, u64), Cancelled> {
        let Scheme::Packets(scheme) = &self.ready.scheme else { unreachable!("it is estimable") };
        let ready = self.ready_with(spec);
        let outcome = ready.simulate(scheme, Execution::new(progress))?;
        let mut ideals = Ideals::new(&ready.network, &ready.packets);
        let flows = ready.jobs.flows.iter().zip(&outcome.acknowledged);
        let excess = |(flow, &finished): (&Flow, &Time)| match finished {
            Time::NEVER => LOST,
            at => {
                at.since(flow.arrived).ps() as i64
                    - ideals.alone(flow, Completion::Sender).ps() as i64
            }
        };
        Ok((flows.map(excess).collect(), outcome.counts.hops + outcome.counts.turns))
    }

    /// A small fabric around the link, and the flows in it.
    fn ready_with(&self, spec: LinkSpec) -> Ready {
        let mut bench = Bench::default();
        let (one, other) = match (self.senders.is_empty(), self.receivers.is_empty()) {
            (false, false) => (bench.switch(), bench.switch()),
            _ => (bench.switch(), 0),
        };
        if one != other {
            bench.cables.push((one, other, spec));
        }
        for (ends, switch, host) in
            [(&self.senders, one, self.flows[0].from), (&self.receivers, other, self.flows[0].to)]
        {
            match ends.is_empty() {
                true => bench.hosts.push((host, switch, spec)),
                false => bench.hang(switch, ends),
            }
        }
        let numbers: BTreeMap<u16, u16> =
            bench.hosts.iter().zip(0..).map(|(&(host, ..), number)| (host, number)).collect();
        let moved =
            |flow: &Flow| Flow { from: numbers[&flow.from], to: numbers[&flow.to], ..*flow };
        let flows: Vec<Flow> = self.flows.iter().map(moved).collect();
        let graph = bench.graph();
        Ready {
            digest_windows: false,
            message_rows: false,
            averaging: Averaging::default(),
            scheme: self.ready.scheme.clone(),
            packets: self.ready.packets.clone(),
            // Its time would be counted on every link.
            hosts: Hosts::EXACT,
            network: graph.network().into(),
            pauses: None,
            memories: [].into(),
            nic: graph.nics().map(|link| link.rate).collect(),
            jobs: Jobs::new(&[Drawn::from(flows)]),
            completion: self.ready.completion,
            horizon: self.ready.horizon,
            sample: None,
            trace: None,
            failures: Default::default(),
            streams: self.ready.streams,
        }
    }
}

/// Half of what a link adds to a round trip where nothing waits: a full packet there and its
/// acknowledgement back.
fn idle(link: LinkSpec, packets: &Packets) -> Span {
    let both = link.rate.span(packets.full().into()) + link.rate.span(packets.ack.0);
    link.delay + both / 2
}

/// A small fabric under construction.
#[derive(Default)]
struct Bench {
    switches: usize,
    /// Their own number, and where they hang.
    hosts: Vec<(u16, usize, LinkSpec)>,
    cables: Vec<(usize, usize, LinkSpec)>,
}

impl Bench {
    fn switch(&mut self) -> usize {
        self.switches += 1;
        self.switches - 1
    }

    /// Hangs `ends` on `switch`; where there are too many for its ports, on switches that stand
    /// before it. Those take a half of the nearest end's own link, so that they are not next door.
    fn hang(&mut self, switch: usize, ends: &BTreeMap<u16, End>) {
        if ends.len() <= ROOM {
            let hosts = ends.iter().map(|(&host, end)| {
                (host, switch, LinkSpec { rate: end.rate, delay: end.near + end.far })
            });
            self.hosts.extend(hosts);
            return;
        }
        let mut ends: Vec<(u16, End)> = ends.iter().map(|(&host, &end)| (host, end)).collect();
        ends.sort_by_key(|(_, end)| end.far);
        for alike in ends.chunk_by(|(_, one), (_, other)| one.far == other.far) {
            for chunk in alike.chunks(CHUNK) {
                let shared = chunk.iter().map(|(_, end)| end.near).min().unwrap_or_default() / 2;
                let before = self.switch();
                let delay = chunk[0].1.far + shared;
                self.cables.push((before, switch, LinkSpec { rate: FAST, delay }));
                let hosts = chunk.iter().map(|(host, end)| {
                    let delay = Span::from_ps(end.near.ps() - shared.ps());
                    (*host, before, LinkSpec { rate: end.rate, delay })
                });
                self.hosts.extend(hosts);
            }
        }
    }

    fn graph(&self) -> Graph {
        let mut graph = Graph::new(self.switches);
        for &(_, switch, spec) in &self.hosts {
            graph.host(switch, spec);
        }
        for &(one, other, spec) in &self.cables {
            graph.cable(one, other, spec);
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::tests::{ready, sparse};
    use crate::topology::{Clos, LeafSpine, SingleSwitch, Topology};
    use sojourn_core::parameters::defaults;

    /// Packets of 100 bytes a hop are not as quick as full ones, so only full ones are sent.
    fn full(flows: Vec<Flow>) -> Vec<Flow> {
        flows.into_iter().map(|flow| Flow { bytes: 1460, ..flow }).collect()
    }

    #[test]
    fn a_round_trip_takes_what_it_takes_in_the_whole_fabric() {
        let shapes = [
            Topology::SingleSwitch(SingleSwitch { hosts: 5, ..defaults() }),
            Topology::LeafSpine(LeafSpine { racks: 3, hosts: 4, ..defaults() }),
            Topology::Clos(Clos { pods: 2, racks: 2, hosts: 2, ..defaults() }),
        ];
        for topology in shapes {
            let hosts = topology.graph().hosts() as u16;
            let ready = ready(topology, &full(sparse(hosts, 40)));
            let crossings = Crossings::new(&ready.network, &ready.jobs.flows, ready.streams);
            let mut ideals = Ideals::new(&ready.network, &ready.packets);
            for link in crossings.used() {
                let model = LinkModel::new(&ready, &crossings, link);
                let small = model.ready_with(ready.network.links[link as usize].spec);
                let mut alone = Ideals::new(&small.network, &small.packets);
                for (flow, moved) in model.flows.iter().zip(&*small.jobs.flows) {
                    let [whole, here] = [
                        ideals.alone(flow, Completion::Sender).ps(),
                        alone.alone(moved, Completion::Sender).ps(),
                    ];
                    assert!(here.abs_diff(whole) <= 2_000, "{here} ps for {whole} ps");
                }
                let times = model.times(Access::Once, &Progress::default()).unwrap();
                assert!(times.delays.iter().all(|&delay| delay == 0), "{times:?}");
            }
        }
    }

    #[test]
    fn more_senders_than_ports_hang_on_switches_of_their_own() {
        let shape = LeafSpine { racks: 12, hosts: 60, ..defaults() };
        let flow = |from: u16| {
            let at = Time::ZERO + Span::from_us(10 * u64::from(from));
            Flow::new(from, 719, 1460, at)
        };
        let ready = ready(Topology::LeafSpine(shape), &(0..719).map(flow).collect::<Vec<_>>());
        let crossings = Crossings::new(&ready.network, &ready.jobs.flows, ready.streams);
        let last = crossings.path(&ready.network, 0, &ready.jobs.flows[0]).last().unwrap();
        let model = LinkModel::new(&ready, &crossings, last);
        let small = model.ready_with(ready.network.links[last as usize].spec);
        // 660 from other racks: three switches; 59 from this rack: one.
        assert_eq!((small.network.hosts, small.network.switches), (720, 5));
        let times = model.times(Access::Once, &Progress::default()).unwrap();
        assert_eq!(times.delays, [0; 719]);
        let mut ideals = Ideals::new(&ready.network, &ready.packets);
        let mut alone = Ideals::new(&small.network, &small.packets);
        for (flow, moved) in model.flows.iter().zip(&*small.jobs.flows) {
            let [whole, here] = [
                ideals.alone(flow, Completion::Sender).ps(),
                alone.alone(moved, Completion::Sender).ps(),
            ];
            assert!(here.abs_diff(whole) <= 2_000, "{here} ps for {whole} ps");
        }
    }
}
