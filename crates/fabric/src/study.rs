//! One case of a fabric study: its parts, how it runs, and the rows it gives.

use crate::engine::{self, Cancelled, Figures, Outcome, Progress, Scene};
use crate::flow::{Flow, Packets, ideal_fct};
use crate::qdisc::{Queue, with_queue};
use crate::scheme::Scheme;
use crate::topology::{LinkSpec, Network, Topology};
use crate::transport::{Running, Setup};
use crate::workload::{Stage, Workload};
use sojourn_kernel::parameters::{Check, Refusal, Setting, Value, defaults};
use sojourn_kernel::{Rate, Span, Streams, Time, parameters};
use sojourn_queueing::{Column, Job, Rows};
use std::collections::BTreeMap;
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
        let buffer = with_queue!(&self.scheme.queue, |queue| queue.buffer);
        if buffer.0 < self.packets.full().into() {
            let given = buffer.write().expect("a size");
            let expected = format!("room for at least one full packet of {}B", self.packets.full());
            return Err(Refusal::value(&given, expected)
                .under("buffer")
                .under("queue")
                .under("scheme"));
        }
        Ok(())
    }
}

/// What the rows' `ideal_ps` is, for people.
const IDEAL: &str = "ideal: nobody else in the fabric, store and forward on the flow's own \
                         path, until the last packet's ACK is back at the sender";

/// A case with its flows drawn, ready to run.
#[derive(Clone, Debug)]
pub struct Ready {
    scene: Scene,
    setup: Setup,
    queue: Queue,
    kind: crate::transport::TransportKind,
}

/// The rows and totals of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// One row a flow.
    pub rows: Rows,
    /// Totals by name, with units, and what the ideal is.
    pub figures: Vec<(String, Value)>,
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
        let flows: Arc<[Flow]> = flows.into();
        let nic: Arc<[Rate]> = graph.nics().map(|link| link.rate).collect();
        let network = graph.network();
        let last = flows.last().map_or(Time::ZERO, |flow| flow.arrived);
        Ok(Ready {
            scene: Scene {
                network: Arc::new(network),
                balance: self.scheme.balance,
                flows: flows.clone(),
                smallest: self.packets.smallest(),
                largest: self.packets.full().max(self.packets.ack.0 as u16),
                horizon: last + self.drain,
                streams,
            },
            setup: Setup {
                flows,
                packets: self.packets.clone(),
                priority: self.scheme.priority,
                ack_priority: self.scheme.ack_priority,
                nic,
            },
            queue: self.scheme.queue.clone(),
            kind: self.scheme.transport.clone(),
        })
    }
}

impl Ready {
    /// How many flows will arrive.
    pub fn flows(&self) -> usize {
        self.scene.flows.len()
    }

    /// Simulates it.
    pub fn run(&self, progress: &Progress) -> Result<Report, Cancelled> {
        let outcome = self.simulate(progress)?;
        Ok(Report { rows: self.rows(&outcome), figures: self.figures(&outcome) })
    }

    fn simulate(&self, progress: &Progress) -> Result<Outcome, Cancelled> {
        let transport = Running::new(&self.kind, self.setup.clone());
        with_queue!(&self.queue, |queue| {
            engine::sojourn_simulate(&self.scene, queue, transport, progress)
        })
    }

    fn rows(&self, outcome: &Outcome) -> Rows {
        let flows = &self.scene.flows;
        let mut ideals = Ideals::new(&self.scene.network, &self.setup.packets);
        let jobs: Vec<Job> = flows
            .iter()
            .zip(&outcome.finished)
            .map(|(flow, &finished)| Job {
                bytes: flow.bytes,
                arrived: flow.arrived,
                finished,
                ideal: ideals.of(flow),
            })
            .collect();
        let mut rows = Rows::of(vec!["flow"], vec![0; jobs.len()], &jobs);
        let column = |value: &dyn Fn(&Flow) -> i64| Column::Int(flows.iter().map(value).collect());
        rows.push("src", column(&|flow| flow.from.into()));
        rows.push("dst", column(&|flow| flow.to.into()));
        rows.push("packets", column(&|flow| self.setup.packets.count(flow.bytes).into()));
        let tally = |value: &dyn Fn(&crate::transport::Tally) -> u32| {
            Column::Int(outcome.tallies.iter().map(|tally| value(tally).into()).collect())
        };
        rows.push("retransmits", tally(&|tally| tally.retransmits));
        rows.push("timeouts", tally(&|tally| tally.timeouts));
        let deadline = |flow: &Flow| match flow.deadline {
            Time::NEVER => -1,
            deadline => deadline.ps() as i64,
        };
        rows.push("deadline_ps", Column::Ps(flows.iter().map(deadline).collect()));
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
        let (hosts, switches) = outcome.busy.split_at(self.scene.network.hosts);
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

/// Best possible completion times; each pair of hosts is routed once.
struct Ideals<'a> {
    network: &'a Network,
    packets: &'a Packets,
    paths: BTreeMap<(usize, usize), (Vec<LinkSpec>, Vec<LinkSpec>)>,
}

impl<'a> Ideals<'a> {
    fn new(network: &'a Network, packets: &'a Packets) -> Ideals<'a> {
        Ideals { network, packets, paths: BTreeMap::new() }
    }

    fn of(&mut self, flow: &Flow) -> Span {
        let (from, to) = (usize::from(flow.from), usize::from(flow.to));
        let (out, back) = self
            .paths
            .entry((from, to))
            .or_insert_with(|| (self.network.path(from, to), self.network.path(to, from)));
        ideal_fct(self.packets, flow.bytes, out, back)
    }
}
