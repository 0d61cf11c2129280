//! One case of a fabric study: its parts, and how it runs.

use crate::engine::{
    self, Cancelled, Outcome, PacketCounts, Progress, SHORTEST_LOOKAHEAD, Scenario, ScriptedLoss,
};
use crate::failure::{Failure, Failures};
use crate::flow::{Completion, Flow, Ideals, Packets};
use crate::hosts::{HostPort, Hosts};
use crate::ideal::{Ideal, service};
use crate::job::{Averaging, Jobs};
use crate::packet::{LATEST_ARRIVAL, LONGEST_CROSSING, LONGEST_DRAIN};
use crate::pfc::PausePlan;
use crate::queue::Builder;
use crate::ranks::RankRun;
use crate::rows::{
    DEADLOCK, GOES_BACK, OfFlow, PART_NAMES, Played, TOO_SHORT, TRACE, WITHOUT_ROUTE, deadlock,
    go_back, report, too_short, trace, without_route,
};
use crate::scheme::{PacketScheme, Scheme};
use crate::switch_memory::{Buffer, MemoryPlan, Tiers};
use crate::topology::{Forwarding, Graph, LinkSpec, Network, Topology};
use crate::transport::{Running, Setup, Tally, Traced};
use crate::workload::{Drawn, Role, Workload, WorkloadContext};
use sojourn_core::model::Tell;
use sojourn_core::parameters::{Check, Refusal, Setting, Value, defaults};
use sojourn_core::resource::{Call, Tables};
use sojourn_core::{Execution, Keep, Rate, Report, Span, Streams, Time, parameters};
use std::sync::Arc;

parameters! {
    /// A fabric: flows over hosts, links and switches, packet by packet.
    pub struct FabricCase: "fabric" {
        /// Topology of the fabric.
        pub topology: Topology,
        /// Jobs that arrive.
        pub workload: Workload,
        /// A second workload that arrives as well. It has its own random numbers, so its jobs do
        /// not depend on the first workload.
        pub background: Option<Workload> = None,
        /// Transport, queue and choice of paths.
        pub scheme: Scheme,
        /// Memory of the switches.
        pub buffer: Buffer = Buffer::default(),
        /// Memory of switches without hosts, such as spines, if it differs.
        pub core_buffer: Option<Buffer> = None,
        /// Sizes of packets.
        pub packets: Packets = defaults(),
        /// Behaviour of hosts before packets are on their links.
        pub hosts: Hosts = defaults(),
        /// Links, switches or cables that fail.
        pub failure: Vec<Failure> = Vec::new(),
        /// When a switch may forward a packet.
        pub forwarding: Forwarding = Forwarding::StoreAndForward,
        /// Which event completes a flow, and so ends its sojourn time and its ideal time.
        pub completion: Completion = Completion::Receiver,
        /// Longest time that a run continues after the last arrival. If it is too short, flows stay
        /// unfinished. For programs of ranks it counts from the time that they would take one after
        /// the other, with messages ten times as long as their bytes take.
        pub drain: Span = Span::from_s(1),
        /// Interval at which the queues and the utilisation of switch ports are recorded as time
        /// series. By default they are not recorded.
        pub sample: Option<Span> = None,
        /// The flow whose packets are recorded one by one, in the table `trace`, with the pauses of the ports
        /// on their way; flows are numbered by arrival, as in the column `job` where only flows have
        /// rows. By default there is none.
        pub trace: Option<u32> = None,
        /// Whether rows have a column `window_digest`: a hash of window and ssthresh after every ACK
        /// outside of a recovery, equal where two controllers of TCP do the same.
        pub window_digest: bool = false,
        /// Whether each message of ranks that crosses the network has a row (kind `message`). A run of a large model
        /// has millions of them, at some 200 bytes of memory each.
        pub message_rows: bool = false,
    }
}

/// Shortest interval between samples.
const SHORTEST_SAMPLE: Span = Span::from_us(1);

