//! A Poisson process.

use super::{Asked, Mailing, Process};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Frequency, Gaps, parameters};

parameters! {
    /// A Poisson process: messages come independently of each other.
    pub struct Poisson: "poisson" {
        /// Mean rate of messages.
        pub rate: Frequency,
    }
}

impl Check for Poisson {}

impl Process for Poisson {
    fn mailings(&self, asked: Asked<'_>) -> Result<Vec<Mailing>, Refusal> {
        let gap = Gaps::Poisson(self.rate);
        asked.into_mailings(|last, stream| last.after(gap.draw(stream)), |time| time)
    }
}
