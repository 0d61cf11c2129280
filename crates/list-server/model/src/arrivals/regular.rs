//! One after the other.

use super::Process;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, Stream, Time, parameters};

parameters! {
    /// One after the other at equal gaps; without a gap, all at once.
    pub struct Regular: "regular" {
        /// The gap.
        pub every: Span = Span::ZERO,
    }
}

impl Check for Regular {}

impl Process for Regular {
    fn next(&self, last: Time, _: &mut Stream) -> Time {
        last.after(self.every)
    }
}
