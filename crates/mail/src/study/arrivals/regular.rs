//! One after the other.

use super::Process;
use sojourn_kernel::parameters::Check;
use sojourn_kernel::{Span, Stream, Time, parameters};

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
