//! What one transaction carries, and what becomes of each recipient.

use crate::address::Address;
use crate::reply::Reply;
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
    /// It never will.
    Refused(Arc<Reply>),
    /// Not now.
    Deferred(Arc<Reply>),
    /// One too many for this transaction; the next one can carry it on the same connection
    /// (RFC 5321 section 4.5.3.1.10).
    Again,
    /// The session ended before anything was said that holds.
    Unsettled,
}

impl Envelope {
    /// Whether its commands need SMTPUTF8.
    pub fn is_international(&self) -> bool {
        self.utf8 || self.sender.iter().chain(&self.recipients).any(Address::is_international)
    }
}

impl Verdict {
    /// What a reply that is not positive means for a recipient.
    pub(super) fn negative(reply: Arc<Reply>) -> Verdict {
        if reply.is_permanent() { Verdict::Refused(reply) } else { Verdict::Deferred(reply) }
    }
}
