//! Group commit.

use super::Checkpoint;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Group commit: what is done within a few milliseconds is written together, and a session
    /// begins no transaction before its last one is written.
    pub struct Group: "group" {
        /// Time that the first result waits for others.
        pub width: Span = Span::from_ms(2),
    }
}

impl Check for Group {}

impl Checkpoint for Group {
    fn wait(&self, _: usize) -> Option<Span> {
        (self.width > Span::ZERO).then_some(self.width)
    }

    fn holds(&self) -> bool {
        true
    }
}
