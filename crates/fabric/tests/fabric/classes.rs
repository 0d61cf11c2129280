//! Traffic classes in whole runs: exact shares of a link, and what one class alone is.

use crate::common::*;
use sojourn_core::parameters::defaults;
use sojourn_core::random::mix;
use sojourn_fabric::queue::{Between, Classes, QueueKind, Weighted};
use sojourn_fabric::topology::Topology;
use sojourn_fabric::{Flow, PacketScheme};

/// A flow of a class.
fn of_class(class: u8, flow: Flow) -> Flow {
    Flow { class, ..flow }
}

fn by_weight(weights: &[u8]) -> Between {
    Between::Weighted(Weighted {
        weights: weights.iter().map(|&weight| weight.try_into().unwrap()).collect(),
    })
}

fn classes(inside: Vec<QueueKind>, between: Between) -> QueueKind {
    QueueKind::Classes(Classes { inside, between })
}

/// In which slot of the one link into host 2 each flow is done: the link sends a packet each
/// 1200 ns; what leaves it in slot j (from 1) is acknowledged 1583 + 1200 j + 1213 ns after the
/// start (see `exact.rs`).
fn slots(scheme: &PacketScheme, flows: &[Flow]) -> Vec<u64> {
    let fcts = Lab::new(single_switch(4), scheme.clone()).run(flows).fcts();
    fcts.iter().map(|fct| (fct / 1_000 - 2_796) / 1_200).collect()
}

/// Both always have packets waiting. Three slots in four are class 0's, in the order 0 1 0 0:
/// 300 packets of it are out in slot 400, 100 of class 1 in slot 398.
#[test]
fn weights_share_a_link_exactly() {
    let inside = vec![drop_tail(10_000_000); 2];
    let flows = [of_class(0, flow(0, 2, 300 * FULL, 0)), of_class(1, flow(1, 2, 100 * FULL, 0))];
    let shared = scheme(all_at_once(), classes(inside.clone(), by_weight(&[3, 1])));
    assert_eq!(slots(&shared, &flows), [400, 398]);
    // The other way round class 0 has one slot in four as long as class 1 lasts.
    let flows = [flows[0], of_class(1, flow(1, 2, 300 * FULL, 0))];
    let shared = scheme(all_at_once(), classes(inside, by_weight(&[1, 3])));
    assert_eq!(slots(&shared, &flows), [600, 400]);
}

/// The shorter flow goes first inside a class, and waits for any other of a class before its own.
#[test]
fn strict_priority_goes_before_size() {
    let flow = |class, packets, from| of_class(class, flow(from, 2, packets * FULL, 0));
    let two = [flow(0, 5, 0), flow(1, 2, 1)];
    let strict = classes(vec![pfabric(), pfabric()], Between::Strict(defaults()));
    let strict = PacketScheme { queue: strict, ..known("MinTCP+pFabric") };
    assert_eq!(slots(&strict, &two), [5, 7]);
    assert_eq!(slots(&known("MinTCP+pFabric"), &two), [7, 2]);
    let three = [flow(1, 4, 0), flow(1, 2, 1), flow(0, 3, 3)];
    assert_eq!(slots(&strict, &three), [9, 5, 3]);
}

/// A class that overflows takes nothing of another's buffer: 40 answers at once into one host lose
/// packets, and the flow of the other class beside them loses none.
#[test]
fn a_class_has_its_own_buffer() {
    let answers = (0..40).map(|from| of_class(1, flow(from, 41, 12 * FULL, 0)));
    let flows: Vec<Flow> = answers.chain([flow(40, 41, 12 * FULL, 0)]).collect();
    let run = |queue| {
        let scheme = PacketScheme { queue, ..known("MinTCP+pFabric") };
        Lab::new(single_switch(42), scheme).run(&flows)
    };
    let apart = run(classes(vec![drop_tail(22_500); 2], by_weight(&[1, 1])));
    assert!(apart.sum("retransmits") > 100);
    assert_eq!(apart.rows.ints("retransmits")[40], 0);
    assert!(run(drop_tail(22_500)).rows.ints("retransmits")[40] > 0);
}

/// With all flows in class 0, whatever stands beside it: the rows of its queue alone, to the byte,
/// in bursts that fill buffers.
#[test]
fn one_class_alone_is_its_queue() {
    let random = |i: u64, what: u64, below: u64| mix(i << 8 | what) % below;
    let flows: Vec<Flow> = (0..120)
        .map(|i| {
            let to = random(i, 0, 3);
            let from = (to + 1 + random(i, 1, 15)) % 16;
            flow(from as u16, to as u16, random(i, 2, 60 * FULL) + 1, i * 500_000)
        })
        .collect();
    let few = Topology::LeafSpine(leaf_spine(4, 4, 2, 1));
    for name in ["TCP+DropTail", "DCTCP", "MinTCP+pFabric", "LineRate+pFabric"] {
        let alone = known(name);
        let rows = |queue| {
            let scheme = PacketScheme { queue, ..alone.clone() };
            Lab::new(few.clone(), scheme).run(&flows)
        };
        let expected = rows(alone.queue.clone());
        assert!(expected.drops() > 0 || name == "DCTCP", "{name}");
        let own = || alone.queue.clone();
        for queue in [
            classes(vec![own()], by_weight(&[])),
            classes(vec![own(), drop_tail(3_000)], by_weight(&[1, 255])),
            classes(vec![own(), own(), own()], Between::Strict(defaults())),
        ] {
            assert_eq!(rows(queue), expected, "{name}");
        }
    }
}

/// The column is there only where it says something.
#[test]
fn rows_name_classes_where_there_are_some() {
    let columns = |flows: &[Flow]| {
        let run = Lab::new(single_switch(3), known("MinTCP+pFabric")).run(flows);
        run.rows.columns.iter().any(|(name, _)| *name == "class")
    };
    assert!(!columns(&[flow(0, 1, FULL, 0)]));
    assert!(columns(&[flow(0, 1, FULL, 0), of_class(3, flow(1, 0, FULL, 0))]));
}
