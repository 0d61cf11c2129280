//! No priorities.

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
