//! Every choice that a known scheme does not make: one line a variant, kept as text, so that no
//! change of the engine changes one unnoticed.
//!
//! `UPDATE_GOLDEN=1 cargo test -p sojourn-fabric --test fabric variants` writes them anew.

use crate::common::*;
use sojourn_core::parameters::{Setting, Table, Value};
use sojourn_core::random::mix;
use sojourn_fabric::Flow;
use sojourn_fabric::Scheme;
use sojourn_fabric::topology::Topology;
use std::path::PathBuf;

/// What is set beside the name of a known scheme.
const SCHEMES: &[(&str, &[(&str, &str)])] = &[
    ("TCP+DropTail", &[("balance", "ecmp")]),
    ("TCP+DropTail", &[("transport.fast_retransmit", "true")]),
    ("TCP+DropTail", &[("transport.fast_retransmit", "true"), ("transport.sack", "false")]),
    ("TCP+DropTail", &[("transport.fast_retransmit", "true"), ("balance", "ecmp")]),
    ("TCP+DropTail", &[("transport.ack_delay", "30us"), ("queue.buffer", "30KB")]),
    ("TCP+DropTail", &[("transport.window_cap", "8")]),
    ("TCP+DropTail", &[("queue.counting", "packets"), ("queue.buffer", "22.5KB")]),
    ("DCTCP", &[("balance", "ecmp")]),
    ("DCTCP", &[("queue.threshold", "6KB"), ("transport.initial_alpha", "0.0")]),
    ("DCTCP", &[("transport.ack_delay", "30us"), ("transport.gain", "0.25")]),
    ("DCTCP", &[("queue.threshold", "9KB"), ("queue.counting", "packets")]),
    ("MinTCP+pFabric", &[("queue.dequeue", "best"), ("balance", "ecmp")]),
    ("MinTCP+pFabric", &[("queue.dequeue", "best"), ("queue.ties", "arrival")]),
    ("MinTCP+pFabric", &[("queue.dequeue", "earliest-of-flow")]),
    ("MinTCP+pFabric", &[("queue.dequeue", "earliest-of-flow"), ("queue.ties", "arrival")]),
    ("MinTCP+pFabric", &[("queue.dequeue", "best"), ("queue.counting", "packets")]),
    (
        "MinTCP+pFabric",
        &[("queue.dequeue", "best"), ("priority", "size"), ("ack_priority", "data")],
    ),
    ("MinTCP+pFabric", &[("queue.dequeue", "best"), ("priority", "deadline")]),
    (
        "MinTCP+pFabric",
        &[("queue.dequeue", "best"), ("priority", "none"), ("transport.rto", "200us")],
    ),
    (
        "MinTCP+pFabric",
        &[("queue.dequeue", "best"), ("transport.sack", "false"), ("transport.window_cap", "15")],
    ),
    ("MinTCP+pFabric", &[("queue.dequeue", "best"), ("transport.probe_after", "2")]),
    ("LineRate+pFabric", &[("balance", "ecmp"), ("queue.ties", "arrival")]),
    ("LineRate+pFabric", &[("transport.sack", "false")]),
    ("PIAS", &[("balance", "ecmp"), ("transport.fast_retransmit", "true")]),
    ("PIAS", &[("queue.levels", "2"), ("queue.buffer", "30KB"), ("queue.threshold", "6KB")]),
    ("NDP", &[("balance", "ecmp"), ("queue.counting", "bytes")]),
    ("NDP", &[("transport.initial_window", "30")]),
    ("NDP", &[("queue.headers", "1500B"), ("transport.rto", "200us")]),
    ("Swift", &[("balance", "ecmp"), ("transport.fast_retransmit", "true")]),
    ("Swift", &[("queue.buffer", "15KB"), ("transport.sack", "false")]),
    ("Swift", &[("transport.base_target", "10us"), ("transport.fs_range", "0s")]),
    ("TCP+DropTail", &[("balance", "entropy"), ("queue.buffer", "15KB")]),
    ("NDP", &[("balance", "entropy")]),
    ("TCP+CoDel", &[("queue.target", "5us"), ("queue.interval", "50us")]),
    (
        "DCTCP",
        &[
            ("queue.kind", "codel"),
            ("queue.ecn", "true"),
            ("queue.target", "5us"),
            ("queue.interval", "50us"),
        ],
    ),
    ("TCP+FQ-CoDel", &[("queue.target", "5us"), ("queue.flows", "4"), ("queue.buffer", "30KB")]),
    ("TCP+PIE", &[("queue.target", "5us"), ("queue.update", "5us"), ("queue.max_burst", "0s")]),
    ("TCP+PIE", &[("queue.delay", "departure-rate"), ("queue.max_burst", "0s")]),
    ("Linux CUBIC", &[("queue.buffer", "30KB")]),
    ("Linux CUBIC", &[("queue.buffer", "30KB"), ("balance", "spray")]),
    ("Linux CUBIC", &[("transport.min_rto", "1ms"), ("transport.clock_tick", "none")]),
    ("Linux Reno", &[("queue.buffer", "30KB"), ("transport.prr", "false")]),
    ("Linux Reno", &[("queue.buffer", "15KB"), ("transport.tail_loss_probe", "false")]),
    ("Linux DCTCP", &[("queue.threshold", "6KB"), ("transport.f_rto", "false")]),
];

