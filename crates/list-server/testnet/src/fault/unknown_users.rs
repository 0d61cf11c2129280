//! Some recipients are unknown.

use super::{Act, Fault, SessionView, Step};
use sojourn_core::parameters::Check;
use sojourn_core::{Streams, parameters};

parameters! {
    /// Answers 550 for a share of all recipients, always the same ones.
    pub struct UnknownUsers: "unknown-users" {
        /// The share.
        pub share: f64 [0.0..=1.0] = 0.2,
    }
}

impl Check for UnknownUsers {}

impl UnknownUsers {
    /// Whether this name is unknown.
    pub fn is_unknown(&self, recipient: &str) -> bool {
        Streams::new(0, 0).stream(recipient, 0).uniform() < self.share
    }
}

impl Fault for UnknownUsers {
    fn act(&self, step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        match step {
            Step::Rcpt(recipient) if self.is_unknown(recipient) => {
                Act::Say("550 5.1.1 No such user".into())
            }
            _ => Act::Usual,
        }
    }
}
