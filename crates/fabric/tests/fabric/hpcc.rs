//! HPCC: what its equations promise of links, queues and shares (Li et al., SIGCOMM 2019, section 3).

use crate::common::*;
use sojourn_core::parameters::defaults;
use sojourn_core::{Bytes, Rate, Span, Time};
use sojourn_fabric::queue::{QueueKind, Telemetry};
use sojourn_fabric::topology::{FatTree, SingleSwitch, Topology};
use sojourn_fabric::transport::{Hpcc, TransportKind};
use sojourn_fabric::{Flow, Hosts, Packets};

const RATE: Rate = Rate::gbps(100);
/// Bytes on the wire of a full packet, and of an ACK.
const PACKET: u64 = 1_064;
const ACK: u64 = 64;

/// Hosts at 100 Gb/s on one switch, links of 1 us.
fn lab() -> Lab {
    let packets = Packets { payload: Bytes(1_000), header: Bytes(64), ack: Bytes(ACK) };
    let hosts = Hosts { overhead: 0.0, ..defaults() };
    let switch = SingleSwitch { hosts: 17, rate: RATE, delay: Span::from_us(1), ..defaults() };
    let topology = Topology::SingleSwitch(switch);
    Lab { packets, hosts, ..Lab::new(topology, known("HPCC")) }
}

/// The base round trip of that switch (T), and what a link carries in it.
fn round_trip() -> Span {
    Span::from_us(4) + RATE.span(PACKET + ACK) * 2
}

fn product() -> f64 {
    round_trip().seconds() * RATE.bits_per_second() as f64 / 8.0
}

/// So many flows to host 0, of which each has `bytes`.
fn crowd(count: u16, bytes: u64) -> Vec<Flow> {
    (1..=count).map(|from| flow(from, 0, bytes, 0)).collect()
}

/// The share of its link's time that packets of data take which come at this goodput.
fn utilisation(payload: u64, time: Span) -> f64 {
    let wire = payload as f64 / 1_000.0 * PACKET as f64;
    wire * 8.0 / time.seconds() / RATE.bits_per_second() as f64
}

/// The queue of the port to host 0: times in seconds and bytes, every microsecond.
fn queue(run: &Run) -> Vec<(f64, f64)> {
    let (towards, names) = run.series.names("towards");
    let port = run.series.ints("next").iter().zip(towards);
    let rows = port.zip(run.series.ints("at_ps").iter().zip(run.series.ints("waiting_bytes")));
    let own = rows.filter(|((next, to), _)| **next == 0 && names[usize::from(**to)] == "host");
    own.map(|(_, (&at, &bytes))| (at as f64 / 1e12, bytes as f64)).collect()
}

/// A flow alone takes the share eta of its link, and up to a thousandth what its window grows by.
#[test]
fn a_flow_alone_takes_eta_of_its_link() {
    for eta in [0.95, 0.8] {
        let mut lab = lab();
        lab.scheme.transport = TransportKind::Hpcc(Hpcc { eta, ..defaults() });
        let bytes = 20_000_000;
        let run = lab.run(&crowd(1, bytes));
        let time = Span::from_ps(run.fcts()[0]);
        let share = utilisation(bytes, time);
        // What is added each round trip is a standing part of the load: W = Wc / (U / eta) + W_AI.
        println!("eta {eta}: {share:.4}");
        assert!((share / eta - 1.0).abs() < 0.015, "{share} of {eta}");
        assert_eq!((run.drops(), run.figure("pauses")), (0, 0));
    }
}

/// Two to 16 flows to one host fill its link by eta, and hardly anything waits: fewer bytes than a round trip
/// carries by the share that eta leaves.
#[test]
fn a_link_is_busy_by_eta_and_its_queue_is_nearly_empty() {
    for count in [2, 4, 8, 16] {
        let lab = Lab { sample: Some(Span::from_us(1)), ..lab() };
        let bytes = 40_000_000 / u64::from(count);
        let run = lab.run(&crowd(count, bytes));
        let last = run.fcts().into_iter().max().expect("flows");
        let first = run.fcts().into_iter().min().expect("flows");
        let share = utilisation(40_000_000, Span::from_ps(last));
        let steady: Vec<f64> = queue(&run)
            .into_iter()
            .filter(|(at, _)| (2e-4..first as f64 / 1e12).contains(at))
            .map(|(_, bytes)| bytes)
            .collect();
        let mean = steady.iter().sum::<f64>() / steady.len() as f64;
        println!(
            "{count} flows: busy {share:.4}, queue {mean:.0} B, {} pauses",
            run.figure("pauses")
        );
        assert!((share / 0.95 - 1.0).abs() < 0.03, "{count} flows: {share}");
        assert!(mean < 0.05 * product() + 2.0 * PACKET as f64, "{count} flows: {mean} B");
        assert_eq!(run.drops(), 0);
    }
}