impl Check for FabricCase {
    fn check(&self) -> Result<(), Refusal> {
        if self.drain > LONGEST_DRAIN {
            let expected = format!("at most {LONGEST_DRAIN}");
            return Err(Refusal::of(&self.drain, expected).under("drain"));
        }
        if let Some(short) = self.sample.filter(|sample| *sample < SHORTEST_SAMPLE) {
            let expected = format!("at least {SHORTEST_SAMPLE}");
            return Err(Refusal::of(&short, expected).under("sample"));
        }
        let full = self.packets.full().into();
        self.topology.check_links(full).map_err(|refusal| refusal.under("topology"))?;
        let graph = self.topology.graph();
        let crossing = |link: LinkSpec| link.rate.span(full).saturating_add(link.delay);
        let mut links = graph.links().map(|link| graph.farthest(link));
        if let Some(slow) = links.find(|&link| crossing(link) > LONGEST_CROSSING) {
            let given = Value::Text(format!("{} and {}", slow.rate, slow.delay));
            let expected = format!("links that a full packet crosses within {LONGEST_CROSSING}");
            return Err(Refusal::value(&given, expected).under("topology"));
        }
        let smallest = self.packets.smallest().into();
        let crossing = |link: LinkSpec| link.rate.span(smallest) + link.delay;
        if let Some(short) = graph.links().find(|&link| crossing(link) < SHORTEST_LOOKAHEAD) {
            let expected = format!(
                "links that a packet of {smallest} bytes takes {SHORTEST_LOOKAHEAD} to cross, not \
                 {}",
                crossing(short)
            );
            let refusal = Refusal::value(&short.rate.write().expect("a rate"), expected);
            let refusal = match self.topology.key_of(short.rate) {
                Some(key) => refusal.under(&key),
                None => refusal,
            };
            return Err(refusal.under("topology"));
        }
        if !self.failure.is_empty() {
            self.check_failures(&graph)?;
        }
        if self.message_rows && !self.sources().any(|(_, source)| source.has_ranks()) {
            let expected =
                "false: only workloads of ranks have messages, such as collective and training";
            return Err(Refusal::of(&true, expected).under("message_rows"));
        }
        if self.workload.has_ranks()
            && let Some(background) = self.background.as_ref().filter(|other| other.has_ranks())
        {
            let given = Value::Text(background.arrivals.name().to_owned());
            let expected = "a workload of flows, beside ranks";
            return Err(Refusal::value(&given, expected).under("kind").under("background"));
        }
        let memories = self.tiers().plans(&graph)?;
        let Scheme::Packets(scheme) = &self.scheme else { return self.check_ideal() };
        let room = scheme.queue.check_largest(self.packets.full());
        room.map_err(|refusal| refusal.under("queue").under("scheme"))?;
        let packet = graph.nics().map(|link| link.rate.span(full)).max();
        let timer = scheme.transport.check_packet(packet.unwrap_or(Span::ZERO));
        timer.map_err(|refusal| refusal.under("transport").under("scheme"))?;
        self.check_pauses(scheme, &graph)?;
        self.tiers().check(&graph, &memories, self.packets.full())
    }
}

/// A case with its flows drawn, ready to run.
#[derive(Clone, Debug)]
pub struct Ready {
    pub(crate) scheme: Scheme,
    pub(crate) packets: Packets,
    pub(crate) hosts: Hosts,
    pub(crate) network: Arc<Network>,
    pub(crate) memories: Arc<[MemoryPlan]>,
    pub(crate) pauses: Option<PausePlan>,
    pub(crate) nic: Arc<[Rate]>,
    pub(crate) jobs: Jobs,
    pub(crate) averaging: Averaging,
    pub(crate) completion: Completion,
    pub(crate) horizon: Time,
    pub(crate) sample: Option<Span>,
    pub(crate) trace: Option<u32>,
    pub(crate) digest_windows: bool,
    pub(crate) message_rows: bool,
    pub(crate) failures: Arc<Failures>,
    pub(crate) streams: Streams,
}

impl FabricCase {
    /// The links that fail, one replication's.
    fn failures(&self, network: &Network, streams: Streams) -> Result<Failures, Refusal> {
        let failures = Failures::of(&self.failure, network, streams);
        failures.map_err(|refusal| refusal.under("failure"))
    }

