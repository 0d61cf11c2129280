//! A queue file for each envelope.

use super::Checkpoint;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// As sendmail does it: an envelope has a separate queue file, which is rewritten after so
    /// many of its recipients and at its end; it goes on when that is done. Files are written one
    /// after the other, so envelopes wait for each other at the disk ("Further Experiments": "Do
    /// not do this at home" is 1). A crash repeats what was not written.
    pub struct QueueFiles: "queue-files" {
        /// Number of recipients after which the queue file is rewritten (CheckpointInterval).
        pub recipients: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
    }
}

impl Check for QueueFiles {}

impl Checkpoint for QueueFiles {
    fn wait(&self, _: usize) -> Option<Span> {
        None
    }

    fn holds(&self) -> bool {
        false
    }

    fn file(&self) -> Option<u32> {
        Some(self.recipients.get())
    }
}
