//! What the engine takes and returns: events, effects, and what they carry.

use crate::config::Config;
use crate::ids::RecipientIndex;
use crate::list::return_path::{decode_verp, form};
use crate::moment::Moment;
use crate::reason::Reason;
use sojourn_core::Span;
use sojourn_smtp::Address;
use sojourn_smtp::client::Framing;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// A message; its submitter chooses the number, which is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId(pub u64);

/// A session; numbers are never used again, and grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(u64);

impl SessionId {
    /// So many sessions may be open at a time.
    const SLOTS: u64 = 1 << 24;

    /// The `nth` session that is opened; no other one in `slot` is open then.
    pub fn new(nth: u64, slot: usize) -> SessionId {
        assert!((slot as u64) < SessionId::SLOTS, "more than {} sessions", SessionId::SLOTS);
        SessionId(nth * SessionId::SLOTS + slot as u64)
    }

    /// How many were opened before it.
    pub fn nth(self) -> u64 {
        self.0 / SessionId::SLOTS
    }

    /// A small number that no other session has while this one is open.
    pub fn slot(self) -> usize {
        (self.0 % SessionId::SLOTS) as usize
    }
}

/// A write to stable storage; they are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchId(pub u64);

/// One recipient of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// The message.
    pub message: MessageId,
    /// The recipient's place in its list.
    pub recipient: RecipientIndex,
}

/// A message to be delivered. Its text stays with its submitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Its number.
    pub id: MessageId,
    /// The address to which failures are reported; none for a report itself.
    pub sender: Option<Address>,
    /// The octets of its text in canonical form ([`Canonical`](sojourn_smtp::Canonical)).
    pub size: u64,
    /// Whether the text has octets above 127.
    pub eight_bit: bool,
    /// Whether its headers need SMTPUTF8.
    pub utf8: bool,
    /// The recipients.
    pub recipients: Vec<Address>,
    /// The recipients' numbers in the list's register, in their order, 0 where one has none; empty
    /// where none of them has.
    pub subscribers: Vec<u32>,
    /// The day on which it was accepted, counted from 1970: its return paths are verified by it.
    pub day: u16,
}

/// A message as stable storage has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The message.
    pub submission: Submission,
    /// When it was accepted.
    pub accepted: Moment,
    /// How far each recipient has come, in the list's order.
    pub progress: Vec<Progress>,
    /// The numbers of those that are held, in order.
    pub held: Vec<RecipientIndex>,
}

/// How far one recipient has come, as stable storage has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// To be tried.
    Open,
    /// To be tried again.
    Deferred(Deferral),
    /// Failed, and not reported yet.
    Failed(Reason),
    /// Delivered, or failed and reported.
    Ended,
}

/// When a recipient is tried again that was refused for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// How many times it was refused.
    pub times: u32,
    /// When for the first time.
    pub first: Moment,
    /// When it is tried again.
    pub due: Moment,
}

/// What the last attempt for a recipient met: for people who ask why a recipient waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// When.
    pub at: Moment,
    /// The host's name, as in [`Relay`]; nothing where none was tried.
    pub host: Option<Arc<str>>,
    /// What it said, or this server's words.
    pub reason: Reason,
}

/// Something to be written to stable storage.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The message, its text and all its recipients.
    Accepted(MessageId),
    /// The recipient has it.
    Delivered(Task),
    /// The recipient will not have it; `Reported` follows.
    Failed(Task, Reason),
    /// The recipient is tried again; why.
    Deferred(Task, Deferral, Box<Obstacle>),
    /// The failure was reported, or there is no sender to report it to.
    Reported(Task),
    /// An operator did this with these recipients: `Hold`, `Release`, `Delete` or `Requeue`.
    Operated(Operation, MessageId, Arc<[RecipientIndex]>),
}

/// Where the mail of a domain goes, as its name servers have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To these hosts.
    Hosts {
        /// MX records with their addresses, in any order; or the domain's own addresses with
        /// preference 0 (RFC 5321 section 5.1).
        hosts: Vec<MailHost>,
        /// How long this holds.
        lifetime: Span,
    },
    /// There is no such domain.
    NoSuchDomain,
    /// It takes no mail: a null MX (RFC 7505), or nothing that leads to an address.
    NoMail,
    /// The name servers could not be asked, or did not know for now.
    Failed(String),
}

