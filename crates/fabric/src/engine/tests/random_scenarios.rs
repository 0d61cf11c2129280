//! Random scenarios to test the engine in: fabrics with small buffers in which everything collides.

use crate::engine::{Dependencies, Scenario, Watch};
use crate::flow::{Flow, Packets};
use crate::hosts::{HostPort, Hosts};
use crate::path::Balance;
use crate::queue::{
    Between, Classes, CoDel, ControlLaw, DropTail, Drr, FqCoDel, PFabric, Pie, QueueKind, Victim,
};
use crate::scheme::{PacketScheme, Scheme};
use crate::switch_memory::Buffer;
use crate::topology::{Forwarding, Topology};
use crate::transport::Setup;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sojourn_core::parameters::{Parameters, Setting, Table, Value, defaults};
use sojourn_core::{Bytes, Span, Streams, Time};
use std::sync::Arc;

fn named(kind: &str, settings: &[(&str, i64)]) -> Value {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    for (key, number) in settings {
        table.set(key, Value::Int(*number));
    }
    Value::Table(table)
}

/// Few hosts, small buffers, links of mixed speed: everything collides.
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
        (1i64..3, 1i64..3, 2i64..4, 1i64..3).prop_map(|(pods, racks, hosts, planes)| {
            let sizes = [("pods", pods), ("racks", racks), ("hosts", hosts), ("planes", planes)];
            named("clos", &sizes)
        }),
        Just(named("fat-tree", &[("k", 4)])),
    ];
    let delays = prop_oneof![Just(0u64), 1..2_000u64, Just(300_000u64)];
    (shapes, delays, prop_oneof![Just(10u64), Just(3), Just(40)])
        .prop_map(move |(shape, delay, rate)| with(&shape, delay, rate))
}

/// All known schemes that go packet by packet.
pub(super) fn known() -> Vec<PacketScheme> {
    Scheme::entries().iter().filter_map(|entry| PacketScheme::known(entry.name)).collect()
}

