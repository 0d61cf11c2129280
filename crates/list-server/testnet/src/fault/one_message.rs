//! That was all.

use super::{Act, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Closes with 421 after each message.
    pub struct OneMessage: "one-message" {}
}

impl Check for OneMessage {}

impl Fault for OneMessage {
    fn act(&self, step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        match step {
            Step::Dot => Act::UsualThenClose("421 4.3.2 One message a connection".into()),
            _ => Act::Usual,
        }
    }
}
