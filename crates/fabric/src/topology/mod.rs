//! Topologies: hosts, switches, the links between them, and the shortest paths.
//!
//! A topology is one file here that names its parameters and lays its links; numbering, routing
//! and checks are common to all ([`Graph`]).

mod fat_tree;
mod graph;
mod leaf_spine;
mod single_switch;

pub use fat_tree::FatTree;
pub use graph::{Graph, Hop, Link, LinkSpec, Network};
pub use leaf_spine::LeafSpine;
pub use single_switch::SingleSwitch;

use sojourn_kernel::variants;

variants! {
    /// The shape of a fabric.
    pub enum Topology: "topology" => with_topology {
        SingleSwitch(SingleSwitch),
        LeafSpine(LeafSpine),
        FatTree(FatTree),
    }
}

impl Topology {
    /// Lays the links.
    pub fn graph(&self) -> Graph {
        with_topology!(self, |params| params.graph())
    }
}
