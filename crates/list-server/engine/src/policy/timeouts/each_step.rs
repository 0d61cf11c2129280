//! A time for each step.

use super::{Steps, Timeouts, rfc5321};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// A time for each step, at every pass, as other mailers are set; the defaults are those of
    /// `rfc5321`. A time that is too short loses mail to slow hosts; one that is too long lets hosts
    /// that do not answer hold sessions.
    pub struct EachStep: "steps" {
        /// The answer of the name servers.
        pub resolve: Span = rfc5321::STEPS.resolve,
        /// The connection.
        pub connect: Span = rfc5321::STEPS.connect,
        /// The server's first words.
        pub greeting: Span = rfc5321::STEPS.greeting,
        /// The answer to EHLO, and the handshake of TLS.
        pub hello: Span = rfc5321::STEPS.hello,
        /// The answer to MAIL.
        pub mail: Span = rfc5321::STEPS.mail,
        /// The answer to each RCPT.
        pub rcpt: Span = rfc5321::STEPS.rcpt,
        /// The answer to DATA.
        pub data: Span = rfc5321::STEPS.data,
        /// Each time that some of the message is taken off.
        pub block: Span = rfc5321::STEPS.block,
        /// The answer to the final dot. A server that took the message and is not waited for gets it
        /// twice.
        pub dot: Span = rfc5321::STEPS.dot,
        /// The answer to RSET.
        pub rset: Span = rfc5321::STEPS.rset,
        /// The answer to QUIT; 1 ms for a server that does not wait for it.
        pub quit: Span = rfc5321::STEPS.quit,
    }
}

impl Check for EachStep {
    fn check(&self) -> Result<(), Refusal> {
        let steps = self.steps(0);
        for (key, span) in [
            ("resolve", steps.resolve),
            ("connect", steps.connect),
            ("greeting", steps.greeting),
            ("hello", steps.hello),
            ("mail", steps.mail),
            ("rcpt", steps.rcpt),
            ("data", steps.data),
            ("block", steps.block),
            ("dot", steps.dot),
            ("rset", steps.rset),
            ("quit", steps.quit),
        ] {
            if span < Span::from_ms(1) {
                return Err(Refusal::of(&span, "at least 1ms").under(key));
            }
        }
        Ok(())
    }
}

impl Timeouts for EachStep {
    fn steps(&self, _: u32) -> Steps {
        Steps {
            resolve: self.resolve,
            connect: self.connect,
            greeting: self.greeting,
            hello: self.hello,
            mail: self.mail,
            rcpt: self.rcpt,
            data: self.data,
            block: self.block,
            dot: self.dot,
            rset: self.rset,
            quit: self.quit,
        }
    }
}
