//! Numbers that depend on the flow alone, or on what of it is left.

use super::{Leaving, Number};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// All packets are equal.
    pub struct Unprioritised: "none" {}
}

impl Check for Unprioritised {}

impl Number for Unprioritised {
    #[inline]
    fn number(&self, _: &Leaving<'_>) -> u64 {
        0
    }
}

parameters! {
    /// Bytes of the whole flow: shortest job first.
    pub struct Size: "size" {}
}

impl Check for Size {}

impl Number for Size {
    #[inline]
    fn number(&self, leaving: &Leaving<'_>) -> u64 {
        leaving.flow.bytes
    }
}

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
