//! A time for each step.

use super::{Steps, Timeouts, rfc5321};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// A time for each step, at every pass, as other mailers are set; the defaults are those of
    /// `rfc5321`. A time that is too short loses mail to slow hosts; one that is too long lets hosts
    /// that do not answer hold sessions.
    pub struct EachStep: "steps" {
        /// Time-out of the name servers' answer.
        pub resolve: Span = rfc5321::STEPS.resolve,
        /// Time-out of the connection.
        pub connect: Span = rfc5321::STEPS.connect,
        /// Time-out of the server's greeting.
        pub greeting: Span = rfc5321::STEPS.greeting,
        /// Time-out of the reply to EHLO, and of the TLS handshake.
        pub hello: Span = rfc5321::STEPS.hello,
        /// Time-out of the reply to MAIL.
        pub mail: Span = rfc5321::STEPS.mail,
        /// Time-out of the reply to each RCPT.
        pub rcpt: Span = rfc5321::STEPS.rcpt,
        /// Time-out of the reply to DATA.
        pub data: Span = rfc5321::STEPS.data,
        /// Time-out for each part of the message to be sent.
        pub block: Span = rfc5321::STEPS.block,
        /// Time-out of the reply to the final dot. If it is too short, a server that accepted the
        /// message gets it twice.
        pub dot: Span = rfc5321::STEPS.dot,
        /// Time-out of the reply to RSET.
        pub rset: Span = rfc5321::STEPS.rset,
        /// Time-out of the reply to QUIT; 1 ms for a server that does not wait for it.
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
