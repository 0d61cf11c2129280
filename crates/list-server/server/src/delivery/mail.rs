//! A message as it is handed over.

use bytes::Bytes;
use sojourn_mail_engine::list::outgoing::{without_blind_copies, wrapped};
use sojourn_mail_engine::report::date;
use sojourn_smtp::header::fields;
use sojourn_smtp::server::Text;
use sojourn_smtp::{Address, Canonical};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

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

/// `Date:` and `Message-ID:`, if `text` lacks them: a submission server adds them under its `name`
/// (RFC 6409 sections 8.2 and 8.3), because large receivers refuse mail without them.
pub(crate) fn missing_fields(text: &[u8], name: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut missing = String::new();
    if fields(text, "Date") == 0 {
        missing += &format!("Date: {}\r\n", date(since.as_secs() as i64));
    }
    if fields(text, "Message-ID") == 0 {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        missing += &format!("Message-ID: <{:x}.{count:x}@{name}>\r\n", since.as_nanos());
    }
    missing
}

impl Mail {
    /// A message whose text is brought into canonical form, without `Bcc:` and with its long lines
    /// cut ([`wrapped`]), and otherwise kept as given. Each mailbox gets one copy.
    pub fn new(sender: Option<Address>, recipients: Vec<Address>, given: &[u8]) -> Mail {
        let mut canonical = Canonical::default();
        let mut text = Vec::with_capacity(given.len() + 2);
        canonical.push(given, &mut text);
        let eight_bit = canonical.eight_bit;
        canonical.finish(&mut text);
        let text = wrapped(without_blind_copies(text)).text;
        Mail {
            sender,
            recipients: Address::distinct(recipients),
            text: octets(text),
            eight_bit,
            utf8: false,
            subscribers: Vec::new(),
        }
    }

    /// The message with what it lacks, as the server `name` completes what is submitted.
    pub fn completed(self, name: &str) -> Mail {
        let missing = missing_fields(&self.text, name);
        if missing.is_empty() {
            return self;
        }
        Mail { text: [missing.as_bytes(), &self.text].concat().into(), ..self }
    }
}
