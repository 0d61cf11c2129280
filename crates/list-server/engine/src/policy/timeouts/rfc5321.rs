//! The least that RFC 5321 asks a client to wait.

use super::{Steps, Timeouts};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// The least that RFC 5321 section 4.5.3.2 asks a client to wait, at every pass. It has nothing
    /// on name servers and connections (30 s here), RSET (20 s) and QUIT (10 s).
    pub struct Rfc5321: "rfc5321" {}
}

impl Check for Rfc5321 {}

/// RFC 5321 section 4.5.3.2.
pub(super) const STEPS: Steps = Steps {
    resolve: Span::from_s(30),
    connect: Span::from_s(30),
    greeting: Span::from_s(300),
    hello: Span::from_s(300),
    mail: Span::from_s(300),
    rcpt: Span::from_s(300),
    data: Span::from_s(120),
    block: Span::from_s(180),
    dot: Span::from_s(600),
    rset: Span::from_s(20),
    quit: Span::from_s(10),
};

impl Timeouts for Rfc5321 {
    fn steps(&self, _: u32) -> Steps {
        STEPS
    }
}