/// A known scheme with `value` for the setting `key` of one of its parts, if it has such a one. A host that finds
/// losses by time cannot be without SACK.
pub(super) fn changed(scheme: PacketScheme, part: &str, key: &str, value: Value) -> PacketScheme {
    let mut table = scheme.write_table();
    let Some(Value::Table(settings)) = table.get_mut(part) else { unreachable!("a part") };
    if key == "sack" && settings.get("rack") == Some(&Value::Bool(true)) {
        return scheme;
    }
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
    let balances = [Balance::Spray, Balance::Ecmp, Balance::Entropy, Balance::EntropyValue];
    let balance = prop::sample::select(balances.to_vec());
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
        ("transport", "ack_every", text("1B")),
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

/// The numbers of those of `flows` that the next flow waits for: one, and some of those that end at the host
/// where that one does, by the bits of `chance`.
fn parents(flows: &[Flow], chance: u64) -> Vec<u32> {
    let first = chance as usize % flows.len();
    let is_chosen = |flow: usize| {
        flow == first || (flows[flow].to == flows[first].to && chance >> (flow % 10) & 1 == 1)
    };
    (0..flows.len()).filter(|&flow| is_chosen(flow)).map(|flow| flow as u32).collect()
}

/// Each flow is watched for a time that depends on its size, mostly while it is under way.
fn watches(flows: &[Flow]) -> Vec<Watch> {
    let watch = |(number, flow): (u32, &Flow)| {
        let from = flow.arrived + Span::from_ns(flow.bytes % 5_000);
        Watch { flow: number, from, until: from + Span::from_ns(1 + flow.bytes % 70_000) }
    };
    (0..).zip(flows).map(watch).collect()
}

/// The scenario of a few flows, and what its transport starts from.
pub(super) fn scenario(
    topology: &Topology,
    scheme: &PacketScheme,
    flows: &[(u16, u16, u64, u64)],
    seed: u64,
) -> (Scenario, Setup) {
    // Every third world cuts through.
    let forwarding = match seed % 3 {
        0 => Forwarding::CutThrough,
        _ => Forwarding::StoreAndForward,
    };
    let graph = topology.graph().forwarding(forwarding);
    let hosts = graph.hosts() as u16;
    let packets: Packets = defaults();
    let mut now = Time::ZERO;
    let known = flows.len() - flows.len() / 3;
    let mut cast: Vec<Flow> = Vec::new();
    let mut waiting = Vec::new();
    for (number, &(from, to, bytes, gap)) in flows.iter().enumerate() {
        // The last third of the flows wait for others, some of them for each other.
        let (from, arrived) = if number < known {
            now += Span::from_ns(gap);
            (from % hosts, now)
        } else {
            let parents = parents(&cast, bytes);
            let from = cast[parents[0] as usize].to;
            waiting.push((parents, Span::from_ns(gap)));
            // Every fourth not before a certain time.
            let own = if bytes % 4 == 0 { now + Span::from_ns(bytes) } else { Time::ZERO };
            (from, own)
        };
        let to = (from + 1 + to % (hosts - 1)) % hosts;
        cast.push(Flow { class: (bytes % 3) as u8, ..Flow::new(from, to, bytes, arrived) });
    }
    let dependencies = Dependencies::new(flows.len(), waiting);
    let flows: Arc<[Flow]> = cast.into();
    let watches = watches(&flows[..known]);
    let mut instants: Vec<Time> = watches.iter().flat_map(|w| [w.from, w.until]).collect();
    instants.sort_unstable();
    instants.dedup();
    let scenario = Scenario {
        network: Arc::new(graph.network()),
        memories: Arc::new([]),
        // Every other world has hosts that take no time, and every other two no backpressure.
        pauses: None,
        hosts: Hosts {
            overhead: (seed % 2) as f64,
            port: if seed % 4 < 2 { HostPort::SwitchPort } else { HostPort::Backpressure },
            loss: None,
        },
        losses: [].into(),
        balance: scheme.balance,
        watches: watches.into(),
        instants: instants.into(),
        dependencies: dependencies.into(),
        flows: flows.clone(),
        smallest: packets.smallest(),
        largest: packets.full(),
        trimmed: packets.trimmed(),
        horizon: now + Span::from_s(1000),
        sample: None,
        ranks: None,
        failures: Arc::default(),
        streams: Streams::new(seed, 0),
    };
    let setup = Setup {
        digest_windows: false,
        flows,
        packets,
        priority: scheme.priority.clone(),
        ack_priority: scheme.ack_priority,
        network: scenario.network.clone(),
        nic: graph.nics().map(|link| link.rate).collect(),
        streams: scenario.streams,
        exchanges: scheme.transport.exchanges(scenario.flows.len()),
        connections: None,
    };
    (scenario, setup)
}

/// Schemes, one in two with fair queues or active queue management.
pub(super) fn managed_or_not() -> impl Strategy<Value = PacketScheme> {
    let victim = prop::sample::select(vec![Victim::Longest, Victim::Arriving]);
    let fair = (1_500u64..4_000, victim).prop_map(|(quantum, victim)| {
        QueueKind::Drr(Drr { quantum: Bytes(quantum), victim, ..defaults() })
    });
    let managed =
        (1u64..10, 2u64..40, any::<bool>(), 0..3).prop_map(|(target, times, ecn, kind)| {
            let target = Span::from_us(target);
            let law = ControlLaw { target, interval: target * times };
            match kind {
                0 => QueueKind::CoDel(CoDel { law, ecn, ..defaults() }),
                1 => QueueKind::FqCoDel(FqCoDel { law, ecn, flows: 3, ..defaults() }),
                _ => QueueKind::Pie(Pie {
                    target,
                    update: target,
                    alpha: 2e3,
                    beta: 2e4,
                    max_burst: target,
                    ecn,
                    ..defaults()
                }),
            }
        });
    let other = prop::option::weighted(0.5, prop_oneof![1 => fair, 2 => managed]);
    (schemes(), other).prop_map(|(scheme, queue)| match queue {
        None => scheme,
        Some(queue) => PacketScheme { queue, ..scheme },
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

/// Two classes with small buffers, and a third that goes with the last.
pub(super) fn classes(between: Between) -> QueueKind {
    let best = PFabric { buffer: Bytes(6_000), ..defaults() };
    let line = DropTail { buffer: Bytes(9_000), ..defaults() };
    QueueKind::Classes(Classes {
        inside: vec![QueueKind::PFabric(best), QueueKind::DropTail(line)],
        between,
    })
}

/// What is tested on random scenarios are graphs: messages with several parents, and chains of them.
#[test]
fn messages_wait_for_several_others() {
    let mut runner = TestRunner::deterministic();
    let scheme = PacketScheme::known("DCTCP").expect("a scheme of the list");
    let strategy = (topologies(), flows(), any::<u64>());
    let (mut several, mut chained) = (0, 0);
    for _ in 0..200 {
        let (topology, flows, seed) = strategy.new_tree(&mut runner).expect("a scenario").current();
        let (scenario, _) = scenario(&topology, &scheme, &flows, seed);
        let graph = &scenario.dependencies;
        let first = graph.waiting().start;
        let parents = graph.waiting().map(|message| graph.parents(message));
        several += usize::from(parents.clone().any(|parents| parents.len() > 1));
        chained += usize::from(parents.flatten().any(|&parent| parent >= first));
    }
    assert!(several > 50 && chained > 50, "of 200: {several} with several, {chained} in chains");
}

#[test]
fn scheme_parameters_read_back() {
    for scheme in known() {
        assert_eq!(PacketScheme::read_table(&scheme.write_table()).unwrap(), scheme);
    }
}
