//! From before 1995.

use super::{Act, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Knows HELO only (RFC 821).
    pub struct Old: "old" {}
}

impl Check for Old {}

impl Fault for Old {
    fn act(&self, step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        match step {
            Step::Hello(true) => Act::Say("500 What?".into()),
            _ => Act::Usual,
        }
    }
}
