//! Silence in mid-session.

use super::{Act, At, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Takes connections, and says nothing from one step on.
    pub struct Hung: "hung" {
        /// The step.
        pub at: At = At::Greeting,
    }
}

impl Check for Hung {}

impl Fault for Hung {
    fn act(&self, step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        if step.is(self.at) { Act::Hang } else { Act::Usual }
    }
}
