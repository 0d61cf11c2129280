//! Nobody listens.

use super::{Door, Personality};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Refuses connections: nobody listens at its address.
    pub struct Refused: "refused" {}
}

impl Check for Refused {}

impl Personality for Refused {
    fn door(&self) -> Door {
        Door::Closed
    }
}
