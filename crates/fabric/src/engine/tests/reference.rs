//! The slow and obvious engine: one heap of events, no windows. It drives the same transports and
//! disciplines; what it checks is the engine's own work: time, order, routing, timers.

use super::random_scenarios::{buffers, classes, flows, managed_or_not, scenario, topologies};
use crate::engine::host::{START, WAKE_RECEIVER, WAKE_SENDER, start_note, wake_note, wake_of};
use crate::engine::looks::Looks;
use crate::engine::nic::Nic;
use crate::engine::routing::{at_a_tie, drawn};
use crate::engine::{Scenario, queue_of, sojourn_simulate, with_ports};
use crate::packet::{Kind, NIL, Packet, PacketArena, PacketId};
use crate::path::{Choose, Input, first_turn, with_balance};
use crate::queue::{Between, Builder, Queue, QueueKind, Weighted, with_queue};
use crate::scheme::PacketScheme;
use crate::switch_memory::{Memory, Share, Tiers};
use crate::transport::{End, Outbox, Running, Tally, Transport, Wake};
use proptest::prelude::*;
use sojourn_core::Time;
use sojourn_core::parameters::defaults;
use sojourn_properties::cases;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU8;

/// What happens, in the order in which it happens: by time; arrivals before services; at one node
/// by the number of the port that it comes in by, notes after packets; notes of one moment by flow;
/// services by the port.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    service: bool,
    node: u32,
    arrives_by: u8,
    flow: u32,
    unit: usize,
    packet: PacketId,
    /// Whether it has its place among the arrivals of that time at that port.
    placed: bool,
}

/// The low byte of the key of a note that a host's link may take more: after all others.
const RESUME: u8 = 5;

struct Reference<'a, B: Builder> {
    scenario: &'a Scenario,
    transport: Running,
    queues: Vec<B::Port>,
    memories: Vec<Memory>,
    /// Of each port; empty where switches have no memory.
    shares: Vec<Share>,
    dropped_at_switches: u64,
    free: Vec<Time>,
    served: Vec<bool>,
    turns: Vec<u8>,
    nics: Vec<Nic>,
    /// For the order at a tie, and for hashes, of each switch.
    drawn: Vec<(u64, u64)>,
    arena: PacketArena,
    events: BinaryHeap<Reverse<Event>>,
    received: Vec<Time>,
    acknowledged: Vec<Time>,
    began: Vec<Time>,
    looks: Looks<'a>,
    /// How many watches have ended.
    ended: usize,
}

/// What the obvious engine saw.
#[derive(Debug)]
struct Seen {
    received: Vec<Time>,
    acknowledged: Vec<Time>,
    began: Vec<Time>,
    tallies: Vec<Tally>,
    watched: Vec<Tally>,
    progress: Vec<Vec<u64>>,
    dropped_at_switches: u64,
    memory_peaks: Vec<u64>,
}

fn obvious<B: Builder>(scenario: &Scenario, queue: &B, transport: Running) -> Seen {
    let ports = scenario.network.links.len();
    let (memories, shares): (Vec<_>, Vec<_>) = scenario.memories.iter().map(Memory::new).unzip();
    let hosts = vec![Share::default(); scenario.network.hosts];
    let first = |port: u32| match scenario.network.switch_of(scenario.network.far_end(port)) {
        Some(switch) => first_turn(scenario.streams, port, scenario.network.most_ways(switch)),
        None => 0,
    };
    let asked = transport.asked();
    let mut oracle = Reference::<B> {
        scenario,
        transport,
        queues: (0..ports as u64).map(|p| queue_of(scenario, queue, p)).collect(),
        memories,
        shares: hosts.into_iter().chain(shares.into_iter().flatten()).collect(),
        dropped_at_switches: 0,
        free: vec![Time::ZERO; ports],
        served: vec![false; ports],
        turns: (0..ports as u32).map(first).collect(),
        nics: (0..scenario.network.hosts).map(|host| Nic::new(scenario, host, asked)).collect(),
        drawn: drawn(scenario).collect(),
        arena: scenario.arena(),
        events: BinaryHeap::new(),
        received: vec![Time::NEVER; scenario.flows.len()],
        acknowledged: vec![Time::NEVER; scenario.flows.len()],
        began: vec![Time::NEVER; scenario.dependencies.waiting().len()],
        looks: Looks::new(scenario),
        ended: 0,
    };
    for (flow, start) in scenario.independent().iter().enumerate() {
        oracle.arrive(start.from.into(), start_note(start.arrived, flow as u32));
    }
    while oracle.looks.next_instant() != Time::NEVER {
        let notes: Vec<_> = oracle.looks.take_notes().collect();
        for note in notes {
            oracle.arrive(note.to.into(), note);
        }
    }
    while oracle.ended < scenario.watches.len() || oracle.acknowledged.contains(&Time::NEVER) {
        let Reverse(event) = oracle.events.pop().expect("flows are left, so something happens");
        oracle.happen(event);
    }
    Seen {
        tallies: (0..scenario.flows.len() as u32).map(|f| oracle.transport.tally(f)).collect(),
        memory_peaks: oracle.memories.iter().map(Memory::peak).collect(),
        received: oracle.received,
        acknowledged: oracle.acknowledged,
        began: oracle.began,
        watched: oracle.looks.tallies,
        progress: oracle.looks.received,
        dropped_at_switches: oracle.dropped_at_switches,
    }
}

