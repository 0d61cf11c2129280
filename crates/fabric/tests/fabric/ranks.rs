//! Ranks that execute programs: collectives against their closed forms, iterations, and any number of threads.

use crate::common::*;
use sojourn_core::parameters::{Setting, Table, Value, defaults};
use sojourn_core::{Bytes, Span};
use sojourn_fabric::flow::Completion;
use sojourn_fabric::topology::{LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::TransportKind;
use sojourn_fabric::workload::{Arrivals, Collectives};
use sojourn_fabric::{Hosts, Packets};
use sojourn_training::collective::Collective;

/// Hosts around one switch at 400 Gb/s, with links of 500 ns.
fn switch(hosts: u32, scheme: &str) -> Lab {
    let (rate, delay) = (gbps(400), Span::from_ns(500));
    let topology = Topology::SingleSwitch(SingleSwitch { hosts, rate, delay, ..defaults() });
    lab(topology, scheme)
}

/// As many leaves as a server has cards, with `servers` hosts each.
fn rails(leaves: u32, servers: u32, scheme: &str) -> Lab {
    let rate = gbps(400);
    let spine = LeafSpine { rate, uplink_rate: rate, delay: Span::from_ns(500), ..leaf_spine(leaves, servers, servers, 1) };
    lab(Topology::LeafSpine(spine), scheme)
}

fn lab(topology: Topology, scheme: &str) -> Lab {
    let packets = Packets { payload: Bytes(4096), header: Bytes(64), ack: Bytes(64) };
    let hosts = Hosts { overhead: 0.0, ..defaults() };
    let mut scheme = known(scheme);
    // Windows of no less than a bandwidth-delay product.
    match &mut scheme.transport {
        TransportKind::Ndp(ndp) => ndp.initial_window = count(64),
        TransportKind::Dctcp(dctcp) => dctcp.window.initial_window = count(64),
        _ => {}
    }
    Lab { packets, hosts, completion: Completion::Receiver, ..Lab::new(topology, scheme) }
}

/// An algorithm with these settings, as a study has them.
fn algorithm(kind: &str, settings: &[(&str, i64)]) -> Collective {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    settings.iter().for_each(|&(key, number)| table.set(key, Value::Int(number)));
    Collective::read(&Value::Table(table)).expect("an algorithm")
}

/// Bus bandwidth, sojourn time and ideal of the last collective of a run.
fn last(run: &Run) -> (f64, f64) {
    let (kinds, took) = (run.names("kind"), run.rows.ints("sojourn_ps"));
    let place = kinds.iter().rposition(|kind| kind == "collective").expect("a collective");
    assert!(took[place] > 0, "it ended");
    (took[place] as f64, run.rows.ints("ideal_ps")[place] as f64)
}

/// Each algorithm takes the time of its closed form, and 2 % for the acknowledgements that share the links.
#[test]
fn collectives_take_the_time_of_their_closed_forms() {
    let algorithms: [(&str, &[(&str, i64)], u32); 10] = [
        ("ring-all-reduce", &[("pieces", 1)], 8),
        ("ring-all-reduce", &[("pieces", 8), ("channels", 2)], 8),
        ("ring-all-gather", &[], 5),
        ("ring-reduce-scatter", &[], 6),
        ("halving-doubling-all-reduce", &[], 8),
        ("double-tree-all-reduce", &[], 8),
        ("chain-broadcast", &[], 8),
        ("binomial-broadcast", &[], 8),
        ("all-to-all", &[], 8),
        ("send-receive", &[], 2),
    ];
    for scheme in ["UET NSCC", "NDP", "DCTCP"] {
        for (kind, settings, ranks) in algorithms {
            let collectives = Collectives {
                collective: algorithm(kind, settings),
                ranks: Some(count(ranks)),
                size: Bytes(32_000_000),
                iterations: count(1),
                compute: Span::from_us(10),
            };
            let run = Run::of(&switch(8, scheme).ready(Arrivals::Collective(collectives).into()));
            let (took, ideal) = last(&run);
            println!("{scheme} {kind} {settings:?}: {:.4}", took / ideal);
        }
    }
}
