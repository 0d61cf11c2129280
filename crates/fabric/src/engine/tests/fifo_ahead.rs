//! Lines that send ahead, against the same ones that keep their packets.

use super::random_scenarios::{changed, flows, scenario, schemes, topologies};
use crate::engine::{Outcome, Scenario, sojourn_simulate, with_ports};
use crate::queue::{FifoAhead, QueueKind};
use crate::scheme::PacketScheme;
use crate::topology::Topology;
use crate::transport::{Running, Setup};
use proptest::prelude::*;
use sojourn_core::parameters::{Setting, Table, Value};
use sojourn_core::{Span, Time};
use sojourn_properties::cases;

/// Schemes of lines.
fn of_lines() -> impl Strategy<Value = PacketScheme> {
    let is_line = |scheme: &PacketScheme| FifoAhead::of(&scheme.queue).is_some();
    schemes().prop_filter("no line", is_line)
}

/// What comes of `scenario` when its lines send ahead, and when they keep their packets, as they do where
/// ports are sampled.
fn both(
    scheme: &PacketScheme,
    scenario: Scenario,
    setup: &Setup,
) -> Result<[Outcome; 2], TestCaseError> {
    let queue = &scheme.queue;
    prop_assume!(scenario.sends_ahead(queue).is_some(), "it is not sent ahead");
    let kept = Scenario { sample: Some(Span::from_s(1)), ..scenario.clone() };
    Ok([scenario, kept].map(|scenario| {
        let running = Running::new(&scheme.transport, setup.clone());
        let outcome = with_ports!(scenario, queue, |ports| sojourn_simulate(
            &scenario,
            ports,
            running,
            &Default::default()
        ));
        Outcome { samples: Vec::new(), ..outcome.expect("no thread cancelled it") }
    }))
}

/// Until when: to the end, in the midst of it, or while hardly anything happens.
fn ends() -> impl Strategy<Value = Time> {
    let ns = prop_oneof![Just(1_000_000_000u64), 1..200_000u64, 1..40_000u64];
    ns.prop_map(|ns| Time::ZERO + Span::from_ns(ns))
}

proptest! {
    #![proptest_config(cases(400))]

    /// Every total, and how long each port was sending, also where the run ends in the midst of it.
    #[test]
    fn sending_ahead_changes_nothing(
        topology in topologies(),
        scheme in of_lines(),
        flows in prop_oneof![flows(), flows().prop_map(|flows| flows[..1].to_vec())],
        seed in any::<u64>(),
        horizon in ends(),
    ) {
        let (scenario, setup) = scenario(&topology, &scheme, &flows, seed);
        let [ahead, kept] = both(&scheme, Scenario { horizon, watches: [].into(), ..scenario }, &setup)?;
        prop_assert_eq!(ahead, kept);
    }
}

/// Two packets of 12 us each over links of 500 ns: the run ends just after the second has begun to
/// leave, and nothing arrives anywhere near.
#[test]
fn what_begins_to_leave_before_the_end_has_left() {
    let known = PacketScheme::known("TCP+DropTail").expect("a scheme of the list");
    let scheme = changed(known, "queue", "buffer", Value::Text("100KB".to_owned()));
    let mut table = Table::default();
    for (key, text) in [("kind", "single-switch"), ("rate", "1Gbps"), ("delay", "500ns")] {
        table.set(key, Value::Text(text.to_owned()));
    }
    table.set("hosts", Value::Int(2));
    let topology = Topology::read(&Value::Table(table)).expect("a topology");
    let (scenario, setup) = scenario(&topology, &scheme, &[(0, 1, 2 * 1_460, 0)], 1);
    let horizon = Time::ZERO + Span::from_ns(12_100);
    let [ahead, kept] =
        both(&scheme, Scenario { horizon, watches: [].into(), ..scenario }, &setup).unwrap();
    assert_eq!(ahead.counts.hops, 2);
    assert_eq!(ahead.busy[0], Span::from_ns(12_100));
    assert_eq!(ahead, kept);
}
