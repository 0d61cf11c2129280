//! Formulas: what is known of some arrays without simulating them. Runs report it beside what was
//! simulated, as a check.

mod distribution;
mod exponential;
mod forks;
mod known;
mod lattice;
mod law;
mod load;
mod one_server;
mod queue;

pub use distribution::Distribution;
pub use exponential::{bounds, mean_value_analysis, nelson_tantawi, two_servers, varma_makowski};
pub use forks::Fork;
pub use known::Known;
pub(crate) use known::{BUSIEST_OFFERED, OFFERED};
pub use law::Law;
pub use load::Load;
pub use one_server::{Bulks, one_server, waiting};

use crate::Moments;
use crate::device::ServiceTimes;
use crate::layout::Layout;

/// A case as formulas see it.
pub struct FormulaInput<'a> {
    /// How requests are spread over disks.
    pub layout: &'a Layout,
    /// The arrivals, where they are a Poisson process of known laws.
    pub bulks: Option<Bulks>,
    /// The closed loop that paces all requests, if one does.
    pub closed: Option<Loop>,
    /// The arrivals, where their rate and variability are known.
    pub offered: Option<Offered>,
    /// Whether every disk serves first come, first served.
    pub in_order: bool,
    /// The number of accesses that each disk serves at once.
    pub servers: usize,
    /// Whether a request starts when the one before it is done.
    pub split_merge: bool,
    /// The time that the controller takes before the first phase, in picoseconds.
    pub overhead: f64,
    /// Service times, where they do not depend on each other.
    pub times: Option<&'a dyn ServiceTimes>,
}

/// A closed loop as formulas see it.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// How many requests are under way or thought about.
    pub depth: u32,
    /// The time to think between them, in picoseconds.
    pub think: f64,
    /// How many blocks each request has.
    pub blocks: Moments,
    /// Share of requests that read.
    pub reads: f64,
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
