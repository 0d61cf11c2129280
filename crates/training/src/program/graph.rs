//! The graph of one rank, or of several ranks that do the same.

use super::error::{At, ProgramError};
use super::node::{Event, MOST_NODES, Node, NodeId, Op};

/// The nodes of a rank and the edges between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub(super) ranks: u32,
    /// The nodes, and one more that ends the edges of the last.
    nodes: Vec<Node>,
    /// The children of each node.
    edges: Vec<Edge>,
    /// The distances and tags of all receives, in ascending order.
    inboxes: Vec<(u32, u32)>,
    labels: Vec<String>,
}

/// A child, and in the lowest two bits the event that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge(u32);

impl Edge {
    fn new(child: NodeId, event: Event) -> Edge {
        Edge(child << 2 | event as u32)
    }

    fn child(self) -> NodeId {
        self.0 >> 2
    }

    fn waits_for(self, event: Event) -> bool {
        self.0 & 3 == event as u32
    }
}

impl Graph {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Whether the rank does nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What `node` does at `rank`.
    pub fn op(&self, node: NodeId, rank: u32) -> Op {
        self.nodes[node as usize].op(rank, self.ranks)
    }

    /// The number of edges that end at `node`.
    pub fn parents(&self, node: NodeId) -> u32 {
        self.nodes[node as usize].parents
    }

    /// The nodes that wait for `event` of `node`.
    pub fn children(&self, node: NodeId, event: Event) -> impl Iterator<Item = NodeId> {
        let edges = self.edges_of(node).iter();
        edges.filter(move |edge| edge.waits_for(event)).map(|edge| edge.child())
    }

    /// The name of `node`; empty if it has none.
    pub fn label(&self, node: NodeId) -> &str {
        &self.labels[self.nodes[node as usize].label as usize]
    }

    fn edges_of(&self, node: NodeId) -> &[Edge] {
        let place = node as usize;
        &self.edges
            [self.nodes[place].first_edge as usize..self.nodes[place + 1].first_edge as usize]
    }

    /// All nodes and children that wait for any event of them.
    pub(super) fn all_edges(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        (0..self.len() as u32)
            .flat_map(|node| self.edges_of(node).iter().map(move |edge| (node, edge.child())))
    }

    /// The number of different sources of receives.
    pub(super) fn inboxes(&self) -> usize {
        self.inboxes.len()
    }

    /// The inbox of the receive `node`.
    pub(super) fn inbox(&self, node: NodeId) -> usize {
        self.nodes[node as usize].inbox()
    }

    /// The inbox of messages from a rank `away` with this tag; none if there is no receive for them.
    pub(super) fn inbox_of(&self, away: u32, tag: u32) -> Option<usize> {
        self.inboxes.binary_search(&(away, tag)).ok()
    }

    /// A cycle of nodes that wait for each other, if there is one.
    fn cycle(&self) -> Option<Vec<NodeId>> {
        let mut waiting: Vec<u32> = (0..self.len() as u32).map(|node| self.parents(node)).collect();
        let mut ready: Vec<NodeId> =
            (0..self.len() as u32).filter(|&node| self.parents(node) == 0).collect();
        let mut left = self.len();
        while let Some(node) = ready.pop() {
            left -= 1;
            for edge in self.edges_of(node) {
                let counter = &mut waiting[edge.child() as usize];
                *counter -= 1;
                if *counter == 0 {
                    ready.push(edge.child());
                }
            }
        }
        if left == 0 {
            return None;
        }
        // Each node that is left has a parent that is left: going from parent to parent ends in a cycle.
        let mut parent = vec![NodeId::MAX; self.len()];
        for (node, child) in self.all_edges() {
            if waiting[node as usize] > 0 && waiting[child as usize] > 0 {
                parent[child as usize] = node;
            }
        }
        let mut node = waiting.iter().position(|&count| count > 0)? as u32;
        for _ in 0..left {
            node = parent[node as usize];
        }
        let mut cycle = vec![node];
        while parent[cycle[cycle.len() - 1] as usize] != node {
            cycle.push(parent[cycle[cycle.len() - 1] as usize]);
        }
        cycle.reverse();
        Some(cycle)
    }
}

/// Builds a [`Graph`]: nodes first, then edges between them in any order.
#[derive(Debug)]
pub struct GraphBuilder {
    rank: u32,
    ranks: u32,
    nodes: Vec<Node>,
    edges: Vec<(NodeId, Edge)>,
    labels: Vec<String>,
}

