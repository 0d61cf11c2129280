//! Local delivery: which addresses have their mail end here, and what copies of lists' mail get.

use sojourn_mail_engine::list::seven_bit::seven_bit;
use sojourn_mail_engine::list::token::Claim;
use sojourn_mail_engine::{Reason, Relay};
use sojourn_smtp::Address;
use std::net::IpAddr;

/// A copy of a list's mail, as far as its head depends on it.
#[derive(Clone, Debug)]
pub struct Addressed {
    /// The message's sender.
    pub sender: Address,
    /// The recipient of the copy.
    pub recipient: Address,
    /// What its tokens claim; nothing where the recipient is not in the register.
    pub claim: Option<Claim>,
}

/// The end of one recipient of a message.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// The recipient.
    pub recipient: &'a Address,
    /// The host; nothing where none was reached.
    pub relay: Option<&'a Relay>,
    /// Why it failed; nothing where it was delivered.
    pub failure: Option<&'a Reason>,
}

/// Addresses whose mail ends here: reports of failures that are for them need not be sent.
pub trait LocalDelivery: Send + Sync + 'static {
    /// Where mail of other hosts is taken ([`OwnHosts`](sojourn_mail_engine::OwnHosts)); nothing where
    /// no mail comes from outside.
    fn listening(&self) -> Option<Vec<IpAddr>> {
        None
    }

    /// Octets of the largest message that is taken; 0 where none comes from outside.
    fn largest(&self) -> u64 {
        0
    }

    /// Whether `address` is one of them.
    fn has(&self, address: &Address) -> bool;

    /// Enters that mail from `sender`, which was taken over on `day`, counted from 1970, did not reach
    /// these recipients, on a thread that may wait; whether that is on stable storage. They are
    /// brought again until it is, and once more after a crash.
    fn failed(&self, sender: &Address, day: i64, failures: &[(Address, Reason)]) -> bool;

    /// An attempt to deliver mail from `sender`, which was taken over on `day`, has ended: well, or
    /// with a failure for good. This is called on the thread of delivery: it must not wait.
    fn ended(&self, _sender: &Address, _day: i64, _attempt: &Ended<'_>) {}

    /// Whether each copy of mail from `sender` has a separate head. That needs a transaction for
    /// each recipient ([`verp`](sojourn_mail_engine::Config)).
    fn has_heads(&self, _sender: &Address) -> bool {
        false
    }

    /// A text from `sender`, with octets above 127, for hosts that take none.
    fn seven_bit(&self, _sender: Option<&Address>, text: &[u8]) -> Vec<u8> {
        seven_bit(text)
    }

    /// The header fields that go before `text` in the copy for `recipient`: whole lines in ASCII,
    /// made on a thread that may take its time. They are made anew each time it is sent.
    fn head(&self, _copy: &Addressed, _text: &[u8]) -> Vec<u8> {
        Vec::new()
    }
}

/// No address is local.
impl LocalDelivery for () {
    fn has(&self, _: &Address) -> bool {
        false
    }

    fn failed(&self, _: &Address, _: i64, _: &[(Address, Reason)]) -> bool {
        false
    }
}
