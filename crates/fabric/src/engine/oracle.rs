//! The slow and obvious engine: one heap of events, no windows. It drives the same transports and
//! disciplines; what it checks is the engine's own work: time, order, routing, timers.

use super::hosts::classify;
use super::note::{self, START, WAKE_RECEIVER, WAKE_SENDER};
use super::{After, Scene, Watch, first_turn, queue_of, sojourn_simulate};
use crate::balance::{Balance, Input};
use crate::buffer::{Buffer, Memory, Share, Tiers};
use crate::packet::{Kind, Packet, PacketId, Slab};
use crate::qdisc::{
    Between, Builder, Classes, Discipline, DropTail, Drr, PFabric, Queue, Victim, Weighted,
    with_queue,
};
use crate::scheme::{PacketScheme, Scheme};
use crate::topology::Topology;
use crate::transport::{Running, Setup, Tally, Transport, Turn};
use proptest::prelude::*;
use sojourn_kernel::parameters::{Parameters, Setting, Table, Value, defaults};
use sojourn_kernel::{Bytes, Span, Streams, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU8;
use std::sync::Arc;

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
}

struct Oracle<'a, B: Builder> {
    scene: &'a Scene,
    transport: Running,
    queues: Vec<B::Port>,
    memories: Vec<Memory>,
    /// Of each port; empty where switches have no memory.
    shares: Vec<Share>,
    dropped_at_switches: u64,
    free: Vec<Time>,
    served: Vec<bool>,
    turns: Vec<u8>,
    slab: Slab,
    events: BinaryHeap<Reverse<Event>>,
    finished: Vec<Time>,
    started: Vec<Time>,
    arrived: Vec<Time>,
    watched: Vec<Tally>,
    /// How many looks are still to come.
    looks: usize,
}

/// What the obvious engine saw.
#[derive(Debug)]
struct Seen {
    finished: Vec<Time>,
    started: Vec<Time>,
    arrived: Vec<Time>,
    tallies: Vec<Tally>,
    watched: Vec<Tally>,
    dropped_at_switches: u64,
    memory_peaks: Vec<u64>,
}

fn obvious<B: Builder>(scene: &Scene, queue: &B, transport: Running) -> Seen {
    let ports = scene.network.links.len();
    let (memories, shares): (Vec<_>, Vec<_>) = scene.memories.iter().map(Memory::new).unzip();
    let hosts = vec![Share::default(); scene.network.hosts];
    let mut oracle = Oracle::<B> {
        scene,
        transport,
        queues: (0..ports as u64).map(|p| queue_of(scene, queue, p)).collect(),
        memories,
        shares: hosts.into_iter().chain(shares.into_iter().flatten()).collect(),
        dropped_at_switches: 0,
        free: vec![Time::ZERO; ports],
        served: vec![false; ports],
        turns: (0..).zip(&scene.network.links).map(|(p, l)| first_turn(scene, p, l)).collect(),
        slab: Slab::default(),
        events: BinaryHeap::new(),
        finished: vec![Time::NEVER; scene.flows.len()],
        started: vec![Time::NEVER; scene.after.len()],
        arrived: vec![Time::NEVER; scene.after.len()],
        watched: vec![Tally::default(); scene.watches.len()],
        looks: 0,
    };
    let known = scene.flows.len() - scene.after.len();
    for (flow, start) in scene.flows[..known].iter().enumerate() {
        oracle.arrive(start.from.into(), note::start(start.arrived, flow as u32));
    }
    for (number, watch) in (0..).zip(&*scene.watches) {
        let host = scene.flows[watch.flow as usize].from.into();
        for at in [watch.from, watch.until] {
            oracle.arrive(host, note::look(at, watch.flow, number));
            oracle.looks += 1;
        }
    }
    while oracle.looks > 0 || oracle.finished.contains(&Time::NEVER) {
        let Reverse(event) = oracle.events.pop().expect("flows are left, so something happens");
        oracle.happen(event);
    }
    Seen {
        tallies: (0..scene.flows.len() as u32).map(|f| oracle.transport.tally(f)).collect(),
        memory_peaks: oracle.memories.iter().map(Memory::peak).collect(),
        finished: oracle.finished,
        started: oracle.started,
        arrived: oracle.arrived,
        watched: oracle.watched,
        dropped_at_switches: oracle.dropped_at_switches,
    }
}

