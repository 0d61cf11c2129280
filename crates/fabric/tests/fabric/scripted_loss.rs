//! Packets lost by script: those that are asked for and no other, and what hosts with Linux do about them.

use crate::common::*;
use sojourn_core::parameters::defaults;
use sojourn_core::resource::no_tables;
use sojourn_core::{Execution, Streams};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::hosts::Loss;
use sojourn_fabric::{Flow, Hosts};
use std::num::NonZeroU32;

/// 44 packets.
const BYTES: u64 = 64_000;

fn losing(packet: Option<u32>, times: u32) -> Lab {
    let whole = |number| NonZeroU32::new(number).expect("above zero");
    let loss = Some(Loss { packet: packet.map(whole), times: whole(times) });
    Lab { hosts: Hosts { loss, ..defaults() }, ..Lab::new(fat_tree(4), known("Linux CUBIC")) }
}

/// What each of four flows loses, sends again, and how often it times out and probes.
fn counts(lab: &Lab) -> [i64; 4] {
    let flows: Vec<Flow> = (0..4).map(|host| flow(host, 15 - host, BYTES, 0)).collect();
    let run = lab.run(&flows);
    assert_eq!(run.drops(), 0);
    let lost = run.figure("packets_lost_by_script");
    assert_eq!(run.figure("drops"), lost);
    let delivered = run.figure("packets_delivered") + lost + run.figure("packets_in_network");
    assert_eq!(run.figure("packets_injected"), delivered);
    let of_all = [lost, run.sum("retransmits"), run.sum("timeouts"), run.sum("probes")];
    assert_eq!(run.figure("probes"), of_all[3]);
    of_all.map(|count| count / 4)
}

#[test]
fn a_loss_in_the_middle_is_found_by_what_left_later() {
    assert_eq!(counts(&losing(Some(22), 1)), [1, 1, 0, 0]);
}

#[test]
fn a_loss_at_the_tail_is_found_by_a_probe() {
    assert_eq!(counts(&losing(None, 1)), [1, 1, 0, 1]);
}

#[test]
fn a_probe_that_is_lost_costs_a_time_out() {
    assert_eq!(counts(&losing(None, 2)), [2, 2, 1, 1]);
}

#[test]
fn a_flow_without_such_a_packet_loses_nothing() {
    let plain = Lab { hosts: defaults(), ..losing(None, 1) };
    let flows = [flow(0, 9, BYTES, 0), flow(3, 9, 3 * FULL, 5)];
    assert_eq!(losing(Some(45), 1).run(&flows), plain.run(&flows));
}

#[test]
fn a_script_is_the_same_on_two_threads() {
    let flows: Vec<Flow> =
        (0..16).map(|host| flow(host, 15 - host, BYTES, u64::from(host))).collect();
    let case = losing(Some(30), 2).case(listed(&csv(&flows)));
    let rows = |threads| {
        let ready = case.ready(Streams::new(1, 0), &no_tables).expect("the case can run");
        let progress = Progress::default();
        let report = ready.run(Execution { threads, ..Execution::new(&progress) });
        let report = report.expect("not cancelled");
        (report.rows, report.totals)
    };
    assert_eq!(rows(1), rows(2));
}
