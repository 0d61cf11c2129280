//! The critical path of an execution: what the last node to end has waited for, back to the begin.
//!
//! From the node that ends last the path goes back to what it began by: the parent whose event came last, the
//! computation that held its stream, the send of the message it received, or the last rank to join its collective.
//! So the steps of a path follow each other without gaps, and nothing beside it could have delayed the end.

use super::Program;
use super::error::At;
use super::node::{Event, NodeId, Op};
use sojourn_core::{Span, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// When the nodes of a rank began and ended; [`Time::NEVER`] where they did not. A node begins when all its parents
/// let it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTimes(Box<[(Time, Time)]>);

impl NodeTimes {
    /// Before any of so many nodes has begun.
    pub fn new(nodes: usize) -> NodeTimes {
        NodeTimes(vec![(Time::NEVER, Time::NEVER); nodes].into())
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes that `node` began at `now`.
    pub fn began(&mut self, node: NodeId, now: Time) {
        self.0[node as usize].0 = now;
    }

    /// Notes that `node` ended at `now`.
    pub fn ended(&mut self, node: NodeId, now: Time) {
        self.0[node as usize].1 = now;
    }

    fn of(&self, node: NodeId) -> (Time, Time) {
        self.0[node as usize]
    }

    /// The node that ended last, and when; none if there is no node, or one has not ended.
    fn last(&self) -> Option<(Time, NodeId)> {
        (0..self.0.len() as u32).map(|node| (self.of(node).1, node)).max()
    }
}

/// What a step of a critical path spends its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// A computation.
    Computing,
    /// A message under way; the node is the receive.
    Message,
    /// The acknowledgement of a message; the node is the send.
    Acknowledgement,
    /// A collective, from the moment at which its last rank joined.
    Collective,
}

/// A step of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node. Of a collective it is the node of the rank that joined last, the straggler.
    pub at: At,
    /// What its time was spent on.
    pub spent: Spent,
    /// When the step began.
    pub began: Time,
    /// When it ended.
    pub ended: Time,
}

/// The critical path of `program`, whose ranks had these `times`, in the order of time. Empty if a rank has not ended.
/// Panics where there are not times for each rank.
pub fn critical_path(program: &Program, times: &[NodeTimes]) -> Vec<Step> {
    assert_eq!(times.len(), program.ranks() as usize, "times of each rank");
    let ends = times
        .iter()
        .zip(0..)
        .filter_map(|(own, rank)| own.last().map(|(ended, node)| (ended, At { rank, node })));
    let Some((ended, at)) = ends.max_by_key(|&(ended, At { rank, .. })| (ended, rank)) else {
        return Vec::new();
    };
    if ended == Time::NEVER {
        return Vec::new();
    }
    let mut walk = Backwards::new(program, times);
    let mut next = Some((at, Event::Finished));
    while let Some((at, event)) = next {
        next = walk.back(at, event);
    }
    walk.path.reverse();
    walk.path
}

/// Of each node its parents, and the event of each that it waits for.
type Parents = Vec<Vec<(NodeId, Event)>>;

/// The walk back from the last node, and what it has had to look up.
struct Backwards<'a> {
    program: &'a Program,
    times: &'a [NodeTimes],
    path: Vec<Step>,
    /// Those of each graph.
    parents: Vec<Option<Parents>>,
    /// By rank, stream and end: computations.
    streams: BTreeMap<u32, BTreeMap<(u8, Time), NodeId>>,
    /// By sender and receiver: the send of each receive.
    sends: BTreeMap<(u32, u32), BTreeMap<NodeId, NodeId>>,
    /// By rank: its collectives by call and tag.
    calls: BTreeMap<u32, BTreeMap<(u32, u32), NodeId>>,
}

impl<'a> Backwards<'a> {
    fn new(program: &'a Program, times: &'a [NodeTimes]) -> Backwards<'a> {
        Backwards {
            program,
            times,
            path: Vec::new(),
            parents: vec![None; program.graphs()],
            streams: BTreeMap::new(),
            sends: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    fn times(&self, at: At) -> (Time, Time) {
        self.times[at.rank as usize].of(at.node)
    }

    fn nodes(&self, rank: u32) -> impl Iterator<Item = (NodeId, Op)> + use<'a> {
        let graph = self.program.graph(rank);
        (0..graph.len() as u32).map(move |node| (node, graph.op(node, rank)))
    }

