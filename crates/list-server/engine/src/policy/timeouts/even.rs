//! One time for every step.

use super::{Steps, Timeouts};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// One time for every step, as the paper speaks of it: "like as much as 300 seconds" from
    /// the connection on ("Next Analysis Step").
    pub struct Even: "even" {
        /// Time-out of each step.
        pub step: Span = Span::from_s(300),
        /// Time-out in the first pass, before a host has failed. By default the same.
        pub first: Option<Span>,
    }
}

impl Check for Even {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in [("step", Some(self.step)), ("first", self.first)] {
            if let Some(span) = span.filter(|&span| span < Span::from_ms(1)) {
                return Err(Refusal::of(&span, "at least 1ms").under(key));
            }
        }
        Ok(())
    }
}

impl Timeouts for Even {
    fn steps(&self, failures: u32) -> Steps {
        let step = self.first.filter(|_| failures == 0).unwrap_or(self.step);
        Steps {
            resolve: step,
            connect: step,
            greeting: step,
            hello: step,
            mail: step,
            rcpt: step,
            data: step,
            block: step,
            dot: step,
            rset: step,
            quit: step,
        }
    }
}
