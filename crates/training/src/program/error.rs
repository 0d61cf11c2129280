//! Why a program is refused.

use super::node::{MOST_NODES, MOST_PROGRAM_NODES, NodeId, Op};
use std::fmt::{self, Display};

/// A node of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The rank.
    pub rank: u32,
    /// The place of the node in the rank's graph, from 0.
    pub node: NodeId,
}

/// Why a program is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// The peer of a send or receive is no rank.
    NoSuchPeer {
        /// The node.
        at: At,
        /// The send or receive.
        op: Op,
        /// The number of ranks.
        ranks: u32,
    },
    /// A rank sends to itself or receives from itself.
    OwnPeer {
        /// The node.
        at: At,
        /// The send or receive.
        op: Op,
    },
    /// An edge names a node that is not there.
    NoSuchNode {
        /// The missing node.
        at: At,
        /// The number of nodes of the rank.
        nodes: usize,
    },
    /// An edge waits for the hand-over of a node that is no send.
    NotASend {
        /// The node.
        at: At,
    },
    /// A rank has too many nodes or edges.
    TooManyNodes {
        /// The rank.
        rank: u32,
    },
    /// Nodes of one rank wait for each other.
    Cycle {
        /// The rank.
        rank: u32,
        /// The nodes, each a parent of the next, and the last of the first.
        nodes: Vec<NodeId>,
    },
    /// The numbers of sends and receives between two ranks with one tag differ.
    Unmatched {
        /// The first send or receive without a partner.
        at: At,
        /// What it does.
        op: Op,
        /// The number of sends from the one rank to the other with this tag.
        sends: usize,
        /// The number of receives.
        receives: usize,
    },
    /// A node calls a collective that is not in the list of calls.
    NoSuchCall {
        /// The node.
        at: At,
        /// The call.
        call: u32,
    },
    /// A rank calls a collective of a group that it is not in.
    NotAMember {
        /// The node.
        at: At,
        /// The call.
        call: u32,
    },
    /// A rank calls a collective with one tag twice.
    CalledTwice {
        /// The second node.
        at: At,
        /// The call.
        call: u32,
        /// The tag.
        tag: u32,
    },
    /// Ranks of one group call different collectives under one tag, or only some of them call.
    CallsDiffer {
        /// The node of one rank.
        at: At,
        /// A rank of the same group that has no such node.
        other: u32,
        /// The call.
        call: u32,
        /// The tag.
        tag: u32,
    },
    /// Ranks wait for each other.
    Deadlock {
        /// Each node waits for the next, and the last for the first.
        waits: Vec<(At, Op)>,
    },
    /// Groups do not divide the ranks.
    Groups {
        /// The reason.
        why: String,
    },
    /// A collective does not fit its group.
    Collective {
        /// The call.
        call: u32,
        /// The reason.
        why: String,
    },
    /// All ranks together have too many nodes.
    TooLarge {
        /// The number of nodes.
        nodes: usize,
    },
    /// A rank has no graph, or two.
    Graphs {
        /// The rank.
        rank: u32,
        /// The number of its graphs.
        graphs: usize,
    },
}

impl ProgramError {
    /// The node that the error is about, or the first of them; none if it is about no node.
    pub fn at(&self) -> Option<At> {
        use ProgramError::*;
        match self {
            NoSuchPeer { at, .. }
            | OwnPeer { at, .. }
            | NoSuchNode { at, .. }
            | NotASend { at }
            | Unmatched { at, .. }
            | NoSuchCall { at, .. }
            | NotAMember { at, .. }
            | CalledTwice { at, .. }
            | CallsDiffer { at, .. } => Some(*at),
            Cycle { rank, nodes } => Some(At { rank: *rank, node: nodes[0] }),
            Deadlock { waits } => Some(waits[0].0),
            _ => None,
        }
    }
}

/// The most nodes of a deadlock that a message names.
const SHOWN: usize = 8;

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}, node {}", self.rank, self.node)
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Compute { stream, span } => write!(f, "compute {span} on stream {stream}"),
            Op::Send { to, tag, bytes } => write!(f, "send {bytes} B to rank {to}, tag {tag}"),
            Op::Receive { from, tag } => write!(f, "receive from rank {from}, tag {tag}"),
            Op::Join => f.write_str("join"),
            Op::Collective { call, tag } => write!(f, "collective call {call}, tag {tag}"),
        }
    }
}

impl Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ProgramError::*;
        match self {
            NoSuchPeer { at, op, ranks } => {
                write!(f, "{at} ({op}): the peer is not one of the {ranks} ranks, numbered from 0")
            }
            OwnPeer { at, op } => write!(f, "{at} ({op}): the peer is the rank itself"),
            NoSuchNode { at, nodes } => {
                write!(f, "an edge names {at}, but the rank has {nodes} nodes, numbered from 0")
            }
            NotASend { at } => {
                write!(f, "an edge waits for the hand-over of {at}, which is no send")
            }
            TooManyNodes { rank } => {
                write!(f, "rank {rank} has more than {MOST_NODES} nodes or 4294967295 edges")
            }
            Cycle { rank, nodes } => {
                let shown: Vec<String> = nodes.iter().take(SHOWN).map(u32::to_string).collect();
                let more = if nodes.len() > SHOWN { " -> ..." } else { "" };
                write!(
                    f,
                    "nodes of rank {rank} wait for each other: {}{more} -> {}",
                    shown.join(" -> "),
                    nodes[0]
                )
            }
            Unmatched { at, op, sends, receives } => write!(
                f,
                "{at} ({op}) has no partner: {sends} sends and {receives} receives have this \
                 sender, receiver and tag"
            ),
            NoSuchCall { at, call } => write!(f, "{at}: there is no collective call {call}"),
            NotAMember { at, call } => {
                write!(f, "{at}: the rank is in no group of collective call {call}")
            }
            CalledTwice { at, call, tag } => {
                write!(f, "{at}: the rank already has collective call {call} with tag {tag}")
            }
            CallsDiffer { at, other, call, tag } => write!(
                f,
                "{at} has collective call {call} with tag {tag}, but rank {other} of the same \
                 group does not"
            ),
            Deadlock { waits } => {
                f.write_str("the ranks wait for each other: ")?;
                for (place, (at, op)) in waits.iter().take(SHOWN).enumerate() {
                    let link = if place > 0 { ", which" } else { "" };
                    write!(f, "{at} ({op}){link} waits for ")?;
                }
                if waits.len() > SHOWN {
                    write!(f, "{} more nodes, the last of which waits for ", waits.len() - SHOWN)?;
                }
                write!(f, "{}", waits[0].0)
            }
            TooLarge { nodes } => {
                write!(f, "the program has {nodes} nodes, expected at most {MOST_PROGRAM_NODES}")
            }
            Groups { why } => f.write_str(why),
            Collective { call, why } => write!(f, "collective call {call}: {why}"),
            Graphs { rank, graphs: 0 } => write!(f, "rank {rank} has no graph"),
            Graphs { rank, graphs } => write!(f, "rank {rank} has {graphs} graphs, expected one"),
        }
    }
}

impl std::error::Error for ProgramError {}
