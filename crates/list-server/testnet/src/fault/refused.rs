//! Nobody listens.

use super::{ConnectionAnswer, Fault};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Refuses connections: nobody listens at its address.
    pub struct Refused: "refused" {}
}

impl Check for Refused {}

impl Fault for Refused {
    fn connection_answer(&self) -> ConnectionAnswer {
        ConnectionAnswer::Closed
    }
}
