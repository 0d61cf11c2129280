//! sendmail's defaults.

use super::{Steps, Timeouts};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// The defaults of sendmail 8.17 (op.me, section 5.6): up to an hour for a step. It leaves the
    /// connection to the operating system (75 s here) and the resolver's own time to it (75 s).
    pub struct SendmailTimes: "sendmail" {}
}

impl Check for SendmailTimes {}

impl Timeouts for SendmailTimes {
    fn steps(&self, _: u32) -> Steps {
        Steps {
            resolve: Span::from_s(75),
            connect: Span::from_s(75),
            greeting: Span::from_s(300),
            hello: Span::from_s(300),
            mail: Span::from_s(600),
            rcpt: Span::from_s(3600),
            data: Span::from_s(300),
            block: Span::from_s(3600),
            dot: Span::from_s(3600),
            rset: Span::from_s(300),
            quit: Span::from_s(120),
        }
    }
}
