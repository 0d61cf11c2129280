//! Checks of a whole program: partners of messages, members of collectives, and deadlocks.
//!
//! A deadlock is found by executing the program without time. A send completes at once, because a receiving
//! rank keeps early messages. A collective completes when all ranks of its group have reached it: a program
//! that needs some rank to leave earlier is refused, as NCCL and MPI ask for the same.

use super::Program;
use super::error::{At, ProgramError};
use super::node::{Event, NodeId, Op};
use super::walk::RankWalk;

/// Refuses a program that cannot be executed to its end.
pub(super) fn check(program: &Program) -> Result<(), ProgramError> {
    partners(program)?;
    let calls = Calls::of(program)?;
    Dry::new(program, &calls).run()
}

/// Refuses sends without a receive, and receives without a send.
fn partners(program: &Program) -> Result<(), ProgramError> {
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for at in program.nodes() {
        match program.op(at) {
            Op::Send { to, tag, .. } => sends.push((at.rank, to, tag, at.node)),
            Op::Receive { from, tag } => receives.push((from, at.rank, tag, at.node)),
            _ => {}
        }
    }
    sends.sort_unstable();
    receives.sort_unstable();
    let key = |of: &(u32, u32, u32, NodeId)| (of.0, of.1, of.2);
    let count = |all: &[(u32, u32, u32, NodeId)], wanted| {
        all.partition_point(|one| key(one) <= wanted) - all.partition_point(|one| key(one) < wanted)
    };
    let mut pairs = sends.iter().zip(&receives);
    let differs = pairs.position(|(send, receive)| key(send) != key(receive));
    let place = differs.unwrap_or(sends.len().min(receives.len()));
    let (send, receive) = (sends.get(place), receives.get(place));
    // The smaller key has no partner: the other list has passed it.
    let lone_send = match (send, receive) {
        (None, None) => return Ok(()),
        (Some(send), Some(receive)) => key(send) < key(receive),
        (send, _) => send.is_some(),
    };
    let lone = if lone_send { send } else { receive }.expect("one list has an entry here");
    let at = At { rank: if lone_send { lone.0 } else { lone.1 }, node: lone.3 };
    Err(ProgramError::Unmatched {
        at,
        op: program.op(at),
        sends: count(&sends, key(lone)),
        receives: count(&receives, key(lone)),
    })
}

/// A collective under way: the call, the tag and the group.
type Instance = (u32, u32, u32);

/// All nodes that take part in collectives, by instance.
struct Calls {
    entries: Vec<(Instance, At)>,
    /// For each rank and node the place of the first entry of its instance.
    firsts: Vec<Vec<u32>>,
}

impl Calls {
    /// Refuses calls that do not exist, and instances that not every rank of the group takes part in once.
    fn of(program: &Program) -> Result<Calls, ProgramError> {
        let mut entries = Vec::new();
        for at in program.nodes() {
            let Op::Collective { call, tag } = program.op(at) else { continue };
            let groups = program.groups(call).ok_or(ProgramError::NoSuchCall { at, call })?;
            let place = groups.place(at.rank).ok_or(ProgramError::NotAMember { at, call })?;
            entries.push(((call, tag, place.0), at));
        }
        entries.sort_unstable();
        let mut firsts: Vec<Vec<u32>> =
            (0..program.ranks()).map(|rank| vec![0; program.graph(rank).len()]).collect();
        let mut first = 0;
        for instance in entries.chunk_by(|one, next| one.0 == next.0) {
            for (_, at) in instance {
                firsts[at.rank as usize][at.node as usize] = first;
            }
            first += instance.len() as u32;
            let ((call, tag, group), at) = instance[0];
            if let Some(pair) = instance.windows(2).find(|pair| pair[0].1.rank == pair[1].1.rank) {
                return Err(ProgramError::CalledTwice { at: pair[1].1, call, tag });
            }
            let groups = program.groups(call).expect("it was looked up before");
            let mut members = (0..groups.size(group)).map(|index| groups.member(group, index));
            let absent = |rank: &u32| instance.iter().all(|(_, at)| at.rank != *rank);
            if instance.len() < groups.size(group) as usize
                && let Some(other) = members.find(absent)
            {
                return Err(ProgramError::CallsDiffer { at, other, call, tag });
            }
        }
        Ok(Calls { entries, firsts })
    }

    /// The place of the first entry of the instance of a node, and all its entries.
    fn instance(&self, at: At) -> (usize, &[(Instance, At)]) {
        let first = self.firsts[at.rank as usize][at.node as usize] as usize;
        let wanted = self.entries[first].0;
        let count = self.entries[first..].iter().take_while(|entry| entry.0 == wanted).count();
        (first, &self.entries[first..first + count])
    }
}

/// How far a node has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Ready,
    Finished,
}

/// The execution without time.
struct Dry<'a> {
    program: &'a Program,
    calls: &'a Calls,
    walks: Vec<RankWalk>,
    states: Vec<Vec<State>>,
    /// The number of ranks that have reached an instance, at the place of its first entry.
    reached: Vec<u32>,
    ready: Vec<At>,
    /// The nodes that an event has made ready, to be moved to `ready`.
    children: Vec<NodeId>,
}

