//! The input and the outcome of a simulation.

use super::deadlock::Blocked;
use super::partition::Partition;
use super::pauses::Pauses;
use super::sampling::{self, Sample};
use super::timing_wheel::REACH;
use crate::failure::{Fails, Failures};
use crate::flow::Flow;
use crate::hosts::Hosts;
use crate::job::{Dependencies, Watch};
use crate::packet::PacketArena;
use crate::path::Balance;
use crate::pfc::PausePlan;
use crate::queue::{FifoAhead, QueueKind};
use crate::ranks::{RankOutcome, RankRun};
use crate::switch_memory::{Inflow, MemoryPlan};
use crate::topology::{ExactTiming, Network};
use crate::transport::{Seen, Tally};
use sojourn_core::{Span, Streams, Time};
use std::sync::Arc;

/// The input of a simulation.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The fabric.
    pub network: Arc<Network>,
    /// The memory of each switch; empty where each port has the buffer of its discipline.
    pub memories: Arc<[MemoryPlan]>,
    /// Priority flow control, which takes the place of those memories.
    pub pauses: Option<PausePlan>,
    /// How hosts treat packets before they are on their links.
    pub hosts: Hosts,
    /// How packets choose among paths.
    pub balance: Balance,
    /// The packet that each flow loses by script; empty without one.
    pub losses: Arc<[ScriptedLoss]>,
    /// All flows by arrival time; behind them those that wait for others.
    pub flows: Arc<[Flow]>,
    /// Which of the last flows wait for which.
    pub dependencies: Arc<Dependencies>,
    /// Measurements of single flows over a time.
    pub watches: Arc<[Watch]>,
    /// The instants at which the flows of watches are looked at, in order: begins and ends of watches too.
    pub instants: Arc<[Time]>,
    /// Size of the smallest packet, in bytes.
    pub smallest: u16,
    /// Size of the largest packet, in bytes.
    pub largest: u16,
    /// Bytes that are left of a packet whose payload a queue trims.
    pub trimmed: u16,
    /// End of the run; flows that are not done then are reported as unfinished.
    pub horizon: Time,
    /// Interval between samples of switches' ports, if there are any.
    pub sample: Option<Span>,
    /// Ranks that execute a program, where there are any. Their connections are the last of the flows.
    pub ranks: Option<Arc<RankRun>>,
    /// Links, switches or cables that fail.
    pub failures: Arc<Failures>,
    /// The random streams.
    pub streams: Streams,
}

/// A data packet of a flow that is lost at its host, the first `times` times.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedLoss {
    /// The number of the packet.
    pub sequence: u32,
    /// How often it is still lost.
    pub times: u32,
}

/// The longest window. A longer one gains nothing, and the wheel's windows of this length are together
/// shorter than 2^64 / window, so that division by multiplication is exact.
const MAX_WINDOW: Span = Span::from_ps(1 << 28);

/// The shortest lookahead: a window of one picosecond has no inverse in 64 bits.
pub(crate) const SHORTEST_LOOKAHEAD: Span = Span::from_ps(2);

impl Scenario {
    /// The flows that wait for no other, by arrival time.
    pub(super) fn independent(&self) -> &[Flow] {
        &self.flows[..self.dependencies.waiting().start as usize]
    }

    /// The lookahead: the least time from a port to the next node.
    pub(super) fn lookahead(&self) -> Span {
        let links = self.network.links.iter().map(|link| ExactTiming::new(link, self.smallest));
        let crossings = links.map(|link| link.crossing(self.smallest));
        crossings.min().expect("a fabric has links")
    }

    /// An arena for the packets of one side.
    pub(super) fn arena(&self) -> PacketArena {
        let some = self.flows.iter().any(|flow| flow.class > 0);
        let classes = self.flows.iter().filter(|_| some).map(|flow| flow.class);
        PacketArena::new(classes.collect(), self.trimmed)
    }

    /// What fails on the link of `port`, if anything does.
    pub(super) fn fails(&self, port: u32) -> Option<Fails> {
        self.failures.on(port, || self.streams.stream("losses", port.into()))
    }

