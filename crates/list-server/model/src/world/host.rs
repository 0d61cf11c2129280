//! What a host of a world decides, step by step.

use sojourn_core::{Span, Time};

/// What becomes of a connection that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionAnswer {
    /// It stands.
    Open,
    /// It is refused.
    Closed,
    /// Nothing answers.
    Silent,
}

/// Where a session is when its host is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The connection stands.
    Greeting,
    /// EHLO.
    Ehlo,
    /// HELO.
    Helo,
    /// MAIL.
    Mail,
    /// RCPT, and the address in it.
    Rcpt(&'a str),
    /// DATA or BDAT.
    Data,
    /// The whole text has come.
    Dot,
}

/// What a host does at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// What an honest host does.
    Usual,
    /// This reply instead, a line without its end.
    Say(&'static str),
    /// This reply, and the connection is closed.
    SayThenClose(&'static str),
    /// As usual, then this reply, and the connection is closed.
    UsualThenClose(&'static str),
    /// Nothing more is said, and what comes is ignored.
    Hang,
    /// The connection is closed.
    Close,
    /// The text is taken over, and the connection closed instead of an answer.
    TakeThenClose,
}

/// What a host is asked about.
#[derive(Clone, Copy, Debug)]
pub struct SessionView {
    /// When what it is asked about reaches it.
    pub now: Time,
    /// Its connections, this one included.
    pub connections: u32,
    /// Recipients that it took in this transaction.
    pub recipients: u32,
}

/// One host that takes mail.
pub trait Host {
    /// How long a packet takes there and back.
    fn round_trip(&self) -> Span;

    /// How long it takes for an answer, beyond the round trip; commands that come together have
    /// one answer.
    fn thinking(&mut self) -> Span;

    /// What becomes of a connection that is tried.
    fn connection_answer(&mut self, now: Time) -> ConnectionAnswer;

    /// The reply to EHLO, all its lines with their ends.
    fn extensions(&self) -> &'static str;

    /// What it does at a step.
    fn act(&mut self, step: Step<'_>, view: &SessionView) -> Act;
}