    /// Refuses links that are not there, and those that would keep a full packet for too long.
    fn check_failures(&self, graph: &Graph) -> Result<(), Refusal> {
        let network = graph.network();
        let failures = self.failures(&network, Streams::new(0, 0))?;
        let full = self.packets.full().into();
        let time = |(port, share): (u32, f64)| {
            let link = graph.farthest(network.links[port as usize].spec);
            let slowed = link.rate.span(full).ps() as f64 / share;
            Span::from_ps(slowed as u64).saturating_add(link.delay)
        };
        match failures.least().map(time).max().filter(|longest| *longest > LONGEST_CROSSING) {
            None => Ok(()),
            Some(longest) => {
                let given = Value::Text(format!("{longest} for a full packet"));
                let expected =
                    format!("links that a full packet crosses within {LONGEST_CROSSING}");
                Err(Refusal::value(&given, expected).under("capacity").under("failure"))
            }
        }
    }

    /// Refuses what cannot go with priority flow control: other memories, and hosts that drop.
    fn check_pauses(&self, scheme: &PacketScheme, graph: &Graph) -> Result<(), Refusal> {
        if scheme.pfc.is_none() {
            return Ok(());
        }
        let private = Buffer::default();
        let memories = [("buffer", Some(&self.buffer)), ("core_buffer", self.core_buffer.as_ref())];
        for (key, memory) in memories {
            if let Some(other) = memory.filter(|memory| memory.name() != private.name()) {
                let expected = format!(
                    "{:?} beside priority flow control: scheme.pfc says what memory a switch has",
                    private.name()
                );
                return Err(
                    Refusal::value(&Value::Text(other.name().to_owned()), expected).under(key)
                );
            }
        }
        if self.hosts.port != HostPort::Backpressure {
            let expected = "\"backpressure\" beside priority flow control: a host that is stopped drops nothing";
            return Err(Refusal::of(&self.hosts.port, expected).under("port").under("hosts"));
        }
        self.pauses(&graph.network()).map(drop)
    }

    /// Priority flow control in `network`, where the scheme has it.
    fn pauses(&self, network: &Network) -> Result<Option<PausePlan>, Refusal> {
        let Scheme::Packets(PacketScheme { pfc: Some(pfc), .. }) = &self.scheme else {
            return Ok(None);
        };
        let largest = self.packets.largest();
        let overhead = |host: usize| self.hosts.longest(network.links[host].spec, largest);
        let plan = PausePlan::new(pfc, network, largest, overhead);
        let mut plan = plan.map_err(|refusal| refusal.under("pfc").under("scheme"))?;
        plan.notes_each = self.trace.is_some();
        Ok(Some(plan))
    }

    /// Refuses to trace a flow that there is not.
    fn check_trace(&self, jobs: &Jobs) -> Result<(), Refusal> {
        match self.trace.filter(|&flow| flow as usize >= jobs.flows.len()) {
            Some(flow) => {
                let expected = format!("a flow from 0 to {}", jobs.flows.len().saturating_sub(1));
                Err(Refusal::of(&flow, expected).under("trace"))
            }
            None => Ok(()),
        }
    }

    /// The ideal scheduler knows flows that come at a time and end.
    fn check_ideal(&self) -> Result<(), Refusal> {
        if !self.failure.is_empty() {
            let expected = "none, for the scheme Ideal, whose fabric is whole";
            return Err(Refusal::of(&self.failure, expected).under("failure"));
        }
        if let Some(sample) = self.sample {
            let expected = "none, for the scheme Ideal, which has no ports";
            return Err(Refusal::of(&sample, expected).under("sample"));
        }
        if let Some(flow) = self.trace {
            let expected = "none, for the scheme Ideal, which has no packets";
            return Err(Refusal::of(&flow, expected).under("trace"));
        }
        match self.sources().find(|(_, source)| !source.is_of_flows()) {
            None => Ok(()),
            Some((key, source)) => {
                let given = Value::Text(source.arrivals.name().to_owned());
                let expected = "a workload of flows that end, for the scheme Ideal";
                Err(Refusal::value(&given, expected).under("kind").under(key))
            }
        }
    }

