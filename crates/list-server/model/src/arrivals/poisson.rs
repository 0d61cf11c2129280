//! A Poisson process.

use super::Process;
use sojourn_core::parameters::Check;
use sojourn_core::{Frequency, Gaps, Stream, Time, parameters};

parameters! {
    /// A Poisson process: messages come independently of each other.
    pub struct Poisson: "poisson" {
        /// How often, on average.
        pub rate: Frequency,
    }
}

impl Check for Poisson {}

impl Process for Poisson {
    fn next(&self, last: Time, stream: &mut Stream) -> Time {
        last.after(Gaps::Poisson(self.rate).draw(stream))
    }
}