fn packet_scheme(name: &str, settings: &[(&str, &str)]) -> sojourn_fabric::PacketScheme {
    let mut table = Table::default();
    table.set("name", Value::Text(name.to_owned()));
    for (path, text) in settings {
        match path.split_once('.') {
            None => table.set(path, value(text)),
            Some((part, key)) => {
                if table.get(part).is_none() {
                    table.set(part, Value::Table(Table::default()));
                }
                let Some(Value::Table(part)) = table.get_mut(part) else { unreachable!() };
                part.set(key, value(text));
            }
        }
    }
    match Scheme::read(&Value::Table(table)) {
        Ok(Scheme::Packets(scheme)) => scheme,
        other => panic!("{name} with {settings:?}: {other:?}"),
    }
}

/// Bursts that fill buffers: in each of five rounds 60 flows of 1 to 60 packets within 30 us, a
/// third of them into two hosts, with and without deadlines.
fn bursts(hosts: u64) -> Vec<Flow> {
    let flow = |i: u64| {
        let random = |what: u64, below: u64| mix(i << 8 | what) % below;
        let to = if random(0, 3) == 0 { random(1, 2) } else { random(1, hosts) };
        let from = (to + 1 + random(2, hosts - 1)) % hosts;
        let bytes = random(3, 60 * FULL) + 1;
        let mut flow = flow(from as u16, to as u16, bytes, i / 60 * 400_000_000 + i % 60 * 500_000);
        if random(4, 2) == 0 {
            flow.deadline = flow.arrived + sojourn_core::Span::from_us(random(5, 400) + 1);
        }
        flow
    };
    (0..300).map(flow).collect()
}

fn line(name: &str, settings: &[(&str, &str)], fabric: &str, topology: &Topology) -> String {
    let lab = Lab::new(topology.clone(), packet_scheme(name, settings));
    let run = lab.run(&bursts(topology.graph().hosts() as u64));
    let checksum = run.fcts().iter().fold(0, |sum, &fct| mix(sum ^ fct));
    let settings: Vec<String> = settings.iter().map(|(key, to)| format!("{key}={to}")).collect();
    format!(
        "{:85} mean {:>8.1} us, {:>6} drops, {:>5} marks, {:>6} resent, {:>4} time-outs, \
         rows {:016x}\n",
        format!("{name} {} {fabric}", settings.join(" ")),
        run.mean_fct() * 1e6,
        run.drops(),
        run.figure("packets_marked"),
        run.sum("retransmits"),
        run.sum("timeouts"),
        checksum,
    )
}

#[test]
fn every_variant_gives_the_rows_it_always_gave() {
    let fabrics =
        [("fat-tree", fat_tree(4)), ("leaf-spine", Topology::LeafSpine(leaf_spine(3, 5, 2, 2)))];
    let mut text = String::new();
    for (fabric, topology) in &fabrics {
        for (name, settings) in SCHEMES {
            text += &line(name, settings, fabric, topology);
        }
    }
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/variants.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).expect("the golden folder can be written");
    }
    let golden = std::fs::read_to_string(&file).expect("UPDATE_GOLDEN=1 writes it");
    for (new, old) in text.lines().zip(golden.lines()) {
        assert_eq!(new, old);
    }
    assert_eq!(text.lines().count(), golden.lines().count());
}
