//! Programs of ranks: what each rank computes, sends, receives and calls, and in which order.
//!
//! A [`Program`] has one [`Graph`] for each rank. An edge joins two nodes of one rank, so everything that
//! crosses ranks is a message or a collective. Ranks that do the same up to the numbers of their peers share
//! one graph in memory. [`Program::new`] refuses programs that cannot be executed to their end, and
//! [`RankWalk`] is the state of a rank during an execution.

mod check;
mod critical_path;
mod error;
mod graph;
mod group;
mod node;
mod walk;

pub use critical_path::{NodeTimes, Spent, Step, critical_path};
pub use error::{At, ProgramError};
pub use graph::{Graph, GraphBuilder};
pub use group::Groups;
pub use node::{Event, MOST_NODES, MOST_PROGRAM_NODES, NodeId, Op};
pub use walk::RankWalk;

use crate::collective::Collective;
use sojourn_core::Span;

/// A collective that nodes of a program take part in.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The place of its groups in the program's list of groups.
    pub groups: usize,
    /// The algorithm.
    pub collective: Collective,
    /// The size of the buffer in bytes, as nccl-tests counts it (see [`Collective`]).
    pub bytes: u64,
    /// How it is executed.
    pub execution: Execution,
    /// A name for rows.
    pub label: String,
}

/// How a collective is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Message by message in the simulated network.
    Messages,
    /// In this time after its last rank has reached it, by a closed form: it is not simulated packet by
    /// packet, and every row has to say so.
    ClosedForm(Span),
}

/// The graphs of all ranks, and the collectives that they call.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    graphs: Vec<Graph>,
    /// The graph of each rank.
    graph_of: Vec<u32>,
    groups: Vec<Groups>,
    calls: Vec<Call>,
}

impl Program {
    /// The program of `graphs`, each with the ranks that execute it. Refuses a rank without a graph,
    /// messages without a partner, collectives that not all ranks of a group call, and deadlocks.
    ///
    /// Panics if a graph was built for another number of ranks, or a call names groups that are not there.
    pub fn new(
        ranks: u32,
        graphs: Vec<(Graph, Vec<u32>)>,
        groups: Vec<Groups>,
        calls: Vec<Call>,
    ) -> Result<Program, ProgramError> {
        let mut counts = vec![0; ranks as usize];
        let mut graph_of = vec![0; ranks as usize];
        for (place, (graph, of)) in graphs.iter().enumerate() {
            assert_eq!(graph.ranks, ranks, "graph {place} is of another number of ranks");
            for &rank in of {
                counts[rank as usize] += 1;
                graph_of[rank as usize] = place as u32;
            }
        }
        if let Some(rank) = counts.iter().position(|&count| count != 1) {
            return Err(ProgramError::Graphs { rank: rank as u32, graphs: counts[rank] });
        }
        for (place, call) in calls.iter().enumerate() {
            for size in groups[call.groups].sizes() {
                call.collective
                    .check_for(size)
                    .map_err(|why| ProgramError::Collective { call: place as u32, why })?;
            }
        }
        let nodes = graphs.iter().map(|(graph, of)| graph.len() * of.len()).sum();
        if nodes > MOST_PROGRAM_NODES {
            return Err(ProgramError::TooLarge { nodes });
        }
        let graphs = graphs.into_iter().map(|(graph, _)| graph).collect();
        let program = Program { graphs, graph_of, groups, calls };
        check::check(&program)?;
        Ok(program)
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.graph_of.len() as u32
    }

    /// The graph of `rank`.
    pub fn graph(&self, rank: u32) -> &Graph {
        &self.graphs[self.graph_of[rank as usize] as usize]
    }

    /// The number of different graphs.
    pub fn graphs(&self) -> usize {
        self.graphs.len()
    }

    /// All nodes of all ranks.
    pub fn nodes(&self) -> impl Iterator<Item = At> {
        (0..self.ranks())
            .flat_map(|rank| (0..self.graph(rank).len() as u32).map(move |node| At { rank, node }))
    }

    /// What a node does.
    pub fn op(&self, at: At) -> Op {
        self.graph(at.rank).op(at.node, at.rank)
    }

    /// The distance of `from` above `to`, modulo the number of ranks, as [`RankWalk::deliver`] takes it at `from`'s
    /// peer `to`.
    pub fn away(&self, from: u32, to: u32) -> u32 {
        let ranks = u64::from(self.ranks());
        ((u64::from(from) + ranks - u64::from(to)) % ranks) as u32
    }

    /// The collectives that nodes name by their place.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The groups of a call; none if there is no such call.
    pub fn groups(&self, call: u32) -> Option<&Groups> {
        self.calls.get(call as usize).map(|call| &self.groups[call.groups])
    }
}
