//! What a server does, as it happens, and who follows it.

use crate::lists::alarms::Alarm;
use crate::lists::subscribers::Unverified;
use sojourn_core::Span;
use sojourn_mail_engine::bounce::{Fault, Feedback};
use sojourn_mail_engine::{Delays, MessageId, Operation, Outcome, Reason, Relay, Task};
use sojourn_smtp::{Address, plain};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Follows what a server does: writes it down, counts it, shows it.
///
/// Delivery and reception each have an observer, which is called on their threads, in order: it must
/// not wait.
pub trait Observer: Send + 'static {
    /// `event` happened at `unix_ms`, in milliseconds since 1970.
    fn notice(&mut self, unix_ms: i64, event: &ServerEvent<'_>);

    /// Called when delivery has no further event at the moment, and by reception every few seconds:
    /// what was held back can be written.
    fn pause(&mut self) {}
}

/// Ignores all events.
impl Observer for () {
    fn notice(&mut self, _: i64, _: &ServerEvent<'_>) {}
}

/// Passes all events to both.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn notice(&mut self, unix_ms: i64, event: &ServerEvent<'_>) {
        self.0.notice(unix_ms, event);
        self.1.notice(unix_ms, event);
    }

    fn pause(&mut self) {
        self.0.pause();
        self.1.pause();
    }
}

/// An observer that several threads call, one at a time.
#[derive(Clone)]
pub(crate) struct SharedObserver(Arc<Mutex<dyn Observer>>);

impl SharedObserver {
    pub(crate) fn new(observer: impl Observer) -> SharedObserver {
        SharedObserver(Arc::new(Mutex::new(observer)))
    }

    /// `event` happens now.
    pub(crate) fn notice(&self, event: &ServerEvent<'_>) {
        self.lock().notice(unix_ms(), event);
    }

    pub(crate) fn pause(&self) {
        self.lock().pause();
    }

