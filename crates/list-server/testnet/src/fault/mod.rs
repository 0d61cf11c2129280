//! How mail servers behave.
//!
//! A personality is asked at each step of a session what is done there; most of the time it leaves
//! it at what an honest server does. What is the same for all, such as the state of a transaction,
//! is the session's.

mod accept_then_reset;
mod black_hole;
mod busy;
mod endless;
mod fast;
mod few_recipients;
mod garbage;
mod greylist;
mod hung;
mod late;
mod old;
mod one_message;
mod refused;
mod reset_in_data;
mod slow;
mod throttle;
mod trickle;
mod unknown_users;

pub use accept_then_reset::AcceptThenReset;
pub use black_hole::BlackHole;
pub use busy::Busy;
pub use endless::Endless;
pub use fast::Fast;
pub use few_recipients::FewRecipients;
pub use garbage::Garbage;
pub use greylist::Greylist;
pub use hung::Hung;
pub use late::Late;
pub use old::Old;
pub use one_message::OneMessage;
pub use refused::Refused;
pub use reset_in_data::ResetInData;
pub use slow::Slow;
pub use throttle::Throttle;
pub use trickle::Trickle;
pub use unknown_users::UnknownUsers;

use sojourn_core::{Span, Stream, choices, variants};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

variants! {
    /// How a mail server behaves.
    pub enum FaultKind: "personality" => fault {
        Fast(Fast),
        Slow(Slow),
        Trickle(Trickle),
        Hung(Hung),
        Refused(Refused),
        BlackHole(BlackHole),
        Late(Late),
        Greylist(Greylist),
        FewRecipients(FewRecipients),
        Busy(Busy),
        Throttle(Throttle),
        UnknownUsers(UnknownUsers),
        OneMessage(OneMessage),
        Old(Old),
        ResetInData(ResetInData),
        AcceptThenReset(AcceptThenReset),
        Garbage(Garbage),
        Endless(Endless),
    }
}

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

/// A personality.
pub trait Fault {
    /// Whether connections are answered.
    fn connection_answer(&self) -> ConnectionAnswer {
        ConnectionAnswer::Open
    }

    /// What is done at a step.
    fn act(&self, _step: Step<'_>, _scene: &mut SessionView<'_>) -> Act {
        Act::Usual
    }

    /// How long it takes for an answer, beyond the round trip.
    fn thinking(&self, _stream: &mut Stream) -> Duration {
        Duration::ZERO
    }
}

impl Fault for FaultKind {
    fn connection_answer(&self) -> ConnectionAnswer {
        fault!(self, |it| it.connection_answer())
    }

    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        fault!(self, |it| it.act(step, view))
    }

    fn thinking(&self, stream: &mut Stream) -> Duration {
        fault!(self, |it| it.thinking(stream))
    }
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
