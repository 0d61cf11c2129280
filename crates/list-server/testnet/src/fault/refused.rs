//! Connections are refused.

use super::{ConnectionAnswer, Fault};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Refuses connections: its address has no listener.
    pub struct Refused: "refused" {}
}

impl Check for Refused {}

impl Fault for Refused {
    fn connection_answer(&self) -> ConnectionAnswer {
        ConnectionAnswer::Closed
    }
}
