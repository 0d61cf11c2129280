//! Traces of training runs as programs of ranks.
//!
//! Each format has a reader that turns the bytes of files into a [`Program`](sojourn_training::program::Program):
//!
//! - [`chakra`]: execution traces of MLCommons and ASTRA-sim, one file a rank;
//! - [`goal`]: schedules of LogGOPSim and ATLAHS, as text or binary;
//! - [`simai`]: workload files of SimAI and AICB.
//!
//! A [`TraceError`] names the file, the rank, and the node or line. Nothing here opens a file. Before anything is
//! allocated, its size is held against the size of the file, so memory is bounded by what was handed in.

pub mod chakra;
mod error;
pub mod goal;
mod options;
pub mod simai;

pub use error::{Place, TraceError};
pub use options::SendEnd;

/// A file that was read.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}
