//! Rounds by hand, against a plain list, and the bound of the paper.

use super::*;
use crate::packet::Kind;
use crate::queue::{Builder, no_drop};
use proptest::prelude::*;
use proptest::sample::select;
use sojourn_core::Streams;
use sojourn_core::parameters::defaults;

fn port(drr: &Drr) -> (DrrPort, PacketArena) {
    (drr.port(Outlet::alone(Streams::new(1, 0).stream("t", 0))), PacketArena::default())
}

fn packet(flow: u32, size: u16) -> Packet {
    Packet { flow, size, kind: Kind::DATA, ..Packet::LAST }
}

/// Offers a packet; the flows of which packets were dropped.
fn offer(port: &mut DrrPort, arena: &mut PacketArena, packet: Packet) -> Vec<u32> {
    let (id, mut dropped) = (arena.insert(packet), Vec::new());
    port.enqueue(Time::ZERO, Time::ZERO, id, arena, |id, arena| dropped.push(arena[id].flow));
    dropped
}

fn next(port: &mut DrrPort, arena: &mut PacketArena) -> (u32, u16) {
    let id = port.dequeue(Time::ZERO, arena, no_drop).expect("a packet");
    (arena[id].flow, arena[id].size)
}

/// With a quantum of 500: flow 1 sends 200 and keeps 300, not enough for 750; flow 2 sends 500;
/// flow 3 both; then flow 1 has 800 and sends 750, and with the 50 that are left the last one.
#[test]
fn a_flow_keeps_what_it_could_not_use() {
    let (mut port, mut arena) = port(&Drr { quantum: Bytes(500), ..defaults() });
    for (flow, size) in
        [(1, 200), (1, 750), (1, 20), (2, 500), (2, 500), (3, 400), (3, 100), (2, 40)]
    {
        assert_eq!(offer(&mut port, &mut arena, packet(flow, size)), []);
    }
    let order: Vec<_> = (0..8).map(|_| next(&mut port, &mut arena)).collect();
    let expected = [(1, 200), (2, 500), (3, 400), (3, 100), (1, 750), (1, 20), (2, 500), (2, 40)];
    assert_eq!(order, expected);
    assert!(port.is_empty());
}

/// Who has most waiting pays for the others' packets, and then for its own.
#[test]
fn the_longest_flow_makes_room() {
    let (mut port, mut arena) = port(&Drr { buffer: Bytes(6_000), ..defaults() });
    for flow in [7, 7, 7, 3] {
        assert_eq!(offer(&mut port, &mut arena, packet(flow, 1500)), []);
    }
    for (flow, gone) in [(9, 7), (5, 7), (7, 7), (3, 3), (1, 9), (1, 1)] {
        assert_eq!(offer(&mut port, &mut arena, packet(flow, 1500)), [gone], "{flow}");
    }
    let flows: Vec<u32> = (0..4).map(|_| next(&mut port, &mut arena).0).collect();
    assert_eq!(flows, [7, 3, 5, 1]);
}

#[test]
fn the_arriving_packet_can_be_the_one() {
    let drr = Drr { buffer: Bytes(3_000), victim: Victim::Arriving, ..defaults() };
    let (mut port, mut arena) = port(&drr);
    for (flow, dropped) in [(7, vec![]), (7, vec![]), (3, vec![3])] {
        assert_eq!(offer(&mut port, &mut arena, packet(flow, 1500)), dropped);
    }
}

/// Deficit round robin over plain lists: (flow, deficit, sizes), in the order of turns.
#[derive(Default)]
struct Plain {
    flows: Vec<(u32, u32, Vec<u16>)>,
    begun: bool,
}

impl Plain {
    fn bytes(&self, flow: u32) -> u32 {
        let of = self.flows.iter().filter(|entry| entry.0 == flow);
        of.flat_map(|entry| &entry.2).map(|size| u32::from(*size)).sum()
    }

    fn push(&mut self, flow: u32, size: u16) {
        match self.flows.iter_mut().find(|entry| entry.0 == flow) {
            Some(entry) => entry.2.push(size),
            None => self.flows.push((flow, 0, vec![size])),
        }
    }

