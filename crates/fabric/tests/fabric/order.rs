//! Which packets overtake which: one path and one line keep packets in order, several paths do not.

use crate::common::*;
use crate::witness::{Log, watch};
use sojourn_core::parameters::{Parameters, Table, Value, defaults};
use sojourn_core::{Bytes, Execution, Span};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::packet::Kind;
use sojourn_fabric::queue::{Builder, DropTail, Levels, PFabric, QueueKind};
use sojourn_fabric::topology::Topology;
use sojourn_fabric::transport::{Priority, Sent, TransportKind};
use sojourn_fabric::{Balance, Flow, PacketScheme};

/// So large that nothing is dropped here.
const HUGE: u64 = 100_000_000;

/// Flows of 5 to 200 packets between the 16 hosts of the fat-tree of 4-port switches, every 2 us.
fn many() -> Vec<Flow> {
    (0..400u64)
        .map(|i| {
            let (from, to) = (i * 7 % 16, i * 7 % 16 + 1 + i * 5 % 15);
            flow(from as u16, to as u16 % 16, (5 + i * 37 % 196) * FULL, i * 2_000_000)
        })
        .collect()
}

/// NewReno, with three duplicate ACKs a loss and timers far away.
fn tcp(balance: Balance) -> PacketScheme {
    PacketScheme { balance, ..scheme(TransportKind::NewReno(new_reno(20)), drop_tail(HUGE)) }
}

/// How many data packets came after a later one of their flow.
fn overtaken(log: &Log, flows: usize) -> usize {
    let mut highest = vec![None; flows];
    let data = log.received.iter().filter(|seen| seen.kind == Kind::DATA);
    data.filter(|seen| {
        let highest = &mut highest[seen.flow as usize];
        let late = *highest > Some(seen.sequence);
        *highest = Some(seen.sequence).max(*highest);
        late
    })
    .count()
}

fn overtaken_over(balance: Balance, priority: Priority, queue: &impl Builder) -> usize {
    let transport = TransportKind::NewReno(new_reno(20));
    let scheme = PacketScheme { balance, priority, ..scheme(transport, drop_tail(HUGE)) };
    let (_, log) = watch(&Lab::new(fat_tree(4), scheme), queue, &many(), |_| false);
    assert!(log.ports.iter().all(|port| port.dropped == 0));
    overtaken(&log, many().len())
}

#[test]
fn one_path_and_one_line_keep_the_order() {
    let run = Lab::new(fat_tree(4), tcp(Balance::Ecmp)).run(&many());
    assert_eq!((run.drops(), run.sum("retransmits"), run.sum("timeouts")), (0, 0, 0));
    let huge = DropTail { buffer: Bytes(HUGE), ..defaults() };
    assert_eq!(overtaken_over(Balance::Ecmp, Priority::None(defaults()), &huge), 0);
}

/// That load sprayed: nothing is lost, and yet packets are resent, because later ones overtake
/// them on other paths. This is why the paper switches fast retransmit off (section 3).
#[test]
fn spraying_makes_fast_retransmit_resend_what_is_not_lost() {
    let run = Lab::new(fat_tree(4), tcp(Balance::Spray)).run(&many());
    assert_eq!((run.drops(), run.sum("timeouts")), (0, 0));
    assert!(run.sum("retransmits") > 100, "{} retransmits", run.sum("retransmits"));
    let huge = DropTail { buffer: Bytes(HUGE), ..defaults() };
    let overtaken = overtaken_over(Balance::Spray, Priority::None(defaults()), &huge);
    assert!(overtaken > 1000, "{overtaken} overtaken");

    let mut patient = tcp(Balance::Spray);
    let TransportKind::NewReno(tcp) = &mut patient.transport else { unreachable!() };
    tcp.options.fast_retransmit = false;
    let run = Lab::new(fat_tree(4), patient).run(&many());
    assert_eq!((run.drops(), run.sum("retransmits")), (0, 0));
}