/// One host that takes mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailHost {
    /// Its name.
    pub name: Arc<str>,
    /// Lower is better.
    pub preference: u16,
    /// Its addresses, in the order in which they are to be tried.
    pub addresses: Vec<IpAddr>,
}

/// A host that mail is sent to, by the name that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// The name that the MX record has, or the domain's own.
    pub name: Arc<str>,
    /// One of its addresses.
    pub address: IpAddr,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A message is offered; [`Effect::Accepted`] or [`Effect::Refused`] answers.
    Submitted(Submission),
    /// A message is found in stable storage at the start.
    Restored(Stored),
    /// The batch is on stable storage.
    Persisted(BatchId),
    /// It is not, and nothing of it is.
    NotPersisted(BatchId, String),
    /// The answer to [`Effect::Resolve`].
    Resolved(Arc<str>, Answer),
    /// The connection stands.
    Connected(SessionId),
    /// Bytes came.
    Received(SessionId, Vec<u8>),
    /// Some of the texts that were to be sent is written, and so many of them wholly.
    Written(SessionId, u32),
    /// The handshake of TLS is done.
    Secured(SessionId),
    /// The connection could not be made, or is gone; why.
    Closed(SessionId, String),
    /// The failures were reported: the answer to [`Effect::Report`].
    Reported(MessageId, Vec<RecipientIndex>),
    /// An operator wants this done with these recipients; [`Effect::Operated`] with the same number
    /// answers.
    Operate(u64, Operation, Box<Selection>),
    /// The server is set otherwise from now on. Its name stays.
    Configure(Box<Config>),
    /// Time has passed: the answer to [`Effect::Wake`].
    Tick,
    /// The server is to stop: no message is taken over any more and no transaction begun. Those
    /// under way go on; who drives the engine closes what takes too long.
    Stop,
}

impl Event {
    /// The session that it happened to.
    pub fn session(&self) -> Option<SessionId> {
        match *self {
            Event::Connected(session)
            | Event::Received(session, _)
            | Event::Written(session, _)
            | Event::Secured(session)
            | Event::Closed(session, _) => Some(session),
            _ => None,
        }
    }
}

/// Something to be done. Effects on one session are done in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask where the mail of this domain goes.
    Resolve(Arc<str>),
    /// Connect to the SMTP port of this host.
    Connect(SessionId, Relay),
    /// Send these bytes.
    Send(SessionId, Vec<u8>),
    /// Send the text of a message, and say when it is written. Where the return path names the
    /// recipient (VERP), so may the text: it is for this one alone.
    SendBody(SessionId, MessageId, Option<RecipientIndex>, Framing),
    /// Turn to TLS.
    StartTls(SessionId),
    /// Close the connection; nothing is awaited from it any more.
    Close(SessionId),
    /// The recipient has it: keep that where the end of the process does not reach it, before
    /// any other effect. It is not promised: a crash that forgets it sends again,
    /// until the [`Record::Delivered`] is on stable storage, which is in the next
    /// [`Effect::Persist`] or a later one.
    Note(Task),
    /// Write to stable storage, all or nothing, in order. No two of them overlap.
    Persist(BatchId, Arc<[Record]>),
    /// The message is on stable storage: its submitter may be told so.
    Accepted(MessageId),
    /// The message was not taken over.
    Refused(MessageId, Refusal),
    /// Report failures to the message's sender, then say so. After a crash a report may be asked
    /// for again.
    Report(MessageId, Vec<(RecipientIndex, Reason)>),
    /// An operation was done, on stable storage where it has to last.
    Operated(u64, Counts),
    /// All of the message's recipients are at their end, on stable storage.
    Finished(MessageId),
    /// For the log.
    Log(Entry),
    /// Come back at this time, unless something happens before; replaces the last such wish.
    Wake(Moment),
}

