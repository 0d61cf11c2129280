//! Exponential times, none below a floor.

use super::{Draw, check_time};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Distribution, Exponential as Distributed, Span, Stream, parameters};

parameters! {
    /// Exponential times; those below the floor are the floor. What studies of deadlines in
    /// datacenters mostly draw.
    pub struct Exponential: "exponential" {
        /// The mean before the floor.
        pub mean: Span,
        /// No flow may take less than this: with a floor below what an empty fabric needs, some
        /// deadlines cannot be met by any scheme.
        pub floor: Span = Span::ZERO,
    }
}

/// No draw is more than 37 times its mean, and none may lie beyond every run.
const LONGEST_MEAN: Span = Span::from_s(900);

impl Check for Exponential {
    fn check(&self) -> Result<(), Refusal> {
        if self.mean == Span::ZERO || self.mean > LONGEST_MEAN {
            let expected = format!("a time above zero, at most {LONGEST_MEAN}");
            return Err(Refusal::of(&self.mean, expected).under("mean"));
        }
        match self.floor {
            Span::ZERO => Ok(()),
            floor => check_time("floor", floor),
        }
    }
}

impl Draw for Exponential {
    fn draw(&self, stream: &mut Stream) -> Span {
        let seconds = Distributed { mean: self.mean.seconds() }.sample(stream);
        Span::from_seconds(seconds).max(self.floor)
    }
}