impl GraphBuilder {
    /// An empty graph of `rank`, which is one of `ranks`. Panics if it is not.
    pub fn new(rank: u32, ranks: u32) -> GraphBuilder {
        assert!(rank < ranks, "rank {rank} is not one of {ranks}");
        GraphBuilder {
            rank,
            ranks,
            nodes: Vec::new(),
            edges: Vec::new(),
            labels: vec![String::new()],
        }
    }

    /// Makes room for `nodes` nodes and `edges` edges.
    pub fn reserve(&mut self, nodes: usize, edges: usize) {
        self.nodes.reserve(nodes);
        self.edges.reserve(edges);
    }

    /// The number of nodes so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Names the nodes that follow, for rows and messages.
    pub fn label(&mut self, label: &str) {
        if self.labels.last().is_none_or(|last| last != label) {
            self.labels.push(label.to_owned());
        }
    }

    /// Appends a node. Refuses a peer that is no rank or the rank itself, and more than [`MOST_NODES`].
    pub fn add(&mut self, op: Op) -> Result<NodeId, ProgramError> {
        let at = At { rank: self.rank, node: self.nodes.len() as u32 };
        if let Op::Send { to: peer, .. } | Op::Receive { from: peer, .. } = op {
            if peer >= self.ranks {
                return Err(ProgramError::NoSuchPeer { at, op, ranks: self.ranks });
            }
            if peer == self.rank {
                return Err(ProgramError::OwnPeer { at, op });
            }
        }
        if self.nodes.len() >= MOST_NODES {
            return Err(ProgramError::TooManyNodes { rank: self.rank });
        }
        let label = self.labels.len() as u32 - 1;
        self.nodes.push(Node::new(op, self.rank, self.ranks, label));
        Ok(at.node)
    }

    /// Lets `child` wait for `event` of `parent`. Refuses nodes that are not there, and a hand-over of a node
    /// that is no send.
    pub fn edge(
        &mut self,
        parent: NodeId,
        child: NodeId,
        event: Event,
    ) -> Result<(), ProgramError> {
        let at = |node| At { rank: self.rank, node };
        for end in [parent, child] {
            if end as usize >= self.nodes.len() {
                return Err(ProgramError::NoSuchNode { at: at(end), nodes: self.nodes.len() });
            }
        }
        if event == Event::HandedOver && !self.nodes[parent as usize].is_send() {
            return Err(ProgramError::NotASend { at: at(parent) });
        }
        if self.edges.len() >= u32::MAX as usize {
            return Err(ProgramError::TooManyNodes { rank: self.rank });
        }
        self.edges.push((parent, Edge::new(child, event)));
        Ok(())
    }

    /// Appends a node that waits until all of `parents` finished.
    pub fn add_after(&mut self, op: Op, parents: &[NodeId]) -> Result<NodeId, ProgramError> {
        let node = self.add(op)?;
        for &parent in parents {
            self.edge(parent, node, Event::Finished)?;
        }
        Ok(node)
    }

    /// The graph. Refuses nodes that wait for each other in a cycle.
    pub fn build(mut self) -> Result<Graph, ProgramError> {
        self.edges.sort_unstable();
        self.edges.dedup();
        for &(_, edge) in &self.edges {
            self.nodes[edge.child() as usize].parents += 1;
        }
        let mut inboxes: Vec<(u32, u32)> = self.nodes.iter().filter_map(Node::source).collect();
        inboxes.sort_unstable();
        inboxes.dedup();
        let mut first = 0;
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.first_edge = first as u32;
            first += self.edges[first..].iter().take_while(|edge| edge.0 == place as u32).count();
            if let Some(source) = node.source() {
                node.set_inbox(inboxes.binary_search(&source).expect("every source is an inbox"));
            }
        }
        let mut end = Node::new(Op::Join, self.rank, self.ranks, 0);
        end.first_edge = first as u32;
        self.nodes.push(end);
        let edges = self.edges.into_iter().map(|(_, edge)| edge).collect();
        let graph =
            Graph { ranks: self.ranks, nodes: self.nodes, edges, inboxes, labels: self.labels };
        match graph.cycle() {
            Some(nodes) => Err(ProgramError::Cycle { rank: self.rank, nodes }),
            None => Ok(graph),
        }
    }
}
