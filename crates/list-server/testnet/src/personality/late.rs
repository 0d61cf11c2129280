//! Down at first.

use super::{Door, Personality, duration};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Refuses connections at first; an honest server later.
    pub struct Late: "late" {
        /// How long after the start.
        pub after: Span = Span::from_s(30),
    }
}

impl Check for Late {}

impl Personality for Late {
    fn door(&self) -> Door {
        Door::OpensAfter(duration(self.after))
    }
}
