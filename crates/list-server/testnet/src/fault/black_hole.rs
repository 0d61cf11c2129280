//! Connections are not answered.

use super::{ConnectionAnswer, Fault};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Does not answer to connections: its listener's queue is full, and Linux drops
    /// further connections.
    pub struct BlackHole: "black-hole" {}
}

impl Check for BlackHole {}

impl Fault for BlackHole {
    fn connection_answer(&self) -> ConnectionAnswer {
        ConnectionAnswer::Silent
    }
}