    /// Length of a window: within one no pause runs out that began in it.
    pub(super) fn window(&self) -> Span {
        let rates = self.network.links.iter().map(|link| link.spec.rate);
        let half = |plan: &PausePlan| rates.map(|rate| plan.time(rate) / 2).min();
        let pause = self.pauses.as_ref().and_then(half).unwrap_or(Span::MAX);
        self.lookahead().min(MAX_WINDOW).min(pause)
    }

    /// Longest delay of a packet in host number `host`.
    pub(super) fn overhead(&self, host: usize) -> Span {
        self.hosts.longest(self.network.links[host].spec, self.largest)
    }

    /// The most that can arrive at each switch within the lookahead.
    pub(super) fn inflows(&self) -> impl Iterator<Item = Inflow> + use<> {
        let mut inflows = vec![Inflow::default(); self.network.switches];
        let lookahead = self.lookahead();
        for (port, link) in (0..).zip(&self.network.links) {
            if let Some(switch) = (link.to as usize).checked_sub(self.network.hosts) {
                let Inflow { bytes, packets } = self.inflow_within(port, lookahead);
                inflows[switch].bytes += bytes;
                inflows[switch].packets += packets;
            }
        }
        inflows.into_iter()
    }

    /// The most that `port` can bring to the other end of its link within a window.
    pub(super) fn inflow(&self, port: u32) -> Inflow {
        self.inflow_within(port, self.window())
    }

    /// What a link carries in that time, and the end of a packet that began before.
    fn inflow_within(&self, port: u32, window: Span) -> Inflow {
        let host = (port as usize) < self.network.hosts;
        // A packet with the longest delay may arrive together with later ones without delay.
        let late = if host { self.overhead(port as usize) } else { Span::ZERO };
        let begun = self.network.links[port as usize].spec.rate.bytes_in(window + late) + 1;
        Inflow {
            bytes: begun + u64::from(self.largest),
            packets: begun.div_ceil(self.smallest.into()) + 1,
        }
    }

    /// The ports of `queue` as lines that send each packet on arrival, where they can and that is cheap.
    pub(super) fn sends_ahead(&self, queue: &QueueKind) -> Option<FifoAhead> {
        let changes = !self.failures.is_empty();
        let shares = !self.memories.is_empty() || self.pauses.is_some();
        let kept = changes || self.sample.is_some() || shares;
        FifoAhead::of(queue).filter(|line| !kept && self.is_shallow(line))
    }

    /// Whether even the last packet of a full `line` leaves within the reach of the timing wheel, so that
    /// it is cheap to send it on arrival.
    pub(super) fn is_shallow(&self, line: &FifoAhead) -> bool {
        let rates = self.network.links.iter().map(|link| link.spec.rate);
        let slowest = rates.min().expect("a fabric has links");
        slowest.bytes_in(self.window() * REACH) >= line.longest(self.largest)
    }

    /// From when on each flow has no route for good; empty where routes never change.
    pub(super) fn cuts(&self) -> Vec<Time> {
        self.failures.convergence().cuts(&self.flows)
    }

    /// When each flow that could finish ended because it, or one that it waits for, had no route for good;
    /// [`Time::NEVER`] for others, and empty where routes never change. The flows were `acknowledged` and those
    /// that wait `began` at these times.
    pub(super) fn without_route(&self, acknowledged: &[Time], began: &[Time]) -> Vec<Time> {
        let mut ended = self.cuts();
        for flow in 0..ended.len() {
            let place = self.dependencies.place(flow as u32);
            let waits = place.is_some_and(|place| began[place] == Time::NEVER);
            let parents = self.dependencies.parents(flow as u32).iter();
            let parent = parents.map(|&parent| ended[parent as usize]).min();
            ended[flow] = match parent {
                _ if acknowledged[flow] != Time::NEVER => Time::NEVER,
                Some(parent) if waits => parent.min(ended[flow]),
                _ => ended[flow],
            };
            // Not before it has come, nor after the end.
            let began = place.map(|place| began[place]).filter(|&began| began != Time::NEVER);
            let since = ended[flow].max(began.unwrap_or(self.flows[flow].arrived));
            let never = since > self.horizon || self.flows[flow].is_endless();
            ended[flow] = if never { Time::NEVER } else { since };
        }
        ended
    }

