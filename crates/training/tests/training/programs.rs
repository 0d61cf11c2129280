//! Programs that are executed, and programs that are refused.

use proptest::prelude::*;
use sojourn_core::Span;
use sojourn_core::parameters::defaults;
use sojourn_training::collective::Collective;
use sojourn_training::program::*;
use std::collections::{BTreeMap, VecDeque};

fn compute() -> Op {
    Op::Compute { stream: 0, span: Span::from_us(1) }
}

fn send(to: u32, tag: u32) -> Op {
    Op::Send { to, tag, bytes: 1000 }
}

fn receive(from: u32, tag: u32) -> Op {
    Op::Receive { from, tag }
}

/// A program of chains: each rank does its operations one after another.
fn chains(ranks: &[&[Op]]) -> Result<Program, ProgramError> {
    let graph = |(rank, ops): (usize, &&[Op])| {
        let mut builder = GraphBuilder::new(rank as u32, ranks.len() as u32);
        let mut last: Option<NodeId> = None;
        for &op in *ops {
            last = Some(builder.add_after(op, last.as_slice())?);
        }
        Ok((builder.build()?, vec![rank as u32]))
    };
    let graphs: Result<Vec<_>, ProgramError> = ranks.iter().enumerate().map(graph).collect();
    let ranks = ranks.len() as u32;
    let call = Call {
        groups: 0,
        collective: Collective::RingAllReduce(defaults()),
        bytes: 1000,
        execution: Execution::Messages,
        label: "gradients".to_owned(),
    };
    Program::new(ranks, graphs?, vec![Groups::strided(ranks, 2, 1)?], vec![call])
}

fn refused(ranks: &[&[Op]]) -> String {
    chains(ranks).unwrap_err().to_string()
}

#[test]
fn a_ping_pong_is_taken() {
    let program =
        chains(&[&[send(1, 0), receive(1, 1), compute()], &[receive(0, 0), compute(), send(0, 1)]]);
    assert_eq!(program.unwrap().nodes().count(), 6);
}

#[test]
fn a_deadlock_names_who_waits_for_whom() {
    let message = refused(&[&[receive(1, 5), send(1, 6)], &[compute(), receive(0, 6), send(0, 5)]]);
    assert_eq!(
        message,
        "the ranks wait for each other: rank 0, node 0 (receive from rank 1, tag 5) waits for \
         rank 1, node 2 (send 1000 B to rank 0, tag 5), which waits for \
         rank 1, node 1 (receive from rank 0, tag 6), which waits for \
         rank 0, node 1 (send 1000 B to rank 1, tag 6), which waits for rank 0, node 0"
    );
}

#[test]
fn a_collective_and_a_message_can_deadlock() {
    let call = Op::Collective { call: 0, tag: 3 };
    let message = refused(&[&[call, send(1, 0)], &[receive(0, 0), call]]);
    assert_eq!(
        message,
        "the ranks wait for each other: rank 0, node 0 (collective call 0, tag 3) waits for \
         rank 1, node 1 (collective call 0, tag 3), which waits for \
         rank 1, node 0 (receive from rank 0, tag 0), which waits for \
         rank 0, node 1 (send 1000 B to rank 1, tag 0), which waits for rank 0, node 0"
    );
    assert!(chains(&[&[call, send(1, 0)], &[call, receive(0, 0)]]).is_ok());
}

#[test]
fn messages_without_a_partner_are_named() {
    let why = "has no partner: 1 sends and 0 receives have this sender, receiver and tag";
    let message = refused(&[&[compute(), send(1, 4)], &[receive(0, 5)]]);
    assert_eq!(message, format!("rank 0, node 1 (send 1000 B to rank 1, tag 4) {why}"));
    let message = refused(&[&[send(1, 4)], &[receive(0, 4), receive(0, 4)]]);
    assert_eq!(
        message,
        "rank 1, node 1 (receive from rank 0, tag 4) has no partner: 1 sends and 2 receives have \
         this sender, receiver and tag"
    );
}

#[test]
fn calls_that_not_all_ranks_make_are_refused() {
    let call = |tag| Op::Collective { call: 0, tag };
    assert_eq!(
        refused(&[&[call(1)], &[call(1), call(2)]]),
        "rank 1, node 1 has collective call 0 with tag 2, but rank 0 of the same group does not"
    );
    assert_eq!(
        refused(&[&[call(1), call(1)], &[call(1)]]),
        "rank 0, node 1: the rank already has collective call 0 with tag 1"
    );
    assert_eq!(
        refused(&[&[Op::Collective { call: 1, tag: 0 }], &[]]),
        "rank 0, node 0: there is no collective call 1"
    );
    assert_eq!(
        refused(&[&[], &[], &[]]),
        "groups of 2 ranks with a distance of 1 do not divide 3 ranks"
    );
}

