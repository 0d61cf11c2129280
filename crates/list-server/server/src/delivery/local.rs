//! Local delivery: which addresses have their mail end here, and what copies of lists' mail get.

use sojourn_mail_engine::list::token::Claim;
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

/// Addresses whose mail ends here: reports of failures that are for them need not be sent.
pub trait LocalDelivery: Send + Sync + 'static {
    /// Where mail of other hosts is taken ([`OwnHosts`](sojourn_mail_engine::OwnHosts)); nothing where
    /// no mail comes from outside.
    fn listening(&self) -> Option<Vec<IpAddr>> {
        None
    }

    /// Whether `address` is one of them.
    fn has(&self, address: &Address) -> bool;

    /// Receives a report for `address`, on a thread that may wait; whether it is on stable storage.
    /// It is brought again until it is, and once more after a crash.
    fn receive(&self, address: &Address, report: &[u8]) -> bool;

    /// Whether each copy of mail from `sender` has a separate head. That needs a transaction for
    /// each recipient ([`verp`](sojourn_mail_engine::Config)).
    fn has_heads(&self, _sender: &Address) -> bool {
        false
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

    fn receive(&self, _: &Address, _: &[u8]) -> bool {
        false
    }
}