    /// Goes back from an event of a node: adds the step that led to it, if it took any time, and returns the event
    /// before; none at the begin.
    fn back(&mut self, at: At, event: Event) -> Option<(At, Event)> {
        let (began, ended) = self.times(at);
        if event != Event::Finished {
            return self.parent(at);
        }
        match self.program.op(at) {
            Op::Join => {}
            Op::Compute { stream, span } => {
                let from = Time::from_ps(ended.ps() - span.ps());
                self.step(at, Spent::Computing, (from, ended));
                let before =
                    if from > began { self.on_stream(at.rank, stream, from) } else { None };
                if let Some(node) = before {
                    return Some((At { node, ..at }, Event::Finished));
                }
            }
            Op::Receive { from, .. } if ended > began => {
                if let Some(node) = self.send(from, at) {
                    let send = At { rank: from, node };
                    self.step(at, Spent::Message, (self.times(send).0, ended));
                    return Some((send, Event::Started));
                }
            }
            Op::Receive { .. } => {}
            Op::Send { .. } => self.step(at, Spent::Acknowledgement, (began, ended)),
            Op::Collective { call, tag } => {
                let straggler = self.straggler(at, (call, tag));
                let joined = self.times(straggler).0;
                self.step(straggler, Spent::Collective, (joined, ended));
                return Some((straggler, Event::Started));
            }
        }
        self.parent(at)
    }

    fn step(&mut self, at: At, spent: Spent, (began, ended): (Time, Time)) {
        if ended > began {
            self.path.push(Step { at, spent, began, ended });
        }
    }

    /// The event that a node has begun by: the last one of its parents.
    fn parent(&mut self, at: At) -> Option<(At, Event)> {
        let place = self.program.graph_of[at.rank as usize] as usize;
        let graph = &self.program.graphs[place];
        let parents = self.parents[place].get_or_insert_with(|| {
            let mut parents = vec![Vec::new(); graph.len()];
            for node in 0..graph.len() as u32 {
                for event in [Event::Started, Event::HandedOver, Event::Finished] {
                    for child in graph.children(node, event) {
                        parents[child as usize].push((node, event));
                    }
                }
            }
            parents
        });
        let own = &self.times[at.rank as usize];
        let happened = |&&(node, event): &&(NodeId, Event)| match (event, own.of(node)) {
            (Event::Finished, (_, ended)) => ended,
            (_, (began, _)) => began,
        };
        let last = parents[at.node as usize].iter().max_by_key(happened);
        last.map(|&(node, event)| (At { node, ..at }, event))
    }

    /// The computation of `rank` that left `stream` at `ended`.
    fn on_stream(&mut self, rank: u32, stream: u8, ended: Time) -> Option<NodeId> {
        let nodes = self.nodes(rank);
        let times = &self.times[rank as usize];
        let streams = self.streams.entry(rank).or_insert_with(|| {
            let computations = nodes.filter_map(|(node, op)| match op {
                Op::Compute { stream, span } if span > Span::ZERO => {
                    Some(((stream, times.of(node).1), node))
                }
                _ => None,
            });
            computations.collect()
        });
        streams.get(&(stream, ended)).copied()
    }

    /// The send of `from` whose message the receive `at` took: messages of a sender with one tag go to the receives in
    /// the order in which both began.
    fn send(&mut self, from: u32, at: At) -> Option<NodeId> {
        let (senders, receivers) = (self.nodes(from), self.nodes(at.rank));
        let times = self.times;
        let pairs = self.sends.entry((from, at.rank)).or_insert_with(|| {
            let mut sends: Vec<(u32, Time, NodeId)> = senders
                .filter_map(|(node, op)| match op {
                    Op::Send { to, tag, .. } if to == at.rank => {
                        Some((tag, times[from as usize].of(node).0, node))
                    }
                    _ => None,
                })
                .collect();
            let mut receives: Vec<(u32, Time, NodeId)> = receivers
                .filter_map(|(node, op)| match op {
                    Op::Receive { from: sender, tag } if sender == from => {
                        Some((tag, times[at.rank as usize].of(node).0, node))
                    }
                    _ => None,
                })
                .collect();
            sends.sort_unstable();
            receives.sort_unstable();
            receives.iter().zip(&sends).map(|(receive, send)| (receive.2, send.2)).collect()
        });
        pairs.get(&at.node).copied()
    }