/// pFabric lets a flow's last packets, which have the least left behind them, overtake its first
/// ones; the authors' rule, "the earliest packet of the best flow", does not.
#[test]
fn the_earliest_packet_of_the_best_flow_keeps_the_order_on_one_path() {
    let port = |dequeue: &str| {
        let mut table = Table::default();
        table.set("buffer", Value::Text(Bytes(HUGE).to_string()));
        table.set("ties", Value::Text("arrival".to_owned()));
        table.set("dequeue", Value::Text(dequeue.to_owned()));
        PFabric::read_table(&table).expect("a pFabric port")
    };
    let overtaken =
        |dequeue| overtaken_over(Balance::Ecmp, Priority::Remaining(defaults()), &port(dequeue));
    assert_eq!(overtaken("earliest-of-flow"), 0);
    assert!(overtaken("best") > 1000);
}

/// ECMP keeps all data of a flow on one path and all its ACKs on one; spraying uses every path
/// there is, all uplinks of a switch evenly.
#[test]
fn a_flow_takes_one_path_or_all() {
    let flows: Vec<Flow> = (0..8).map(|i| flow(i, 8 + i, 600 * FULL, 0)).collect();
    let used = |balance| {
        let scheme = PacketScheme { balance, ..scheme(all_at_once(), drop_tail(HUGE)) };
        let lab = Lab::new(fat_tree(4), scheme);
        let huge = DropTail { buffer: Bytes(HUGE), ..defaults() };
        watch(&lab, &huge, &flows, |_| false).1.ports
    };
    for of_flow in used(Balance::Ecmp).iter().map(|port| &port.of_flow) {
        assert!(of_flow.values().all(|&packets| packets == 600));
    }
    for (number, port) in used(Balance::Spray).iter().enumerate() {
        for (&(of, ack), &packets) in &port.of_flow {
            // All of it on the host's own port and the port to the host; on any uplink, and on
            // the way down from it, half of it or less, but for where the turns begin. Less is
            // left to chance: two flows that alternate at an input may each always get one way.
            let spread = packets == 600 || packets <= 304;
            assert!(spread, "port {number}, flow {of}, ack {ack}: {packets}");
        }
    }
}

/// Spraying is even over what a switch's input carries, not over each flow: with two flows from
/// one host, each alternately, the uplinks get the same total.
#[test]
fn spraying_is_even_for_each_input() {
    let flows = [flow(0, 14, 501 * FULL, 0), flow(0, 15, 499 * FULL, 0)];
    let lab = Lab::new(fat_tree(4), scheme(all_at_once(), drop_tail(HUGE)));
    let huge = DropTail { buffer: Bytes(HUGE), ..defaults() };
    let network = lab.topology.graph().network();
    let ports = watch(&lab, &huge, &flows, |_| false).1.ports;
    let uplinks = network.next(0, 15);
    assert_eq!(uplinks.len(), 2);
    for uplink in uplinks {
        assert_eq!(ports[uplink as usize].offered, 500);
    }
}

/// A queue with another's name does the same for one class of packets: with all priorities equal
/// and ties by arrival pFabric's port is first in, first out, and drops what came last.
#[test]
fn pfabric_without_priorities_is_drop_tail() {
    let mut table = Table::default();
    table.set("ties", Value::Text("arrival".to_owned()));
    let port = PFabric::read_table(&table).expect("a pFabric port");
    let transport = TransportKind::MinTcp(sojourn_fabric::transport::MinTcp {
        rto: Span::from_us(200),
        ..defaults()
    });
    let under = |queue| Lab::new(fat_tree(4), scheme(transport.clone(), queue)).run(&many());
    let drop_tail = under(drop_tail(22_500));
    assert!(drop_tail.drops() > 100);
    assert_eq!(under(QueueKind::PFabric(port)), drop_tail);
}

