//! What a session waits for, what it wants done, and why it may be lost.

use super::envelope::Verdict;
use crate::reply::{BadReply, Reply};
use sojourn_core::choices;
use std::fmt;

/// What a session waits for; each has its own time (RFC 5321 section 4.5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The connection itself.
    Connect,
    /// Time-out of the server's greeting.
    Greeting,
    /// The answer to EHLO, HELO or STARTTLS, or the handshake after it.
    Hello,
    /// Time-out of the reply to MAIL.
    Mail,
    /// The answer to RCPT.
    Rcpt,
    /// Time-out of the reply to DATA.
    Data,
    /// The message being written.
    Block,
    /// The answer to the final dot, or to BDAT LAST.
    Dot,
    /// Time-out of the reply to RSET.
    Rset,
    /// The answer to QUIT.
    Quit,
    /// Nothing: the session is open and has no transaction.
    Idle,
}

/// How a message is framed on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Dots doubled, a dot alone at the end (DATA).
    Dots,
    /// As it is, after `BDAT` with its size and `LAST` (RFC 3030).
    Chunk,
}

choices! {
    /// Whether a session turns to TLS (RFC 3207).
    pub enum Tls: "use of TLS" {
        /// Never.
        Never = "never",
        /// When the server offers it; certificates are not looked at (RFC 7435).
        Opportunistic = "opportunistic",
        /// Always; a server that cannot is given no mail.
        Required = "required",
    }
}

/// Why a session is over before it was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The server closes the channel: a greeting that refuses, or 421 at any time.
    Unavailable(Reply),
    /// It accepts neither EHLO nor HELO.
    NoHello(Reply),
    /// TLS is required and not to be had.
    NoTls,
    /// What it says is not SMTP.
    Garbage(BadReply),
    /// It says something where nothing is expected.
    OutOfTurn,
}

/// What a session wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Send the message, then call [`Client::written`](super::Client::written).
    Body(Framing),
    /// Turn to TLS, then call [`Client::secured`](super::Client::secured).
    StartTls,
    /// The transaction that began first is over: one verdict for each recipient, in order.
    /// [`Verdict::Unsettled`] here: the server refused it while the one before was not answered.
    Settled(Vec<Verdict>),
    /// The session is open for a transaction.
    Ready,
    /// The session is over, though it was not ended; verdicts of the transaction under way that
    /// began first. Of the one after it nothing was said.
    Lost(Loss, Vec<Verdict>),
    /// QUIT is answered: close the connection.
    Close,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Unavailable(reply) | Loss::NoHello(reply) => write!(f, "{reply}"),
            Loss::NoTls => f.write_str("TLS is required and not offered"),
            Loss::Garbage(bad) => write!(f, "{bad}"),
            Loss::OutOfTurn => f.write_str("an answer where none was due"),
        }
    }
}
