//! No mail, please.

use super::{Answer, Names};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::time::Duration;

parameters! {
    /// A null MX: the domain takes no mail (RFC 7505).
    pub struct NullMx: "null-mx" {}
}

impl Check for NullMx {}

impl Names for NullMx {
    fn answer(&self, _now: Duration) -> Answer {
        Answer::NullMx
    }
}
