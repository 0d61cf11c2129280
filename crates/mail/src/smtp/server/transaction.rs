//! One transaction: from MAIL to the end of the message.

use super::intake::Intake;
use super::text::Text;
use crate::address::Address;
use sojourn_core::Time;

/// A message that came whole, to be put on stable storage before it is answered for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Where failures are reported; nobody for a report itself.
    pub sender: Option<Address>,
    /// Whom it is for, in the order given.
    pub recipients: Vec<Address>,
    /// Its text as given, in lines that end with CRLF.
    pub text: Text,
    /// Whether the client said that it needs SMTPUTF8 (RFC 6531).
    pub utf8: bool,
}

impl Arrival {
    /// Octets of memory that it occupies, with the copies of its envelope that are made on the way
    /// to stable storage.
    pub fn occupied(&self) -> usize {
        self.text.occupied() + self.recipients.iter().map(of_address).sum::<usize>()
    }
}

/// Octets of memory for a recipient: its address, what an allocator has around it, and the copies
/// for the delivery and the spool.
fn of_address(address: &Address) -> usize {
    const COPIES: usize = 3;
    const AROUND: usize = 16;
    COPIES * (address.as_str().len() + size_of::<Address>() + AROUND)
}

#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) sender: Option<Address>,
    pub(super) recipients: Vec<Address>,
    /// Octets of memory for the recipients.
    pub(super) octets: usize,
    pub(super) utf8: bool,
    /// Whether the server has no memory for more recipients.
    pub(super) full: bool,
    /// There from DATA or the first BDAT on.
    pub(super) intake: Option<Intake>,
    /// When the text began.
    pub(super) began: Time,
}

impl Transaction {
    pub(super) fn new(sender: Option<Address>, utf8: bool) -> Transaction {
        Transaction {
            sender,
            recipients: Vec::new(),
            octets: 0,
            utf8,
            full: false,
            intake: None,
            began: Time::ZERO,
        }
    }

    pub(super) fn add(&mut self, recipient: Address) {
        self.octets += of_address(&recipient);
        self.recipients.push(recipient);
    }

    /// The server needs its memory: a text that is coming is passed over, and else no recipient is
    /// added.
    pub(super) fn shed(&mut self) {
        match &mut self.intake {
            Some(intake) => intake.shed(),
            None => self.full = true,
        }
    }

    /// Octets of its text that have come.
    pub(super) fn octets(&self) -> usize {
        self.intake.as_ref().map_or(0, Intake::octets)
    }

    /// Octets occupied.
    pub(super) fn occupied(&self) -> usize {
        self.octets + self.intake.as_ref().map_or(0, Intake::occupied)
    }
}
