//! Times that are spread evenly.

use super::{Draw, check_time};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Distribution, Span, Stream, Uniform as Distributed, parameters};

parameters! {
    /// Times spread evenly between two.
    pub struct Uniform: "uniform" {
        /// The least that a flow may take.
        pub least: Span,
        /// The most that a flow may take.
        pub most: Span,
    }
}

impl Check for Uniform {
    fn check(&self) -> Result<(), Refusal> {
        check_time("least", self.least)?;
        check_time("most", self.most)?;
        if self.most < self.least {
            let expected = format!("at least {}, the least", self.least);
            return Err(Refusal::of(&self.most, expected).under("most"));
        }
        Ok(())
    }
}

impl Draw for Uniform {
    fn draw(&self, stream: &mut Stream) -> Span {
        let between = Distributed { low: self.least.seconds(), high: self.most.seconds() };
        Span::from_seconds(between.sample(stream))
    }
}