    /// End of a run whose flows were `acknowledged` at these times, or ended `without_route`: the last of
    /// them, or of watches.
    pub(super) fn ended(
        &self,
        acknowledged: &[Time],
        without_route: &[Time],
        ranks: Option<&RankOutcome>,
    ) -> Time {
        let of_ranks = ranks.iter().flat_map(|ranks| ranks.ended.iter().copied());
        if of_ranks.clone().any(|at| at == Time::NEVER) {
            return self.horizon;
        }
        // Where flows go on without an end, the engine stops for no flow that had to end.
        let goes_on = self.flows.iter().any(Flow::is_endless);
        let cut = without_route.iter().copied().filter(|_| !goes_on);
        let cut = cut.chain(std::iter::repeat(Time::NEVER));
        let ends = acknowledged.iter().zip(cut).map(|(&at, cut)| at.min(cut));
        let mut finite = ends.clone().zip(&*self.flows);
        if finite.any(|(at, flow)| at == Time::NEVER && !flow.is_endless()) {
            return self.horizon;
        }
        let ends = ends.filter(|at| *at != Time::NEVER);
        let ends = ends.chain(of_ranks);
        let last = ends.chain(self.watches.iter().map(|watch| watch.until)).max();
        last.unwrap_or(Time::ZERO)
    }
}

/// The outcome of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When the last byte of each flow was at its receiver; [`Time::NEVER`] if it never was.
    pub received: Vec<Time>,
    /// When the sender of each flow knew that; [`Time::NEVER`] if it never did.
    pub acknowledged: Vec<Time>,
    /// When each flow ended before its sender knew of its arrival because it had no route any more, or one
    /// that it waits for; [`Time::NEVER`] for others, and empty where routes never change.
    pub without_route: Vec<Time>,
    /// Resends, time-outs and progress of each flow.
    pub tallies: Vec<Tally>,
    /// When each flow that waits for others began; [`Time::NEVER`] if it never did.
    pub began: Vec<Time>,
    /// Resends, time-outs and progress of each watched flow during its watch.
    pub watched: Vec<Tally>,
    /// Bytes of each watched flow that its receiver had at each instant.
    pub progress: Vec<Vec<u64>>,
    /// Bytes of each flow that its receiver had at the end.
    pub delivered: Vec<u64>,
    /// What ranks did, where there are any.
    pub ranks: Option<RankOutcome>,
    /// Totals of packets.
    pub counts: PacketCounts,
    /// The most bytes that waited in each switch at once; empty where switches have no common memory.
    pub memory_peaks: Vec<u64>,
    /// The most bytes of its headroom that a port of each switch took; empty without priority flow control.
    pub headroom_peaks: Vec<u64>,
    /// What pauses did to each port; empty without priority flow control.
    pub pauses: Vec<Pauses>,
    /// Each pause of each port, from when until when, where they were noted.
    pub each_pause: Vec<(u32, Time, Time)>,
    /// What was seen of the flow that is watched packet by packet.
    pub seen: Vec<Seen>,
    /// The ports that have stopped the one before them at the end.
    pub blocked: Vec<Blocked>,
    /// The most bytes that waited at each port at once.
    pub port_peaks: Vec<u64>,
    /// Transmission time of each port.
    pub busy: Vec<Span>,
    /// The samples of switches' ports.
    pub samples: Vec<Sample>,
    /// End of the run.
    pub ended: Time,
}

