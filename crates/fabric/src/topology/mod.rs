//! Topologies: hosts, switches, the links between them, and the shortest paths.
//!
//! A topology is one file here that names its parameters and lays its links ([`Graph`]); numbering
//! and routing are common to all ([`Network`]).

mod clos;
mod fat_tree;
mod from_file;
mod graph;
mod leaf_spine;
mod listed;
mod network;
mod routes;
mod single_switch;

pub use clos::Clos;
pub use fat_tree::FatTree;
pub use from_file::FromFile;
pub use graph::{Forwarding, Graph, LinkSpec, Ppm};
pub use leaf_spine::LeafSpine;
pub use listed::{Cable, HostGroup, Listed};
pub(crate) use network::{ExactTiming, Reach};
pub use network::{Hop, Link, Network};
pub(crate) use routes::{Exit, Lookup, Routes};
pub use single_switch::SingleSwitch;

use crate::packet::LONGEST_CROSSING;
use graph::MOST_PPM;
use sojourn_core::parameters::{Parameters, Refusal, Setting, Value};
use sojourn_core::{Rate, Span, variants};

variants! {
    /// The shape of a fabric.
    pub enum Topology: "topology" => with_topology {
        SingleSwitch(SingleSwitch),
        LeafSpine(LeafSpine),
        FatTree(FatTree),
        Clos(Clos),
        Listed(Listed),
        FromFile(FromFile),
    }
}

impl Topology {
    /// Refuses a speed at which a packet of `full` bytes is on a link for too long, and a time that
    /// is too long itself.
    pub(crate) fn check_links(&self, full: u64) -> Result<(), Refusal> {
        let table = with_topology!(self, |params| params.write_table());
        let too_slow = |rate: Rate| rate.span(full) > LONGEST_CROSSING;
        let too_long = |span: Span| span > LONGEST_CROSSING;
        for (key, value) in table.iter() {
            let expected = match value {
                Value::Text(text) if text.parse().is_ok_and(too_slow) => {
                    format!("links that a full packet crosses within {LONGEST_CROSSING}")
                }
                Value::Text(text) if text.parse().is_ok_and(too_long) => {
                    format!("at most {LONGEST_CROSSING}")
                }
                _ => continue,
            };
            return Err(Refusal::value(value, expected).under(key));
        }
        Ok(())
    }

    /// The key that gives links the speed `rate`, if one does.
    pub(crate) fn key_of(&self, rate: Rate) -> Option<String> {
        let table = with_topology!(self, |params| params.write_table());
        let mut keys = table.iter().filter(|(_, value)| rate.write().as_ref() == Some(value));
        keys.next().map(|(key, _)| key.to_owned())
    }

    /// Lays the links.
    pub fn graph(&self) -> Graph {
        with_topology!(self, |params| params.graph())
    }
}
