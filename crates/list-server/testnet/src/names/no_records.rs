//! Nothing to say.

use super::{Answer, Names};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::time::Duration;

parameters! {
    /// The domain exists, and has neither MX records nor addresses.
    pub struct NoRecords: "no-records" {}
}

impl Check for NoRecords {}

impl Names for NoRecords {
    fn answer(&self, _now: Duration) -> Answer {
        Answer::NoRecords
    }
}
