//! Mail exchangers.

use super::{Answer, Names};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::time::Duration;

parameters! {
    /// The domain's hosts as MX records.
    pub struct Mx: "mx" {}
}

impl Check for Mx {}

impl Names for Mx {
    fn answer(&self, _now: Duration) -> Answer {
        Answer::Mx
    }
}
