//! From before 1995.

use super::{Act, Personality, Scene, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Knows HELO only (RFC 821).
    pub struct Old: "old" {}
}

impl Check for Old {}

impl Personality for Old {
    fn act(&self, step: Step<'_>, _scene: &mut Scene<'_>) -> Act {
        match step {
            Step::Hello(true) => Act::Say("500 What?".into()),
            _ => Act::Usual,
        }
    }
}