/// Sixteen flows bring at once what fifteen links carry in a round trip. The link then never rests until that has
/// drained, and few round trips later hardly anything waits: in one of them, windows of w products together leave the
/// queue x that solves (1 + x)^2 = eta w, since the window that each sets out from is that of the round trip before,
/// and it falls by 1 + x: 2.9 products, 0.9, 0.35 and so on.
#[test]
fn the_queue_of_an_incast_drains_in_a_few_round_trips() {
    let mut lab = Lab { sample: Some(Span::from_us(1)), ..lab() };
    lab.scheme.pfc = None;
    lab.scheme.queue = QueueKind::Telemetry(Telemetry { buffer: Bytes(10_000_000), ..defaults() });
    let run = lab.run(&crowd(16, 2_000_000));
    let queue = queue(&run);
    let most = queue.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    let &(peak_at, _) = queue.iter().find(|(_, bytes)| *bytes == most).expect("a peak");
    let after = queue.iter().filter(|(at, _)| *at > peak_at);
    let &(empty_at, _) =
        after.clone().find(|(_, bytes)| *bytes < 3.0 * PACKET as f64).expect("it drains");
    let drains = most * 8.0 / RATE.bits_per_second() as f64;
    let more = (empty_at - peak_at - drains) / round_trip().seconds();
    println!("{most} B drain in {:.2} us, {more:.2} round trips late", (empty_at - peak_at) * 1e6);
    assert!(most > 14.0 * product() && most < 16.0 * product(), "{most} of {}", product());
    assert!((0.0..10.0).contains(&more), "{more} round trips");
    let later = queue.iter().filter(|(at, _)| *at > empty_at + 20.0 * round_trip().seconds());
    let later = later.map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    assert!(later < 0.5 * product(), "{later} B wait again");
    assert_eq!(run.drops(), 0);
}

/// A flow that comes later has an equal share in the end. Of two runs that differ in its size alone, the later end
/// says how fast it was in the last part. Hosts delay packets by chance: without that, packets of two flows come in
/// step, and the one whose packets leave with another behind them sees a longer queue each time.
#[test]
fn two_flows_come_to_equal_shares() {
    let (some, more) = (30_000_000, 30_000_000);
    let end = |bytes: u64| {
        let flows = [flow(1, 0, 4 * (some + more), 0), flow(2, 0, bytes, 2_000_000_000)];
        let hosts = Hosts { overhead: 1.0, ..defaults() };
        Lab { hosts, ..lab() }.run(&flows).fcts()[1]
    };
    let share = utilisation(more, Span::from_ps(end(some + more) - end(some)));
    println!("{share:.4} of the link");
    assert!((share / (0.95 / 2.0) - 1.0).abs() < 0.03, "{share}");
}

/// Threads change nothing, in a fabric of several tiers with flows both ways.
#[test]
fn threads_change_no_row() {
    let tree = FatTree { k: 4, rate: RATE, delay: Span::from_us(1) };
    let lab = Lab { topology: Topology::FatTree(tree), ..lab() };
    let pair = |nth: u16| flow(nth % 16, (nth * 7 + 5) % 16, 300_000, u64::from(nth) * 1_000_000);
    let flows: Vec<Flow> =
        (0..64).map(pair).filter(|flow| flow.from != flow.to).chain(late_crowd()).collect();
    let ready = lab.ready(listed(&csv(&flows)));
    let one = Run::on(&ready, 1);
    assert_eq!((one.figure("unfinished"), one.drops()), (0, 0));
    for threads in [2, 3] {
        assert_eq!(Run::on(&ready, threads), one, "{threads} threads");
    }
}

fn late_crowd() -> impl Iterator<Item = Flow> {
    let late = Time::ZERO + Span::from_us(70);
    (1..16).map(move |from| Flow { arrived: late, ..flow(from, 0, 200_000, 0) })
}
