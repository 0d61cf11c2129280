//! What a postman tells of its work.

use crate::lists::subscribers::Unverified;
use crate::log::QueueId;
use sojourn_core::Span;
use sojourn_mail_engine::bounce::Feedback;
use sojourn_mail_engine::{Delays, MessageId, Operation, Outcome, Reason, Relay, Task};
use sojourn_smtp::{Address, plain};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

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

/// Somebody who follows a reception's work. It is told on the reception's threads, and must not
/// wait.
pub trait Attendant: Send + Sync + 'static {
    /// Something happened.
    fn notice(&self, happening: &Happening<'_>);

    /// Some seconds have passed: what was held back may be told.
    fn time_passes(&self) {}
}

/// Two who follow.
impl<A: Attendant, B: Attendant> Attendant for (A, B) {
    fn notice(&self, happening: &Happening<'_>) {
        self.0.notice(happening);
        self.1.notice(happening);
    }

    fn time_passes(&self) {
        self.0.time_passes();
        self.1.time_passes();
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Happening<'a> {
    /// A message was taken over.
    Taken {
        /// Its number.
        message: MessageId,
        /// The client.
        peer: SocketAddr,
        /// Who it is, when a password said so.
        user: Option<&'a str>,
        /// Where failures are reported; nobody for a report itself.
        sender: Option<&'a Address>,
        /// The octets of its text as it came.
        size: usize,
        /// How many it is for.
        recipients: usize,
    },
    /// A message could not be taken over now.
    NotTaken {
        /// The client.
        peer: SocketAddr,
        /// Why.
        why: &'a str,
    },
    /// Mail came back.
    Bounced {
        /// The list, by its return path.
        list: &'a Address,
        /// The subscriber.
        subscriber: &'a Address,
        /// Why it came back.
        reason: &'a str,
    },
    /// A subscriber has left.
    Left {
        /// The list, by its return path.
        list: &'a Address,
        /// The subscriber.
        subscriber: &'a Address,
    },
    /// A subscriber was asked whether a request to leave is theirs.
    AskedToLeave {
        /// The list, by its return path.
        list: &'a Address,
        /// The subscriber.
        subscriber: &'a Address,
    },
    /// A recipient called mail spam. It arrived: nothing is scored, but the subscription ends.
    Complaint {
        /// The list, by its return path.
        list: &'a Address,
        /// The subscriber.
        subscriber: &'a Address,
        /// What is said of the mail.
        feedback: Feedback,
    },
    /// A subscriber is suspended.
    Suspended {
        /// The list, by its return path.
        list: &'a Address,
        /// The subscriber.
        subscriber: &'a Address,
    },
    /// Mail came to a return path that is not verified: it was counted and scores no subscriber. As
    /// many of these come as strangers like.
    Unverified {
        /// The client.
        peer: SocketAddr,
        /// The list, by its return path.
        list: &'a Address,
        /// Why it is not verified.
        kind: Unverified,
        /// How many return paths one message came to.
        number: u64,
    },
    /// A password was wrong.
    WrongPassword {
        /// The client.
        peer: SocketAddr,
        /// Who it was to be.
        user: &'a str,
    },
    /// A password was not verified: too many were wrong before.
    PasswordRefused {
        /// The client.
        peer: SocketAddr,
        /// Who it was to be.
        user: &'a str,
        /// How long until one is verified again.
        wait: Duration,
    },
    /// Another configuration was taken on.
    Reloaded {
        /// What there is to be said about it.
        notices: &'a [String],
    },
    /// Another configuration was refused: the server goes on as it was.
    NotReloaded {
        /// Why.
        why: &'a str,
    },
    /// A client whose message was not coming yet gave way to another one.
    GaveWay {
        /// The client.
        peer: SocketAddr,
    },
    /// So many more of a kind happened in the last minute, which were not told.
    LeftOut {
        /// Which kind.
        what: &'a str,
        /// How many.
        count: u64,
    },
    /// A client found no place.
    TooMany {
        /// The client.
        peer: SocketAddr,
    },
    /// A connection with the page to unsubscribe was closed, as there were too many.
    PageFull {
        /// The client.
        peer: SocketAddr,
    },
}

/// A line of the log, without a date.
impl fmt::Display for Happening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Happening::Taken { message, peer, user, sender, size, recipients } => {
                write!(f, "{}: client=[{}]", QueueId(message), peer.ip())?;
                if let Some(user) = user {
                    write!(f, ", user={}", Plain(user))?;
                }
                let sender = sender.map_or("", Address::as_str);
                write!(f, ", from=<{sender}>, size={size}, nrcpt={recipients}")
            }
            Happening::NotTaken { peer, why } => {
                write!(f, "not taken: client=[{}]: {}", peer.ip(), Plain(why))
            }
            Happening::Bounced { list, subscriber, reason } => {
                write!(f, "bounced: list=<{list}>, to=<{subscriber}>: {}", Plain(reason))
            }
            Happening::Complaint { list, subscriber, feedback } => {
                write!(f, "complaint: list=<{list}>, to=<{subscriber}>: {feedback}")
            }
            Happening::Suspended { list, subscriber } => {
                write!(f, "suspended: list=<{list}>, to=<{subscriber}>")
            }
            Happening::Unverified { peer, list, kind, number } => {
                let client = peer.ip();
                write!(f, "unverified: client=[{client}], list=<{list}>, {kind}, nrcpt={number}")
            }
            Happening::Left { list, subscriber } => {
                write!(f, "left: list=<{list}>, to=<{subscriber}>")
            }
            Happening::AskedToLeave { list, subscriber } => {
                write!(f, "asked to confirm leaving: list=<{list}>, to=<{subscriber}>")
            }
            Happening::WrongPassword { peer, user } => {
                write!(f, "wrong password: client=[{}], user={}", peer.ip(), Plain(user))
            }
            Happening::PasswordRefused { peer, user, wait } => {
                let (user, wait) = (Plain(user), wait.as_secs());
                write!(f, "password not verified: client=[{}], user={user}", peer.ip())?;
                write!(f, ": too many were wrong, again in {wait} s")
            }
            Happening::Reloaded { notices: [] } => f.write_str("the configuration was reloaded"),
            Happening::Reloaded { notices } => {
                write!(f, "the configuration was reloaded: {}", notices.join("; "))
            }
            Happening::NotReloaded { why } => {
                write!(f, "the configuration was not reloaded: {}", Plain(why))
            }
            Happening::GaveWay { peer } => write!(f, "gave way: client=[{}]", peer.ip()),
            Happening::LeftOut { what, count } => {
                write!(f, "{what}: and {} more in the last minute", Thousands(count))
            }
            Happening::TooMany { peer } => write!(f, "too many sessions: client=[{}]", peer.ip()),
            Happening::PageFull { peer } => {
                write!(f, "page to unsubscribe full: client=[{}]", peer.ip())
            }
        }
    }
}

/// A number with a comma before every three digits.
struct Thousands(u64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            small @ ..1000 => write!(f, "{small}"),
            large => write!(f, "{},{:03}", Thousands(large / 1000), large % 1000),
        }
    }
}

/// The first words of others.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(&self.0.chars().take(500).collect::<String>()))
    }
}
