//! Shortest remaining first.

use super::{Leaving, Number};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Bytes of the flow that are not yet acknowledged when the packet leaves: SRPT (pFabric
    /// section 2.2).
    pub struct Remaining: "remaining" {}
}

impl Check for Remaining {}

impl Number for Remaining {
    #[inline]
    fn number(&self, leaving: &Leaving<'_>) -> u64 {
        leaving.remaining
    }
}
