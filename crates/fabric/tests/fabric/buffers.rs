//! Switch memory: what waits in whole runs, against the formulas of its sharing.

use crate::common::*;
use crate::witness::{Sight, watch};
use sojourn_core::parameters::defaults;
use sojourn_core::random::mix;
use sojourn_core::{Bytes, Span, Time};
use sojourn_fabric::packet::Kind;
use sojourn_fabric::queue::{Drr, Ecn, PFabric, QueueKind};
use sojourn_fabric::topology::{LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::Priority;
use sojourn_fabric::{Buffer, Flow, PacketScheme};

/// Hosts whose own ports can hold all they ever send.
fn endless() -> PacketScheme {
    scheme(all_at_once(), drop_tail(1_000_000_000))
}

/// `receivers` ports of one switch, two senders into each, until 3 ms have gone: a flow is far from
/// done then, and 3.75 MB have come to each port of which half are gone.
fn saturated(receivers: u16, buffer: Buffer) -> (Lab, Vec<Flow>) {
    let topology = single_switch(u32::from(receivers) * 3);
    let lab = Lab { buffer, drain: Span::from_ms(3), ..Lab::new(topology, endless()) };
    let flow = |i: u16| flow(receivers + i, i % receivers, 10_000_000, u64::from(i));
    (lab, (0..2 * receivers).map(flow).collect())
}

/// What waits at the ports of the receivers at most, each and together, which is what waits there
/// all the time but for a packet: they fill up and never drain.
fn queues(receivers: u16, buffer: Buffer) -> (Vec<u64>, u64) {
    let (lab, flows) = saturated(receivers, buffer);
    let (outcome, log) = watch(&lab, &lab.scheme.queue, &flows, |_| false);
    let first = 3 * usize::from(receivers);
    let queues = &log.ports[first..first + usize::from(receivers)];
    let queues: Vec<u64> = queues.iter().map(|port| port.most_waiting).collect();
    assert!(log.ports[..first].iter().all(|port| port.dropped == 0));
    (queues, outcome.memory_peaks[0])
}

/// Choudhury and Hahne: S queues that always want more hold alpha B / (1 + alpha S) each, within a
/// packet; where alpha is above 1, a packet moves the threshold by as many.
#[test]
fn saturated_queues_hold_what_the_formula_says() {
    for receivers in [1u16, 2, 3, 7] {
        for alpha in [0.25, 0.5, 1.0, 2.0, 8.0] {
            let shared = buffer("shared", &[("size", "600KB"), ("alpha", &alpha.to_string())]);
            let (queues, peak) = queues(receivers, shared);
            let each = alpha * 600_000.0 / (1.0 + alpha * f64::from(receivers));
            for &queue in &queues {
                let off = (queue as f64 - each).abs();
                assert!(off <= 1500.0 * alpha.max(1.0), "{receivers} {alpha}: {queue} {each}");
            }
            let sum = queues.iter().sum::<u64>() as f64;
            let together = each * f64::from(receivers);
            assert!(
                peak as f64 <= sum && (peak as f64 - together).abs() <= sum - together + 1500.0
            );
        }
    }
}

/// What is reserved comes on top, and the threshold is that of what is left: 9 ports hold 45 KB.
#[test]
fn saturated_queues_hold_their_reserve_and_a_share_of_the_rest() {
    let reserved = buffer("reserved", &[("size", "645KB"), ("reserve", "5KB"), ("alpha", "1")]);
    for queue in queues(3, reserved).0 {
        assert!((queue as f64 - 155_000.0).abs() <= 1500.0, "{queue}");
    }
}

/// Without a threshold all of it is taken; a cap a queue holds below that, by the port's rate.
#[test]
fn without_a_threshold_memory_fills_up_to_the_caps() {
    let (_, full) = queues(2, buffer("shared", &[("size", "600KB"), ("alpha", "none")]));
    assert_eq!(full, 600_000);
    for capped in queues(2, buffer("deep", &[("size", "4GB"), ("cap", "100us")])).0 {
        assert!((125_000 - 1500..=125_000).contains(&capped), "{capped}");
    }
    for part in queues(2, buffer("static", &[("size", "600KB")])).0 {
        assert!((100_000 - 1500..=100_000).contains(&part), "{part}");
    }
}

/// Cells of 208 B: a packet of 1500 B takes 8 of them, 1664 B.
#[test]
fn packets_take_whole_cells() {
    let cells = buffer("per-port", &[("size", "166.4KB"), ("cell", "208B")]);
    assert_eq!(queues(1, cells), (vec![150_000], 166_400));
}

/// A port that two others crowd out finds what is reserved for it: 3 KB, two packets. Of bursts of
/// three at 40 Gb/s one packet is on the wire at once and two wait. Without a reserve memory is
/// often full when they come.
#[test]
fn a_reserve_is_never_taken_by_others() {
    let topology = Topology::SingleSwitch(SingleSwitch {
        hosts: 8,
        rate: gbps(10),
        uplink: Some(gbps(40)),
        ..defaults()
    });
    let received = |buffer: Buffer| {
        let lab = Lab { buffer, drain: Span::from_ms(1), ..Lab::new(topology.clone(), endless()) };
        let crowd = (0..4).map(|i| flow(3 + i, i % 2, 10_000_000, 310_000 * u64::from(i)));
        let burst = |i: u64| flow(7, 2, 3 * FULL, 1_000_000_000 + i * 10_123_456);
        let flows: Vec<Flow> = crowd.chain((0..40).map(burst)).collect();
        let (_, log) = watch(&lab, &lab.scheme.queue, &flows, |_| false);
        let data = log.received.iter().filter(|sight| sight.flow >= 4 && sight.kind == Kind::DATA);
        (data.count(), log.ports[8 + 2].most_waiting)
    };
    let common = [("size", "124KB"), ("alpha", "none")];
    assert_eq!(received(buffer("reserved", &common)), (120, 3_000));
    let (without, _) = received(buffer("shared", &common));
    assert!(without < 120, "{without}");
}

/// Ten flows of one host and one of another into a third: each of the eleven gets the same, to a
/// packet, though the last comes ten times as fast and memory is full all the time.
#[test]
fn fair_queues_give_each_flow_the_same() {
    let drr = QueueKind::Drr(Drr { buffer: Bytes(1_000_000_000), ..defaults() });
    let lab = Lab::new(single_switch(3), scheme(all_at_once(), drr));
    let shared = buffer("shared", &[("size", "300KB")]);
    let lab = Lab { buffer: shared, drain: Span::from_ms(3), ..lab };
    let flows: Vec<Flow> = (0..11).map(|i| flow(u16::from(i == 10), 2, 10_000_000, i)).collect();
    let (outcome, log) = watch(&lab, &lab.scheme.queue, &flows, |_| false);
    let received = |flow: u32| {
        let data = |sight: &&Sight| sight.flow == flow && sight.kind == Kind::DATA;
        log.received.iter().filter(data).filter(|sight| sight.at > WARM).count()
    };
    let received: Vec<usize> = (0..11).map(received).collect();
    let (least, most) = (received.iter().min().unwrap(), received.iter().max().unwrap());
    assert!(most - least <= 1 && *least > 180, "{received:?}");
    assert_eq!(outcome.memory_peaks, [150_000]);
}

/// When every flow has packets waiting.
const WARM: Time = Time::from_ps(500_000_000);

/// Bursts that fill buffers: in each of five rounds 60 flows of 1 to 60 packets within 30 us.
fn bursts(hosts: u64) -> Vec<Flow> {
    let flow = |i: u64| {
        let random = |what: u64, below: u64| mix(i << 8 | what) % below;
        let to = random(1, if random(0, 3) == 0 { 2 } else { hosts });
        let from = (to + 1 + random(2, hosts - 1)) % hosts;
        let at = i / 60 * 400_000_000 + i % 60 * 500_000;
        flow(from as u16, to as u16, random(3, 60 * FULL) + 1, at)
    };
    (0..300).map(flow).collect()
}

/// A memory cut into parts is what ports with buffers of that size are, to the byte of each row,
/// whatever the discipline: the ports of a switch are visited together in one and alone in the
/// other.
#[test]
fn parts_are_buffers_of_the_ports_own() {
    let ecn = QueueKind::Ecn(Ecn { buffer: Bytes(30_000), threshold: Bytes(9_000), ..defaults() });
    let pfabric = QueueKind::PFabric(PFabric { buffer: Bytes(30_000), ..defaults() });
    for (name, queue) in
        [("TCP+DropTail", drop_tail(30_000)), ("DCTCP", ecn), ("MinTCP+pFabric", pfabric)]
    {
        for topology in [fat_tree(4), single_switch(8)] {
            let scheme = PacketScheme { queue: queue.clone(), ..known(name) };
            let ports = topology.graph().ports()[0].len();
            let own = Lab::new(topology, scheme);
            let flows = bursts(own.topology.graph().hosts() as u64);
            let rows = own.run(&flows);
            assert!(rows.figure("packets_dropped_at_switches") > 0, "{name}");
            for parts in [
                buffer("per-port", &[("size", "30KB")]),
                buffer("static", &[("size", &format!("{}B", 30_000 * ports + 1))]),
            ] {
                let parts = Lab { buffer: parts, ..own.clone() }.run(&flows);
                assert_eq!((&parts.rows, parts.drops()), (&rows.rows, rows.drops()), "{name}");
            }
        }
    }
}

/// With memory for all, nothing is dropped, and who goes first is the discipline's business alone.
#[test]
fn a_deep_memory_drops_nothing() {
    for name in ["TCP+DropTail", "DCTCP", "MinTCP+pFabric", "PIAS", "Swift"] {
        let mut scheme = known(name);
        scheme.priority = Priority::Remaining(defaults());
        let lab = Lab { buffer: buffer("jericho", &[]), ..Lab::new(fat_tree(4), scheme) };
        let run = lab.run(&bursts(16));
        assert_eq!(run.figure("packets_dropped_at_switches"), 0, "{name}");
        assert!(run.figure("switch_memory_peak_bytes") > 0, "{name}");
    }
}

/// Two racks, one spine: two hosts of each send to one host of the other. Leaves can hold one
/// packet only, the spine all, or the other way round: packets are lost where the memory is full,
/// and nowhere else.
#[test]
fn the_core_has_a_memory_of_its_own() {
    let (small, large) = (buffer("per-port", &[("size", "1500B")]), buffer("jericho", &[]));
    let topology =
        Topology::LeafSpine(LeafSpine { uplink_rate: gbps(10), ..leaf_spine(3, 2, 1, 1) });
    // All of two racks to one host of the third: uplinks, the spine's port and the host's port.
    let flows: Vec<Flow> = (0..4).map(|i| flow(i, 4, 40 * FULL, 1_000 * u64::from(i))).collect();
    let run = |edge: &Buffer, core: Option<&Buffer>| {
        let lab =
            Lab { buffer: edge.clone(), core_buffer: core.cloned(), ..endless_lab(&topology) };
        let run = lab.run(&flows);
        let of = |name: &str| run.figure(name);
        (of("packets_dropped_at_switches"), of("packets_dropped_in_core"), run)
    };
    let (all, core, deep) = run(&large, None);
    assert_eq!((all, core), (0, 0));
    // Two uplinks with 80 packets each take 40 packet times; the spine's port sends what one brings.
    assert!(deep.figure("core_memory_peak_bytes") > 40 * 1500);
    let (all, core, _) = run(&large, Some(&small));
    assert!(all > 0 && all == core);
    let (all, core, shallow) = run(&small, Some(&large));
    assert!(all > 0 && core == 0);
    assert!(shallow.figure("core_memory_peak_bytes") > 1500);
    assert!(shallow.figure("switch_memory_peak_bytes") > 1500);
    let (same, of_core, small_all) = run(&small, Some(&small));
    assert_eq!((same, of_core, small_all), run(&small, None));
}

/// Hosts whose own ports can hold all, and which send all at once.
fn endless_lab(topology: &Topology) -> Lab {
    Lab::new(topology.clone(), endless())
}
