//! An honest server.

use super::Personality;
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// An honest server that answers at once.
    pub struct Fast: "fast" {}
}

impl Check for Fast {}

impl Personality for Fast {}
