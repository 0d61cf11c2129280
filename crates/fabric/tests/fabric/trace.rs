//! One flow traced: its packets at both ends, their path, pauses and losses.

use crate::common::*;
use sojourn_core::parameters::defaults;
use sojourn_core::resource::no_tables;
use sojourn_core::{Bytes, Span};
use sojourn_fabric::hosts::Loss;
use sojourn_fabric::topology::{FatTree, Topology};
use sojourn_fabric::{Hosts, Packets};
use std::num::NonZeroU32;

/// 16 hosts at 100 Gb/s, links of 1 us, packets of 4064 bytes; flow `flow` is traced.
fn lab(scheme: &str, flow: u32) -> Lab {
    let tree = FatTree { k: 4, rate: gbps(100), delay: Span::from_us(1) };
    let packets = Packets { payload: Bytes(4000), header: Bytes(64), ack: Bytes(64) };
    Lab {
        packets,
        hosts: Hosts { overhead: 0.0, ..defaults() },
        trace: Some(flow),
        drain: Span::from_s(1),
        ..Lab::new(Topology::FatTree(tree), known(scheme))
    }
}

/// The places of the rows with this event.
fn events(run: &Run, name: &str) -> Vec<usize> {
    let (codes, names) = run.trace.names("event");
    let is_it = |place: &usize| names[usize::from(codes[*place])] == name;
    (0..codes.len()).filter(is_it).collect()
}

fn path(run: &Run, place: usize) -> String {
    let (codes, names) = run.trace.names("path");
    names[usize::from(codes[place])].clone().into_owned()
}

/// Each packet of a flow alone leaves, arrives and is acknowledged, one round trip later; the way is told node by
/// node.
#[test]
fn a_flow_alone_is_seen_packet_by_packet() {
    let lab = lab("RoCE PFC only", 1);
    let run = lab.run(&[flow(2, 3, 8_000, 0), flow(0, 1, 40_000, 1_000_000)]);
    let counts =
        ["sent", "arrived", "answered", "heard", "paused"].map(|name| events(&run, name).len());
    assert_eq!(counts, [10, 10, 10, 10, 0]);
    let sent = events(&run, "sent");
    let of =
        |name: &str| -> Vec<i64> { sent.iter().map(|&row| run.trace.ints(name)[row]).collect() };
    assert_eq!(of("sequence"), (0..10).collect::<Vec<i64>>());
    let span = gbps(100).span(4_064).ps() as i64;
    assert_eq!(of("at_ps"), (0..10).map(|nth| 1_000_000 + nth * span).collect::<Vec<i64>>());
    assert!(sent.iter().all(|&row| path(&run, row) == "host 0 > switch 0 > host 1"));
    let trip = 2 * span + 2 * gbps(100).span(64).ps() as i64 + 4_000_000;
    let heard = events(&run, "heard");
    assert!(heard.iter().all(|&row| run.trace.ints("round_trip_ps")[row] == trip));
    assert!(heard.iter().all(|&row| run.trace.floats("rate_bps")[row] == 100e9));
    // The rows of the run are those without a trace.
    let plain = Lab { trace: None, ..lab };
    let plain = plain.run(&[flow(2, 3, 8_000, 0), flow(0, 1, 40_000, 1_000_000)]);
    assert_eq!((&plain.rows, plain.trace.columns.len()), (&run.rows, 0));
}

/// Pauses of ports on the way are in the trace, on any number of threads; who stopped whom is in another table.
#[test]
fn pauses_on_the_way_are_seen() {
    let lab = lab("RoCE PFC only", 3);
    let flows: Vec<_> = (4..16).map(|from| flow(from, 0, 500_000, 0)).collect();
    let run = lab.run(&flows);
    let paused = events(&run, "paused");
    assert!(!paused.is_empty());
    let way = path(&run, events(&run, "sent")[0]);
    for &row in &paused {
        assert!(way.contains(&path(&run, row)), "{} is not on {way}", path(&run, row));
        assert!(run.trace.ints("until_ps")[row] > run.trace.ints("at_ps")[row]);
    }
    let counted: i64 = run.pauses.ints("pauses").iter().sum();
    assert_eq!(counted, run.figure("pauses"));
    assert_eq!(run.pauses.ints("paused_ps").iter().sum::<i64>(), run.figure("paused_ps"));
    let ready = lab.ready(listed(&csv(&flows)));
    for threads in [2, 3] {
        assert_eq!(Run::on(&ready, threads).pauses, run.pauses);
        let trace = Run::on(&ready, threads).trace;
        assert_eq!(trace.ints("at_ps"), run.trace.ints("at_ps"), "{threads} threads");
        assert_eq!(trace.ints("sequence"), run.trace.ints("sequence"), "{threads} threads");
    }
}

/// A packet that is lost by script is the one that is told, and it is sent again.
#[test]
fn a_loss_is_told_of_its_packet() {
    let mut lab = lab("DCTCP", 0);
    lab.hosts.loss = Some(Loss { packet: NonZeroU32::new(4), times: NonZeroU32::MIN });
    let run = lab.run(&[flow(0, 5, 40_000, 0)]);
    let lost: Vec<usize> =
        events(&run, "sent").into_iter().filter(|&row| run.trace.ints("lost")[row] == 1).collect();
    assert_eq!(lost.iter().map(|&row| run.trace.ints("sequence")[row]).collect::<Vec<_>>(), [3]);
    assert_eq!(events(&run, "sent").len(), 11);
    assert_eq!(path(&run, lost[0]), "", "sprayed packets have no path that is known beforehand");
    assert!(events(&run, "heard").iter().all(|&row| run.trace.floats("window_bytes")[row] > 0.0));
}

#[test]
fn a_flow_that_there_is_not_is_refused() {
    let lab = lab("RoCE PFC only", 2);
    let case = lab.case(listed(&csv(&[flow(0, 1, 1_000, 0), flow(0, 1, 1_000, 0)])));
    let refusal = case.ready(lab.streams, &no_tables).expect_err("two flows");
    assert_eq!(
        (refusal.path, &*refusal.expected),
        (vec!["trace".to_owned()], "a flow from 0 to 1")
    );
}
