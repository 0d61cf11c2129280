//! Lines of one message brought together.

use crate::bounded::Bounded;
use crate::event::{Attempt, MessageInfo, Outcome, Part};
use crate::fields::without_brackets;
use crate::mailer::Mailer;
use crate::syslog_header::SyslogHeader;
use foldhash::fast::FixedState;
use memchr::memmem::Finder;
use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::ops::Bound;
use std::sync::LazyLock;

/// How many messages are known at a time.
const MOST_MESSAGES: usize = 1 << 17;
/// How many messages are remembered that have left the queue, by their keys.
const MOST_LEFT: usize = 1 << 14;
/// How many Message-IDs are remembered, so that copies of a message are one arrival.
const MOST_IDS: usize = 1 << 16;
/// How many lines with further recipients wait for their attempt.
const MOST_LISTS: usize = 64;
/// How many octets of them.
const LONGEST_LIST: usize = 1 << 20;
/// How many recipients are known to wait.
const MOST_WAITING: usize = 1 << 20;
/// How much is kept of a sender or a Message-ID.
const LONGEST: usize = 256;
/// Lines of one process about one message and one host, so close together, are one transaction.
const TOGETHER: i64 = 1_000_000;

/// What is known of a message.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// When it was accepted; nothing where that was before the log began.
    pub accepted: Option<i64>,
    /// The envelope's sender; empty for reports.
    pub sender: Option<Box<[u8]>>,
    /// Its Message-ID.
    pub message_id: Option<Box<[u8]>>,
    /// Its octets.
    pub size: Option<u64>,
    /// How many recipients it has.
    pub recipients: Option<u64>,
    ended: u64,
    last: Option<Transaction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transaction {
    host: u64,
    process: u32,
    outcome: Outcome,
    at: i64,
}

/// One attempt for one recipient.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// When it ended.
    pub at: i64,
    /// Who tried.
    pub mailer: &'static Mailer,
    /// The message, by the queue's name for it.
    pub queue_id: &'a [u8],
    /// The message.
    pub message: &'a Message,
    /// The recipient.
    pub recipient: &'a [u8],
    /// What the line says.
    pub attempt: &'a Attempt<'a>,
    /// How old the message was: as the line says, or by its acceptance.
    pub age: Option<i64>,
    /// Whether it is the first recipient of its transaction: of one message to one host.
    pub leads: bool,
}

/// What came of it for one recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It was tried, or its time is over.
    Tried,
    /// It was not tried.
    PutOff,
    /// It is in a queue of the same machine again.
    PassedOn,
    /// An operator deleted it.
    Deleted,
}

impl Delivery<'_> {
    /// The recipient's domain; empty where it has none.
    pub fn domain(&self) -> &[u8] {
        domain(self.recipient)
    }
}

pub(crate) fn domain(address: &[u8]) -> &[u8] {
    memchr::memrchr(b'@', address).map_or(b"", |at| &address[at + 1..])
}

/// The messages that a log is about at the moment.
#[derive(Debug)]
pub(crate) struct Messages {
    messages: Bounded<Box<[u8]>, Message>,
    left: Bounded<Box<[u8]>, ()>,
    ids: Bounded<Box<[u8]>, ()>,
    lists: Bounded<Box<[u8]>, Vec<u8>>,
    /// Recipients who wait: a message's key, a zero octet, the recipient.
    waiting: BTreeSet<Box<[u8]>>,
    hashing: FixedState,
    key: Vec<u8>,
}

impl Messages {
    pub(crate) fn new() -> Messages {
        Messages {
            messages: Bounded::new(MOST_MESSAGES),
            left: Bounded::new(MOST_LEFT),
            ids: Bounded::new(MOST_IDS),
            lists: Bounded::new(MOST_LISTS),
            waiting: BTreeSet::new(),
            hashing: FixedState::default(),
            key: Vec::new(),
        }
    }

    /// Messages that are not at their end.
    pub(crate) fn open(&self) -> usize {
        self.messages.len()
    }

    /// Messages of which nothing is known any more, because there were too many.
    pub(crate) fn given_up(&self) -> u64 {
        self.messages.given_up
    }

    /// A message's key: its machine, and its name there.
    fn name(&mut self, header: &SyslogHeader<'_>, queue_id: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(header.host);
        self.key.push(0);
        self.key.extend_from_slice(queue_id);
    }

    fn find(&mut self, header: &SyslogHeader<'_>, queue_id: &[u8]) -> &mut Message {
        self.name(header, queue_id);
        if self.messages.get(&self.key[..]).is_none() {
            self.messages.add(self.key[..].into(), Message::default());
        }
        self.messages.get(&self.key[..]).expect("the message was added above")
    }

