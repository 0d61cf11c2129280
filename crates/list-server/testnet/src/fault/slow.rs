//! An honest server that thinks.

use super::{Fault, duration, log_normal};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, Stream, parameters};
use std::time::Duration;

parameters! {
    /// An honest server that takes its time for each answer.
    pub struct Slow: "slow" {
        /// Half of all answers take less than this.
        pub median: Span = Span::from_s(1),
        /// The standard deviation of the logarithm of what they take (log-normal).
        pub spread: f64 = 0.5,
    }
}

impl Check for Slow {}

impl Fault for Slow {
    fn thinking(&self, stream: &mut Stream) -> Duration {
        duration(log_normal(self.median, self.spread, stream))
    }
}
