//! One case of a fabric study: its parts, how it runs, and the rows it gives.

use crate::engine::{self, Cancelled, Figures, Outcome, Progress, Scene};
use crate::flow::{Flow, Packets, ideal_fct};
use crate::ideal::{Ideal, service};
use crate::packet::{CLASSES, LONGEST_CROSSING, LONGEST_DRAIN};
use crate::qdisc::{Builder, Queue, with_queue};
use crate::scheme::{PacketScheme, Scheme};
use crate::topology::{Hop, LinkSpec, Network, Topology};
use crate::transport::{Running, Setup, Tally};
use crate::workload::{Stage, Workload};
use sojourn_kernel::parameters::{Check, Refusal, Setting, Value, defaults};
use sojourn_kernel::{Rate, Span, Streams, Time, parameters};
use sojourn_queueing::{Column, Job, Report, Rows};
use std::sync::Arc;

parameters! {
    /// A fabric: flows over hosts, links and switches, packet by packet.
    pub struct FabricCase: "fabric" {
        /// The shape of the fabric.
        pub topology: Topology,
        /// Which flows arrive.
        pub workload: Workload,
        /// Transport, queue and balance.
        pub scheme: Scheme,
        /// How flows are cut into packets.
        pub packets: Packets = defaults(),
        /// How long after the last arrival a run may go on.
        pub drain: Span = Span::from_s(1),
    }
}

impl Check for FabricCase {
    fn check(&self) -> Result<(), Refusal> {
        if self.drain > LONGEST_DRAIN {
            let given = self.drain.write().expect("a time");
            let expected = format!("at most {LONGEST_DRAIN}");
            return Err(Refusal::value(&given, expected).under("drain"));
        }
        let full = self.packets.full().into();
        let crossing = |link: LinkSpec| link.rate.span(full).saturating_add(link.delay);
        if let Some(slow) = self.topology.graph().links().find(|&l| crossing(l) > LONGEST_CROSSING)
        {
            let given = Value::Text(format!("{} and {}", slow.rate, slow.delay));
            let expected = format!("links that a full packet crosses within {LONGEST_CROSSING}");
            return Err(Refusal::value(&given, expected).under("topology"));
        }
        let Scheme::Packets(scheme) = &self.scheme else { return Ok(()) };
        let room = scheme.queue.check_largest(self.packets.full());
        room.map_err(|refusal| refusal.under("queue").under("scheme"))
    }
}

/// What the rows' `class` is called.
const CLASS_NAMES: [&str; CLASSES] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// What the rows' `ideal_ps` is, for people.
const IDEAL: &str = "ideal: nobody else in the fabric, store and forward on the flow's own \
                         path, until the last packet's ACK is back at the sender";

/// A case with its flows drawn, ready to run.
#[derive(Clone, Debug)]
pub struct Ready {
    scheme: Scheme,
    packets: Packets,
    network: Arc<Network>,
    nic: Arc<[Rate]>,
    flows: Arc<[Flow]>,
    horizon: Time,
    streams: Streams,
}

impl FabricCase {
    /// How many flows will arrive in each replication. Reads and checks every file that the case
    /// names, through `read`, and draws nothing: what this takes, [`ready`](FabricCase::ready)
    /// takes.
    pub fn count(&self, read: &dyn Fn(&str) -> Result<String, String>) -> Result<usize, Refusal> {
        let stage = Stage { graph: &self.topology.graph(), packets: &self.packets, read };
        self.workload.count(&stage).map_err(|refusal| refusal.under("workload"))
    }

    /// Draws the flows of one replication.
    pub fn ready(
        &self,
        streams: Streams,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Ready, Refusal> {
        let graph = self.topology.graph();
        let stage = Stage { graph: &graph, packets: &self.packets, read };
        let flows =
            self.workload.flows(&stage, streams).map_err(|refusal| refusal.under("workload"))?;
        let last = flows.last().map_or(Time::ZERO, |flow| flow.arrived);
        Ok(Ready {
            scheme: self.scheme.clone(),
            packets: self.packets.clone(),
            nic: graph.nics().map(|link| link.rate).collect(),
            network: Arc::new(graph.network()),
            flows: flows.into(),
            horizon: last + self.drain,
            streams,
        })
    }
}

impl Ready {
    /// Simulates it.
    pub fn run(&self, progress: &Progress) -> Result<Report, Cancelled> {
        let mut ideals = Ideals::new(&self.network, &self.packets);
        let ideals: Vec<Span> = self.flows.iter().map(|flow| ideals.of(flow)).collect();
        let outcome = match &self.scheme {
            Scheme::Packets(scheme) => self.simulate(scheme, progress)?,
            Scheme::Ideal(ideal) => self.schedule(ideal, &ideals, progress)?,
        };
        Ok(Report { rows: self.rows(&outcome, &ideals), figures: self.figures(&outcome) })
    }

    fn simulate(&self, scheme: &PacketScheme, progress: &Progress) -> Result<Outcome, Cancelled> {
        let scene = Scene {
            network: self.network.clone(),
            balance: scheme.balance,
            flows: self.flows.clone(),
            smallest: self.packets.smallest(),
            largest: self.packets.full().max(self.packets.ack.0 as u16),
            horizon: self.horizon,
            streams: self.streams,
        };
        let setup = Setup {
            flows: self.flows.clone(),
            packets: self.packets.clone(),
            priority: scheme.priority.clone(),
            ack_priority: scheme.ack_priority,
            network: self.network.clone(),
            nic: self.nic.clone(),
        };
        let transport = Running::new(&scheme.transport, setup);
        with_queue!(&scheme.queue, |queue| {
            engine::sojourn_simulate(&scene, queue, transport, progress)
        })
    }

