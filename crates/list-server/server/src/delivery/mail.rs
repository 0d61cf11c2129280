//! A message as it is handed over.

use bytes::Bytes;
use sojourn_mail_engine::list::outgoing::{without_blind_copies, wrapped};
use sojourn_smtp::server::Text;
use sojourn_smtp::{Address, Canonical};

/// A message and its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The address to which failures are reported; none for a report itself.
    pub sender: Option<Address>,
    /// The recipients.
    pub recipients: Vec<Address>,
    /// Its text in canonical form ([`Canonical`]).
    pub text: Bytes,
    /// Whether the text has octets above 127.
    pub eight_bit: bool,
    /// Whether its header needs SMTPUTF8 (RFC 6531).
    pub utf8: bool,
    /// The recipients' numbers in the list's register, in their order, 0 where one has none; empty
    /// where none of them has.
    pub subscribers: Vec<u32>,
}

/// Up to so many octets a text is copied.
const SMALL: usize = 128 * 1024;

/// The octets of a text that came in: a small one may stay for a while, and is to be no larger than
/// it is; a large one is in memory once.
pub(crate) fn octets(text: Text) -> Bytes {
    match text.len() {
        ..=SMALL => Bytes::copy_from_slice(&text),
        _ => Bytes::from_owner(text),
    }
}

impl Mail {
    /// A message whose text is brought into canonical form, without `Bcc:` and with its long lines
    /// cut ([`wrapped`]), and otherwise kept as given.
    pub fn new(sender: Option<Address>, recipients: Vec<Address>, given: &[u8]) -> Mail {
        let mut canonical = Canonical::default();
        let mut text = Vec::with_capacity(given.len() + 2);
        canonical.push(given, &mut text);
        let eight_bit = canonical.eight_bit;
        canonical.finish(&mut text);
        let text = wrapped(without_blind_copies(text)).text;
        Mail {
            sender,
            recipients,
            text: octets(text),
            eight_bit,
            utf8: false,
            subscribers: Vec::new(),
        }
    }
}
