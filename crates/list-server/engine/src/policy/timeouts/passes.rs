//! A short first pass, and the reapers.

use super::{Steps, Timeouts, rfc5321};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// A short first pass for those who answer at once, and the times of RFC 5321 for the reapers
    /// that come back to the rest ("Next Step": times cut five-fold, and a second configuration
    /// with longer ones). The answer to the final dot is never cut: a server that has taken the
    /// message and is not waited for gets it twice (RFC 5321 section 4.5.3.2.6).
    pub struct Passes: "passes" {
        /// Factor by which the time-outs of the first pass are shorter.
        pub cut: NonZeroU32 = NonZeroU32::new(5).expect("above 0"),
    }
}

impl Check for Passes {}

impl Timeouts for Passes {
    fn steps(&self, failures: u32) -> Steps {
        let full = rfc5321::STEPS;
        if failures > 0 {
            return full;
        }
        let cut = |span: Span| span / u64::from(self.cut.get());
        Steps {
            resolve: cut(full.resolve),
            connect: cut(full.connect),
            greeting: cut(full.greeting),
            hello: cut(full.hello),
            mail: cut(full.mail),
            rcpt: cut(full.rcpt),
            data: cut(full.data),
            block: cut(full.block),
            dot: full.dot,
            rset: cut(full.rset),
            quit: cut(full.quit),
        }
    }
}