impl<B: Builder> Oracle<'_, B> {
    fn arrive(&mut self, unit: usize, packet: Packet) {
        self.events.push(Reverse(Event {
            at: packet.arrives(),
            service: false,
            node: self.scene.network.links[unit].from,
            arrives_by: packet.key as u8,
            flow: packet.flow,
            unit,
            packet: self.slab.insert(packet),
        }));
    }

    fn happen(&mut self, event: Event) {
        let Event { at, service, unit, packet, .. } = event;
        if service {
            self.served[unit] = false;
            let id = self.queues[unit].dequeue(&mut self.slab);
            let switch = self.switch_of(unit);
            if let Some(memory) = self.memories.get_mut(switch) {
                memory.give(&mut self.shares[unit], self.slab[id].size);
            }
            self.launch(unit, at, id);
            self.serve(unit, at);
        } else if unit < self.scene.network.hosts {
            self.host(unit, at, packet);
        } else {
            self.wait(unit, at, packet);
        }
    }

    fn wait(&mut self, unit: usize, at: Time, id: PacketId) {
        let switch = self.switch_of(unit);
        let goes_through = switch < self.memories.len() && self.goes_through(unit, at);
        let queue = &mut self.queues[unit];
        if goes_through {
            queue.pass(&mut self.slab[id]);
            return self.launch(unit, at, id);
        }
        let mut dropped = 0;
        let drop = |id, slab: &mut Slab| {
            dropped += 1;
            slab.free(id);
        };
        match self.memories.get_mut(switch) {
            None => queue.enqueue(id, &mut self.slab, drop),
            Some(memory) => {
                memory.offer(&mut self.shares[unit], queue, id, &mut self.slab, drop);
                memory.held_at_once(memory.held());
            }
        }
        if unit >= self.scene.network.hosts {
            self.dropped_at_switches += dropped;
        }
        self.serve(unit, at);
    }

    /// The switch that port `unit` is of; for a host, no switch that there is.
    fn switch_of(&self, unit: usize) -> usize {
        (self.scene.network.links[unit].from as usize).wrapping_sub(self.scene.network.hosts)
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
            let node = self.scene.network.links[unit].from;
            let event = Event { at, service: true, node, arrives_by: 0, flow: 0, unit, packet: 0 };
            self.events.push(Reverse(event));
        }
    }

    fn launch(&mut self, unit: usize, at: Time, id: PacketId) {
        let link = &self.scene.network.links[unit];
        let mut packet = self.slab[id];
        self.slab.free(id);
        self.free[unit] = at + link.spec.rate.span(packet.size.into());
        packet.key = Packet::arriving(self.free[unit] + link.spec.delay, link.arrives_by);
        let hosts = self.scene.network.hosts;
        let to = match (link.to as usize).checked_sub(hosts) {
            None => link.to as usize,
            Some(switch) => {
                let ways = self.scene.network.next(switch as u32, packet.to);
                let count = match ways.len() as u32 {
                    1 => 0,
                    count => count,
                };
                let turn = &mut self.turns[unit];
                let input = Input { turn, switch: switch as u32, salt: self.scene.salt() };
                let way = self.scene.balance.choose(input, &packet, count);
                ways[way as usize] as usize
            }
        };
        self.arrive(to, packet);
    }

    fn host(&mut self, host: usize, now: Time, id: PacketId) {
        let packet = self.slab[id];
        self.slab.free(id);
        let mut turn = Turn { now, ..Turn::default() };
        match (packet.kind, packet.key as u8) {
            (Kind::Look, _) => self.look(packet.sequence as usize, now),
            (Kind::Start, START) => self.transport.start(packet.flow, &mut turn),
            (Kind::Wake, WAKE_SENDER | WAKE_RECEIVER) => {
                self.transport.wake(note::wake_of(&packet), &mut turn);
            }
            _ => self.transport.receive(&packet, &mut turn),
        }
        for flow in turn.finished {
            self.finished[flow as usize] = now;
        }
        let known = self.scene.flows.len() - self.scene.after.len();
        for flow in turn.arrived {
            if flow as usize >= known {
                self.arrived[flow as usize - known] = now;
            }
            for (follower, after) in self.scene.after.iter().enumerate() {
                if after.flow == flow {
                    self.started[follower] = now + after.delay;
                    let number = (known + follower) as u32;
                    self.arrive(host, note::start(now + after.delay, number));
                }
            }
        }
        for wake in turn.wakes {
            self.arrive(host, note::wake(wake));
        }
        classify(&mut turn.packets, &self.scene.flows);
        for packet in turn.packets {
            let id = self.slab.insert(packet);
            self.wait(host, now, id);
        }
    }

    fn look(&mut self, number: usize, now: Time) {
        let watch = &self.scene.watches[number];
        let tally = self.transport.tally(watch.flow);
        self.looks -= 1;
        self.watched[number] = match now == watch.until {
            true => tally.since(self.watched[number]),
            false => tally,
        };
    }
}

