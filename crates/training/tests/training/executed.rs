//! A slow oracle of programs: ranks compute, and messages and collectives take times that a test gives.

use sojourn_core::{Span, Time};
use sojourn_training::collective::Shape;
use sojourn_training::program::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Times of what the network does.
pub(crate) struct Network<'a> {
    /// A message of so many bytes.
    pub(crate) message: &'a dyn Fn(u64) -> Span,
    /// A collective that is done by messages.
    pub(crate) collective: &'a dyn Fn(&Call, Shape) -> Span,
}

/// A network that takes no time.
pub(crate) const FREE: Network<'static> =
    Network { message: &|_| Span::ZERO, collective: &|_, _| Span::ZERO };

/// What happens at a time, in the order in which it was found out.
type Due = Reverse<(Time, u64, At, bool)>;

struct Run<'a> {
    program: &'a Program,
    network: &'a Network<'a>,
    walks: Vec<RankWalk>,
    streams: BTreeMap<(u32, u8), Time>,
    /// The nodes that have reached a collective.
    reached: BTreeMap<(u32, u32, u32), Vec<At>>,
    due: BinaryHeap<Due>,
    count: u64,
    now: Time,
}

/// The time of the last event.
pub(crate) fn execute(program: &Program, network: &Network) -> Span {
    let mut run = Run {
        program,
        network,
        walks: (0..program.ranks()).map(|rank| RankWalk::new(program.graph(rank))).collect(),
        streams: BTreeMap::new(),
        reached: BTreeMap::new(),
        due: BinaryHeap::new(),
        count: 0,
        now: Time::ZERO,
    };
    let mut ready = Vec::new();
    for rank in 0..program.ranks() {
        run.walks[rank as usize].start(program.graph(rank), &mut ready);
        ready.drain(..).for_each(|node| run.start(At { rank, node }));
    }
    let mut finished = 0;
    while let Some(Reverse((time, _, at, arrives))) = run.due.pop() {
        run.now = time;
        if arrives {
            run.arrive(at);
        }
        finished += 1;
        run.happened(at, Event::Finished);
    }
    assert_eq!(finished, program.nodes().count());
    run.now - Time::ZERO
}

impl Run<'_> {
    fn finish_in(&mut self, at: At, span: Span, arrives: bool) {
        self.due.push(Reverse((self.now + span, self.count, at, arrives)));
        self.count += 1;
    }

    fn happened(&mut self, at: At, event: Event) {
        let mut ready = Vec::new();
        self.walks[at.rank as usize].happened(
            self.program.graph(at.rank),
            at.node,
            event,
            &mut ready,
        );
        ready.into_iter().for_each(|node| self.start(At { rank: at.rank, node }));
    }

    fn start(&mut self, at: At) {
        self.happened(at, Event::Started);
        match self.program.op(at) {
            Op::Join => self.finish_in(at, Span::ZERO, false),
            Op::Compute { stream, span } => {
                let free = self.streams.entry((at.rank, stream)).or_default();
                *free = self.now.max(*free) + span;
                let left = *free - self.now;
                self.finish_in(at, left, false);
            }
            Op::Send { bytes, .. } => {
                self.finish_in(at, (self.network.message)(bytes), true);
                self.happened(at, Event::HandedOver);
            }
            Op::Receive { .. } => {
                if self.walks[at.rank as usize].post(self.program.graph(at.rank), at.node) {
                    self.finish_in(at, Span::ZERO, false);
                }
            }
            Op::Collective { call, tag } => {
                let groups = self.program.groups(call).unwrap();
                let (group, _) = groups.place(at.rank).unwrap();
                let ranks = groups.size(group);
                let reached = self.reached.entry((call, tag, group)).or_default();
                reached.push(at);
                if reached.len() as u32 == ranks {
                    let all = std::mem::take(reached);
                    let call = &self.program.calls()[call as usize];
                    let span = match call.execution {
                        Execution::ClosedForm(span) => span,
                        Execution::Messages => {
                            (self.network.collective)(call, Shape { ranks, bytes: call.bytes })
                        }
                    };
                    all.into_iter().for_each(|at| self.finish_in(at, span, false));
                }
            }
        }
    }

    fn arrive(&mut self, at: At) {
        let Op::Send { to, tag, .. } = self.program.op(at) else {
            unreachable!("only sends arrive")
        };
        let away = self.program.away(at.rank, to);
        let received = self.walks[to as usize].deliver(self.program.graph(to), away, tag);
        if let Some(node) = received {
            self.finish_in(At { rank: to, node }, Span::ZERO, false);
        }
    }
}
