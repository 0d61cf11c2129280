//! Postfix's defaults.

use super::{Steps, Timeouts, rfc5321};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// The defaults of Postfix's smtp_*_timeout: RFC 5321's, with 30 s for the connection, 20 s for
    /// RSET and 300 s for QUIT.
    pub struct PostfixTimes: "postfix" {}
}

impl Check for PostfixTimes {}

impl Timeouts for PostfixTimes {
    fn steps(&self, _: u32) -> Steps {
        Steps { quit: Span::from_s(300), ..rfc5321::STEPS }
    }
}
