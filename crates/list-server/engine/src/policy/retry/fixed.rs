//! Always the same wait.

use super::{Retry, RetryInput, check, stretched};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// Always the same wait: a queue run every so often (the paper's reaper, three times an hour),
    /// and a host that was marked dead for so long (its sendmail's hour).
    pub struct Fixed: "fixed" {
        /// Time between two attempts for a recipient.
        pub every: Span = Span::from_s(1200),
        /// Time for which a failed host is not tried again.
        pub dead: Span = Span::from_s(3600),
        /// Largest random addition to a wait, as a share of it.
        pub jitter: f64 [0.0..=1.0] = 0.1,
    }
}

impl Check for Fixed {
    fn check(&self) -> Result<(), Refusal> {
        check(&[("every", self.every), ("dead", self.dead)])
    }
}

impl Retry for Fixed {
    fn recipient(&self, setback: &RetryInput) -> Span {
        stretched(self.every, self.jitter, setback.chance)
    }

    fn host(&self, setback: &RetryInput) -> Span {
        stretched(self.dead, self.jitter, setback.chance)
    }
}
