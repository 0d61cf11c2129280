//! After so many recipients.

use super::Checkpoint;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// After so many recipients (sendmail's CheckpointInterval, whose default is 10; the paper's
    /// "Do not do this at home" is 1). A crash repeats what was not written.
    pub struct Every: "every" {
        /// Number of recipients after which results are written.
        pub recipients: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
        /// Longest time that fewer results wait. sendmail writes them when the envelope is done.
        pub linger: Span = Span::from_s(1),
    }
}

impl Check for Every {}

impl Checkpoint for Every {
    fn wait(&self, settled: usize) -> Option<Span> {
        (settled < self.recipients.get() as usize).then_some(self.linger)
    }

    fn holds(&self) -> bool {
        false
    }
}
