//! What formulas are given of a case.

use super::{Bulks, Law};
use crate::Moments;
use crate::device::Op;
use crate::layout::Layout;

/// What the means and percentiles of a case depend on, where anything is known of them.
pub struct FormulaInput<'a> {
    /// How requests are spread.
    pub layout: &'a Layout,
    /// The arrivals, where they are a Poisson process of known laws.
    pub bulks: Option<Bulks>,
    /// The arrivals, where their rate and variability are known.
    pub offered: Option<Offered>,
    /// Whether every disk serves first come, first served.
    pub in_order: bool,
    /// Whether each access draws its place anew, wherever its request has an address.
    pub independent: bool,
    /// How many accesses each disk serves at once.
    pub servers: usize,
    /// Whether a request starts when the one before it is done.
    pub split_merge: bool,
    /// What the controller takes before the first phase, in picoseconds.
    pub overhead: f64,
    /// Mean and mean square of an access of so many blocks, in picoseconds.
    pub service: &'a dyn Fn(Op, Moments) -> Moments,
    /// The law of an access of so many blocks.
    pub law: &'a dyn Fn(Op, u32) -> Law,
    /// Of which kind that law is.
    pub services: Services,
}

/// A kind of law of service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Services {
    /// Any.
    General,
    /// An access of any one size takes an exponential time.
    Exponential,
}

/// Requests as they come, whatever the process.
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
