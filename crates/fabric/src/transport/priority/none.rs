//! No priorities.

use super::{Leaving, Number};
use sojourn_kernel::parameters;
use sojourn_kernel::parameters::Check;

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