    /// The node of the rank that was last to join the collective of `at` before it was over for its rank.
    fn straggler(&mut self, at: At, (call, tag): (u32, u32)) -> At {
        let program = self.program;
        let ended = self.times(at).1;
        let groups = program.groups(call).expect("a call has groups");
        let (group, _) = groups.place(at.rank).expect("who calls is in a group");
        let (mut last, mut joined) = (at, self.times(at).0);
        for index in 0..groups.size(group) {
            let rank = groups.member(group, index);
            let nodes = self.nodes(rank);
            let own = match self.calls.entry(rank) {
                Entry::Occupied(own) => own.into_mut(),
                Entry::Vacant(free) => {
                    let collectives = nodes.filter_map(|(node, op)| match op {
                        Op::Collective { call, tag } => Some(((call, tag), node)),
                        _ => None,
                    });
                    free.insert(collectives.collect())
                }
            };
            let member = At { rank, node: own[&(call, tag)] };
            let at = self.times(member).0;
            // A rank that the others do not wait for may join after they have ended.
            if at > joined && at <= ended {
                (last, joined) = (member, at);
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Call, Execution, Graph, GraphBuilder, Groups};
    use super::*;
    use crate::collective::{Collective, Operation};

    const NEVER: (u64, u64) = (u64::MAX, u64::MAX);

    fn times(of: &[(u64, u64)]) -> NodeTimes {
        let mut all = NodeTimes::new(of.len());
        for (node, &(began, ended)) in (0..).zip(of).filter(|(_, times)| **times != NEVER) {
            all.began(node, Time::from_ps(began));
            all.ended(node, Time::from_ps(ended));
        }
        all
    }

    fn compute(span: u64) -> Op {
        Op::Compute { stream: 0, span: Span::from_ps(span) }
    }

    fn graph(rank: u32, ops: &[(Op, &[NodeId])]) -> Graph {
        let mut graph = GraphBuilder::new(rank, 2);
        for (op, parents) in ops {
            graph.add_after(*op, parents).expect("a node");
        }
        graph.build().expect("a graph")
    }

    fn program(graphs: [Graph; 2], call: Option<Call>) -> Program {
        let graphs = graphs.into_iter().zip([vec![0], vec![1]]).collect();
        let groups = vec![Groups::listed(2, vec![vec![0, 1]]).expect("a group")];
        Program::new(2, graphs, groups, call.into_iter().collect()).expect("a program")
    }

    fn found(program: &Program, times: &[NodeTimes]) -> Vec<(u32, NodeId, Spent, u64, u64)> {
        let path = critical_path(program, times).into_iter();
        path.map(|step| (step.at.rank, step.at.node, step.spent, step.began.ps(), step.ended.ps()))
            .collect()
    }

    #[test]
    fn goes_back_over_a_message_to_its_sender() {
        let send = Op::Send { to: 1, tag: 3, bytes: 1 };
        let receive = Op::Receive { from: 0, tag: 3 };
        let program = program(
            [
                graph(0, &[(compute(50), &[]), (send, &[0])]),
                graph(1, &[(compute(10), &[]), (receive, &[0]), (compute(5), &[1])]),
            ],
            None,
        );
        let all = [times(&[(0, 50), (50, 50)]), times(&[(0, 10), (10, 90), (90, 95)])];
        let expected = [
            (0, 0, Spent::Computing, 0, 50),
            (1, 1, Spent::Message, 50, 90),
            (1, 2, Spent::Computing, 90, 95),
        ];
        assert_eq!(found(&program, &all), expected);
        let early = [times(&[(0, 2), (2, 2)]), times(&[(0, 10), (10, 10), (10, 15)])];
        let expected = [(1, 0, Spent::Computing, 0, 10), (1, 2, Spent::Computing, 10, 15)];
        assert_eq!(found(&program, &early), expected, "the message was there before");
        let cut = [times(&[(0, 50), (50, 50)]), times(&[(0, 10), (10, 90), NEVER])];
        assert_eq!(found(&program, &cut), []);
    }

    #[test]
    fn goes_back_over_a_stream_that_is_held() {
        let program = program(
            [graph(0, &[(compute(40), &[]), (compute(30), &[]), (Op::Join, &[1])]), graph(1, &[])],
            None,
        );
        let all = [times(&[(0, 40), (0, 70), (70, 70)]), times(&[])];
        let expected = [(0, 0, Spent::Computing, 0, 40), (0, 1, Spent::Computing, 40, 70)];
        assert_eq!(found(&program, &all), expected);
    }

    #[test]
    fn names_the_rank_that_joins_a_collective_last() {
        let call = Call {
            groups: 0,
            collective: Collective::usual(Operation::AllReduce),
            bytes: 8,
            execution: Execution::Messages,
            label: "gradients".to_owned(),
        };
        let own = |rank, span| {
            let join = Op::Collective { call: 0, tag: 0 };
            graph(rank, &[(compute(span), &[]), (join, &[0]), (compute(7), &[1])])
        };
        let program = program([own(0, 20), own(1, 60)], Some(call));
        let all =
            [times(&[(0, 20), (20, 100), (100, 107)]), times(&[(0, 60), (60, 99), (99, 106)])];
        let expected = [
            (1, 0, Spent::Computing, 0, 60),
            (1, 1, Spent::Collective, 60, 100),
            (0, 2, Spent::Computing, 100, 107),
        ];
        assert_eq!(found(&program, &all), expected);
    }
}
