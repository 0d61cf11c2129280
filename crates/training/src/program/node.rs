//! One node of a rank's graph.

use sojourn_core::Span;

/// The place of a node in its rank's graph.
pub type NodeId = u32;

/// The most nodes of a rank, so that a node and an event fit into 32 bits.
pub const MOST_NODES: usize = 1 << 30;

/// The most nodes of all ranks together: the checks of a program take about 40 bytes for each.
pub const MOST_PROGRAM_NODES: usize = 1 << 27;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Computes for `span` on a stream of the rank. A stream runs one node at a time, in the order in which
    /// the nodes become ready.
    Compute {
        /// The stream.
        stream: u8,
        /// How long the node occupies the stream.
        span: Span,
    },
    /// Sends a message. A send needs no posted receive: the receiving rank keeps early messages.
    Send {
        /// The receiving rank.
        to: u32,
        /// The tag that the receive has to name.
        tag: u32,
        /// The size of the message in bytes.
        bytes: u64,
    },
    /// Waits for a message. Messages of one sender and tag go to its receives in the order in which these
    /// become ready.
    Receive {
        /// The sending rank.
        from: u32,
        /// The tag of the message.
        tag: u32,
    },
    /// Does nothing, and so joins its parents.
    Join,
    /// Takes part in a collective. All ranks of the group have to reach a node with this call and tag.
    Collective {
        /// The place of the call among [`Program::calls`](super::Program::calls).
        call: u32,
        /// Tells calls of one group apart.
        tag: u32,
    },
}

/// The event of a parent that an edge waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The parent started.
    Started,
    /// The last byte of a send left the rank. No other node has this event.
    HandedOver,
    /// The parent finished: it computed its span, its message arrived, its collective is over at this rank. A
    /// send finishes when the receiving rank has acknowledged its last byte.
    #[default]
    Finished,
}

/// A node in memory: 32 bytes, so that a graph of a million nodes takes 32 MB. A peer is stored as its
/// distance from the rank, so that ranks that do the same share one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// A send's bytes, a computation's picoseconds, a receive's inbox.
    amount: u64,
    /// The peer's distance, or the call.
    peer: u32,
    tag: u32,
    pub(super) parents: u32,
    /// The place of the first edge to a child; the next node has the end.
    pub(super) first_edge: u32,
    pub(super) label: u32,
    kind: Kind,
    stream: u8,
}

const _: () = assert!(size_of::<Node>() <= 32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Compute,
    Send,
    Receive,
    Join,
    Collective,
}

impl Node {
    /// The node of `rank`, which is one of `ranks`.
    pub(super) fn new(op: Op, rank: u32, ranks: u32, label: u32) -> Node {
        let away =
            |peer: u32| ((u64::from(peer) + u64::from(ranks - rank)) % u64::from(ranks)) as u32;
        let (kind, stream, amount, peer, tag) = match op {
            Op::Compute { stream, span } => (Kind::Compute, stream, span.ps(), 0, 0),
            Op::Send { to, tag, bytes } => (Kind::Send, 0, bytes, away(to), tag),
            Op::Receive { from, tag } => (Kind::Receive, 0, 0, away(from), tag),
            Op::Join => (Kind::Join, 0, 0, 0, 0),
            Op::Collective { call, tag } => (Kind::Collective, 0, 0, call, tag),
        };
        Node { amount, peer, tag, parents: 0, first_edge: 0, label, kind, stream }
    }

    /// What the node does at `rank`, which is one of `ranks`.
    pub(super) fn op(&self, rank: u32, ranks: u32) -> Op {
        let peer = || ((u64::from(rank) + u64::from(self.peer)) % u64::from(ranks)) as u32;
        match self.kind {
            Kind::Compute => Op::Compute { stream: self.stream, span: Span::from_ps(self.amount) },
            Kind::Send => Op::Send { to: peer(), tag: self.tag, bytes: self.amount },
            Kind::Receive => Op::Receive { from: peer(), tag: self.tag },
            Kind::Join => Op::Join,
            Kind::Collective => Op::Collective { call: self.peer, tag: self.tag },
        }
    }

    /// The distance of the peer and the tag, if the node is a receive.
    pub(super) fn source(&self) -> Option<(u32, u32)> {
        (self.kind == Kind::Receive).then_some((self.peer, self.tag))
    }

    /// The inbox of a receive.
    pub(super) fn inbox(&self) -> usize {
        self.amount as usize
    }

    pub(super) fn set_inbox(&mut self, inbox: usize) {
        self.amount = inbox as u64;
    }

    pub(super) fn is_send(&self) -> bool {
        self.kind == Kind::Send
    }
}
