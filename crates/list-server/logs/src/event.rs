//! What a line of a log can tell.

/// What happened to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Something is known of the message.
    MessageInfo(MessageInfo<'a>),
    /// It was tried, or its mailer decided without trying.
    Attempt(Attempt<'a>),
    /// It was not tried, as it is not yet time to.
    PutOff(Attempt<'a>),
    /// Recipients of an attempt whose line is still to come (sendmail's `[more]`).
    More(&'a [u8]),
    /// Its time is over: all recipients who still wait get a bounce, with these words.
    Expired(&'a [u8]),
    /// An operator deleted it for these recipients.
    Deleted(Attempt<'a>),
    /// Nothing was to be delivered: a probe of an address, a message that a filter threw away.
    NoDelivery,
    /// It has left the queue.
    Removed,
}

/// What a line says of a message; nothing where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageInfo<'a> {
    /// Whether this line is the one of its acceptance.
    pub accepted: bool,
    /// The envelope's sender, without brackets; empty for reports.
    pub sender: Option<&'a [u8]>,
    /// Its Message-ID, without brackets.
    pub message_id: Option<&'a [u8]>,
    /// Its octets.
    pub size: Option<u64>,
    /// How many recipients it has.
    pub recipients: Option<u64>,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Another host answers for it now.
    Delivered,
    /// It is to be tried again.
    Deferred,
    /// It never will be delivered.
    Bounced,
}

impl Outcome {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Delivered => "delivered",
            Outcome::Deferred => "deferred",
            Outcome::Bounced => "bounced",
        }
    }
}

/// A status as of RFC 3463: class, subject, detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dsn(pub u8, pub u16, pub u16);

/// Whether an attempt's recipients were tried together with those of the line before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The line is all of a transaction, or its beginning.
    First,
    /// It goes on with the one before.
    More,
    /// The mailer writes a line a recipient and does not say.
    Unmarked,
}

/// One line of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// The recipient, with or without brackets; of a mailer that has lists those, with commas between.
    pub recipients: &'a [u8],
    /// The address it was sent to, where that was another.
    pub original: Option<&'a [u8]>,
    /// The host's name, without a last dot; nothing where none was reached.
    pub relay: Option<&'a [u8]>,
    /// The host's address; empty where the line has none.
    pub address: &'a [u8],
    /// Since the message was accepted, in microseconds.
    pub delay: Option<i64>,
    /// Postfix's four parts of it: before the queue manager, in the queue, connecting, sending.
    pub parts: Option<[i64; 4]>,
    /// This attempt alone, in microseconds (sendmail's `xdelay`, Exim's `DT`).
    pub took: Option<i64>,
    /// The status.
    pub dsn: Option<Dsn>,
    /// What came of it.
    pub outcome: Outcome,
    /// The host's words, or the mailer's.
    pub text: &'a [u8],
    /// Whether it belongs to the line before.
    pub part: Part,
}

impl<'a> Attempt<'a> {
    /// An attempt of which nothing more is known.
    pub(crate) fn new(recipients: &'a [u8], outcome: Outcome, part: Part) -> Attempt<'a> {
        Attempt {
            recipients,
            original: None,
            relay: None,
            address: b"",
            delay: None,
            parts: None,
            took: None,
            dsn: None,
            outcome,
            text: b"",
            part,
        }
    }
}
