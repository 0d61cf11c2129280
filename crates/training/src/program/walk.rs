//! The state of one rank while its graph is executed.

use super::graph::Graph;
use super::node::{Event, NodeId};

/// Which nodes of a rank are ready, as flat arrays: 4 bytes a node, 12 bytes a source of messages. An engine
/// starts each node that [`start`](RankWalk::start) and [`happened`](RankWalk::happened) name, and reports its
/// events. Each edge is followed once.
///
/// ```
/// use sojourn_training::program::{Event, GraphBuilder, Op, RankWalk};
///
/// let mut rank = GraphBuilder::new(0, 2);
/// let send = rank.add(Op::Send { to: 1, tag: 7, bytes: 1000 })?;
/// let receive = rank.add_after(Op::Receive { from: 1, tag: 8 }, &[send])?;
/// let graph = rank.build()?;
///
/// let mut walk = RankWalk::new(&graph);
/// let mut ready = Vec::new();
/// walk.start(&graph, &mut ready);
/// assert_eq!(ready, [send]);
/// ready.clear();
/// walk.happened(&graph, send, Event::Finished, &mut ready);
/// assert_eq!(ready, [receive]);
/// assert!(!walk.post(&graph, receive), "the message is not there yet");
/// assert_eq!(walk.deliver(&graph, 1, 8), Some(receive));
/// # Ok::<(), sojourn_training::program::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankWalk {
    /// Of a node that is not ready the parents it still waits for. Of a posted receive the next one of its
    /// inbox: a ready node needs no counter.
    counters: Box<[u32]>,
    inboxes: Box<[Inbox]>,
}

/// The messages and receives of one sender and tag: at least one of the two lists is empty.
#[derive(Clone, Copy, Debug)]
struct Inbox {
    /// The number of messages that no receive has taken.
    early: u32,
    /// The first and last posted receive.
    first: NodeId,
    last: NodeId,
}

const NONE: NodeId = NodeId::MAX;

impl RankWalk {
    /// The state before anything has happened.
    pub fn new(graph: &Graph) -> RankWalk {
        RankWalk {
            counters: (0..graph.len() as u32).map(|node| graph.parents(node)).collect(),
            inboxes: vec![Inbox { early: 0, first: NONE, last: NONE }; graph.inboxes()].into(),
        }
    }

    /// Appends the nodes without parents to `ready`.
    pub fn start(&self, graph: &Graph, ready: &mut Vec<NodeId>) {
        ready.extend((0..graph.len() as u32).filter(|&node| graph.parents(node) == 0));
    }

    /// `event` of `node` happened: appends the nodes that are ready now to `ready`. Call it once for each
    /// event of each node, for [`Event::Finished`] last.
    pub fn happened(&mut self, graph: &Graph, node: NodeId, event: Event, ready: &mut Vec<NodeId>) {
        for child in graph.children(node, event) {
            let counter = &mut self.counters[child as usize];
            *counter -= 1;
            if *counter == 0 {
                ready.push(child);
            }
        }
    }

    /// Posts the ready `receive`. Returns whether its message is already there, so that the receive is
    /// finished.
    pub fn post(&mut self, graph: &Graph, receive: NodeId) -> bool {
        let inbox = &mut self.inboxes[graph.inbox(receive)];
        if inbox.early > 0 {
            inbox.early -= 1;
            return true;
        }
        self.counters[receive as usize] = NONE;
        if inbox.first == NONE {
            inbox.first = receive;
        } else {
            self.counters[inbox.last as usize] = receive;
        }
        inbox.last = receive;
        false
    }

    /// A message with this tag arrived from the rank `away` above this one, modulo the number of ranks. Returns
    /// the receive that it finishes; none if none is posted yet, or if the graph has none. Takes the logarithm of the
    /// number of senders and tags; everything else here takes the same time for each edge.
    pub fn deliver(&mut self, graph: &Graph, away: u32, tag: u32) -> Option<NodeId> {
        let inbox = &mut self.inboxes[graph.inbox_of(away, tag)?];
        if inbox.first == NONE {
            inbox.early += 1;
            return None;
        }
        let receive = inbox.first;
        inbox.first = self.counters[receive as usize];
        Some(receive)
    }
}
