//! Swift on one switch: what its target makes of the queue.

use crate::common::*;
use crate::witness::watch;
use sojourn_core::parameters::defaults;
use sojourn_fabric::packet::Kind;
use sojourn_fabric::queue::DropTail;
use std::collections::BTreeMap;

const NS: u64 = 1_000;

/// A round trip of 4 us is far below the target: the link of a flow alone never rests.
#[test]
fn a_flow_alone_has_the_link() {
    let run = Lab::new(single_switch(4), known("Swift")).run(&[flow(0, 3, 1000 * FULL, 0)]);
    assert_eq!(run.fcts(), [(3996 + 999 * 1200) * NS]);
}

/// Many long flows to one host, in the second quarter of their time, when the first bursts are over:
/// the round trips lie a little above the target of a flow with its share of what is under way,
/// nothing is sent twice, and the link is full. Of 100 flows each has less than a packet; that an ACK
/// then adds a whole one makes for gaps.
#[test]
fn round_trips_stay_at_the_target() {
    for (senders, packets, share) in [(4u16, 3000u64, 99), (20, 1000, 97), (100, 400, 85)] {
        let flows: Vec<_> = (1..=senders).map(|from| flow(from, 0, packets * FULL, 0)).collect();
        let lab = Lab::new(single_switch(u32::from(senders) + 1), known("Swift"));
        let (_, log) = watch(&lab, &defaults::<DropTail>(), &flows, |_| false);
        let line = packets * u64::from(senders) * 1200 * NS;
        let middle = line / 4..line / 2;
        let mut left = BTreeMap::new();
        for sight in log.sent.iter().filter(|sight| sight.kind == Kind::DATA) {
            left.insert((sight.flow, sight.sequence), sight.at);
            assert!(sight.again == 0 || !middle.contains(&sight.at.ps()), "{sight:?}");
        }
        let acks = log.received.iter().filter(|sight| sight.kind == Kind::ACK);
        let trips: Vec<u64> = acks
            .filter(|ack| middle.contains(&ack.at.ps()))
            .map(|ack| (ack.at - left[&(ack.flow, ack.sequence - 1)]).ps())
            .collect();
        let sent = line / 4 / (1200 * NS);
        assert!(trips.len() as u64 >= sent * share / 100, "{} of {sent}", trips.len());
        let mean = trips.iter().sum::<u64>() as f64 / trips.len() as f64 / 1e6;
        let target = share_of_the_target(senders.into());
        assert!((1.0..1.12).contains(&(mean / target)), "{senders}: {mean} us for {target} us");
    }
}

/// The target in us where `flows` flows, at one packet in 1.2 us together, have windows of just
/// that much: 20 us and 3 us for the switch, and the paper's alpha / sqrt(cwnd) + beta.
fn share_of_the_target(flows: f64) -> f64 {
    let alpha = 100.0 / (1.0 / 0.1f64.sqrt() - 1.0 / 100f64.sqrt());
    (0..100).fold(30.0, |target, _| {
        let cwnd: f64 = target / (1.2 * flows);
        23.0 + alpha / cwnd.sqrt() - alpha / 10.0
    })
}
