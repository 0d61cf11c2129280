//! Enough for one transaction.

use super::{Act, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::num::NonZeroU32;

parameters! {
    /// Answers 452 to further recipients of a transaction (RFC 5321 section 4.5.3.1.10).
    pub struct FewRecipients: "few-recipients" {
        /// After so many.
        pub most: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
    }
}

impl Check for FewRecipients {}

impl Fault for FewRecipients {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        match step {
            Step::Rcpt(_) if view.recipients >= self.most.get() as usize => {
                Act::Say("452 4.5.3 Too many recipients".into())
            }
            _ => Act::Usual,
        }
    }
}
