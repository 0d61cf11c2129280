//! How mail servers behave.
//!
//! A session asks the host's personality at each step what to do there. Most of the time the answer
//! is what an honest server does. `table` lists the personalities and what they do. What is the same
//! for all, such as the state of a transaction, belongs to the session.

mod table;

pub use table::*;

use sojourn_core::{Span, Stream, choices};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

choices! {
    /// A step of a session.
    pub enum At: "step" {
        /// Before the first word.
        Greeting = "greeting",
        /// After EHLO or HELO.
        Hello = "hello",
        /// After MAIL.
        Mail = "mail",
        /// After RCPT.
        Rcpt = "rcpt",
        /// After DATA or the first BDAT.
        Data = "data",
        /// After the final dot, or the last chunk.
        Dot = "dot",
    }
}

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The connection was made.
    Greeting,
    /// The client says hello; whether with EHLO.
    Hello(bool),
    /// It begins a transaction.
    Mail,
    /// It names this recipient.
    Rcpt(&'a str),
    /// It wants to send the text.
    Data,
    /// This many octets of the text have come, and more follow.
    Text(u64),
    /// The whole text has come.
    Dot,
}

impl Step<'_> {
    /// Whether this is the step that a setting names.
    pub fn is(self, at: At) -> bool {
        matches!(
            (self, at),
            (Step::Greeting, At::Greeting)
                | (Step::Hello(_), At::Hello)
                | (Step::Mail, At::Mail)
                | (Step::Rcpt(_), At::Rcpt)
                | (Step::Data, At::Data)
                | (Step::Dot, At::Dot)
        )
    }
}

/// What is done at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// What an honest server does.
    Usual,
    /// This reply instead; recipient and text are taken only with a reply that begins with 2.
    Say(String),
    /// As usual, then this reply, and the connection is closed.
    UsualThenClose(String),
    /// This reply, and the connection is closed.
    SayThenClose(String),
    /// Nothing is said from now on, and what comes is ignored.
    Hang,
    /// The connection is reset.
    Reset,
    /// The text is taken over, and the connection is reset instead of an answer.
    TakeThenReset,
    /// Bytes that are no reply.
    Raw(Vec<u8>),
    /// A line that does not end.
    Endless,
    /// The usual reply, one octet at a time.
    Trickle(Duration),
}

/// What a server lets a client do that wants to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionAnswer {
    /// Connect.
    Open,
    /// Nothing: connections are refused.
    Closed,
    /// Wait: nothing answers.
    Silent,
    /// Connect from this time after the start on; refused before.
    OpensAfter(Duration),
}

/// What a host remembers, over all its sessions.
#[derive(Debug)]
pub struct Memory {
    /// Its sessions now.
    pub sessions: u32,
    /// How often it has done what it does a limited number of times.
    pub times: u32,
    /// When it let the latest messages pass that it counts.
    pub counted: VecDeque<Duration>,
    /// When it saw something first.
    pub seen: BTreeMap<String, Duration>,
    /// What it leaves to chance.
    pub stream: Stream,
}

impl Memory {
    /// `act`, if the host has done this less than `most` times.
    pub(crate) fn at_most(&mut self, most: u32, act: Act) -> Act {
        if self.times >= most {
            return Act::Usual;
        }
        self.times += 1;
        act
    }
}

/// What a personality knows when it is asked.
#[derive(Debug)]
pub struct SessionView<'a> {
    /// Since the start of the internet.
    pub now: Duration,
    /// Who is connected.
    pub client: IpAddr,
    /// The sender of the transaction.
    pub sender: &'a str,
    /// Recipients taken in this transaction.
    pub recipients: usize,
    /// What the host remembers.
    pub memory: &'a mut Memory,
}

/// A span of simulated time as the clock's.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.ps() / 1000)
}

/// Log-normal: half of all draws are below `median`; `spread` is the standard deviation of the
/// logarithm (Box and Muller, 1958).
pub(crate) fn log_normal(median: Span, spread: f64, stream: &mut Stream) -> Span {
    let (one, two) = (stream.uniform(), stream.uniform());
    let normal = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos();
    Span::from_seconds(median.seconds() * (spread * normal).exp())
}
