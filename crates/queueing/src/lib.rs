//! Queueing: what arrives, how large it is, how long it waits for its turn, and when its last
//! part is done.
//!
//! - [`Distribution`] and its samplers, [`Empirical`] tables, [`SizeTable`]s and the published
//!   [`WORKLOADS`];
//! - [`Arrivals`]: gaps and batches.

mod arrivals;
mod distribution;
mod empirical;
mod size;
mod table;
mod workload;

pub use arrivals::{Arrival, Arrivals, Batches, Gaps};
pub use distribution::{
    Constant, Distribution, Erlang, Exponential, Geometric, Hyperexponential, Uniform,
};
pub use empirical::{BadRow, Empirical, Reading};
pub use size::{SizeTable, Unit};
pub use table::TableError;
pub use workload::{WORKLOADS, Workload};
