//! Where a session stands, and what it wants done.

use super::auth::{Credentials, Exchange};
use super::transaction::Arrival;

/// What a session wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Turn to TLS, then call [`Session::secured`](super::session::Session::secured).
    StartTls,
    /// Verify a password, then call [`Session::verified`](super::session::Session::verified).
    Verify(Credentials),
    /// Put a message on stable storage, then call [`Session::taken`](super::session::Session::taken).
    Deliver(Arrival),
    /// Close the connection when all is sent.
    Close,
}

/// How much there is to lose, where a session gives way to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// A text is being taken, or a password is verified: it does not give way.
    Busy,
    /// A text is coming: it gives way when nothing of it has come for a while.
    Text,
    /// Its client has begun a transaction, and not the text.
    Begun,
    /// Nothing yet.
    Idle,
}

/// How the client introduced itself.
#[derive(Debug)]
pub(super) struct Hello {
    pub(super) name: String,
    /// With EHLO or LHLO.
    pub(super) extended: bool,
}

#[derive(Debug)]
pub(super) enum State {
    Command,
    Exchange(Exchange),
    /// After DATA.
    Text,
    /// So many octets of a BDAT are to come; with a refusal they are passed over.
    Chunk {
        left: u64,
        last: bool,
        refusal: Option<&'static str>,
    },
    /// The driver is asked for something.
    Busy(Busy),
    Over,
}

#[derive(Debug)]
pub(super) enum Busy {
    Handshake,
    Verifying(String),
    /// A message for so many recipients.
    Taking(usize),
}
