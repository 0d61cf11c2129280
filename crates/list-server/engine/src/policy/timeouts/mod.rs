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
    /// The answer of the name servers.
    pub resolve: Span,
    /// The connection.
    pub connect: Span,
    /// The server's first words.
    pub greeting: Span,
    /// The answer to EHLO, and the handshake of TLS.
    pub hello: Span,
    /// The answer to MAIL.
    pub mail: Span,
    /// The answer to each RCPT.
    pub rcpt: Span,
    /// The answer to DATA.
    pub data: Span,
    /// Each time that some of the message is taken off.
    pub block: Span,
    /// The answer to the final dot.
    pub dot: Span,
    /// The answer to RSET.
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
