//! Gone in mid-message.

use super::{Act, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Resets the connection in mid-message, or at its end where it is shorter; then behaves.
    pub struct ResetInData: "reset-in-data" {
        /// After so many octets of the text.
        pub after: u64 = 100,
        /// How many times.
        pub times: u32 = u32::MAX,
    }
}

impl Check for ResetInData {}

impl Fault for ResetInData {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        let there = match step {
            Step::Text(octets) => octets >= self.after,
            Step::Dot => true,
            _ => false,
        };
        if !there || view.memory.times >= self.times {
            return Act::Usual;
        }
        view.memory.times += 1;
        Act::Reset
    }
}