    fn lock(&self) -> MutexGuard<'_, dyn Observer + 'static> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event in the life of a server: of delivery, down to [`Trouble`](ServerEvent::Trouble), or of
/// reception.
#[derive(Clone, Copy, Debug)]
pub enum ServerEvent<'a> {
    /// A message is on stable storage: it was taken over, or found there at the start.
    Accepted {
        /// Its number.
        message: MessageId,
        /// The address to which failures are reported; none for a report itself.
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
        /// What the host said, or this server's words.
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
    /// A provider asked to slow down.
    Slowed {
        /// The domain that runs its hosts.
        provider: &'a str,
        /// How many transactions begin in a minute from now on.
        per_minute: u32,
        /// The reply.
        reason: &'a Reason,
    },
    /// Something that the operator has to know.
    Trouble(&'a str),
    /// A message was taken over.
    Taken {
        /// Its number.
        message: MessageId,
        /// The client.
        peer: SocketAddr,
        /// Who it is, when a password said so.
        user: Option<&'a str>,
        /// The address to which failures are reported; none for a report itself.
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
    /// Mail came to a return path that is verified, or to the address for complaints.
    CameBack {
        /// The client.
        peer: SocketAddr,
        /// The list, by its return path, and the subscriber; nothing when a complaint names none.
        copy: Option<(&'a Address, &'a Address)>,
        /// What it is ([`Returned::kind`](sojourn_mail_engine::bounce::Returned::kind)).
        kind: &'static str,
        /// Whether another event has told of it: a bounce that counted, or a complaint.
        is_told: bool,
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
    /// A subscriber is asked, by a message whose bounce suspends.
    Probed {
        /// The list, by its return path.
        list: &'a Address,
        /// The subscriber.
        subscriber: &'a Address,
    },
    /// A subscriber is suspended.
    Suspended {
        /// The list, by its return path.
        list: &'a Address,
        /// The subscriber.
        subscriber: &'a Address,
        /// Why the last mail came back.
        reason: &'a str,
    },
    /// A delivery failed for good; the log has it as an attempt, or as mail that came back.
    Failure {
        /// Whose fault it is.
        fault: Fault,
    },
    /// Too much of what a provider was sent failed.
    Alarm(&'a Alarm),
    /// Mail came to a return path that is not verified: it was counted and scores no subscriber. Any
    /// client can cause as many of these as it likes.
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
        /// Notices for the operator.
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
    /// Something took its part of an hourly bound, or found it reached.
    Bounded {
        /// The bound's name.
        bound: &'static str,
        /// How many.
        number: u64,
        /// Whether they were taken; else they were refused.
        taken: bool,
    },
    /// A connection with the page to unsubscribe was closed, as there were too many.
    PageFull {
        /// The client.
        peer: SocketAddr,
    },
}

impl ServerEvent<'_> {
    /// The log's line about an event of reception, without a date; nothing for an event of delivery,
    /// which [`Log`](crate::log::Log) writes as Postfix does.
    pub fn reception_line(&self) -> Option<String> {
        Some(match *self {
            Self::Accepted { .. }
            | Self::Attempt { .. }
            | Self::Operated { .. }
            | Self::Deleted { .. }
            | Self::Finished { .. }
            | Self::HostDown(..)
            | Self::DomainDown(..)
            | Self::Slowed { .. }
            | Self::Failure { .. }
            | Self::Bounded { .. }
            | Self::Trouble(_)
            | Self::CameBack { is_told: true, .. } => return None,
            Self::CameBack { peer, copy, kind, .. } => came_back(peer, copy, kind),
            Self::Taken { message, peer, user, sender, size, recipients } => {
                let user = user.map_or(String::new(), |user| format!(", user={}", Field(user)));
                let (id, client) = (QueueId(message), peer.ip());
                let sender = sender.map_or("", Address::as_str);
                format!(
                    "{id}: client=[{client}]{user}, from=<{sender}>, size={size}, nrcpt={recipients}"
                )
            }
            Self::NotTaken { peer, why } => {
                format!("not taken: client=[{}]: {}", peer.ip(), Plain(why))
            }
            Self::Bounced { list, subscriber: to, reason } => failed("bounced", list, to, reason),
            Self::Complaint { list, subscriber, feedback } => {
                format!("complaint: list=<{list}>, to=<{subscriber}>: {feedback}")
            }
            Self::Probed { list, subscriber } => {
                format!("asked whether mail arrives: list=<{list}>, to=<{subscriber}>")
            }
            Self::Suspended { list, subscriber, reason } => {
                failed("suspended", list, subscriber, reason)
            }
            Self::Alarm(alarm) => format!("alarm: {alarm}"),
            Self::Unverified { peer, list, kind, number } => {
                let client = peer.ip();
                format!("unverified: client=[{client}], list=<{list}>, {kind}, nrcpt={number}")
            }
            Self::Left { list, subscriber } => format!("left: list=<{list}>, to=<{subscriber}>"),
            Self::AskedToLeave { list, subscriber } => {
                format!("asked to confirm leaving: list=<{list}>, to=<{subscriber}>")
            }
            Self::WrongPassword { peer, user } => {
                format!("wrong password: client=[{}], user={}", peer.ip(), Field(user))
            }
            Self::PasswordRefused { peer, user, wait } => not_verified(peer, user, wait),
            Self::Reloaded { notices: [] } => "the configuration was reloaded".to_owned(),
            Self::Reloaded { notices } => {
                format!("the configuration was reloaded: {}", notices.join("; "))
            }
            Self::NotReloaded { why } => {
                format!("the configuration was not reloaded: {}", Plain(why))
            }
            Self::GaveWay { peer } => format!("gave way: client=[{}]", peer.ip()),
            Self::LeftOut { what, count } => {
                format!("{what}: and {} more in the last minute", Thousands(count))
            }
            Self::TooMany { peer } => format!("too many sessions: client=[{}]", peer.ip()),
            Self::PageFull { peer } => {
                format!("page to unsubscribe full: client=[{}]", peer.ip())
            }
        })
    }
}

/// The line about what a failure has led to.
fn failed(what: &str, list: &Address, to: &Address, reason: &str) -> String {
    format!("{what}: list=<{list}>, to=<{to}>: {}", Plain(reason))
}

/// The line about mail of this kind that came back, about a list's copy for a subscriber.
fn came_back(peer: SocketAddr, copy: Option<(&Address, &Address)>, kind: &str) -> String {
    let client = peer.ip();
    match copy {
        Some((list, to)) => {
            format!("came back: client=[{client}], list=<{list}>, to=<{to}>: {kind}")
        }
        None => format!("came back: client=[{client}]: {kind} that names no subscriber"),
    }
}

/// The line about a password that was not looked at.
fn not_verified(peer: SocketAddr, user: &str, wait: Duration) -> String {
    let (client, user, wait) = (peer.ip(), Field(user), wait.as_secs());
    format!(
        "password not verified: client=[{client}], user={user}: too many were wrong, again in \
         {wait} s"
    )
}

/// Milliseconds since 1970, by the system's clock.
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

/// A message's number as queue identifiers look.
pub(crate) struct QueueId(pub(crate) MessageId);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010X}", self.0.0)
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

/// The first 500 characters of a text from other hosts, on one line.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(&self.0.chars().take(500).collect::<String>()))
    }
}

/// A text of a client as the value of one field: U+FFFD also stands for what could end the value.
struct Field<'a>(&'a str);

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |c: char| c.is_whitespace() || ",:;=<>()[]\"".contains(c);
        f.write_str(&Plain(self.0).to_string().replace(ends, "\u{fffd}"))
    }
}

/// Keeps the log's lines, for tests.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct Recorded(pub(crate) Arc<Mutex<Vec<String>>>);

#[cfg(test)]
impl Observer for Recorded {
    fn notice(&mut self, _: i64, event: &ServerEvent<'_>) {
        self.0.lock().unwrap().extend(event.reception_line());
    }
}