/// PIAS. Two flows fill the queue of host 0's port, whose packets leave every 1200 ns from 1583 ns
/// on. A third flow begins after 100 us: its first three packets, before each of which it has sent
/// at most 3000 B, wait only until the port is free, 800 ns. The fourth comes at 105,183 ns, behind
/// 87 packets of each of the others and its own three: it leaves 177 times 1200 ns after the first
/// of all.
#[test]
fn a_flow_waits_with_those_that_have_sent_as_much() {
    let sent = Priority::Sent(Sent { thresholds: vec![Bytes(3_000)] });
    let levels = Levels { buffer: Bytes(10_000_000), ..defaults() };
    let scheme =
        PacketScheme { priority: sent, ..scheme(all_at_once(), QueueKind::Levels(levels)) };
    let lab = Lab::new(single_switch(4), scheme);
    let last = |packets: u64| {
        let long = |from| flow(from, 0, 1000 * FULL, 0);
        lab.run(&[long(1), long(2), flow(3, 0, packets * FULL, 100_000_000)]).fcts()[2]
    };
    for (packets, ns) in [(1, 3996), (2, 5196), (3, 6396)] {
        assert_eq!(last(packets), (ns + 800) * 1000, "{packets} packets");
    }
    assert_eq!(last(4), (1583 + 177 * 1200 + 1200 + 383 + 2 * (32 + 383) - 100_000) * 1000);
}

/// Hosts that take no time each send a packet to the last one at the same moment, round after round. The
/// hosts of each round in the order in which their packets arrived.
fn orders_at_a_tie(senders: u16, rounds: u64) -> Vec<Vec<u16>> {
    let round =
        |round: u64| (0..senders).map(move |from| flow(from, senders, FULL, round * 100_000_000));
    let flows: Vec<Flow> = (0..rounds).flat_map(round).collect();
    let scheme = scheme(all_at_once(), drop_tail(HUGE));
    let fcts = Lab::new(single_switch(u32::from(senders) + 1), scheme).run(&flows).fcts();
    let order = |fcts: &[u64]| {
        let mut order: Vec<u16> = (0..senders).collect();
        order.sort_by_key(|&from| fcts[usize::from(from)]);
        order
    };
    fcts.chunks(senders.into()).map(order).collect()
}

/// In 2,400 rounds each of the 24 orders of four hosts comes about 100 times.
#[test]
fn every_order_at_a_tie_is_equally_likely() {
    let orders = orders_at_a_tie(4, 2400);
    let mut counts = std::collections::BTreeMap::new();
    for order in orders {
        *counts.entry(order).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 24, "{counts:?}");
    // 5 standard deviations.
    assert!(counts.values().all(|count| (50..150).contains(count)), "{counts:?}");
}

/// Of 16 hosts any two are neighbours in an eighth of the rounds, and orders do not come again.
#[test]
fn no_hosts_stay_neighbours_at_ties() {
    let orders = orders_at_a_tie(16, 800);
    for pair in 0..8 {
        let place =
            |order: &[u16], host| order.iter().position(|&other| other == host).expect("it");
        let apart = |order: &[u16]| place(order, 2 * pair).abs_diff(place(order, 2 * pair + 1));
        let neighbours = orders.iter().filter(|order| apart(order) == 1).count();
        assert!((50..150).contains(&neighbours), "hosts {} and the next: {neighbours}", 2 * pair);
    }
    let different: std::collections::BTreeSet<_> = orders.iter().collect();
    assert_eq!(different.len(), orders.len());
}

/// 1,023 hosts of one switch send to the last one at once: all arrive, one after the other.
#[test]
fn a_switch_has_1024_hosts() {
    let flows: Vec<Flow> = (0..1023).map(|from| flow(from, 1023, FULL, 0)).collect();
    let run = Lab::new(single_switch(1024), scheme(all_at_once(), drop_tail(HUGE))).run(&flows);
    let mut fcts = run.fcts();
    fcts.sort_unstable();
    assert!(fcts.windows(2).all(|pair| pair[1] - pair[0] == 1_200_000), "a gap or a tie");
    assert_eq!(run.drops(), 0);
}

/// Ports whose numbers end in the same eight bits, and packets of one flow by many of them: the rows of
/// two threads are those of one.
#[test]
fn large_switches_give_the_same_rows_on_two_threads() {
    let fabric = Topology::LeafSpine(leaf_spine(2, 300, 40, 2));
    let flows: Vec<Flow> =
        (0..600).map(|from| flow(from, (from * 7 + 301) % 600, 20 * FULL, 0)).collect();
    let ready = Lab::new(fabric, known("TCP+DropTail")).ready(listed(&csv(&flows)));
    let rows = |threads| {
        let progress = Progress::default();
        ready.run(Execution { threads, ..Execution::new(&progress) }).expect("not cancelled").rows
    };
    assert_eq!(rows(1), rows(2));
}