    /// Refuses flows that wait for others; `purpose` says what for their arrival times have to be known. Other
    /// arguments as for [`count`](FabricCase::count).
    pub(crate) fn check_known_arrivals(
        &self,
        first: Streams,
        tables: Tables<'_>,
        purpose: &str,
    ) -> Result<(), Refusal> {
        let graph = &self.topology.graph();
        let context = WorkloadContext { graph, packets: &self.packets, tables, tell: &|_| {} };
        self.sources().zip(self.branches(first)).try_for_each(|((key, source), first)| {
            let checked = source.check_known_arrivals(&context, first, purpose);
            checked.map_err(|refusal| refusal.under(key))
        })
    }

    /// The parts that draw jobs, and their keys.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&'static str, &Workload)> {
        PART_NAMES
            .into_iter()
            .zip([Some(&self.workload), self.background.as_ref()].into_iter().flatten())
    }

    /// For each of them its own random streams: the first of a kind has those it has alone.
    fn branches(&self, streams: Streams) -> impl Iterator<Item = Streams> {
        let kind = |source: &Workload| source.arrivals.name();
        let same = |(key, source): &(_, &Workload)| {
            let before = self.sources().take_while(|(other, _)| other != key);
            before.filter(|(_, other)| kind(other) == kind(source)).count() as u64
        };
        let nth: Vec<u64> = self.sources().map(|source| same(&source)).collect();
        nth.into_iter().map(move |nth| streams.branch(nth))
    }

    /// The calls of functions that draw the jobs of a replication.
    pub fn calls(&self, streams: Streams) -> Result<Vec<Call>, Refusal> {
        let sources = self.sources().zip(self.branches(streams));
        let calls = sources.filter_map(|((key, source), own)| {
            let call = source.call(&self.topology, own).map_err(|refusal| refusal.under(key));
            call.transpose()
        });
        calls.collect()
    }

    /// How many jobs will arrive in each replication. Reads and checks every file that the case
    /// names, and draws nothing: what this takes, [`ready`](FabricCase::ready) takes. `first` are the streams of
    /// the first replication. Gives `tell` what the author of the case has to know about how its files were read.
    pub fn count(
        &self,
        first: Streams,
        tables: Tables<'_>,
        tell: Tell<'_>,
    ) -> Result<usize, Refusal> {
        if let Scheme::Ideal(_) = self.scheme {
            self.check_known_arrivals(first, tables, "for the scheme Ideal")?;
        }
        let graph = &self.topology.graph();
        let context = WorkloadContext { graph, packets: &self.packets, tables, tell };
        let mut jobs = 0;
        for ((key, source), first) in self.sources().zip(self.branches(first)) {
            jobs += source.count(&context, first, jobs).map_err(|refusal| refusal.under(key))?;
        }
        Ok(jobs)
    }

    /// The memories of switches.
    fn tiers(&self) -> Tiers<'_> {
        Tiers { edge: &self.buffer, core: self.core_buffer.as_ref() }
    }

    /// Draws the jobs of one replication.
    pub fn ready(&self, streams: Streams, tables: Tables<'_>) -> Result<Ready, Refusal> {
        let graph = self.topology.graph().forwarding(self.forwarding).drawn(streams);
        let packets = &self.packets;
        let context = WorkloadContext { graph: &graph, packets, tables, tell: &|_| {} };
        let drawn: Result<Vec<Drawn>, Refusal> = self
            .sources()
            .zip(self.branches(streams))
            .map(|((key, source), own)| {
                source.draw(&context, own).map_err(|refusal| refusal.under(key))
            })
            .collect();
        let jobs = Jobs::new(&drawn?);
        self.check_trace(&jobs)?;
        let network = Arc::new(graph.network());
        let slowest = network.links.iter().map(|link| link.spec.rate).min();
        let ranks = jobs.ranks.as_ref().zip(slowest);
        let ranks = ranks.map(|(ranks, slowest)| ranks.longest(slowest).min(LATEST_ARRIVAL));
        let last = jobs.last_arrival().max(ranks.map(|longest| Time::ZERO + longest));
        let drained = last.map(|last| last + self.drain);
        let failures = self.failures(&network, streams)?;
        let averaging = Averaging::new(&jobs.watches, self.round_trip(&network, &jobs));
        Ok(Ready {
            scheme: self.scheme.clone(),
            packets: self.packets.clone(),
            hosts: self.hosts.clone(),
            nic: graph.nics().map(|link| link.rate).collect(),
            pauses: self.pauses(&network)?,
            network,
            averaging,
            memories: self.tiers().plans(&graph)?,
            horizon: drained.max(jobs.last_look()).unwrap_or(Time::ZERO),
            jobs,
            completion: self.completion,
            sample: self.sample,
            trace: self.trace,
            digest_windows: self.window_digest,
            message_rows: self.message_rows,
            failures: Arc::new(failures),
            streams,
        })
    }

    /// The shortest round trip of a full packet of any long flow, in an empty fabric.
    fn round_trip(&self, network: &Network, jobs: &Jobs) -> Span {
        let mut ideals = Ideals::new(network, &self.packets);
        let watched = jobs.watches.iter().map(|watch| jobs.flows[watch.flow as usize]);
        let packet = watched.map(|flow| Flow { bytes: self.packets.payload.0, ..flow });
        let trips = packet.map(|flow| ideals.of(&flow, Completion::Sender));
        trips.min().unwrap_or(Span::ZERO)
    }
}

