//! Who is at home here.

use crate::address::Address;
use crate::smtp::Reply;

/// What the server knows about addresses.
pub trait House: Send + Sync {
    /// What is to be done with mail from `sender` for `recipient`.
    fn receives(&self, sender: Option<&Address>, recipient: &Address) -> Welcome;

    /// Who reads what is sent to `postmaster` without a domain (RFC 5321 section 4.5.1); nobody
    /// does where it is not set.
    fn postmaster(&self) -> Option<Address>;
}

/// Who may send mail to a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// Anybody: it ends here.
    Anybody,
    /// Peers that are trusted: it is sent on.
    Trusted,
    /// Nobody, for this reason. Peers that are not trusted are told no more than that they are not.
    Nobody(Reply),
}