fn named(kind: &str, settings: &[(&str, i64)]) -> Value {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    for (key, number) in settings {
        table.set(key, Value::Int(*number));
    }
    Value::Table(table)
}

/// Few hosts, little room, links of mixed speed: everything collides.
pub(super) fn topologies() -> impl Strategy<Value = Topology> {
    let with = |value: &Value, delay: u64, rate: u64| {
        let Value::Table(mut table) = value.clone() else { unreachable!("a table") };
        table.set("delay", Span::from_ns(delay).write().unwrap());
        table.set("rate", Value::Text(format!("{rate}Gbps")));
        Topology::read(&Value::Table(table)).unwrap()
    };
    let shapes = prop_oneof![
        (2i64..6).prop_map(|hosts| named("single-switch", &[("hosts", hosts)])),
        (1i64..4, 2i64..4, 1i64..3, 1i64..3).prop_map(|(racks, hosts, spines, uplinks)| {
            let sizes =
                [("racks", racks), ("hosts", hosts), ("spines", spines), ("uplinks", uplinks)];
            named("leaf-spine", &sizes)
        }),
        Just(named("fat-tree", &[("k", 4)])),
    ];
    let delays = prop_oneof![Just(0u64), 1..2_000u64, Just(300_000u64)];
    (shapes, delays, prop_oneof![Just(10u64), Just(3), Just(40)])
        .prop_map(move |(shape, delay, rate)| with(&shape, delay, rate))
}

/// All known schemes that go packet by packet.
fn known() -> Vec<PacketScheme> {
    Scheme::entries().iter().filter_map(|entry| PacketScheme::known(entry.name)).collect()
}

/// A known scheme with `value` for the setting `key` of one of its parts, if it has such a one.
pub(super) fn changed(scheme: PacketScheme, part: &str, key: &str, value: Value) -> PacketScheme {
    let mut table = scheme.write_table();
    let Some(Value::Table(settings)) = table.get_mut(part) else { unreachable!("a part") };
    settings.set(key, value);
    match PacketScheme::read_table(&table) {
        Ok(changed) => changed,
        Err(refusal) if refusal.unknown_key => scheme,
        Err(refusal) => panic!("{refusal:?}"),
    }
}

pub(super) fn schemes() -> impl Strategy<Value = PacketScheme> {
    let known = prop::sample::select(known());
    let counting = prop::sample::select(vec!["bytes", "packets"]);
    let balance = prop::sample::select(vec![Balance::Spray, Balance::Ecmp]);
    let text = |text: &str| Value::Text(text.to_owned());
    let more = prop::sample::select(vec![
        ("queue", "ties", text("arrival")),
        ("queue", "dequeue", text("earliest-of-flow")),
        ("queue", "headers", text("1500B")),
        ("transport", "fast_retransmit", Value::Bool(true)),
        ("transport", "ack_delay", text("100us")),
        ("transport", "sack", Value::Bool(false)),
        ("transport", "rto", text("100us")),
        ("transport", "probe_after", Value::Int(1)),
    ]);
    (known, 1u64..20, counting, balance, more).prop_map(
        move |(known, packets, counting, balance, (part, key, value))| {
            let bytes = |bytes: u64| Value::Text(format!("{bytes}B"));
            let scheme = changed(known, "queue", "threshold", bytes(packets * 500));
            let scheme = changed(scheme, "queue", "buffer", bytes(packets * 1500));
            let scheme = changed(scheme, "queue", "counting", text(counting));
            PacketScheme { balance, ..changed(scheme, part, key, value) }
        },
    )
}

