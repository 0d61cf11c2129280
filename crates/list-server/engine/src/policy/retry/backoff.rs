//! Twice as long each time.

use super::{Retry, RetryInput, check, doubled, stretched};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// Twice as long each time, up to a most. The defaults are Postfix's, minimal_backoff_time and
    /// maximal_backoff_time.
    pub struct Backoff: "backoff" {
        /// Time before the second attempt.
        pub first: Span = Span::from_s(300),
        /// Longest time between two attempts.
        pub most: Span = Span::from_s(4000),
        /// Largest random addition to a wait, as a share of it.
        pub jitter: f64 [0.0..=1.0] = 0.1,
    }
}

impl Check for Backoff {
    fn check(&self) -> Result<(), Refusal> {
        check(&[("first", self.first), ("most", self.most)])
    }
}

impl Retry for Backoff {
    fn recipient(&self, setback: &RetryInput) -> Span {
        stretched(doubled(self.first, self.most, setback.times), self.jitter, setback.chance)
    }

    fn host(&self, setback: &RetryInput) -> Span {
        self.recipient(setback)
    }
}
