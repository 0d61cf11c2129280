//! Gone with the message.

use super::{Act, Fault, SessionView, Step};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// Resets the connection when the whole message is there, instead of an answer; then behaves.
    pub struct AcceptThenReset: "accept-then-reset" {
        /// Whether it has taken the message over by then: if so, it gets it again.
        pub recorded: bool = true,
        /// How many times.
        pub times: u32 = 1,
    }
}

impl Check for AcceptThenReset {}

impl Fault for AcceptThenReset {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        if step != Step::Dot || view.memory.times >= self.times {
            return Act::Usual;
        }
        view.memory.times += 1;
        if self.recorded { Act::TakeThenReset } else { Act::Reset }
    }
}
