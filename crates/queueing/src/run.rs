//! A run of any room, seen from outside: how far it is, how to stop it, and what it gives.

use crate::Rows;
use sojourn_kernel::parameters::Value;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// What others may see of a run while it goes on, and how they stop it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Jobs finished so far.
    pub finished: AtomicU64,
    /// Simulated time so far, in picoseconds.
    pub simulated_ps: AtomicU64,
    /// Processor time of the threads that helped the one that runs it, in nanoseconds.
    pub helped_ns: AtomicU64,
    /// Whether it went on without them for a time, since other programs had the processors.
    pub went_alone: AtomicBool,
    /// Set to stop the run.
    pub cancelled: AtomicBool,
}

/// The run was stopped through [`Progress::cancelled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// What is kept of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// A row a job.
    Rows,
    /// Totals alone; where a room can, memory then does not grow with the number of jobs.
    Totals,
}

/// The rows and totals of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// One row a job, or none if only totals are kept.
    pub rows: Rows,
    /// What stations were doing at certain times, where a case asks for it.
    pub series: Rows,
    /// Totals by name, with units, and what the ideal is.
    pub figures: Vec<(String, Value)>,
}
