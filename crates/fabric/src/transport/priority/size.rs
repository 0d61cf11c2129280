//! Shortest job first.

use super::{Leaving, Number};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

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