impl<B: Builder> Reference<'_, B> {
    fn arrive(&mut self, unit: usize, packet: Packet) {
        self.events.push(Reverse(Event {
            at: packet.arrives(),
            service: false,
            node: self.scenario.network.links[unit].from,
            arrives_by: packet.key as u8,
            flow: packet.flow,
            unit,
            packet: self.arena.insert(packet),
            placed: unit < self.scenario.network.hosts,
        }));
    }

    /// Has more than two packets that come to the port of `event` at its time change places by chance.
    fn place(&mut self, event: Event) {
        let salt = self.drawn[self.switch_of(event.unit)].0;
        let is_rival = |Reverse(other): &Reverse<Event>| {
            !other.service && (other.unit, other.at) == (event.unit, event.at)
        };
        let (mut rivals, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.events).into_iter().partition(is_rival);
        rivals.push(Reverse(event));
        let mut keys: Vec<u64> =
            rivals.iter().map(|rival| self.arena[rival.0.packet].key).collect();
        if keys.len() > 2 {
            keys.sort_unstable();
            rivals.sort_by_key(|Reverse(rival)| self.arena[rival.packet].hash(salt));
            for (Reverse(rival), key) in rivals.iter_mut().zip(keys) {
                self.arena[rival.packet].key = key;
                rival.arrives_by = key as u8;
            }
        }
        let placed = |Reverse(rival)| Reverse(Event { placed: true, ..rival });
        self.events = others.into_iter().chain(rivals.into_iter().map(placed)).collect();
    }

    fn happen(&mut self, event: Event) {
        if !event.placed {
            return self.place(event);
        }
        let Event { at, service, unit, packet, .. } = event;
        if service {
            self.served[unit] = false;
            let mut dropped = Vec::new();
            let next = self.queues[unit].dequeue(at, &mut self.arena, |id, _| dropped.push(id));
            let switch = self.switch_of(unit);
            if let Some(memory) = self.memories.get_mut(switch) {
                for id in dropped.iter().copied().chain(next) {
                    memory.give(&mut self.shares[unit], self.arena[id].size);
                }
            }
            if unit >= self.scenario.network.hosts {
                self.dropped_at_switches += dropped.len() as u64;
            }
            for id in dropped {
                self.arena.free(id);
            }
            if let Some(id) = next {
                self.launch(unit, at, id);
            }
            self.serve(unit, at);
        } else if unit < self.scenario.network.hosts {
            self.host(unit, at, packet);
        } else {
            self.wait(unit, at, packet);
        }
    }

    fn wait(&mut self, unit: usize, at: Time, id: PacketId) {
        let switch = self.switch_of(unit);
        let goes_through = switch < self.memories.len() && self.goes_through(unit, at);
        let queue = &mut self.queues[unit];
        if goes_through && queue.pass(&mut self.arena[id]) {
            return self.launch(unit, at, id);
        }
        let free = self.free[unit].max(at);
        let mut dropped = 0;
        let drop = |id, arena: &mut PacketArena| {
            dropped += 1;
            arena.free(id);
        };
        match self.memories.get_mut(switch) {
            None => queue.enqueue(at, free, id, &mut self.arena, drop),
            Some(memory) => {
                memory.offer((at, free), &mut self.shares[unit], queue, id, &mut self.arena, drop);
                memory.held_at_once(memory.held());
            }
        }
        if unit >= self.scenario.network.hosts {
            self.dropped_at_switches += dropped;
        }
        self.serve(unit, at);
    }

    /// The switch that port `unit` is of; for a host, no switch that there is.
    fn switch_of(&self, unit: usize) -> usize {
        (self.scenario.network.links[unit].from as usize).wrapping_sub(self.scenario.network.hosts)
    }

    /// Whether a packet that comes to port `unit` at `at` need not wait: the port is idle, and no
    /// other comes to it at the same time.
    fn goes_through(&self, unit: usize, at: Time) -> bool {
        let rival = |event: &Event| !event.service && event.unit == unit && event.at == at;
        self.queues[unit].is_empty()
            && self.free[unit] <= at
            && !self.events.iter().any(|Reverse(event)| rival(event))
    }

    fn serve(&mut self, unit: usize, at: Time) {
        if !self.served[unit] && !self.queues[unit].is_empty() {
            self.served[unit] = true;
            let at = at.max(self.free[unit]);
            let node = self.scenario.network.links[unit].from;
            let (service, placed) = (true, true);
            let event =
                Event { at, service, node, arrives_by: 0, flow: 0, unit, packet: NIL, placed };
            self.events.push(Reverse(event));
        }
    }

    fn launch(&mut self, unit: usize, at: Time, id: PacketId) {
        let link = &self.scenario.network.links[unit];
        let mut packet = self.arena[id];
        self.arena.free(id);
        self.free[unit] = at + link.spec.rate.span(packet.size.into());
        let there = match link.cuts {
            true => at + link.spec.rate.span(self.scenario.smallest.into()),
            false => self.free[unit],
        };
        let there = there + link.spec.delay;
        let there = self.nics.get_mut(unit).map_or(there, |nic| nic.arrival(there));
        packet.key = Packet::arriving(there, link.arrives_by as u8);
        let hosts = self.scenario.network.hosts;
        let to = match (link.to as usize).checked_sub(hosts) {
            None => link.to as usize,
            Some(switch) => {
                let (ties, salt) = self.drawn[switch];
                packet.key = at_a_tie(&packet, ties);
                let mut ways = self.scenario.network.next(switch as u32, packet.to);
                let count = match ways.len() as u32 {
                    1 => 0,
                    count => count,
                };
                let turn = &mut self.turns[unit];
                let input = Input { turn, salt };
                let way = with_balance!(self.scenario.balance, |Path| Path::choose(
                    input, &packet, count
                ));
                ways.nth(way as usize).expect("a way on") as usize
            }
        };
        self.arrive(to, packet);
    }

    fn host(&mut self, host: usize, now: Time, id: PacketId) {
        let packet = self.arena[id];
        self.arena.free(id);
        let capacity = self.nics[host].capacity(now);
        let (mut turn, mut flow) = (Outbox { now, capacity, ..Outbox::default() }, packet.flow);
        match (packet.kind, packet.key as u8) {
            (Kind::WAKE, RESUME) if self.nics[host].resumes() != now => return,
            (Kind::WAKE, RESUME) => {
                flow = self.nics[host].resume(now, |flow| self.transport.urgency(flow, now));
                turn.capacity = self.nics[host].quantum();
                self.transport.resume(flow, &mut turn);
            }
            (Kind::LOOK, _) => self.look(packet.to, packet.sequence),
            (Kind::START, START) => self.transport.start(packet.flow, &mut turn),
            (Kind::WAKE, WAKE_SENDER | WAKE_RECEIVER) => {
                self.transport.wake(wake_of(&packet), &mut turn);
            }
            _ => self.transport.receive(&packet, &mut turn),
        }
        if turn.held {
            self.nics[host].hold(flow, now);
        }
        for flow in turn.finished {
            self.acknowledged[flow as usize] = now;
            self.start_children(host, flow);
        }
        for flow in turn.arrived {
            self.received[flow as usize] = now;
            self.start_children(host, flow);
        }
        for wake in turn.wakes {
            self.arrive(host, wake_note(wake));
        }
        for packet in turn.packets {
            let span = self.scenario.network.links[host].spec.rate.span(packet.size.into());
            self.nics[host].given(now, span);
            let packet = Packet { key: Packet::arriving(now, 0), ..packet };
            let id = self.arena.insert(packet);
            self.wait(host, now, id);
        }
        let resumes = self.nics[host].resumes();
        if resumes != Time::NEVER {
            let wake = wake_note(Wake { at: resumes, flow: 0, end: End::Sender });
            self.arrive(host, Packet { key: Packet::arriving(resumes, RESUME), ..wake });
        }
    }

    /// Starts the flows at `host` that waited for flow number `parent` last.
    fn start_children(&mut self, host: usize, parent: u32) {
        let Scenario { flows, dependencies, .. } = self.scenario;
        for (place, child) in dependencies.waiting().enumerate() {
            let parents = dependencies.parents(child);
            let over = |&parent: &u32| match usize::from(flows[parent as usize].to) == host {
                true => self.received[parent as usize],
                false => self.acknowledged[parent as usize],
            };
            let is_here = usize::from(flows[child as usize].from) == host;
            if is_here
                && parents.contains(&parent)
                && let last = parents.iter().map(over).max().expect("a parent")
                && last != Time::NEVER
            {
                let at = flows[child as usize].arrived.max(last + dependencies.delay(child));
                self.began[place] = at;
                self.arrive(host, start_note(at, child));
            }
        }
    }

    fn look(&mut self, host: u16, instant: u32) {
        self.ended += self.looks.look(host, instant, &mut self.transport);
    }
}

