//! An honest server.

use super::Fault;
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// An honest server that answers at once.
    pub struct Fast: "fast" {}
}

impl Check for Fast {}

impl Fault for Fast {}
