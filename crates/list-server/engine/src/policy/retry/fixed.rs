//! Always the same wait.

use super::{Retry, RetryInput, check, stretched};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// Always the same wait: a queue run every so often (the paper's reaper, three times an hour),
    /// and a host that was marked dead for so long (its sendmail's hour).
    pub struct Fixed: "fixed" {
        /// How long a recipient waits.
        pub every: Span = Span::from_s(1200),
        /// How long a host is left alone.
        pub dead: Span = Span::from_s(3600),
        /// At most this share of a wait is added to it by chance.
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
