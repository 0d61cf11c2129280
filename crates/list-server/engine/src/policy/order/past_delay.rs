//! Good citizens first.

use super::Order;
use crate::policy::split::Place;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Good citizens first: by how long attempts took lately (the paper's `xdelay`, "The 'Fast
    /// Fix'"). The paper averages each recipient's attempts of a day; here a destination's are
    /// averaged, recent ones counting most, and one that is not known yet stands for `unknown`.
    pub struct PastDelay: "past-delay" {
        /// Assumed time of destinations without past attempts.
        pub unknown: Span = Span::from_s(5),
    }
}

impl Check for PastDelay {}

impl Order for PastDelay {
    fn rank(&self, _: Place, delay: Option<Span>) -> u64 {
        delay.unwrap_or(self.unknown).ps()
    }
}
