//! An honest server.

use super::Personality;
use sojourn_kernel::parameters;
use sojourn_kernel::parameters::Check;

parameters! {
    /// An honest server that answers at once.
    pub struct Fast: "fast" {}
}

impl Check for Fast {}

impl Personality for Fast {}