    /// The ideal scheduler says when a flow's last byte leaves; the rest of its way, and its
    /// acknowledgement's, is that of an empty fabric.
    fn schedule(
        &self,
        ideal: &Ideal,
        ideals: &[Span],
        progress: &Progress,
    ) -> Result<Outcome, Cancelled> {
        let departed = ideal.departures(&self.flows, &self.packets, &self.nic, progress)?;
        let finished = self.flows.iter().zip(ideals).zip(departed).map(|((flow, &ideal), at)| {
            let finished = at + (ideal - service(flow, &self.packets, &self.nic).min(ideal));
            if finished > self.horizon { Time::NEVER } else { finished }
        });
        let finished: Vec<Time> = finished.collect();
        let last = finished.iter().filter(|finished| **finished != Time::NEVER).max();
        Ok(Outcome {
            tallies: vec![Tally::default(); finished.len()],
            figures: Figures::default(),
            busy: vec![Span::ZERO; self.network.links.len()],
            ended: last.copied().unwrap_or(self.horizon),
            finished,
        })
    }

    fn rows(&self, outcome: &Outcome, ideals: &[Span]) -> Rows {
        let flows = &self.flows;
        let jobs: Vec<Job> = flows
            .iter()
            .zip(&outcome.finished)
            .zip(ideals)
            .map(|((flow, &finished), &ideal)| Job {
                bytes: flow.bytes,
                arrived: flow.arrived,
                finished,
                ideal,
            })
            .collect();
        let mut rows = Rows::of(vec!["flow"], vec![0; jobs.len()], &jobs);
        let column = |value: &dyn Fn(&Flow) -> i64| Column::Int(flows.iter().map(value).collect());
        rows.push("src", column(&|flow| flow.from.into()));
        rows.push("dst", column(&|flow| flow.to.into()));
        rows.push("packets", column(&|flow| self.packets.count(flow.bytes).into()));
        let tally = |value: &dyn Fn(&Tally) -> u32| {
            Column::Int(outcome.tallies.iter().map(|tally| value(tally).into()).collect())
        };
        rows.push("retransmits", tally(&|tally| tally.retransmits));
        rows.push("timeouts", tally(&|tally| tally.timeouts));
        let deadline = |flow: &Flow| match flow.deadline {
            Time::NEVER => -1,
            deadline => deadline.ps() as i64,
        };
        rows.push("deadline_ps", Column::Ps(flows.iter().map(deadline).collect()));
        if flows.iter().any(|flow| flow.class > 0) {
            let classes = flows.iter().map(|flow| flow.class).collect();
            rows.push("class", Column::Name(classes, CLASS_NAMES.to_vec()));
        }
        rows
    }

    fn figures(&self, outcome: &Outcome) -> Vec<(String, Value)> {
        let Figures {
            hops,
            injected,
            delivered,
            dropped_at_hosts,
            dropped_at_switches,
            in_network,
            marked,
            turns,
        } = outcome.figures;
        let never = |finished: &&Time| **finished == Time::NEVER;
        let unfinished = outcome.finished.iter().filter(never).count();
        let (hosts, switches) = outcome.busy.split_at(self.network.hosts);
        let share = |busy: &[Span]| {
            let all = outcome.ended.seconds() * busy.len() as f64;
            let busy: f64 = busy.iter().map(|span| span.seconds()).sum();
            if all > 0.0 { busy / all } else { 0.0 }
        };
        let counts = [
            ("events", hops + turns),
            ("hops", hops),
            ("host_turns", turns),
            ("packets_injected", injected),
            ("packets_delivered", delivered),
            ("drops", dropped_at_hosts + dropped_at_switches),
            ("packets_dropped_at_hosts", dropped_at_hosts),
            ("packets_dropped_at_switches", dropped_at_switches),
            ("packets_in_network", in_network),
            ("packets_marked", marked),
            ("unfinished", unfinished as u64),
            ("simulated_ps", outcome.ended.ps()),
        ];
        let shares = [("host_link_utilisation", hosts), ("switch_port_utilisation", switches)];
        let mut figures: Vec<(String, Value)> = counts
            .iter()
            .map(|&(name, count)| (name.to_owned(), Value::Int(count as i64)))
            .chain(shares.iter().map(|&(name, busy)| (name.to_owned(), Value::Float(share(busy)))))
            .collect();
        figures.push(("ideal".to_owned(), Value::Text(IDEAL.to_owned())));
        figures
    }
}

/// Best possible completion times; each pair of racks is routed once.
struct Ideals<'a> {
    network: &'a Network,
    packets: &'a Packets,
    /// By the racks of source and destination: the hops out and back.
    trips: Vec<Option<Box<RoundTrip>>>,
}

type RoundTrip = (Vec<Hop>, Vec<Hop>);

impl<'a> Ideals<'a> {
    fn new(network: &'a Network, packets: &'a Packets) -> Ideals<'a> {
        Ideals { network, packets, trips: vec![None; network.racks() * network.racks()] }
    }

    fn of(&mut self, flow: &Flow) -> Span {
        let (from, to) = (usize::from(flow.from), usize::from(flow.to));
        let network = self.network;
        let pair = network.rack_of(from) * network.racks() + network.rack_of(to);
        let (out, back) = &mut **self.trips[pair]
            .get_or_insert_with(|| Box::new((network.path(from, to), network.path(to, from))));
        // Between two racks all paths are alike but for their first and last links.
        let ends = [network.links[from].spec, network.links[to].spec];
        for (path, [first, last]) in [(&mut *out, ends), (&mut *back, [ends[1], ends[0]])] {
            path[0].link = first;
            path.last_mut().expect("two hops at least").link = last;
        }
        ideal_fct(self.packets, flow.bytes, out, back)
    }
}
