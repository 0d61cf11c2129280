//! No memory but the disciplines' own.

use super::Plan;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Rate, parameters};

parameters! {
    /// Each port has the buffer that its discipline asks for, and nobody else can use it: the
    /// `buffer` of the scheme's `queue`. The disciplines of the pFabric paper are so.
    pub struct Private: "private" {}
}

impl Check for Private {}

impl Private {
    pub(super) fn plan(&self, _: &[Rate]) -> Result<Option<Plan>, Refusal> {
        Ok(None)
    }
}