impl Ready {
    /// Simulates it; the ideal scheduler has one thread. Rows and time series are made where they are kept.
    pub fn run(&self, execution: Execution<'_>) -> Result<Report, Cancelled> {
        let mut ideals = Ideals::new(&self.network, &self.packets);
        let best = self.jobs.ideal_times(&mut ideals, self.completion);
        let outcome = match &self.scheme {
            Scheme::Packets(scheme) => self.simulate(scheme, execution)?,
            Scheme::Ideal(ideal) => self.schedule(ideal, &mut ideals, execution.progress)?,
        };
        let mut report = report(execution.keep, self.played(), &best, &outcome);
        let ends = match self.completion {
            Completion::Receiver => &outcome.received,
            Completion::Sender => &outcome.acknowledged,
        };
        let words = without_route(&outcome.without_route, ends);
        report.totals.extend(words.map(|words| (WITHOUT_ROUTE.to_owned(), Value::Text(words))));
        let words =
            ends.contains(&Time::NEVER).then(|| deadlock(&outcome, &self.network)).flatten();
        report.totals.extend(words.map(|words| (DEADLOCK.to_owned(), Value::Text(words))));
        if let Scheme::Packets(scheme) = &self.scheme {
            let words = go_back(scheme, &outcome.tallies);
            report.totals.extend(words.map(|words| (GOES_BACK.to_owned(), Value::Text(words))));
            let words = too_short(&scheme.transport, &self.jobs.flows, ends, &mut ideals);
            report.totals.extend(words.map(|words| (TOO_SHORT.to_owned(), Value::Text(words))));
            if let (Some(number), Keep::Rows) = (self.trace, execution.keep) {
                report.beside.push((TRACE, trace(self.traced(number, scheme), &outcome)));
            }
        }
        Ok(report)
    }