    /// The last packet of the flow with most bytes.
    fn drop_of_longest(&mut self) -> u32 {
        let longest = self.flows.iter().map(|entry| (self.bytes(entry.0), entry.0)).max();
        let (_, flow) = longest.expect("a queue that is asked has a packet");
        let place = self
            .flows
            .iter()
            .position(|entry| entry.0 == flow)
            .expect("the longest flow is in the list");
        self.flows[place].2.pop();
        if self.flows[place].2.is_empty() {
            self.flows.remove(place);
            self.begun &= place > 0;
        }
        flow
    }

    fn next(&mut self, quantum: u32) -> (u32, u16) {
        loop {
            let first = &mut self.flows[0];
            if !std::mem::replace(&mut self.begun, true) {
                first.1 += quantum;
            }
            let size = first.2[0];
            if u32::from(size) <= first.1 {
                first.1 -= u32::from(size);
                first.2.remove(0);
                let sent = (first.0, size);
                if first.2.is_empty() {
                    self.flows.remove(0);
                    self.begun = false;
                }
                return sent;
            }
            let first = self.flows.remove(0);
            self.flows.push(first);
            self.begun = false;
        }
    }
}

proptest! {
    /// Both queues serve the same flows in the same order, and drop the same packets.
    #[test]
    fn agrees_with_plain_lists(
        steps in prop::collection::vec((0u32..8, select(vec![40u16, 400, 1000, 1500]), 0u8..5), 1..300),
        quantum in 300u32..4_000,
    ) {
        let drr = Drr { quantum: Bytes(quantum.into()), buffer: Bytes(12_000), ..defaults() };
        let (mut port, mut arena) = port(&drr);
        let mut plain = Plain::default();
        for (flow, size, what) in steps {
            if what < 2 && !port.is_empty() {
                prop_assert_eq!(next(&mut port, &mut arena), plain.next(quantum));
            } else {
                let dropped = offer(&mut port, &mut arena, packet(flow, size));
                let mut expected = Vec::new();
                let all = |plain: &Plain| (0..8).map(|flow| plain.bytes(flow)).sum::<u32>();
                let mut kept = true;
                while kept && all(&plain) + u32::from(size) > 12_000 {
                    let own = (plain.bytes(flow) + u32::from(size), flow);
                    let longest = (0..8).map(|flow| (plain.bytes(flow), flow)).max();
                    kept = own < longest.expect("eight flows");
                    expected.push(if kept { plain.drop_of_longest() } else { flow });
                }
                if kept {
                    plain.push(flow, size);
                }
                prop_assert_eq!(dropped, expected);
            }
            let waiting: usize = plain.flows.iter().map(|entry| entry.2.len()).sum();
            prop_assert_eq!(port.waiting(&arena).len(), waiting);
        }
    }

    /// Of flows that always have packets waiting, each has after m of its turns sent m quanta, less
    /// than a packet short: between any two of them a quantum
    /// and a packet at most.
    #[test]
    fn flows_that_wait_get_the_same(
        sizes in prop::collection::vec(prop::collection::vec(40u16..=1500, 1..20), 2..7),
        quantum in 1_500u64..6_000,
    ) {
        let drr = Drr { quantum: Bytes(quantum), buffer: Bytes(1_000_000), ..defaults() };
        let (mut port, mut arena) = port(&drr);
        let mut sent = vec![0u64; sizes.len()];
        let mut sizes: Vec<_> = sizes.into_iter().map(|sizes| sizes.into_iter().cycle()).collect();
        let mut more = |flow: usize| packet(flow as u32, sizes[flow].next().expect("a cycle"));
        for flow in (0..sent.len()).chain(0..sent.len()) {
            offer(&mut port, &mut arena, more(flow));
        }
        for _ in 0..500 {
            let (flow, size) = next(&mut port, &mut arena);
            sent[flow as usize] += u64::from(size);
            offer(&mut port, &mut arena, more(flow as usize));
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            prop_assert!(most - least <= quantum + 1_500, "{:?}", sent);
        }
    }
}