/// (from, to, bytes, gap to the flow before in ns), hosts to be taken modulo their number.
pub(super) fn flows() -> impl Strategy<Value = Vec<(u16, u16, u64, u64)>> {
    let bytes = prop_oneof![1u64..3_000, 1_460u64..60_000];
    let gap = prop_oneof![Just(0u64), 0..3_000u64, Just(700_000u64)];
    prop::collection::vec((any::<u16>(), any::<u16>(), bytes, gap), 1..25)
}

/// The scene of a few flows, and what its transport starts from.
pub(super) fn scene(
    topology: &Topology,
    scheme: &PacketScheme,
    flows: &[(u16, u16, u64, u64)],
    seed: u64,
) -> (Scene, Setup) {
    let graph = topology.graph();
    let hosts = graph.hosts() as u16;
    let packets: crate::flow::Packets = defaults();
    let mut now = Time::ZERO;
    let known = flows.len() - flows.len() / 3;
    let mut cast: Vec<crate::flow::Flow> = Vec::new();
    let mut after = Vec::new();
    for (number, &(from, to, bytes, gap)) in flows.iter().enumerate() {
        // The last third of the flows follow others, some of them each other.
        let (from, arrived) = match number < known {
            true => {
                now += Span::from_ns(gap);
                (from % hosts, now)
            }
            false => {
                let flow = bytes as u32 % number as u32;
                after.push(After { flow, delay: Span::from_ns(gap) });
                (cast[flow as usize].to, Time::NEVER)
            }
        };
        let to = (from + 1 + to % (hosts - 1)) % hosts;
        let class = (bytes % 3) as u8;
        cast.push(crate::flow::Flow { class, ..crate::flow::Flow::new(from, to, bytes, arrived) });
    }
    let flows: Arc<[crate::flow::Flow]> = cast.into();
    // Each flow is watched for a time that depends on its size, mostly while it is under way.
    let watches = (0..).zip(&flows[..known]).map(|(number, flow)| {
        let from = flow.arrived + Span::from_ns(flow.bytes % 5_000);
        Watch { flow: number, from, until: from + Span::from_ns(1 + flow.bytes % 70_000) }
    });
    let scene = Scene {
        network: Arc::new(graph.network()),
        memories: Arc::new([]),
        balance: scheme.balance,
        watches: watches.collect(),
        after: after.into(),
        flows: flows.clone(),
        smallest: packets.smallest(),
        largest: packets.full(),
        horizon: now + Span::from_s(1000),
        sample: None,
        streams: Streams::new(seed, 0),
    };
    let setup = Setup {
        flows,
        packets,
        priority: scheme.priority.clone(),
        ack_priority: scheme.ack_priority,
        network: scene.network.clone(),
        nic: graph.nics().map(|link| link.rate).collect(),
    };
    (scene, setup)
}

fn windows_agree(
    queue: &Queue,
    scene: &Scene,
    running: impl Fn() -> Running,
) -> Result<(), TestCaseError> {
    let seen = with_queue!(queue, |queue| obvious(scene, queue, running()));
    let outcome =
        with_queue!(queue, |queue| sojourn_simulate(scene, queue, running(), &Default::default()));
    let outcome = outcome.expect("nobody cancelled it");
    prop_assert_eq!(seen.finished, outcome.finished);
    prop_assert_eq!(seen.started, outcome.started);
    prop_assert_eq!(seen.arrived, outcome.arrived);
    prop_assert_eq!(seen.tallies, outcome.tallies);
    prop_assert_eq!(seen.watched, outcome.watched);
    // The engine ends its last window; the oracle stops when the last flow is done.
    prop_assert!(seen.dropped_at_switches <= outcome.figures.dropped_at_switches);
    let mut peaks = seen.memory_peaks.iter().zip(&outcome.memory_peaks);
    prop_assert!(peaks.all(|(seen, all)| seen <= all));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every flow finishes at the same picosecond, after the same resends and time-outs.
    #[test]
    fn windows_change_nothing(
        topology in topologies(),
        scheme in schemes(),
        flows in flows(),
        seed in any::<u64>(),
    ) {
        let (scene, setup) = scene(&topology, &scheme, &flows, seed);
        let running = || Running::new(&scheme.transport, setup.clone());
        windows_agree(&scheme.queue, &scene, running)?;
    }
}

