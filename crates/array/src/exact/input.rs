//! The input of the formulas.

use super::{Bulks, Law};
use crate::Moments;
use crate::device::Op;
use crate::layout::Layout;

/// A case as formulas see it.
pub struct FormulaInput<'a> {
    /// How requests are spread over disks.
    pub layout: &'a Layout,
    /// The arrivals, where they are a Poisson process of known laws.
    pub bulks: Option<Bulks>,
    /// The arrivals, where their rate and variability are known.
    pub offered: Option<Offered>,
    /// Whether every disk serves first come, first served.
    pub in_order: bool,
    /// Whether each access is to a random place, whatever the address of its request.
    pub independent: bool,
    /// The number of accesses that each disk serves at once.
    pub servers: usize,
    /// Whether a request starts when the one before it is done.
    pub split_merge: bool,
    /// The time that the controller takes before the first phase, in picoseconds.
    pub overhead: f64,
    /// Mean and mean square of the service time of an access of so many blocks, in picoseconds
    /// (squared).
    pub service: &'a dyn Fn(Op, Moments) -> Moments,
    /// The distribution of the service time of an access of so many blocks.
    pub law: &'a dyn Fn(Op, u32) -> Law,
    /// The kind of that distribution.
    pub services: Services,
}

/// A kind of distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Services {
    /// Any distribution.
    General,
    /// Exponential, for accesses of any one size.
    Exponential,
}

/// The arrivals of requests, whatever the process.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Requests a picosecond.
    pub rate: f64,
    /// The index of dispersion of their counts over a long time: 1 of a Poisson process.
    pub dispersion: f64,
    /// How many blocks each request has.
    pub blocks: Moments,
    /// Share of requests that read.
    pub reads: f64,
}
