//! What once went wrong, and how it has to be.

use crate::common::*;
use crate::witness::*;
use sojourn_core::parameters::defaults;
use sojourn_core::{Bytes, Span, Streams};
use sojourn_fabric::engine;
use sojourn_fabric::packet::Kind;
use sojourn_fabric::queue::DropTail;
use sojourn_fabric::topology::{LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::{NewReno, TcpOptions, TransportKind};

const NS: u64 = 1000;
const ROUND_TRIP: u64 = (2 * (1200 + 32) + 4 * 100_000) * NS;

fn lossy(
    t: TransportKind,
    packets: u64,
    lose: impl FnMut(&Sight) -> bool,
) -> (engine::Outcome, Log) {
    let switch = SingleSwitch { hosts: 2, delay: Span::from_us(100), ..defaults() };
    let lab = Lab::new(Topology::SingleSwitch(switch), scheme(t, drop_tail(225_000)));
    watch(
        &lab,
        &DropTail { buffer: Bytes(225_000), ..defaults() },
        &[flow(0, 1, packets * FULL, 0)],
        lose,
    )
}
/// Two hosts of one rack send one packet each to another pod at once: with turns that start at
/// random they meet on one of 3 uplinks with probability 1/3.
#[test]
fn spraying_starts_at_random() {
    let mut met = 0;
    for seed in 0..300 {
        let mut lab = Lab::new(fat_tree(6), scheme(all_at_once(), drop_tail(225_000)));
        lab.streams = Streams::new(seed, 0);
        let run = lab.run(&[flow(0, 30, FULL, 0), flow(1, 40, FULL, 0)]);
        met += usize::from(run.fcts().iter().any(|f| *f >= 13_200_000));
    }
    assert!((70..130).contains(&met), "{met}");
}

/// RFC 6675 (5, step 4.3): the first packet presumed lost is resent at once, whatever the pipe
/// holds.
#[test]
fn sack_resends_the_first_hole_at_the_third_duplicate() {
    let (_, log) = lossy(TransportKind::NewReno(new_reno(10)), 10, |s| {
        s.kind == Kind::DATA && s.again == 0 && s.sequence == 2
    });
    assert_eq!(log.data_sent(0)[10..], [(ROUND_TRIP + 4 * 1200 * NS, 2)]);
}

/// No FCT below the ideal: 4 parallel uplinks of 2.5 Gb/s carry a sprayed 10 Gb/s flow.
#[test]
fn sprayed_over_slow_uplinks() {
    let topology = Topology::LeafSpine(LeafSpine {
        uplink_rate: "2.5Gbps".parse().unwrap(),
        ..leaf_spine(2, 2, 4, 1)
    });
    let run = Lab::new(topology, scheme(all_at_once(), drop_tail(1_000_000))).run(&[flow(
        0,
        2,
        100 * FULL,
        0,
    )]);
    assert!(run.rows.floats("slowdown")[0] >= 1.0);
}

/// A run that leaves flows unfinished has simulated up to its horizon. Here the second flow's ACK
/// comes a picosecond too late.
#[test]
fn what_is_not_finished_was_simulated_to_the_horizon() {
    let flows = [flow(0, 1, FULL, 0), flow(0, 1, FULL, 10_000_000)];
    let mut lab = Lab::new(single_switch(2), scheme(all_at_once(), drop_tail(225_000)));
    lab.drain = Span::from_ps(3_996_000 - 1);
    let run = lab.run(&flows);
    assert_eq!(run.figure("unfinished"), 1);
    assert_eq!(run.figure("simulated_ps"), 10_000_000 + 3_996_000 - 1);
}

/// SACK with half a bandwidth-delay product of buffer.
#[test]
fn sack_is_no_worse_than_none() {
    let share = |sack| {
        let switch = SingleSwitch {
            hosts: 2,
            rate: gbps(40),
            delay: Span::from_us(25),
            uplink: Some(gbps(10)),
            ..defaults()
        };
        let tcp = NewReno {
            options: TcpOptions { sack, min_rto: Span::from_ms(1), ..defaults() },
            ..defaults()
        };
        let run = Lab::new(
            Topology::SingleSwitch(switch),
            scheme(TransportKind::NewReno(tcp), drop_tail(62_500)),
        )
        .run(&[flow(0, 1, 100_000_000, 0)]);
        run.mean_fct()
    };
    assert!(share(true) < 1.05 * share(false));
}
