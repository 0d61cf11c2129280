//! How long to wait at each step of a session.

mod each_step;
mod even;
mod passes;
mod postfix;
mod rfc5321;
mod sendmail;

pub use super::timeouts::each_step::EachStep;
pub use super::timeouts::even::Even;
pub use super::timeouts::passes::Passes;
pub use super::timeouts::postfix::PostfixTimes;
pub use super::timeouts::rfc5321::Rfc5321;
pub use super::timeouts::sendmail::SendmailTimes;

use sojourn_core::{Span, variants};
use sojourn_smtp::client::Step;

variants! {
    /// How long to wait at each step of a session.
    pub enum TimeoutsKind: "set of time-outs" => timeouts {
        Passes(Passes),
        Rfc5321(Rfc5321),
        Sendmail(SendmailTimes),
        Postfix(PostfixTimes),
        Even(Even),
        EachStep(EachStep),
    }
}

/// A profile of time-outs for each pass.
pub trait Timeouts {
    /// How long to wait in the pass that begins after `failures` failures of the host in a row.
    fn steps(&self, failures: u32) -> Steps;
}

impl Timeouts for TimeoutsKind {
    fn steps(&self, failures: u32) -> Steps {
        timeouts!(self, |way| way.steps(failures))
    }
}

/// How long to wait, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Time-out of the name servers' answer.
    pub resolve: Span,
    /// Time-out of the connection.
    pub connect: Span,
    /// Time-out of the server's greeting.
    pub greeting: Span,
    /// Time-out of the reply to EHLO, and of the TLS handshake.
    pub hello: Span,
    /// Time-out of the reply to MAIL.
    pub mail: Span,
    /// Time-out of the reply to each RCPT.
    pub rcpt: Span,
    /// Time-out of the reply to DATA.
    pub data: Span,
    /// Time-out for each part of the message to be sent.
    pub block: Span,
    /// The answer to the final dot.
    pub dot: Span,
    /// Time-out of the reply to RSET.
    pub rset: Span,
    /// The answer to QUIT.
    pub quit: Span,
}

impl Steps {
    /// The time-out of `step`; an idle session has `idle`.
    pub fn of(&self, step: Step, idle: Span) -> Span {
        match step {
            Step::Connect => self.connect,
            Step::Greeting => self.greeting,
            Step::Hello => self.hello,
            Step::Mail => self.mail,
            Step::Rcpt => self.rcpt,
            Step::Data => self.data,
            Step::Block => self.block,
            Step::Dot => self.dot,
            Step::Rset => self.rset,
            Step::Quit => self.quit,
            Step::Idle => idle,
        }
    }
}
