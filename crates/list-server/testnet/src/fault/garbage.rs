//! What is no SMTP.

use super::{Act, At, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// At one step it answers with what is no SMTP.
    pub struct Garbage: "garbage" {
        /// The step.
        pub at: At = At::Greeting,
    }
}

impl Check for Garbage {}

impl Fault for Garbage {
    fn act(&self, step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        if step.is(self.at) { Act::Raw(b"hello\0\xff\xfe there\r\n".to_vec()) } else { Act::Usual }
    }
}
