//! What one transaction carries, and what becomes of each recipient.

use crate::address::Address;
use crate::reply::Reply;
use std::fmt;
use std::sync::Arc;

/// One transaction: a message for some recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The address to which failures are reported; none for a report itself.
    pub sender: Option<Address>,
    /// The recipients, at least one.
    pub recipients: Vec<Address>,
    /// The octets of the message in canonical form.
    pub size: u64,
    /// Whether it has octets above 127.
    pub eight_bit: bool,
    /// Whether its headers need SMTPUTF8.
    pub utf8: bool,
}

/// What became of one recipient in one transaction; recipients with one reply share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The server has taken over the responsibility.
    Delivered(Arc<Reply>),
    /// It never will, as the reply to this command says.
    Refused(Arc<Reply>, Asked),
    /// Not now, as the reply to this command says.
    Deferred(Arc<Reply>, Asked),
    /// One too many for this transaction; the next one can carry it on the same connection
    /// (RFC 5321 section 4.5.3.1.10).
    Again,
    /// The session ended before anything was said that holds.
    Unsettled,
}

/// What a server was asked when it refused a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// MAIL: it refuses the sender, or the client.
    Mail,
    /// RCPT.
    Rcpt,
    /// DATA.
    Data,
    /// The end of the text.
    Text,
}

/// The command in Postfix's words.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Asked::Mail => "MAIL FROM",
            Asked::Rcpt => "RCPT TO",
            Asked::Data => "DATA",
            Asked::Text => "end of DATA",
        })
    }
}

impl Envelope {
    /// Whether its commands need SMTPUTF8.
    pub fn is_international(&self) -> bool {
        self.utf8 || self.sender.iter().chain(&self.recipients).any(Address::is_international)
    }
}

impl Verdict {
    /// What a reply that is not positive means for a recipient.
    pub(super) fn negative(reply: Arc<Reply>, asked: Asked) -> Verdict {
        match reply.is_permanent() {
            true => Verdict::Refused(reply, asked),
            false => Verdict::Deferred(reply, asked),
        }
    }
}