fn windows_agree(
    queue: &QueueKind,
    scenario: &Scenario,
    running: impl Fn() -> Running,
) -> Result<(), TestCaseError> {
    let seen = with_queue!(queue, |queue| obvious(scenario, queue, running()));
    let outcome = with_ports!(scenario, queue, |ports| sojourn_simulate(
        scenario,
        ports,
        running(),
        &Default::default()
    ));
    let outcome = outcome.expect("no thread cancelled it");
    prop_assert_eq!(seen.received, outcome.received);
    prop_assert_eq!(seen.acknowledged, outcome.acknowledged);
    prop_assert_eq!(seen.began, outcome.began);
    prop_assert_eq!(seen.tallies, outcome.tallies);
    prop_assert_eq!(seen.watched, outcome.watched);
    // The oracle stops at the end of the last watch, whose receiver it may not have looked at yet.
    for (seen, all) in seen.progress.iter().zip(&outcome.progress) {
        prop_assert_eq!(&seen[..], &all[..seen.len()]);
        prop_assert!(seen.len() + 1 >= all.len());
    }
    // The engine ends its last window; the oracle stops when the last flow is done.
    prop_assert!(seen.dropped_at_switches <= outcome.counts.dropped_at_switches);
    let mut peaks = seen.memory_peaks.iter().zip(&outcome.memory_peaks);
    prop_assert!(peaks.all(|(seen, all)| seen <= all));
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    /// Every flow finishes at the same picosecond, after the same resends and time-outs.
    #[test]
    fn windows_change_nothing(
        topology in topologies(),
        scheme in managed_or_not(),
        flows in flows(),
        seed in any::<u64>(),
    ) {
        let (scenario, setup) = scenario(&topology, &scheme, &flows, seed);
        let running = || Running::new(&scheme.transport, setup.clone());
        windows_agree(&scheme.queue, &scenario, running)?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    /// Every flow finishes at the same picosecond where the ports of a switch share its memory, too.
    #[test]
    fn windows_change_nothing_in_shared_memory(
        topology in topologies(),
        scheme in managed_or_not(),
        buffer in buffers(),
        core in prop::option::of(buffers()),
        flows in flows(),
        seed in any::<u64>(),
    ) {
        let (scenario, setup) = scenario(&topology, &scheme, &flows, seed);
        let graph = topology.graph();
        let core = core.filter(|_| graph.edges().any(|is_edge| !is_edge));
        let tiers = Tiers { edge: &buffer, core: core.as_ref() };
        let Ok(memories) = tiers.plans(&graph) else {
            return Err(TestCaseError::reject("large reserves"));
        };
        prop_assume!(tiers.check(&graph, &memories, scenario.largest).is_ok());
        let scenario = Scenario { memories, ..scenario };
        let running = || Running::new(&scheme.transport, setup.clone());
        windows_agree(&scheme.queue, &scenario, running)?;
    }
}

proptest! {
    #![proptest_config(cases(150))]

    /// Every flow finishes at the same picosecond between classes, too.
    #[test]
    fn windows_change_nothing_between_classes(
        topology in topologies(),
        weights in prop::option::of(prop::array::uniform2(any::<NonZeroU8>())),
        flows in flows(),
        seed in any::<u64>(),
    ) {
        let between = match weights {
            Some(weights) => Between::Weighted(Weighted { weights: weights.to_vec() }),
            None => Between::Strict(defaults()),
        };
        let scheme = PacketScheme::known("MinTCP+pFabric").expect("a scheme of the list");
        let (scenario, setup) = scenario(&topology, &scheme, &flows, seed);
        let running = || Running::new(&scheme.transport, setup.clone());
        windows_agree(&classes(between), &scenario, running)?;
    }
}
