//! Completion times computed by hand, to the picosecond.
//!
//! A full packet of 1500 B takes 1200 ns on a 10 Gb/s link, an ACK of 40 B 32 ns. On the single
//! switch each link is 383 ns long, so one packet and its ACK need 2 (1200 + 383) + 2 (32 + 383) =
//! 3996 ns.

use crate::common::*;
use sojourn_core::parameters::defaults;
use sojourn_core::{Bytes, Rate, Span, Streams};
use sojourn_fabric::queue::{PFabric, QueueKind, Ties};
use sojourn_fabric::topology::{FatTree, Forwarding, LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::{MinTcp, NewReno, Priority, Sent, TransportKind, WindowLimits};
use sojourn_fabric::{Balance, Flow, PacketScheme};

const NS: u64 = 1_000;

/// A packet waits for none but those before it in line.
fn fifo() -> PacketScheme {
    scheme(all_at_once(), drop_tail(100_000_000))
}

fn fcts(topology: &Topology, scheme: &PacketScheme, flows: &[Flow]) -> Vec<u64> {
    Lab::new(topology.clone(), scheme.clone()).run(flows).fcts()
}

/// Alone in the fabric.
fn alone(topology: &Topology, scheme: &PacketScheme, from: u16, to: u16, bytes: u64) -> u64 {
    fcts(topology, scheme, &[flow(from, to, bytes, 0)])[0]
}

#[test]
fn packets_follow_each_other_over_a_single_switch() {
    let switch = single_switch(4);
    for (packets, ns) in [(1, 3996), (2, 5196), (3, 6396), (10, 14_796), (1000, 1_202_796)] {
        assert_eq!(alone(&switch, &fifo(), 0, 3, packets * FULL), ns * NS, "{packets} packets");
    }
}

/// 100 B of payload are 140 B on the wire, 112 ns: behind full packets on the last link, and once
/// more on each link when alone.
#[test]
fn a_short_last_packet_takes_its_own_time() {
    let switch = single_switch(4);
    assert_eq!(alone(&switch, &fifo(), 1, 2, 100), (2 * (112 + 383) + 830) * NS);
    assert_eq!(alone(&switch, &fifo(), 1, 2, FULL + 100), (3996 + 112) * NS);
    assert_eq!(alone(&switch, &fifo(), 1, 2, 5 * FULL + 100), (3996 + 4 * 1200 + 112) * NS);
    // 1 B of payload: 41 B, 32.8 ns.
    assert_eq!(alone(&switch, &fifo(), 1, 2, 1), 2 * (32_800 + 383 * NS) + 830 * NS);
}

/// Leaf-spine, 10 Gb/s below and 40 Gb/s above, links of 200 ns. In the rack 2 (1200 + 200) +
/// 2 (32 + 200); through a spine 2 × 1200 + 2 × 300 + 4 × 200 out, 2 × 32 + 2 × 8 + 4 × 200 back.
#[test]
fn leaf_spine_in_and_between_racks() {
    let fabric = Topology::LeafSpine(leaf_spine(3, 2, 2, 1));
    for scheme in [fifo(), known("MinTCP+pFabric"), known("TCP+DropTail"), known("DCTCP")] {
        assert_eq!(alone(&fabric, &scheme, 0, 1, FULL), 3264 * NS);
        assert_eq!(alone(&fabric, &scheme, 0, 5, FULL), 4680 * NS);
        assert_eq!(alone(&fabric, &scheme, 3, 0, 8 * FULL), (4680 + 7 * 1200) * NS);
    }
    let far = Topology::LeafSpine(LeafSpine {
        host_delay: Span::from_ns(2500),
        ..leaf_spine(9, 16, 4, 1)
    });
    // The round trip of the pFabric follow-ups: 14.6 us with their 1500 B packet, and the ACK.
    assert_eq!(alone(&far, &fifo(), 0, 143, FULL), (14_600 + 80) * NS);
}

/// The default fat-tree: links of 384 ns. 12 us is the paper's round trip across 6 hops: 6 × 1200
/// + 12 × 384 + 6 × 32 = 12,000.
#[test]
fn fat_tree_in_rack_pod_and_fabric() {
    let fabric = fat_tree(6);
    for scheme in [fifo(), known("MinTCP+pFabric"), known("LineRate+pFabric"), known("DCTCP")] {
        assert_eq!(alone(&fabric, &scheme, 0, 2, FULL), (2 * 1232 + 4 * 384) * NS);
        assert_eq!(alone(&fabric, &scheme, 0, 8, FULL), (4 * 1232 + 8 * 384) * NS);
        assert_eq!(alone(&fabric, &scheme, 0, 53, FULL), 12_000 * NS);
        assert_eq!(alone(&fabric, &scheme, 53, 9, 10 * FULL), (12_000 + 9 * 1200) * NS);
    }
    let smallest = Topology::FatTree(FatTree { k: 2, ..defaults() });
    assert_eq!(alone(&smallest, &fifo(), 0, 1, FULL), 12_000 * NS);
}

/// A switch that cuts through holds a packet for its first 40 B, 32 ns, so the fat-tree takes
/// 5 × 32 + 1200 + 12 × 384 + 6 × 32 between pods. In the leaf-spine packets from hosts are stored,
/// since uplinks are faster; those on uplinks are held for 8 ns: 2 × 1200 + 2 × 8 + 4 × 200 out.
#[test]
fn cutting_through_waits_for_the_header_alone() {
    let cutting = |topology| Lab {
        forwarding: Forwarding::CutThrough,
        ..Lab::new(topology, known("MinTCP+pFabric"))
    };
    let fct = |lab: &Lab, to, packets| lab.run(&[flow(0, to, packets * FULL, 0)]).fcts()[0];
    let lab = cutting(fat_tree(6));
    assert_eq!(fct(&lab, 2, 1), (32 + 1200 + 2 * 32 + 4 * 384) * NS);
    assert_eq!(fct(&lab, 53, 1), (5 * 32 + 1200 + 6 * 32 + 12 * 384) * NS);
    assert_eq!(fct(&lab, 53, 10), (5 * 32 + 10 * 1200 + 6 * 32 + 12 * 384) * NS);
    let lab = cutting(Topology::LeafSpine(leaf_spine(3, 2, 2, 1)));
    assert_eq!(fct(&lab, 1, 1), 3264 * NS);
    assert_eq!(fct(&lab, 5, 1), (2 * 1200 + 2 * 8 + 4 * 200 + 2 * 32 + 2 * 8 + 4 * 200) * NS);
    // Two for one host: the second waits for all of the first.
    let lab = cutting(single_switch(3));
    let fcts = lab.run(&[flow(0, 2, FULL, 0), flow(1, 2, FULL, 0)]).fcts();
    let first = 32 + 1200 + 2 * 32 + 4 * 383;
    assert_eq!(fcts, [first * NS, (first + 1200) * NS]);
}

/// 1500 B at 7 Gb/s are 1,714,285.71 ps and 40 B are 45,714.29: both are rounded up, on each link.
#[test]
fn odd_rates_round_up_once_a_link() {
    let switch = Topology::SingleSwitch(SingleSwitch {
        hosts: 2,
        rate: gbps(7),
        delay: Span::from_ps(1),
        ..defaults()
    });
    assert_eq!(alone(&switch, &fifo(), 0, 1, FULL), 2 * 1_714_286 + 2 * 45_715 + 4);
    assert_eq!(alone(&switch, &fifo(), 0, 1, 4 * FULL), 5 * 1_714_286 + 2 * 45_715 + 4);
}

/// From 10 to 40 Gb/s and back: the slower link sets the pace, wherever it lies.
#[test]
fn the_slowest_link_sets_the_pace() {
    let uplink = Some(gbps(40));
    let switch =
        Topology::SingleSwitch(SingleSwitch { hosts: 3, delay: Span::ZERO, uplink, ..defaults() });
    let one = 1200 + 300 + 32 + 8;
    assert_eq!(alone(&switch, &fifo(), 0, 2, 5 * FULL), (one + 4 * 1200) * NS);
    assert_eq!(alone(&switch, &fifo(), 2, 0, 5 * FULL), (one + 4 * 1200) * NS);
}

/// Headers, payloads and ACKs of other sizes: 960 + 40 B are 800 ns, ACKs of 100 B 80 ns.
#[test]
fn packets_are_as_large_as_they_are_said_to_be() {
    let mut lab = Lab::new(single_switch(2), fifo());
    lab.packets.payload.0 = 960;
    lab.packets.ack.0 = 100;
    let run = lab.run(&[flow(0, 1, 3 * 960, 0)]);
    assert_eq!(run.fcts(), [(4 * 800 + 4 * 383 + 2 * 80) * NS]);
    assert_eq!(run.rows.ints("packets"), [3]);
}

/// Arrivals at the port are 1583 ns after the start; it sends one packet each 1200 ns; what leaves
/// it in slot j (from 1) is acknowledged 1200 j + 1213 ns after.
fn slot(j: u64) -> u64 {
    (1583 + 1200 * j + 1213) * NS
}

#[test]
fn a_packet_waits_for_the_one_before_it_to_the_picosecond() {
    let switch = single_switch(3);
    for later in [1, 2, 999, 400_000, 599_999, 1_199_999, 1_200_000, 1_200_001, 5_000_000] {
        let flows = [flow(0, 2, FULL, 0), flow(1, 2, FULL, later)];
        let waits = (1200 * NS).saturating_sub(later);
        assert_eq!(
            fcts(&switch, &fifo(), &flows),
            [3996 * NS, 3996 * NS + waits],
            "{later} ps later"
        );
    }
}

/// Of two packets that come at the same picosecond either goes first, as often as not: of 64 seeds
/// 32 on average, give or take three times 4.
#[test]
fn of_simultaneous_packets_either_goes_first() {
    let flows = [flow(1, 2, FULL, 0), flow(0, 2, FULL, 0)];
    let first = |seed: &u64| {
        let lab = Lab::new(single_switch(3), fifo());
        let times = Lab { streams: Streams::new(*seed, 0), ..lab }.run(&flows).fcts();
        assert!(times == [slot(1), slot(2)] || times == [slot(2), slot(1)], "{times:?}");
        times[0] < times[1]
    };
    let count = (0..64).filter(first).count();
    assert!((20..=44).contains(&count), "{count} of 64");
}

/// Two flows of n packets take turns on the shared link: the last but one slot and the last.
#[test]
fn two_flows_share_a_link_fairly_in_line() {
    for n in [1, 2, 7, 100] {
        let flows = [flow(0, 2, n * FULL, 0), flow(1, 2, n * FULL, 0)];
        let mut times = fcts(&single_switch(3), &fifo(), &flows);
        times.sort_unstable();
        assert_eq!(times, [slot(2 * n - 1), slot(2 * n)]);
    }
}

/// That link under pFabric: the shorter flow takes all slots until it is done, whichever
/// number it has, then the longer one: shortest remaining first. A buffer of 15 packets is enough
/// for the window of 12 that waits.
#[test]
fn the_shorter_flow_goes_first_under_pfabric() {
    let switch = single_switch(3);
    for (short, long) in [(2, 5), (1, 12), (11, 12)] {
        for swap in [false, true] {
            let (a, b) = if swap { (1, 0) } else { (0, 1) };
            let flows = [flow(a, 2, short * FULL, 0), flow(b, 2, long * FULL, 0)];
            let times = fcts(&switch, &known("MinTCP+pFabric"), &flows);
            assert_eq!(times, [slot(short), slot(short + long)], "{short} and {long}");
        }
    }
}

/// By flow size the same order; without priorities, arrival order when ties go by arrival.
#[test]
fn the_order_is_that_of_the_priority() {
    let flows = [flow(0, 2, 5 * FULL, 0), flow(1, 2, 2 * FULL, 0)];
    let by = |priority| PacketScheme { priority, ..known("MinTCP+pFabric") };
    let times = |scheme: &PacketScheme| fcts(&single_switch(3), scheme, &flows);
    assert_eq!(times(&by(Priority::Size(defaults()))), [slot(7), slot(2)]);
    let deadline = |mut flow: Flow, us| {
        flow.deadline = flow.arrived + Span::from_us(us);
        flow
    };
    let urgent = [deadline(flows[0], 50), deadline(flows[1], 100)];
    let first_due = fcts(&single_switch(3), &by(Priority::Deadline(defaults())), &urgent);
    assert_eq!(first_due, [slot(5), slot(7)]);
    let none_and_some = [flows[0], deadline(flows[1], 1_000_000)];
    let due_at_all = fcts(&single_switch(3), &by(Priority::Deadline(defaults())), &none_and_some);
    assert_eq!(due_at_all, [slot(7), slot(2)]);
}

/// With two packets on the first level: a flow that comes just before the third of another takes its
/// own two before that one goes on.
#[test]
fn who_has_sent_less_goes_first() {
    let two_packets = Sent { thresholds: vec![Bytes(2 * FULL - 1)] };
    let scheme = PacketScheme {
        priority: Priority::Sent(two_packets),
        queue: QueueKind::PFabric(PFabric { ties: Ties::Arrival, ..defaults() }),
        ..known("MinTCP+pFabric")
    };
    let flows = [flow(0, 2, 5 * FULL, 0), flow(1, 2, 2 * FULL, 2399 * NS)];
    let times = fcts(&single_switch(3), &scheme, &flows);
    assert_eq!(times, [slot(7), slot(4) - 2399 * NS]);
    // In line, the third of the other goes between.
    let times = fcts(&single_switch(3), &fifo(), &flows);
    assert_eq!(times, [slot(7), slot(5) - 2399 * NS]);
}

/// One uplink for two hosts: between racks the leaf is the bottleneck.
#[test]
fn a_shared_uplink_takes_turns() {
    let fabric = Topology::LeafSpine(LeafSpine { uplink_rate: gbps(10), ..leaf_spine(2, 2, 1, 1) });
    let flows = [flow(0, 2, 6 * FULL, 0), flow(1, 3, 6 * FULL, 0)];
    let one = 4 * (1200 + 200) + 4 * (32 + 200);
    let mut times = fcts(&fabric, &fifo(), &flows);
    times.sort_unstable();
    assert_eq!(times, [(one + 10 * 1200) * NS, (one + 11 * 1200) * NS]);
}

/// Host 1 sends 12 packets from time 0 on; a packet for it arrives at 3166 ns, while the third of
/// its own is on the wire until 3600 ns. In line, the ACK waits for all 12, until 14,400 ns; under
/// pFabric only for the third.
#[test]
fn acknowledgements_wait_in_line_or_go_first() {
    let flows = [flow(0, 1, FULL, 0), flow(1, 2, 12 * FULL, 0)];
    let back = 2 * 383 + 2 * 32;
    let switch = single_switch(3);
    assert_eq!(fcts(&switch, &fifo(), &flows)[0], (14_400 + back) * NS);
    let first = fcts(&switch, &known("MinTCP+pFabric"), &flows)[0];
    assert_eq!(first, (3600 + back) * NS);
}

/// A window of w packets a round trip R: the last of n leaves after the rounds before it. Here
/// R = 3996 ns holds three packets of 1200 ns, so that windows of 1 to 3 are the limit and 4 is
/// not.
#[test]
fn a_capped_window_sends_a_window_a_round_trip() {
    let n = 12u64;
    for window in [1, 2, 3, 4] {
        let transport = TransportKind::MinTcp(MinTcp {
            initial_window: count(window),
            window_cap: Some(count(window)),
            ..defaults()
        });
        let expected = match u64::from(window) {
            4 => 3996 + (n - 1) * 1200,
            window => n / window * 3996 + (window - 1) * 1200,
        };
        let scheme = scheme(transport, drop_tail(225_000));
        let time = alone(&single_switch(2), &scheme, 0, 1, n * FULL);
        assert_eq!(time, expected * NS, "window {window}");
    }
}

/// Slow start (RFC 5681, 3.1) over links of 100 us, where R, one packet's round trip, is longer
/// than any window takes to leave: from 2 packets, 2, 4, 8, ... a round, each round's packets one
/// behind the other.
#[test]
fn slow_start_doubles_each_round_trip() {
    let delay = Span::from_us(100);
    let switch = Topology::SingleSwitch(SingleSwitch { delay, ..defaults() });
    let round_trip = 2 * (1200 + 32) + 4 * 100_000;
    let scheme = scheme(TransportKind::NewReno(new_reno(2)), drop_tail(225_000));
    for (n, rounds, in_last) in [(2, 1, 2), (6, 2, 4), (14, 3, 8), (30, 4, 16), (40, 5, 10)] {
        let time = alone(&switch, &scheme, 0, 1, n * FULL);
        assert_eq!(time, (rounds * round_trip + (in_last - 1) * 1200) * NS, "{n} packets");
    }
}

/// Times by hand with an ACK for every second packet, and for the last one, which is acknowledged at
/// once: each ACK opens the window by one and releases three packets.
#[test]
fn delayed_acknowledgements_cover_two_packets() {
    let mut tcp = new_reno(2);
    tcp.options.ack_delay = Some(Span::from_us(40));
    let scheme = scheme(TransportKind::NewReno(tcp.clone()), drop_tail(225_000));
    let switch = single_switch(2);
    assert_eq!(alone(&switch, &scheme, 0, 1, FULL), 3996 * NS);
    assert_eq!(alone(&switch, &scheme, 0, 1, 2 * FULL), (3996 + 1200) * NS);
    // Five: the ACK of two, at 5196 ns, releases three.
    assert_eq!(alone(&switch, &scheme, 0, 1, 5 * FULL), (5196 + 3996 + 2 * 1200) * NS);
    // A first window of one packet: its ACK is held back until the timer runs out.
    let scheme = PacketScheme {
        transport: TransportKind::NewReno(NewReno {
            window: WindowLimits { initial_window: count(1), ..tcp.window },
            ..tcp
        }),
        ..scheme
    };
    assert_eq!(alone(&switch, &scheme, 0, 1, 2 * FULL), (2 * 3996 + 40_000) * NS);
}

/// No choice of paths, queue or transport makes an idle fabric slower than its links, for flows
/// of whole packets within the first window.
#[test]
fn an_idle_fabric_is_ideal() {
    let fabrics = [
        single_switch(9),
        Topology::LeafSpine(LeafSpine {
            rate: Rate::new(3_333_333_333).expect("some"),
            ..leaf_spine(3, 3, 2, 2)
        }),
        fat_tree(4),
    ];
    for fabric in &fabrics {
        for name in ["TCP+DropTail", "DCTCP", "MinTCP+pFabric", "LineRate+pFabric"] {
            let ways = [
                (Balance::Spray, Forwarding::StoreAndForward),
                (Balance::Ecmp, Forwarding::StoreAndForward),
                (Balance::Spray, Forwarding::CutThrough),
            ];
            for (balance, forwarding) in ways {
                let scheme = PacketScheme { balance, ..known(name) };
                let lab = Lab { forwarding, ..Lab::new(fabric.clone(), scheme) };
                let flows: Vec<Flow> = (1..9)
                    .map(|i| flow(0, i, u64::from(i) * FULL, u64::from(i) * 100_000_000))
                    .collect();
                let run = lab.run(&flows);
                assert_eq!(run.rows.ints("sojourn_ps"), run.rows.ints("ideal_ps"), "{name}");
                assert_eq!(run.sum("retransmits") + run.sum("timeouts"), 0);
                assert_eq!(run.drops(), 0);
            }
        }
    }
}

/// Under the queue's own name too: marks and priorities do not slow a lone packet.
#[test]
fn every_queue_passes_a_lone_packet_at_once() {
    for queue in [drop_tail(1500), QueueKind::Ecn(defaults()), pfabric()] {
        let scheme = scheme(all_at_once(), queue);
        assert_eq!(alone(&single_switch(2), &scheme, 0, 1, FULL), 3996 * NS);
    }
}