#[test]
fn nodes_and_edges_that_point_outside_are_refused() {
    let mut builder = GraphBuilder::new(1, 3);
    let message = |error: ProgramError| error.to_string();
    assert_eq!(
        message(builder.add(send(3, 0)).unwrap_err()),
        "rank 1, node 0 (send 1000 B to rank 3, tag 0): the peer is not one of the 3 ranks, numbered from 0"
    );
    assert_eq!(
        message(builder.add(receive(1, 0)).unwrap_err()),
        "rank 1, node 0 (receive from rank 1, tag 0): the peer is the rank itself"
    );
    let first = builder.add(compute()).unwrap();
    assert_eq!(
        message(builder.edge(first, 7, Event::Finished).unwrap_err()),
        "an edge names rank 1, node 7, but the rank has 1 nodes, numbered from 0"
    );
    assert_eq!(
        message(builder.edge(first, first, Event::HandedOver).unwrap_err()),
        "an edge waits for the hand-over of rank 1, node 0, which is no send"
    );
    let second = builder.add_after(compute(), &[first]).unwrap();
    builder.edge(second, first, Event::Started).unwrap();
    let refusal = message(builder.build().unwrap_err());
    assert!(
        ["0 -> 1 -> 0", "1 -> 0 -> 1"]
            .map(|cycle| format!("nodes of rank 1 wait for each other: {cycle}"))
            .contains(&refusal),
        "{refusal}"
    );
}

#[test]
fn every_rank_has_one_graph() {
    let graph = || GraphBuilder::new(0, 2).build().unwrap();
    let message = |graphs| Program::new(2, graphs, vec![], vec![]).unwrap_err().to_string();
    assert_eq!(message(vec![(graph(), vec![0])]), "rank 1 has no graph");
    assert_eq!(
        message(vec![(graph(), vec![0, 1]), (graph(), vec![0])]),
        "rank 0 has 2 graphs, expected one"
    );
}

#[test]
fn programs_that_are_too_large_are_refused() {
    let mut builder = GraphBuilder::new(0, 1025);
    for _ in 0..1 << 17 {
        builder.add(Op::Join).unwrap();
    }
    let graphs = vec![(builder.build().unwrap(), (0..1025).collect())];
    let refusal = Program::new(1025, graphs, vec![], vec![]).unwrap_err().to_string();
    assert_eq!(refusal, "the program has 134348800 nodes, expected at most 134217728");
}

/// Ranks of a ring share one graph: peers are stored as distances.
#[test]
fn ranks_that_do_the_same_share_a_graph() {
    let mut builder = GraphBuilder::new(2, 5);
    builder.label("round");
    let first = builder.add(send(3, 0)).unwrap();
    builder.add_after(receive(1, 0), &[first]).unwrap();
    let program =
        Program::new(5, vec![(builder.build().unwrap(), (0..5).collect())], vec![], vec![])
            .unwrap();
    assert_eq!(program.op(At { rank: 4, node: 0 }), send(0, 0));
    assert_eq!(program.op(At { rank: 0, node: 1 }), receive(4, 0));
    assert_eq!((program.graphs(), program.graph(0).label(1)), (1, "round"));
}

/// A child of a send may wait for its hand-over, its acknowledgement, or both.
#[test]
fn a_send_has_two_events() {
    let mut builder = GraphBuilder::new(0, 2);
    let sent = builder.add(send(1, 0)).unwrap();
    let early = builder.add(compute()).unwrap();
    let late = builder.add(compute()).unwrap();
    let both = builder.add(compute()).unwrap();
    builder.edge(sent, early, Event::HandedOver).unwrap();
    builder.edge(sent, late, Event::Finished).unwrap();
    builder.edge(sent, both, Event::HandedOver).unwrap();
    builder.edge(sent, both, Event::Finished).unwrap();
    let graph = builder.build().unwrap();
    let mut walk = RankWalk::new(&graph);
    let mut ready = Vec::new();
    walk.start(&graph, &mut ready);
    assert_eq!(ready, [sent]);
    walk.happened(&graph, sent, Event::Started, &mut ready);
    walk.happened(&graph, sent, Event::HandedOver, &mut ready);
    assert_eq!(ready, [sent, early]);
    walk.happened(&graph, sent, Event::Finished, &mut ready);
    assert_eq!(ready, [sent, early, late, both]);
}

/// Executes chains of operations, rank after rank, until nothing moves: whether all have ended.
fn ends(ranks: &[&[Op]]) -> bool {
    let mut next = vec![0; ranks.len()];
    let mut sent: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
    let mut moved = true;
    while moved {
        moved = false;
        for (rank, ops) in (0..).zip(ranks) {
            while let Some(op) = ops.get(next[rank as usize]) {
                match *op {
                    Op::Send { to, tag, .. } => *sent.entry((rank, to, tag)).or_default() += 1,
                    Op::Receive { from, tag } => match sent.get_mut(&(from, rank, tag)) {
                        Some(count) if *count > 0 => *count -= 1,
                        _ => break,
                    },
                    _ => {}
                }
                next[rank as usize] += 1;
                moved = true;
            }
        }
    }
    ranks.iter().zip(next).all(|(ops, next)| next == ops.len())
}