impl<'a> Dry<'a> {
    fn new(program: &'a Program, calls: &'a Calls) -> Dry<'a> {
        let graphs = || (0..program.ranks()).map(|rank| program.graph(rank));
        Dry {
            program,
            calls,
            walks: graphs().map(RankWalk::new).collect(),
            states: graphs().map(|graph| vec![State::Waiting; graph.len()]).collect(),
            reached: vec![0; calls.entries.len()],
            ready: Vec::new(),
            children: Vec::new(),
        }
    }

    fn run(mut self) -> Result<(), ProgramError> {
        let mut first = Vec::new();
        for rank in 0..self.program.ranks() {
            self.walks[rank as usize].start(self.program.graph(rank), &mut first);
            self.ready.extend(first.drain(..).map(|node| At { rank, node }));
        }
        while let Some(at) = self.ready.pop() {
            self.start(at);
        }
        for at in self.program.nodes() {
            if self.state(at) == State::Ready {
                return Err(ProgramError::Deadlock { waits: self.waits(at) });
            }
        }
        Ok(())
    }

    fn state(&self, at: At) -> State {
        self.states[at.rank as usize][at.node as usize]
    }

    fn happened(&mut self, at: At, event: Event) {
        let graph = self.program.graph(at.rank);
        self.walks[at.rank as usize].happened(graph, at.node, event, &mut self.children);
        self.ready.extend(self.children.drain(..).map(|node| At { rank: at.rank, node }));
    }

    fn finish(&mut self, at: At) {
        self.states[at.rank as usize][at.node as usize] = State::Finished;
        self.happened(at, Event::Finished);
    }

    fn start(&mut self, at: At) {
        self.states[at.rank as usize][at.node as usize] = State::Ready;
        self.happened(at, Event::Started);
        match self.program.op(at) {
            Op::Compute { .. } | Op::Join => self.finish(at),
            Op::Send { to, tag, .. } => {
                self.happened(at, Event::HandedOver);
                let away = self.program.away(at.rank, to);
                let received = self.walks[to as usize].deliver(self.program.graph(to), away, tag);
                self.finish(at);
                if let Some(node) = received {
                    self.finish(At { rank: to, node });
                }
            }
            Op::Receive { .. } => {
                if self.walks[at.rank as usize].post(self.program.graph(at.rank), at.node) {
                    self.finish(at);
                }
            }
            Op::Collective { .. } => {
                let (place, entries) = self.calls.instance(at);
                self.reached[place] += 1;
                if self.reached[place] as usize == entries.len() {
                    entries.iter().for_each(|&(_, at)| self.finish(at));
                }
            }
        }
    }

    /// A cycle of nodes, each of which waits for the next, from the unfinished receive or collective `at` on.
    fn waits(&self, at: At) -> Vec<(At, Op)> {
        let mut waits = Vec::new();
        let mut blocked = vec![at];
        loop {
            let at = blocked[blocked.len() - 1];
            let other = self.missing(at);
            let next = self.blocked_before(other);
            waits.push(vec![at]);
            if next != other {
                waits.last_mut().expect("it was pushed").push(other);
            }
            if let Some(start) = blocked.iter().position(|&seen| seen == next) {
                let cycle = waits.drain(start..).flatten();
                return cycle.map(|at| (at, self.program.op(at))).collect();
            }
            blocked.push(next);
        }
    }

    /// The unfinished node of another rank that the receive or collective `at` waits for.
    fn missing(&self, at: At) -> At {
        match self.program.op(at) {
            Op::Receive { from, tag } => {
                let nodes = 0..self.program.graph(from).len() as u32;
                let unsent = |&node: &NodeId| {
                    let sent = At { rank: from, node };
                    self.state(sent) != State::Finished
                        && matches!(self.program.op(sent),
                            Op::Send { to, tag: its, .. } if to == at.rank && its == tag)
                };
                let node = nodes.into_iter().find(unsent);
                At { rank: from, node: node.expect("sends and receives are equal in number") }
            }
            Op::Collective { .. } => {
                let (_, entries) = self.calls.instance(at);
                let absent = entries.iter().find(|(_, at)| self.state(*at) == State::Waiting);
                absent.expect("a collective that all have reached is finished").1
            }
            _ => unreachable!("other nodes finish when they start"),
        }
    }

    /// A ready but unfinished node that `at` waits for, or `at` itself.
    fn blocked_before(&self, at: At) -> At {
        let graph = self.program.graph(at.rank);
        let mut parents = vec![Vec::new(); graph.len()];
        for (parent, child) in graph.all_edges() {
            parents[child as usize].push(parent);
        }
        let mut node = at.node;
        loop {
            let at = At { rank: at.rank, node };
            if self.state(at) == State::Ready {
                return at;
            }
            let unfinished = |&&parent: &&NodeId| {
                self.states[at.rank as usize][parent as usize] != State::Finished
            };
            node =
                *parents[node as usize].iter().find(unfinished).expect("something is waited for");
        }
    }
}
