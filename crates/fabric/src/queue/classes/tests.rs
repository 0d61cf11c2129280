//! Ports with classes, alone.

use super::*;
use crate::packet::Packet;
use crate::queue::{DropTail, Ties, no_drop};
use proptest::prelude::*;
use sojourn_core::Bytes;

fn line(buffer: u64) -> QueueKind {
    QueueKind::DropTail(DropTail { buffer: Bytes(buffer), ..defaults() })
}

/// So many classes, first in first out inside, with buffers for everything.
fn lines(classes: usize, between: Between) -> Classes {
    Classes { inside: vec![line(1_000_000_000); classes], between }
}

fn by_weight(weights: &[u8]) -> Between {
    Between::Weighted(Weighted {
        weights: weights.iter().map(|&weight| weight.try_into().unwrap()).collect(),
    })
}

fn port(classes: &Classes) -> ClassesPort {
    classes.port(Outlet::alone(Streams::new(5, 0).stream("t", 0)))
}

/// An arena for flows whose classes are their numbers.
fn arena() -> PacketArena {
    PacketArena::new((0..CLASSES as u8).collect(), 40)
}

fn packet(class: u8, size: u16) -> Packet {
    Packet { size, flow: class.into(), ..Packet::LAST }
}

/// Offers a packet; how many were dropped.
fn offer(port: &mut ClassesPort, arena: &mut PacketArena, packet: Packet) -> usize {
    let (id, mut dropped) = (arena.insert(packet), 0);
    port.enqueue(Time::ZERO, Time::ZERO, id, arena, |id, arena| {
        arena.free(id);
        dropped += 1;
    });
    dropped
}

/// Sends a packet: its class and size.
fn send(port: &mut ClassesPort, arena: &mut PacketArena) -> (usize, u16) {
    let id = port.dequeue(Time::ZERO, arena, no_drop).expect("a packet");
    arena.free(id);
    (arena.class(id), arena[id].size)
}

/// The classes of the next packets, while so many wait in each class at first.
fn order(classes: &Classes, waiting: &[usize], sent: usize) -> Vec<usize> {
    let (mut port, mut arena) = (port(classes), arena());
    for (class, &count) in (0..).zip(waiting) {
        for _ in 0..count {
            offer(&mut port, &mut arena, packet(class, 1500));
        }
    }
    (0..sent).map(|_| send(&mut port, &mut arena).0).collect()
}

#[test]
fn a_higher_class_goes_first_under_strict_priority() {
    let strict = lines(3, Between::Strict(defaults()));
    assert_eq!(order(&strict, &[2, 2, 2], 6), [0, 0, 1, 1, 2, 2]);
    let (mut port, mut arena) = (port(&strict), arena());
    offer(&mut port, &mut arena, packet(2, 1500));
    offer(&mut port, &mut arena, packet(1, 1500));
    assert_eq!(send(&mut port, &mut arena).0, 1);
    offer(&mut port, &mut arena, packet(0, 1500));
    // Class 7 is one of the last.
    offer(&mut port, &mut arena, packet(7, 1500));
    let rest: Vec<usize> = (0..3).map(|_| send(&mut port, &mut arena).0).collect();
    assert_eq!(rest, [0, 2, 7]);
    assert!(port.is_empty());
}

/// By hand: with weights 3 and 1 a packet takes 1 and 3 units. Begins (0, 0): class 0, then (1, 0):
/// class 1, (1, 3), (2, 3): class 0, then (3, 3): class 0 again, and so on.
#[test]
fn weights_of_three_to_one_give_three_to_one() {
    let weighted = lines(2, by_weight(&[3, 1]));
    assert_eq!(order(&weighted, &[9, 3], 12), [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0]);
    // What one does not use, others have.
    assert_eq!(order(&weighted, &[1, 4], 5), [0, 1, 1, 1, 1]);
    assert_eq!(order(&lines(3, by_weight(&[])), &[2, 2, 2], 6), [0, 1, 2, 0, 1, 2]);
}