    /// The flow that is traced.
    fn traced(&self, number: u32, scheme: &PacketScheme) -> OfFlow<'_> {
        OfFlow {
            number,
            flow: self.jobs.flows[number as usize],
            network: &self.network,
            balance: scheme.balance,
            streams: self.streams,
        }
    }

    /// The jobs and the fabric, for rows.
    pub(crate) fn played(&self) -> Played<'_> {
        Played {
            jobs: &self.jobs,
            network: &self.network,
            packets: &self.packets,
            completion: self.completion,
            averaging: &self.averaging,
            have_failures: !self.failures.is_empty(),
        }
    }

    pub(crate) fn simulate(
        &self,
        scheme: &PacketScheme,
        execution: Execution<'_>,
    ) -> Result<Outcome, Cancelled> {
        let ranks = self.ranks();
        let scenario = Scenario {
            network: self.network.clone(),
            memories: self.memories.clone(),
            pauses: self.pauses.clone(),
            hosts: self.hosts.clone(),
            losses: self.losses(),
            balance: scheme.balance,
            flows: self.jobs.flows.clone(),
            dependencies: self.jobs.dependencies.clone(),
            watches: self.jobs.watches.clone(),
            instants: self.averaging.instants.clone(),
            smallest: self.packets.smallest(),
            largest: self.packets.largest(),
            trimmed: self.packets.trimmed(),
            horizon: self.horizon,
            sample: self.sample,
            failures: self.failures.clone(),
            ranks: ranks.clone(),
            streams: self.streams,
        };
        let setup = Setup {
            flows: self.jobs.flows.clone(),
            packets: self.packets.clone(),
            priority: scheme.priority.clone(),
            ack_priority: scheme.ack_priority,
            network: self.network.clone(),
            nic: self.nic.clone(),
            streams: self.streams,
            exchanges: scheme.transport.exchanges(self.jobs.flows.len()),
            connections: ranks.map(|run| run.connections()),
            digest_windows: self.digest_windows,
        };
        let transport = || {
            let running = Running::new(&scheme.transport, setup.clone());
            match self.trace {
                Some(flow) => Running::Traced(Box::new(Traced::new(running, flow))),
                None => running,
            }
        };
        scheme.surround(execution, || {
            engine::simulate(&scenario, &scheme.queue, transport, execution)
        })
    }

    /// The ranks of the case before they have done anything, if it has any.
    fn ranks(&self) -> Option<Arc<RankRun>> {
        let plan = self.jobs.ranks.clone()?;
        let first = self.jobs.owners.partition_point(|owner| owner.role != Role::Connection);
        Some(Arc::new(RankRun::new(plan, first as u32, self.packets.payload.0, self.message_rows)))
    }

    /// The packet that each flow loses by script; none where there is no script.
    fn losses(&self) -> Arc<[ScriptedLoss]> {
        let Some(loss) = &self.hosts.loss else { return Arc::default() };
        let of_flow = |flow: &Flow| {
            let sequence = match flow.is_endless() && loss.packet.is_none() {
                true => None,
                false => loss.sequence(self.packets.count(flow.bytes)),
            };
            let times = if sequence.is_some() { loss.times.get() } else { 0 };
            ScriptedLoss { sequence: sequence.unwrap_or_default(), times }
        };
        self.jobs.flows.iter().map(of_flow).collect()
    }

    /// The ideal scheduler says when a flow's last byte leaves; the rest of its way, and its
    /// acknowledgement's, is that of an empty fabric.
    fn schedule(
        &self,
        ideal: &Ideal,
        ideals: &mut Ideals<'_>,
        progress: &Progress,
    ) -> Result<Outcome, Cancelled> {
        let flows = &self.jobs.flows;
        let departed = ideal.departures(flows, &self.packets, &self.nic, self.horizon, progress)?;
        let ends = flows.iter().zip(departed).map(|(flow, at)| {
            if at == Time::NEVER {
                return (at, at);
            }
            let service = service(flow, &self.packets, &self.nic);
            let mut end = |completion| {
                let ideal = ideals.of(flow, completion);
                let end = at + (ideal - service.min(ideal));
                if end > self.horizon { Time::NEVER } else { end }
            };
            (end(Completion::Receiver), end(Completion::Sender))
        });
        let (received, acknowledged): (Vec<Time>, Vec<Time>) = ends.unzip();
        let last = acknowledged.iter().filter(|at| **at != Time::NEVER).max();
        Ok(Outcome {
            without_route: Vec::new(),
            tallies: vec![Tally::default(); flows.len()],
            began: Vec::new(),
            watched: Vec::new(),
            progress: Vec::new(),
            delivered: Vec::new(),
            ranks: None,
            counts: PacketCounts::default(),
            memory_peaks: Vec::new(),
            headroom_peaks: Vec::new(),
            pauses: Vec::new(),
            each_pause: Vec::new(),
            seen: Vec::new(),
            blocked: Vec::new(),
            port_peaks: Vec::new(),
            samples: Vec::new(),
            busy: vec![Span::ZERO; self.network.links.len()],
            ended: last.copied().unwrap_or(self.horizon),
            received,
            acknowledged,
        })
    }
}