    /// Something is said of a message; whether it has arrived with that, and is no copy of another.
    pub(crate) fn update(
        &mut self,
        header: &SyslogHeader<'_>,
        id: &[u8],
        info: &MessageInfo<'_>,
    ) -> bool {
        let message = self.find(header, id);
        let keep = |text: &[u8]| -> Box<[u8]> { text[..text.len().min(LONGEST)].into() };
        message.sender = info.sender.map(keep).or(message.sender.take());
        message.message_id = info.message_id.map(keep).or(message.message_id.take());
        message.size = info.size.or(message.size);
        message.recipients = info.recipients.or(message.recipients);
        if !info.accepted || message.accepted.is_some() {
            return false;
        }
        message.accepted = Some(header.at);
        let Some(message_id) = info.message_id.filter(|text| !text.is_empty()) else { return true };
        if self.ids.get(message_id).is_some() {
            return false;
        }
        self.ids.add(message_id.into(), ());
        true
    }

    /// Recipients whose attempt is still to be told.
    pub(crate) fn list(&mut self, id: &[u8], recipients: &[u8]) {
        if let Some(list) = self.lists.get(id) {
            if list.len() < LONGEST_LIST {
                list.push(b',');
                list.extend_from_slice(recipients);
            }
        } else {
            self.lists.add(id.into(), recipients.to_vec());
        }
    }

