//! Nobody of that name.

use super::{Act, Personality, Scene, Step};
use sojourn_kernel::parameters::{Check, Refusal, Value};
use sojourn_kernel::{Streams, parameters};

parameters! {
    /// Answers 550 for a share of all recipients, always the same ones.
    pub struct UnknownUsers: "unknown-users" {
        /// The share.
        pub share: f64 = 0.2,
    }
}

impl Check for UnknownUsers {
    fn check(&self) -> Result<(), Refusal> {
        if (0.0..=1.0).contains(&self.share) {
            return Ok(());
        }
        let given = Value::Float(self.share);
        Err(Refusal::value(&given, "a share between 0 and 1").under("share"))
    }
}

impl UnknownUsers {
    /// Whether there is nobody of this name.
    pub fn is_unknown(&self, recipient: &str) -> bool {
        Streams::new(0, 0).stream(recipient, 0).uniform() < self.share
    }
}

impl Personality for UnknownUsers {
    fn act(&self, step: Step<'_>, _scene: &mut Scene<'_>) -> Act {
        match step {
            Step::Rcpt(recipient) if self.is_unknown(recipient) => {
                Act::Say("550 5.1.1 No such user".into())
            }
            _ => Act::Usual,
        }
    }
}
