//! One after the other.

use super::{Asked, Mailing, Process};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// One after the other at equal gaps; without a gap, all at once.
    pub struct Regular: "regular" {
        /// Time between messages.
        pub every: Span = Span::ZERO,
    }
}

impl Check for Regular {}

impl Process for Regular {
    fn mailings(&self, asked: Asked<'_>) -> Result<Vec<Mailing>, Refusal> {
        asked.into_mailings(|last, _| last.after(self.every), |time| time)
    }
}
