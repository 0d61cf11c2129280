//! Topologies: hosts, switches, the links between them, and the shortest paths.
//!
//! A topology is one file here that names its parameters and lays its links ([`Graph`]); numbering
//! and routing are common to all ([`Network`]).

mod clos;
mod fat_tree;
mod graph;
mod leaf_spine;
mod network;
mod single_switch;

pub use clos::Clos;
pub use fat_tree::FatTree;
pub use graph::{Forwarding, Graph, LinkSpec, Ppm};
pub use leaf_spine::LeafSpine;
pub use network::{Hop, Link, Network};
pub use single_switch::SingleSwitch;

use graph::MOST_PPM;
use sojourn_kernel::parameters::{Refusal, Setting};
use sojourn_kernel::variants;

variants! {
    /// The shape of a fabric.
    pub enum Topology: "topology" => with_topology {
        SingleSwitch(SingleSwitch),
        LeafSpine(LeafSpine),
        FatTree(FatTree),
        Clos(Clos),
    }
}

/// Refuses clocks that no link has.
fn check_clock(ppm: Ppm) -> Result<(), Refusal> {
    if ppm <= MOST_PPM {
        return Ok(());
    }
    let given = ppm.write().expect("a number");
    Err(Refusal::value(&given, format!("at most {MOST_PPM}")).under("clock_ppm"))
}

impl Topology {
    /// Lays the links.
    pub fn graph(&self) -> Graph {
        with_topology!(self, |params| params.graph())
    }
}
