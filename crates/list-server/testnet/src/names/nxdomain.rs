//! No such domain.

use super::{Answer, Names};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::time::Duration;

parameters! {
    /// There is no such domain.
    pub struct Nxdomain: "nxdomain" {}
}

impl Check for Nxdomain {}

impl Names for Nxdomain {
    fn answer(&self, _now: Duration) -> Answer {
        Answer::NoSuchDomain
    }
}
