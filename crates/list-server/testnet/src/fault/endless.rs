//! A line without an end.

use super::{Act, At, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// At one step it answers with a line that never ends, as fast as it is read.
    pub struct Endless: "endless" {
        /// The step.
        pub at: At = At::Greeting,
    }
}

impl Check for Endless {}

impl Fault for Endless {
    fn act(&self, step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        if step.is(self.at) { Act::Endless } else { Act::Usual }
    }
}
