//! Queueing: what arrives, how large it is, how long it waits for its turn, and when its last
//! part is done.
//!
//! - [`Distribution`] and its samplers, [`Empirical`] tables, [`SizeTable`]s and the published
//!   [`WORKLOADS`];
//! - [`Arrivals`]: gaps and batches;
//! - [`Station`]s under a [`Discipline`], and [`Joins`] of the tasks that a job forks into;
//! - [`Rows`] of results, and the [`Report`] of a run in any room;
//! - the [`Vocabulary`] of a model: what its jobs are called, and what is asked of them.

mod arrivals;
mod discipline;
mod distribution;
mod empirical;
mod join;
mod logarithm;
mod rows;
mod run;
mod size;
mod station;
mod table;
mod vocabulary;
mod workload;

pub use arrivals::{Arrival, Arrivals, Batches, Gaps};
pub use discipline::{Discipline, Line, Order, Task};
pub use distribution::{
    Constant, Distribution, Erlang, Exponential, Geometric, Hyperexponential, LogNormal, Uniform,
};
pub use empirical::{BadRow, Empirical, Reading};
pub use join::{Fork, Joins};
pub use rows::{Column, Job, Jobs, Rows};
pub use run::{Cancelled, Keep, Progress, Report};
pub use size::{SizeTable, Unit};
pub use station::{Service, Station};
pub use table::TableError;
pub use vocabulary::{JobKind, Metric, SizeBin, Vocabulary};
pub use workload::{WORKLOADS, Workload};