proptest! {
    #![proptest_config(sojourn_properties::cases(256))]

    /// Each message is sent and received in one global order, and each rank does its part of it in order: such a
    /// program always ends.
    #[test]
    fn programs_in_one_global_order_are_taken(
        messages in prop::collection::vec((0_u32..6, 1_u32..6, 0_u32..3), 0..60),
    ) {
        let mut ops = vec![Vec::new(); 6];
        for (from, distance, tag) in messages {
            let to = (from + distance) % 6;
            ops[from as usize].push(send(to, tag));
            ops[to as usize].push(receive(from, tag));
        }
        let ranks: Vec<&[Op]> = ops.iter().map(Vec::as_slice).collect();
        prop_assert!(chains(&ranks).is_ok());
    }

    /// Messages in any order are taken if and only if a slow execution, rank after rank until nothing moves, ends.
    #[test]
    fn deadlocks_are_found_and_nothing_else(
        messages in prop::collection::vec((0_u32..4, 1_u32..4, 0_u32..2), 0..12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 24),
    ) {
        let mut ops = vec![Vec::new(); 4];
        let mut places = order.iter();
        for (from, distance, tag) in messages {
            let to = (from + distance) % 4;
            for (rank, op) in [(from, send(to, tag)), (to, receive(from, tag))] {
                let rank: &mut Vec<Op> = &mut ops[rank as usize];
                rank.insert(places.next().unwrap().index(rank.len() + 1), op);
            }
        }
        let ranks: Vec<&[Op]> = ops.iter().map(Vec::as_slice).collect();
        let found = chains(&ranks);
        prop_assert_eq!(found.is_ok(), ends(&ranks), "{:?}", found);
        if let Err(ProgramError::Deadlock { waits }) = found {
            for (at, op) in waits {
                prop_assert_eq!(ops[at.rank as usize][at.node as usize], op);
            }
        }
    }

    /// Receives get messages first in, first out for each sender and tag, as from a list of each.
    #[test]
    fn messages_and_receives_meet_in_order(
        happened in prop::collection::vec((any::<bool>(), 1_u32..3, 0_u32..2), 0..40),
    ) {
        let mut builder = GraphBuilder::new(0, 3);
        let mut receives = Vec::new();
        for &(_, from, tag) in &happened {
            // An inbox exists where a receive does.
            receives.push(builder.add(receive(from, tag)).unwrap());
        }
        let graph = builder.build().unwrap();
        let mut walk = RankWalk::new(&graph);
        let mut waiting: BTreeMap<(u32, u32), (VecDeque<NodeId>, u32)> = BTreeMap::new();
        for (&(is_receive, from, tag), &node) in happened.iter().zip(&receives) {
            let (posted, early) = waiting.entry((from, tag)).or_default();
            if is_receive {
                let is_there = *early > 0;
                prop_assert_eq!(walk.post(&graph, node), is_there);
                if is_there {
                    *early -= 1;
                } else {
                    posted.push_back(node);
                }
            } else {
                let taken = posted.pop_front();
                prop_assert_eq!(walk.deliver(&graph, from, tag), taken);
                *early += u32::from(taken.is_none());
            }
        }
    }

    /// A ring in which every rank first receives waits for ever, and all ranks are named.
    #[test]
    fn a_ring_that_only_waits_is_refused(half in 1_usize..10) {
        let n = 2 * half as u32;
        let ops: Vec<[Op; 2]> =
            (0..n).map(|rank| [receive((rank + n - 1) % n, 0), send((rank + 1) % n, 0)]).collect();
        let ranks: Vec<&[Op]> = ops.iter().map(|ops| &ops[..]).collect();
        match chains(&ranks) {
            Err(ProgramError::Deadlock { waits }) => prop_assert_eq!(waits.len(), 2 * n as usize),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// Whatever the program, it is taken or refused, and a walk of a taken graph makes each node ready once.
    #[test]
    fn any_graph_is_walked_or_refused(
        nodes in 1_u32..30,
        edges in prop::collection::vec((0_u32..30, 0_u32..30), 0..60),
    ) {
        let mut builder = GraphBuilder::new(0, 1);
        for _ in 0..nodes {
            builder.add(compute()).unwrap();
        }
        for (parent, child) in edges {
            let there = parent < nodes && child < nodes;
            prop_assert_eq!(builder.edge(parent, child, Event::Finished).is_ok(), there);
        }
        match builder.build() {
            Ok(graph) => {
                let mut walk = RankWalk::new(&graph);
                let mut ready = Vec::new();
                walk.start(&graph, &mut ready);
                let mut next = 0;
                while let Some(&node) = ready.get(next) {
                    walk.happened(&graph, node, Event::Finished, &mut ready);
                    next += 1;
                }
                ready.sort_unstable();
                prop_assert_eq!(ready, (0..nodes).collect::<Vec<_>>());
            }
            Err(ProgramError::Cycle { nodes: cycle, .. }) => prop_assert!(!cycle.is_empty()),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
