//! Answers that drip.

use super::{Act, Fault, SessionView, Step, duration};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Its answers come one octet at a time.
    pub struct Trickle: "trickle" {
        /// From one octet to the next.
        pub every: Span = Span::from_s(1),
    }
}

impl Check for Trickle {}

impl Fault for Trickle {
    fn act(&self, _step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        Act::Trickle(duration(self.every))
    }
}