/// Why a message was not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many recipients wait as may: so many.
    Full(u64),
    /// Stable storage cannot be written; why.
    Storage(String),
    /// The server is stopping.
    Stopping,
    /// It is none: why.
    Invalid(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full(waiting) => write!(f, "{waiting} recipients are waiting already"),
            Refusal::Storage(why) => f.write_str(why),
            Refusal::Stopping => f.write_str("the server is stopping"),
            Refusal::Invalid(why) => f.write_str(why),
        }
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// One attempt for one recipient, or its failure without one.
    Attempt {
        /// The recipient.
        task: Task,
        /// The host; nothing where none was reached.
        relay: Option<Relay>,
        /// Since the message was accepted.
        delays: Delays,
        /// This attempt (sendmail's `xdelay`).
        took: Span,
        /// What came of it.
        outcome: Outcome,
        /// What the host said, or this server's words.
        reason: Reason,
    },
    /// A host is left alone for a while.
    HostDown(IpAddr, Moment, Reason),
    /// A domain is tried again later.
    DomainDown(Arc<str>, Moment, Reason),
    /// A provider asked to slow down. The number is how many transactions may start per minute now.
    Slowed(Arc<str>, u32, Reason),
    /// An operator did this with these recipients.
    Operated(Operation, MessageId, Arc<[RecipientIndex]>),
    /// Stable storage could not be written.
    NotPersisted(String),
}

/// Where the time has gone since a message was accepted (Postfix's `delays`); the sum is
/// sendmail's `delay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Until it was last queued for its destination: what went before was set aside.
    pub before: Span,
    /// In the destination's queue.
    pub queued: Span,
    /// Setting up the session; nothing where one was open.
    pub setup: Span,
    /// The transaction.
    pub sending: Span,
}

impl Delays {
    /// All together.
    pub fn total(self) -> Span {
        self.before + self.queued + self.setup + self.sending
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Delivered.
    Delivered,
    /// To be tried again.
    Deferred,
    /// Failed for good.
    Failed,
}

/// Which recipients an operator means: those that fit every kind of condition that is given, and one
/// of each kind. Without any condition, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Messages.
    pub messages: BTreeSet<MessageId>,
    /// Return paths of lists: a message belongs to a list when its sender is the list's return path,
    /// with or without a subscriber named in it.
    pub lists: Vec<Address>,
    /// Domains of recipients, in lower case.
    pub domains: BTreeSet<String>,
    /// Addresses of recipients, in lower case.
    pub addresses: BTreeSet<String>,
}

impl Selection {
    /// Whether recipients of this message can be meant.
    pub fn has_message(&self, id: MessageId, sender: Option<&Address>) -> bool {
        let of_list = |sender| {
            let mut lists = self.lists.iter();
            lists.any(|it| form(it, sender).is_some() || decode_verp(it, sender).is_some())
        };
        (self.messages.is_empty() || self.messages.contains(&id))
            && (self.lists.is_empty() || sender.is_some_and(of_list))
    }

    /// Whether this recipient is meant, of a message whose recipients can be.
    pub fn has_recipient(&self, address: &Address) -> bool {
        (self.domains.is_empty() || self.domains.contains(address.domain()))
            && (self.addresses.is_empty()
                || self.addresses.contains(&address.as_str().to_ascii_lowercase()))
    }

    /// The numbers of the recipients that are meant, of a message on stable storage.
    pub fn of(&self, stored: &Stored) -> Vec<RecipientIndex> {
        let submission = &stored.submission;
        if !self.has_message(submission.id, submission.sender.as_ref()) {
            return Vec::new();
        }
        let all = RecipientIndex::all().zip(&submission.recipients);
        all.filter(|(_, address)| self.has_recipient(address)).map(|(number, _)| number).collect()
    }
}

/// What an operator wants done with recipients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Only to know how many there are.
    Count,
    /// They are not tried until they are released, and do not expire meanwhile.
    Hold,
    /// They are tried again, at once. One whose message expired while it was held gets an attempt.
    Release,
    /// They are removed; no report is sent to the sender.
    Delete,
    /// Those that wait for their time, for their host or their domain are tried at once.
    Flush,
    /// They are tried at once as if they had never been refused: attempts are forgotten, and what is
    /// known of their domains' hosts. A message's lifetime goes on from when it was accepted.
    Requeue,
}

/// To how many an operation applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that have one of these recipients.
    pub messages: u64,
    /// Recipients.
    pub recipients: u64,
    /// Recipients that are in a transaction: how it ends is for the host to say. Those that it does
    /// not deliver to are then held or given up, where that was wanted.
    pub under_way: u64,
}
