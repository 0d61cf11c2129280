//! One time for all flows.

use super::{Draw, check_time};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, Stream, parameters};

parameters! {
    /// One time for all flows.
    pub struct Constant: "constant" {
        /// How long a flow may take.
        pub after: Span,
    }
}

impl Check for Constant {
    fn check(&self) -> Result<(), Refusal> {
        check_time("after", self.after)
    }
}

impl Draw for Constant {
    fn draw(&self, _: &mut Stream) -> Span {
        self.after
    }
}