/// Who was away for a long time saved nothing up meanwhile.
#[test]
fn an_absent_class_saves_nothing_up() {
    let (mut port, mut arena) = (port(&lines(2, by_weight(&[1, 1]))), arena());
    for _ in 0..100 {
        offer(&mut port, &mut arena, packet(0, 1500));
        assert_eq!(send(&mut port, &mut arena).0, 0);
    }
    for class in [0, 0, 0, 1, 1, 1] {
        offer(&mut port, &mut arena, packet(class, 1500));
    }
    let sent: Vec<usize> = (0..6).map(|_| send(&mut port, &mut arena).0).collect();
    assert_eq!(sent, [1, 0, 1, 0, 1, 0]);
}

#[test]
fn classes_that_cannot_be_are_refused() {
    let refused = |classes: Classes| classes.check().expect_err("refused");
    let weights = Classes { between: by_weight(&[1, 2, 3]), ..defaults() };
    assert_eq!(refused(weights).path, ["between", "weights"]);
    assert_eq!(refused(Classes { inside: Vec::new(), ..defaults() }).path, ["inside"]);
    assert_eq!(refused(lines(9, Between::Strict(defaults()))).path, ["inside"]);
    let nested = Classes { inside: vec![QueueKind::Classes(defaults())], ..defaults() };
    assert_eq!(refused(nested).path, ["inside"]);
}

/// A packet of each class at a time, of any size.
fn sizes() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(prop_oneof![Just(1500u16), Just(40), 40u16..=1500], 20..200)
}

proptest! {
    /// While all classes have packets waiting, over any stretch of time: what two of them were sent
    /// over their weights differs by no more than a packet of either over its own.
    #[test]
    fn shares_are_exact_to_a_packet(
        weights in prop::collection::vec(1u8..=255, 2..=8),
        sizes in sizes(),
        from in 0usize..100,
    ) {
        let classes = lines(weights.len(), by_weight(&weights));
        let (mut port, mut arena) = (port(&classes), arena());
        for class in 0..weights.len() as u8 {
            offer(&mut port, &mut arena, packet(class, sizes[usize::from(class)]));
        }
        let mut bytes = vec![0.0; weights.len()];
        for (i, &size) in sizes.iter().enumerate() {
            // One behind another, so that a class always has one waiting when it is chosen.
            for class in 0..weights.len() as u8 {
                offer(&mut port, &mut arena, packet(class, size));
            }
            let (class, size) = send(&mut port, &mut arena);
            if i >= from {
                bytes[class] += f64::from(size) / f64::from(weights[class]);
            }
            for (a, &own) in bytes.iter().zip(&weights) {
                for (b, &other) in bytes.iter().zip(&weights) {
                    let bound = 1500.0 / f64::from(own) + 1500.0 / f64::from(other);
                    prop_assert!((a - b).abs() <= bound + 1e-6, "{a} and {b}, bound {bound}");
                }
            }
        }
    }

    /// Every packet is sent or dropped, once; each class keeps its own order and its own buffer.
    #[test]
    fn packets_are_conserved(
        steps in prop::collection::vec((0u8..8, 0u32..9, 40u16..1501, any::<bool>()), 1..200),
        strict in any::<bool>(),
        ties in any::<bool>(),
    ) {
        let ties = if ties { Ties::Random } else { Ties::Arrival };
        let best = QueueKind::PFabric(PFabric { buffer: Bytes(4_500), ties, ..defaults() });
        let between =
            if strict { Between::Strict(defaults()) } else { by_weight(&[7, 1, 200]) };
        let classes = Classes { inside: vec![best, line(6_000), line(3_000)], between };
        let (mut port, mut arena) = (port(&classes), arena());
        let (mut offered, mut gone) = (0, 0);
        for (class, priority, size, take) in steps {
            if take && !port.is_empty() {
                send(&mut port, &mut arena);
                gone += 1;
            } else {
                let packet = Packet { priority, ..packet(class, size) };
                gone += offer(&mut port, &mut arena, packet);
                offered += 1;
            }
            prop_assert_eq!(arena.len(), offered - gone);
            let waiting = port.waiting(&arena);
            prop_assert_eq!(waiting.len(), arena.len());
            for (class, capacity) in [4_500, 6_000, 3_000].into_iter().enumerate() {
                let own = waiting.iter().filter(|id| arena.class(**id).min(2) == class);
                prop_assert!(own.map(|id| u32::from(arena[*id].size)).sum::<u32>() <= capacity);
            }
        }
    }
}
