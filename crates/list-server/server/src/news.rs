//! What a postman tells of its work.

use sojourn_core::Span;
use sojourn_mail_engine::{Delays, MessageId, Operation, Outcome, Reason, Relay, Task};
use sojourn_smtp::Address;
use std::net::IpAddr;

/// Somebody who follows a postman's work.
///
/// It is told on the engine's own thread, of everything and in order: it must not wait.
pub trait Observer: Send + 'static {
    /// Something happened, at this time in milliseconds since 1970.
    fn notice(&mut self, unix_ms: i64, news: &News<'_>);

    /// Nothing more is to be told at the moment: what was held back can be written.
    fn pause(&mut self) {}
}

/// Nobody follows.
impl Observer for () {
    fn notice(&mut self, _: i64, _: &News<'_>) {}
}

/// Two who follow.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn notice(&mut self, unix_ms: i64, news: &News<'_>) {
        self.0.notice(unix_ms, news);
        self.1.notice(unix_ms, news);
    }

    fn pause(&mut self) {
        self.0.pause();
        self.1.pause();
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// A message is on stable storage: it was taken over, or found there at the start.
    Accepted {
        /// Its number.
        message: MessageId,
        /// Where failures are reported; nobody for a report itself.
        sender: Option<&'a Address>,
        /// The octets of its text.
        size: u64,
        /// How many recipients are not at their end.
        recipients: usize,
        /// When it was taken over, in milliseconds since 1970.
        accepted_ms: i64,
    },
    /// One attempt for one recipient, or its failure without one.
    Attempt {
        /// The recipient.
        task: Task,
        /// Its address.
        recipient: &'a Address,
        /// The host; nothing where none was reached.
        relay: Option<&'a Relay>,
        /// Where the time has gone since the message was accepted.
        delays: Delays,
        /// This attempt (sendmail's `xdelay`).
        took: Span,
        /// What came of it.
        outcome: Outcome,
        /// What the host said, or words of our own.
        reason: &'a Reason,
    },
    /// An operator did this with so many recipients of a message.
    Operated {
        /// What.
        operation: Operation,
        /// The message.
        message: MessageId,
        /// How many.
        recipients: usize,
    },
    /// An operator gave up a recipient.
    Deleted {
        /// The recipient.
        task: Task,
        /// Its address.
        recipient: &'a Address,
    },
    /// All of a message's recipients are at their end, on stable storage.
    Finished {
        /// The message.
        message: MessageId,
    },
    /// A host is left alone until then, in milliseconds since 1970.
    HostDown(IpAddr, i64, &'a Reason),
    /// A domain is tried again then, in milliseconds since 1970.
    DomainDown(&'a str, i64, &'a Reason),
    /// Something that whoever runs the server has to know.
    Trouble(&'a str),
}