    /// An attempt (`Told::Tried`), or what took its place, recipient by recipient.
    pub(crate) fn attempt(
        &mut self,
        header: &SyslogHeader<'_>,
        mailer: &'static Mailer,
        queue_id: &[u8],
        attempt: &Attempt<'_>,
        told: Told,
        mut tell: impl FnMut(Told, &Delivery<'_>),
    ) {
        let before = if self.lists.len() > 0 { self.lists.remove(queue_id) } else { None };
        let is_tried = told == Told::Tried;
        let is_passed_on = is_tried && self.is_passed_on(header, attempt);
        let told = if is_passed_on { Told::PassedOn } else { told };
        let transaction = Transaction {
            host: self.hashing.hash_one(attempt.relay.unwrap_or(domain(attempt.recipients))),
            process: header.process,
            outcome: attempt.outcome,
            at: header.at,
        };
        let message = self.find(header, queue_id);
        let mut leads = match attempt.part {
            Part::First => true,
            Part::More => false,
            Part::Unmarked => !message.last.is_some_and(|last| last.together(&transaction)),
        };
        if is_tried {
            message.last = Some(transaction);
        }
        let age = attempt.delay.or(message.accepted.map(|accepted| header.at - accepted));
        let mut ended = 0;
        let lists = before.as_deref().into_iter().chain([attempt.recipients]);
        for recipient in lists.flat_map(|list| recipients(list, mailer.has_lists)) {
            self.wait(recipient, attempt.outcome);
            let message = self.messages.get(&self.key[..]).expect("the message was found above");
            let delivery = Delivery {
                at: header.at,
                mailer,
                queue_id,
                message,
                recipient,
                attempt,
                age: age.filter(|age| *age >= 0),
                leads: std::mem::take(&mut leads),
            };
            tell(told, &delivery);
            ended += 1;
        }
        if !mailer.says_removed && attempt.outcome != Outcome::Deferred {
            self.count(ended);
        }
    }

    /// Whether the message is only in a queue of this machine again, behind a filter or after its
    /// submission, or forwarded by an alias: the reply names a message of this machine, or comes from
    /// a loopback address.
    fn is_passed_on(&mut self, header: &SyslogHeader<'_>, attempt: &Attempt<'_>) -> bool {
        if attempt.outcome != Outcome::Delivered {
            return false;
        }
        // local(8) of Postfix made another message of it, as an alias or a .forward file says
        if attempt.relay == Some(b"local") && attempt.text.starts_with(b"forwarded as ") {
            return true;
        }
        let Some(next) = queued_as(attempt.text) else { return false };
        self.name(header, next);
        let is_loopback = LOOPBACK.contains(&attempt.address)
            && attempt.relay.is_some_and(|it| LOOPBACK.contains(&it));
        // a filter's next message may have left before the line that passed it on
        is_loopback
            || self.messages.get(&self.key[..]).is_some()
            || self.left.get(&self.key[..]).is_some()
    }

    /// Notes whether a recipient of the message found last waits.
    fn wait(&mut self, recipient: &[u8], outcome: Outcome) {
        if outcome != Outcome::Deferred && self.waiting.is_empty() {
            return;
        }
        let length = self.key.len();
        self.key.push(0);
        self.key.extend_from_slice(recipient);
        if outcome != Outcome::Deferred {
            self.waiting.remove(&self.key[..]);
        } else if self.waiting.len() < MOST_WAITING && !self.waiting.contains(&self.key[..]) {
            self.waiting.insert(self.key[..].into());
        }
        self.key.truncate(length);
    }

    /// Those who wait for the message found last, who do no more.
    fn take_waiting(&mut self) -> Vec<Box<[u8]>> {
        let mut prefix = self.key.clone();
        prefix.push(0);
        let from = (Bound::Included(&prefix[..]), Bound::Unbounded);
        let keys = self.waiting.range::<[u8], _>(from).take_while(|it| it.starts_with(&prefix));
        let keys: Vec<_> = keys.cloned().collect();
        for key in &keys {
            self.waiting.remove(key);
        }
        keys.iter().map(|key| key[prefix.len()..].into()).collect()
    }

    /// A message's time is over: each recipient who waits for it gets a bounce.
    pub(crate) fn expired(
        &mut self,
        header: &SyslogHeader<'_>,
        mailer: &'static Mailer,
        queue_id: &[u8],
        text: &[u8],
        mut tell: impl FnMut(Told, &Delivery<'_>),
    ) {
        self.find(header, queue_id);
        let all = self.take_waiting();
        let message = self.messages.get(&self.key[..]).expect("the message was found above");
        let age = message.accepted.map(|accepted| header.at - accepted).filter(|age| *age >= 0);
        for recipient in &all {
            let mut attempt = Attempt::new(recipient, Outcome::Bounced, Part::Unmarked);
            attempt.text = text;
            let delivery = Delivery {
                at: header.at,
                mailer,
                queue_id,
                message,
                recipient,
                attempt: &attempt,
                age,
                leads: false,
            };
            tell(Told::Tried, &delivery);
        }
        if !mailer.says_removed {
            self.forget();
        }
    }

    /// Recipients of the message found last who are at their end; with the last of them, so is it.
    fn count(&mut self, ended: u64) {
        let message = self.messages.get(&self.key[..]).expect("the message was found before");
        message.ended += ended;
        if message.recipients.is_some_and(|all| message.ended >= all) {
            self.forget();
        }
    }

    /// The message found last has left the queue.
    fn forget(&mut self) {
        if let Some((key, _)) = self.messages.take(&self.key[..]) {
            self.left.add(key, ());
        }
    }

    /// A message has left the queue.
    pub(crate) fn removed(&mut self, header: &SyslogHeader<'_>, queue_id: &[u8]) {
        self.name(header, queue_id);
        self.forget();
        if !self.waiting.is_empty() {
            self.take_waiting();
        }
    }
}

/// How a machine is called that is the log's.
const LOOPBACK: [&[u8]; 6] =
    [b"127.0.0.1", b"[127.0.0.1]", b"::1", b"[::1]", b"localhost", b"localhost.localdomain"];

/// The name that the next queue has for the message, from its reply: Postfix's `queued as X`, Exim's
/// `OK id=X`, sendmail's `X Message accepted for delivery`.
fn queued_as(text: &[u8]) -> Option<&[u8]> {
    static MARKS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| {
        ["queued as ", "OK id=", " Message accepted for delivery"].map(Finder::new)
    });
    let [queued, id, accepted] = &*MARKS;
    let behind = |mark: &Finder<'_>| {
        let rest = &text[mark.find(text)? + mark.needle().len()..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        Some(&rest[..rest.iter().take_while(|byte| is_part(byte)).count()])
    };
    let before = || text[..accepted.find(text)?].rsplit(|byte| b" (".contains(byte)).next();
    let name = behind(queued).or_else(|| behind(id)).or_else(before);
    name.filter(|name| name.len() >= 6)
}

impl Transaction {
    fn together(&self, other: &Transaction) -> bool {
        let near = (other.at - self.at).abs() <= TOGETHER;
        near && Transaction { at: other.at, ..*self } == *other
    }
}

/// The addresses, without brackets; if it is a list, a comma that is not in quotes ends one.
fn recipients(text: &[u8], is_list: bool) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let parts = text.split(move |byte| {
        quoted ^= *byte == b'"';
        is_list && *byte == b',' && !quoted
    });
    parts.map(|part| bare(part.trim_ascii())).filter(|part| !part.is_empty())
}

/// An address without brackets, or without the quotes that it has in a list of JSON.
fn bare(address: &[u8]) -> &[u8] {
    match address {
        [b'"', inner @ .., b'"'] => inner,
        _ => without_brackets(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cut_at_commas() {
        let cut =
            |list: &'static str| -> Vec<&[u8]> { recipients(list.as_bytes(), true).collect() };
        assert_eq!(cut("a@x"), [b"a@x"]);
        assert_eq!(cut("<a@x>,b@x, <\"c,d\"@x>,"), [&b"a@x"[..], b"b@x", b"\"c,d\"@x"]);
        assert_eq!(cut("\"a@x\",\"b@x\""), [b"a@x", b"b@x"]);
        assert!(cut("").is_empty());
        assert_eq!(recipients(b"a,b@x", false).collect::<Vec<_>>(), [b"a,b@x"]);
    }
}
