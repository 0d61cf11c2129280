//! Thinks.

use super::{Answer, Names};
use crate::fault::duration;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};
use std::time::Duration;

parameters! {
    /// The domain's hosts as MX records, after some thought.
    pub struct Slow: "slow" {
        /// How long for each answer.
        pub takes: Span = Span::from_s(2),
    }
}

impl Check for Slow {}

impl Names for Slow {
    fn answer(&self, _now: Duration) -> Answer {
        Answer::Mx
    }

    fn thinking(&self) -> Duration {
        duration(self.takes)
    }
}
