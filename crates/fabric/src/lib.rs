//! The fabric room: flows over hosts, links and switches, packet by packet.
//!
//! - [`topology`]: hosts, switches, links and shortest paths; [`balance`]: which path;
//! - [`buffer`]: switch memory; [`qdisc`]: queue disciplines; [`transport`]: what the ends of a flow do;
//! - [`engine`]: the event loop; [`ideal`]: the ideal scheduler; [`flow`]: flows, packets and the best possible completion time;
//! - [`workload`]: which flows arrive when;
//! - [`estimate`]: a fabric too large to be simulated whole, from its links.

pub mod balance;
mod best;
pub mod buffer;
pub mod engine;
pub mod estimate;
pub mod flow;
pub mod hosts;
pub mod ideal;
mod offered;
pub mod packet;
pub mod qdisc;
mod rows;
pub mod scheme;
mod script;
pub mod slab;
pub mod study;
pub mod topology;
pub mod transport;
pub mod workload;

pub use balance::Balance;
pub use buffer::Buffer;
pub use estimate::{Decomposition, LinkTimes};
pub use flow::{Flow, Packets, ideal_fct};
pub use hosts::{HostPort, Hosts};
pub use rows::VOCABULARY;
pub use scheme::{PacketScheme, Scheme};
pub use sojourn_core::Report;
pub use study::{FabricCase, Ready};
