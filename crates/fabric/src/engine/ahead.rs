//! Lines that send ahead, against the same ones that keep their packets.

use super::worlds::{changed, flows, scene, schemes, topologies};
use super::{Outcome, Scene, sojourn_simulate};
use crate::queue::{Builder, Queue, with_queue};
use crate::scheme::PacketScheme;
use crate::topology::Topology;
use crate::transport::{Running, Setup};
use proptest::prelude::*;
use sojourn_core::parameters::{Setting, Table, Value};
use sojourn_core::{Span, Time};

/// Schemes of lines.
fn of_lines() -> impl Strategy<Value = PacketScheme> {
    let is_line = |scheme: &PacketScheme| with_queue!(&scheme.queue, |q| q.lines().is_some());
    schemes().prop_filter("no line", is_line)
}

/// What comes of `scene` when its lines send ahead, and when they keep their packets, as they do for
/// who looks at ports in between.
fn both(scheme: &PacketScheme, scene: Scene, setup: &Setup) -> Result<[Outcome; 2], TestCaseError> {
    let queue = &scheme.queue;
    let line = with_queue!(queue, |queue| queue.lines()).expect("a line");
    prop_assume!(scene.is_shallow(&line), "it is not sent ahead");
    let kept = Scene { sample: Some(Span::from_s(1)), ..scene.clone() };
    Ok([scene, kept].map(|scene| {
        let running = Running::new(&scheme.transport, setup.clone());
        let outcome = with_queue!(queue, |queue| sojourn_simulate(
            &scene,
            queue,
            running,
            &Default::default()
        ));
        Outcome { samples: Vec::new(), ..outcome.expect("nobody cancelled it") }
    }))
}

/// Until when: to the end, in the midst of it, or while hardly anything happens.
fn ends() -> impl Strategy<Value = Time> {
    let ns = prop_oneof![Just(1_000_000_000u64), 1..200_000u64, 1..40_000u64];
    ns.prop_map(|ns| Time::ZERO + Span::from_ns(ns))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every total, and how long each port was sending, also where the run ends in the midst of it.
    #[test]
    fn sending_ahead_changes_nothing(
        topology in topologies(),
        scheme in of_lines(),
        flows in prop_oneof![flows(), flows().prop_map(|flows| flows[..1].to_vec())],
        seed in any::<u64>(),
        horizon in ends(),
    ) {
        let (scene, setup) = scene(&topology, &scheme, &flows, seed);
        let [ahead, kept] = both(&scheme, Scene { horizon, watches: [].into(), ..scene }, &setup)?;
        prop_assert_eq!(ahead, kept);
    }
}

/// Two packets of 12 us each over links of 500 ns: the run ends just after the second has begun to
/// leave, and nothing arrives anywhere near.
#[test]
fn what_begins_to_leave_before_the_end_has_left() {
    let known = PacketScheme::known("TCP+DropTail").expect("it is known");
    let scheme = changed(known, "queue", "buffer", Value::Text("100KB".to_owned()));
    let mut table = Table::default();
    for (key, text) in [("kind", "single-switch"), ("rate", "1Gbps"), ("delay", "500ns")] {
        table.set(key, Value::Text(text.to_owned()));
    }
    table.set("hosts", Value::Int(2));
    let topology = Topology::read(&Value::Table(table)).expect("a topology");
    let (scene, setup) = scene(&topology, &scheme, &[(0, 1, 2 * 1_460, 0)], 1);
    let horizon = Time::ZERO + Span::from_ns(12_100);
    let [ahead, kept] =
        both(&scheme, Scene { horizon, watches: [].into(), ..scene }, &setup).unwrap();
    assert_eq!(ahead.figures.hops, 2);
    assert_eq!(ahead.busy[0], Span::from_ns(12_100));
    assert_eq!(ahead, kept);
}
