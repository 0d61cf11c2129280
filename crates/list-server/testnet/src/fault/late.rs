//! Down at first.

use super::{ConnectionAnswer, Fault, duration};
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

impl Fault for Late {
    fn connection_answer(&self) -> ConnectionAnswer {
        ConnectionAnswer::OpensAfter(duration(self.after))
    }
}