impl Outcome {
    /// Joins the outcomes of all sides of `partition`. What did not happen on a side has its initial
    /// value there: times never, counts zero.
    pub(super) fn joined(
        parts: Vec<Outcome>,
        scenario: &Scenario,
        partition: &Partition,
    ) -> Outcome {
        let source = |flow: usize| partition.of(scenario.flows[flow].from.into());
        let tallies = (0..scenario.flows.len()).map(|flow| parts[source(flow)].tallies[flow]);
        let watched = scenario.watches.iter().enumerate();
        let watched = watched.map(|(w, watch)| parts[source(watch.flow as usize)].watched[w]);
        let seen = |watch: &Watch| partition.of(scenario.flows[watch.flow as usize].to.into());
        let progress = scenario.watches.iter().enumerate();
        let progress = progress.map(|(w, watch)| parts[seen(watch)].progress[w].clone());
        let (tallies, watched) = (tallies.collect(), watched.collect());
        let progress = progress.collect();
        let mut parts = parts.into_iter();
        let mut all = Outcome { tallies, watched, progress, ..parts.next().expect("a side") };
        for part in parts {
            join(&mut all.received, part.received, Time::min);
            join(&mut all.acknowledged, part.acknowledged, Time::min);
            join(&mut all.began, part.began, Time::min);
            join(&mut all.delivered, part.delivered, u64::max);
            join(&mut all.memory_peaks, part.memory_peaks, u64::max);
            join(&mut all.headroom_peaks, part.headroom_peaks, u64::max);
            join(&mut all.pauses, part.pauses, Pauses::joined);
            all.blocked.extend(part.blocked);
            all.each_pause.extend(part.each_pause);
            all.seen.extend(part.seen);
            join(&mut all.port_peaks, part.port_peaks, u64::max);
            join(&mut all.busy, part.busy, Span::max);
            if let (Some(all), Some(part)) = (&mut all.ranks, part.ranks) {
                all.join(part);
            }
            all.counts = all.counts + part.counts;
            all.samples.extend(part.samples);
        }
        all.blocked.sort_unstable_by_key(|blocked| blocked.port);
        sampling::in_order(&mut all.samples);
        all.without_route = scenario.without_route(&all.acknowledged, &all.began);
        all.ended = scenario.ended(&all.acknowledged, &all.without_route, all.ranks.as_ref());
        all
    }
}

/// Joins `part` into `all`, element by element, with `pick`.
fn join<V: Copy>(all: &mut [V], part: Vec<V>, pick: fn(V, V) -> V) {
    for (all, part) in all.iter_mut().zip(part) {
        *all = pick(*all, part);
    }
}

/// Totals of packets in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets sent by ports, hosts' ports too.
    pub hops: u64,
    /// Packets that transports handed to their host's port.
    pub injected: u64,
    /// Packets that reached the host they were for.
    pub delivered: u64,
    /// Packets dropped at hosts' ports, before they entered the fabric.
    pub dropped_at_hosts: u64,
    /// Packets dropped at switches' ports.
    pub dropped_at_switches: u64,
    /// Packets dropped at ports of switches without hosts; also among `dropped_at_switches`.
    pub dropped_in_core: u64,
    /// Packets lost on links that fail.
    pub lost_on_links: u64,
    /// Packets lost by script at the host they were for.
    pub lost_by_script: u64,
    /// Packets still on links or in queues at the end.
    pub in_network: u64,
    /// Data packets that arrived with a congestion mark.
    pub marked: u64,
    /// Calls of transports: packets, starts and wake-ups.
    pub turns: u64,
}

impl std::ops::Add for PacketCounts {
    type Output = PacketCounts;

    fn add(self, more: PacketCounts) -> PacketCounts {
        PacketCounts {
            hops: self.hops + more.hops,
            injected: self.injected + more.injected,
            delivered: self.delivered + more.delivered,
            dropped_at_hosts: self.dropped_at_hosts + more.dropped_at_hosts,
            dropped_at_switches: self.dropped_at_switches + more.dropped_at_switches,
            lost_by_script: self.lost_by_script + more.lost_by_script,
            dropped_in_core: self.dropped_in_core + more.dropped_in_core,
            lost_on_links: self.lost_on_links + more.lost_on_links,
            in_network: self.in_network + more.in_network,
            marked: self.marked + more.marked,
            turns: self.turns + more.turns,
        }
    }
}

impl PacketCounts {
    /// Counts a packet dropped at a switch with hosts (`edge`) or without.
    #[inline]
    pub(super) fn dropped_at(&mut self, edge: bool) {
        self.dropped_at_switches += 1;
        self.dropped_in_core += u64::from(!edge);
    }
}
