//! Enough messages for now.

use super::{Act, At, Fault, Greylist, SessionView, Step, duration};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Refuses messages for now above a number within a time, from all clients and to all recipients,
    /// as large providers do. Refused messages do not count. It may greylist besides.
    pub struct Throttle: "throttle" {
        /// The number.
        pub messages: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// The time.
        pub within: Span = Span::from_s(60),
        /// The step at which it counts and refuses.
        pub at: At = At::Dot,
        /// Whether it refuses with 421 and closes, not with 450.
        pub closes: bool = false,
        /// How long it greylists besides, as a `greylist` does.
        pub greylisting: Option<Span> = None,
    }
}

impl Check for Throttle {}

impl Fault for Throttle {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        if let Some(wait) = self.greylisting {
            let act = Greylist { wait, named: false }.act(step, view);
            if act != Act::Usual {
                return act;
            }
        }
        if !step.is(self.at) {
            return Act::Usual;
        }
        let (now, within) = (view.now, duration(self.within));
        let counted = &mut view.memory.counted;
        while counted.front().is_some_and(|&at| now - at >= within) {
            counted.pop_front();
        }
        if counted.len() < self.messages.get() as usize {
            counted.push_back(now);
            return Act::Usual;
        }
        match self.closes {
            true => Act::SayThenClose("421 4.7.28 Unusual rate of messages, slow down".into()),
            false => Act::Say("450 4.7.28 Unusual rate of messages, slow down".into()),
        }
    }
}