/// Schemes, one in three with fair queues.
fn fair_or_not() -> impl Strategy<Value = PacketScheme> {
    let fair = (1_500u64..4_000, prop::sample::select(vec![Victim::Longest, Victim::Arriving]));
    (schemes(), prop::option::weighted(0.3, fair)).prop_map(|(scheme, fair)| match fair {
        None => scheme,
        Some((quantum, victim)) => {
            let drr = Drr { quantum: Bytes(quantum), victim, ..defaults() };
            PacketScheme { queue: Queue::Drr(drr), ..scheme }
        }
    })
}

/// Kinds of memory so small that what one port does is felt by all, in cells or to the byte.
pub(super) fn buffers() -> impl Strategy<Value = Buffer> {
    let kinds = vec!["per-port", "static", "shared", "shared", "reserved", "deep"];
    let alpha = prop::sample::select(vec!["none", "0.25", "1", "8"]);
    let cell = prop::sample::select(vec!["1B", "208B", "1000B"]);
    let sizes = (6_000u64..40_000, 0u64..2_000, 2_000u64..20_000);
    (prop::sample::select(kinds), alpha, cell, sizes).prop_map(
        |(kind, alpha, cell, (size, reserve, cap))| {
            let bytes = |bytes: u64| Value::Text(format!("{bytes}B"));
            let mut table = Table::default();
            table.set("kind", Value::Text(kind.to_owned()));
            table.set("size", bytes(size));
            table.set("cell", Value::Text(cell.to_owned()));
            if matches!(kind, "shared" | "reserved") {
                table.set(
                    "alpha",
                    alpha.parse().map_or(Value::Text(alpha.to_owned()), Value::Float),
                );
            }
            if kind == "reserved" {
                table.set("reserve", bytes(reserve));
            }
            if kind == "deep" {
                table.set("cap", bytes(cap));
            }
            Buffer::read(&Value::Table(table)).expect("a buffer")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The same where the ports of a switch share its memory.
    #[test]
    fn windows_change_nothing_in_shared_memory(
        topology in topologies(),
        scheme in fair_or_not(),
        buffer in buffers(),
        core in prop::option::of(buffers()),
        flows in flows(),
        seed in any::<u64>(),
    ) {
        prop_assume!(scheme.queue.shares());
        let (scene, setup) = scene(&topology, &scheme, &flows, seed);
        let graph = topology.graph();
        let core = core.filter(|_| graph.edges().any(|is_edge| !is_edge));
        let tiers = Tiers { edge: &buffer, core: core.as_ref() };
        let Ok(memories) = tiers.plans(&graph) else {
            return Err(TestCaseError::reject("large reserves"));
        };
        prop_assume!(tiers.check(&graph, &memories, &scheme.queue, scene.largest).is_ok());
        let scene = Scene { memories, ..scene };
        let running = || Running::new(&scheme.transport, setup.clone());
        windows_agree(&scheme.queue, &scene, running)?;
    }
}

/// Two classes with small buffers, and a third that goes with the last.
fn classes(between: Between) -> Queue {
    let best = PFabric { buffer: Bytes(6_000), ..defaults() };
    let line = DropTail { buffer: Bytes(9_000), ..defaults() };
    Queue::Classes(Classes { inside: vec![Queue::PFabric(best), Queue::DropTail(line)], between })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The same between classes.
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
        let scheme = PacketScheme::known("MinTCP+pFabric").expect("it is known");
        let (scene, setup) = scene(&topology, &scheme, &flows, seed);
        let running = || Running::new(&scheme.transport, setup.clone());
        windows_agree(&classes(between), &scene, running)?;
    }
}

#[test]
fn scheme_parameters_read_back() {
    for scheme in known() {
        assert_eq!(PacketScheme::read_table(&scheme.write_table()).unwrap(), scheme);
    }
}
