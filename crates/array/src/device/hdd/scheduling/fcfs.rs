//! First come, first served.

use super::Order;
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// First come, first served, each with a separate positioning; the second phase of a write
    /// before all else, without interrupting (paper section 3.3).
    pub struct Fcfs: "fcfs" {}
}

impl Check for Fcfs {}

impl Order for Fcfs {
    const NEEDS_ARMS: Option<bool> = None;
}
