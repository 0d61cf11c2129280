//! Enough sessions.

use super::{Act, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::num::NonZeroU32;

parameters! {
    /// Greets with 421 above a number of sessions.
    pub struct Busy: "busy" {
        /// The number.
        pub sessions: NonZeroU32 = NonZeroU32::new(5).expect("above 0"),
    }
}

impl Check for Busy {}

impl Fault for Busy {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        match step {
            Step::Greeting if view.memory.sessions > self.sessions.get() => {
                Act::SayThenClose("421 4.7.0 Too many connections".into())
            }
            _ => Act::Usual,
        }
    }
}
