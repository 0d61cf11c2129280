//! Which recipients a submitter may send to.

use crate::address::Address;
use crate::reply::Reply;
use std::net::IpAddr;

/// Decides which mail is taken, by submitter, sender and recipient.
pub trait RecipientPolicy: Send + Sync {
    /// Decides about mail that `submitter` hands over, from `sender`, for `recipient`.
    fn receives(
        &self,
        submitter: Submitter<'_>,
        sender: Option<&Address>,
        recipient: &Address,
    ) -> RecipientDecision;

    /// Who reads what is sent to `postmaster` without a domain (RFC 5321 section 4.5.1); it is refused
    /// where this is not set.
    fn postmaster(&self) -> Option<Address>;
}

/// Who hands over a message, as far as the server knows it. What follows from that is the
/// [`RecipientPolicy`]'s to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitter<'a> {
    /// Neither its network nor a password speaks for it.
    Untrusted,
    /// Its address is in a network that may send.
    Network(IpAddr),
    /// It has given the password of the user of this name.
    User(&'a str),
}

impl<'a> Submitter<'a> {
    /// The user whose password it has given.
    pub fn user(self) -> Option<&'a str> {
        match self {
            Submitter::User(user) => Some(user),
            Submitter::Network(_) | Submitter::Untrusted => None,
        }
    }

    /// Whether its network or a password speaks for it.
    pub fn is_known(self) -> bool {
        self != Submitter::Untrusted
    }
}

/// Who may send mail to a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipientDecision {
    /// Every client may: the mail ends here.
    Local,
    /// Known submitters may: the mail is sent on.
    Relay,
    /// The submitter may not, for this reason. An unknown submitter only learns
    /// that it is unknown.
    Refused(Reply),
}
