//! The fabric model: flows over hosts, links and switches, packet by packet.
//!
//! - [`topology`]: hosts, switches, links and shortest paths; [`path`]: which path;
//! - [`switch_memory`]: what the ports of a switch share; [`pfc`]: how switches stop each other; [`queue`]: queue disciplines; [`transport`]: what the ends of a flow do;
//! - [`engine`]: the event loop; [`ideal`]: the ideal scheduler; [`flow`]: flows, packets and the best possible completion time;
//! - [`workload`]: which flows arrive when; [`python`]: what of all this is in Python or Parquet files;
//! - [`ranks`]: programs of ranks that compute and send each other messages;
//! - [`estimate`]: a fabric too large to be simulated whole, from its links.

pub mod case;
mod convergence;
pub mod engine;
pub mod estimate;
pub mod failure;
pub mod flow;
pub mod hosts;
pub mod ideal;
mod job;
mod lists;
mod model;
pub mod packet;
pub mod path;
pub mod pfc;
pub mod python;
pub mod queue;
pub mod ranks;
mod rows;
pub mod scheme;
pub mod switch_memory;
pub mod topology;
pub mod transport;
pub mod workload;

pub use case::{FabricCase, Ready};
pub use estimate::{Decomposition, LinkTimes};
pub use failure::Failure;
pub use flow::{Flow, Packets, ideal_fct};
pub use hosts::{HostPort, Hosts};
pub use path::Balance;
pub use scheme::{PacketScheme, Scheme};
pub use sojourn_core::Report;
pub use switch_memory::Buffer;
