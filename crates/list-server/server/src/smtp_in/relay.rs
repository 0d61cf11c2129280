//! What is held against a message that is sent on, what is mended, and what it gets.
//!
//! It gets marks, by which it is known when it comes back from any host (RFC 5321 section 6.3): a
//! list's mail is marked with the list, other mail with its recipients. Other programs have such
//! fields too (Mailman's `X-BeenThere`, Postfix's `Delivered-To`), but these are made with a key: a
//! sender that has never had the message cannot keep it from a list.

use super::not_taken::NotTaken;
use crate::delivery::mail::{Mail, missing_fields, octets};
use crate::lists::{Lists, under};
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::author::authors;
use sojourn_mail_engine::list::outgoing::{without_blind_copies, wrapped};
use sojourn_mail_engine::list::token::{Claim, Purpose};
use sojourn_smtp::header::{all, beginning, fields, header};
use sojourn_smtp::server::{Submitter, Text};
use sojourn_smtp::{Address, Enhanced};
use std::sync::PoisonError;

/// A message that is sent on.
pub(crate) struct Outgoing {
    /// Its text, in lines of 998 octets at most.
    pub(crate) text: Text,
    /// Where failures are reported.
    sender: Option<Address>,
    pub(crate) recipients: Vec<Address>,
    /// The list whose fields and signatures it gets.
    pub(crate) list: Option<List>,
}

impl Outgoing {
    /// As it came, for people who read mail from unknown clients. It has no return path: theirs is
    /// forged as like as not, and has nothing to do with a host here that refuses it.
    pub(crate) fn to_people(recipients: Vec<Address>, text: Text) -> Outgoing {
        Outgoing { text: wrapped(text).text, sender: None, recipients, list: None }
    }
}

impl Lists {
    /// Looks at a message for people elsewhere, and repairs and completes its text.
    ///
    /// Mail that its submitter may not send has come this far because it is for a mailbox at home,
    /// such as `postmaster`.
    pub(crate) fn outgoing(
        &self,
        submitter: Submitter<'_>,
        sender: Option<Address>,
        recipients: Vec<Address>,
        text: Text,
    ) -> Result<Outgoing, NotTaken> {
        let (list, from) = (self.of_sender(sender.as_ref()), sender.as_ref());
        if !self.submitters.may_send(submitter, list, from) {
            return Ok(Outgoing::to_people(recipients, text));
        }
        if list.is_some_and(|list| self.signs(list)) && fields(&text, "From") != 1 {
            let why = "mail of this list has exactly one From: field (RFC 5322 section 3.6)";
            return Err(NotTaken::refused(554, Enhanced(5, 6, 0), why));
        }
        let named = authors(&text);
        if !self.submitters.may_write_as(submitter, list, from, named.as_deref()) {
            let why = match &named {
                Some(_) => "From: names an address that you may not write as",
                None => "From: has to be one field with plain addresses that you may write as",
            };
            return Err(NotTaken::refused(550, Enhanced(5, 7, 1), why));
        }
        let whole = wrapped(without_blind_copies(text));
        if whole.broken_header {
            let why = "a header line has over 998 octets and no space to fold it at (RFC 5322 \
                       section 2.1.1)";
            return Err(NotTaken::refused(554, Enhanced(5, 6, 0), why));
        }
        let missing = missing_fields(&whole.text, &self.name);
        let text = under(missing.as_bytes(), whole.text).ok_or_else(NotTaken::no_memory)?;
        Ok(Outgoing { text, sender, recipients, list: list.cloned() })
    }

    /// The message as it is stored, with all that is put above it; a list's recipients are in the
    /// register then. A signature takes a millisecond of a processor, a new subscriber some
    /// microseconds.
    pub(crate) fn ready(
        &self,
        message: Outgoing,
        received: &str,
        utf8: bool,
        now: i64,
    ) -> Result<Mail, NotTaken> {
        let head = received.to_owned() + &self.marks(&message, now);
        let Outgoing { mut text, mut sender, recipients, list } = message;
        let mut subscribers = Vec::new();
        if let Some(list) = &list {
            subscribers = self.numbers(list, &recipients, now)?;
            text = self.dressed(list, text).ok_or_else(NotTaken::no_memory)?;
            sender = sender.map(|sender| self.as_written(list, sender));
        }
        let text = under(head.as_bytes(), text).ok_or_else(NotTaken::no_memory)?;
        // Who says that it needs SMTPUTF8 may do so for its addresses only.
        let utf8 = utf8 && !header(&text).is_ascii();
        let eight_bit = !text.is_ascii();
        Ok(Mail { sender, recipients, text: octets(text), eight_bit, utf8, subscribers })
    }
}

const FIELD: &str = "X-Loop";
/// Fields that are looked at.
const FIELDS_MAX: usize = 50;
/// Recipients that a message that is no list's is marked with. One for more that comes back comes
/// for fewer, and is marked then.
const RECIPIENTS_MAX: usize = 10;
const DAY: i64 = 86_400;

impl Lists {
    /// The marks of a message that is sent on at `now`, in seconds since 1970: whole header fields.
    pub(crate) fn marks(&self, message: &Outgoing, now: i64) -> String {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let claim = Claim { subscriber: 0, mailing: 0, day: now.div_euclid(DAY) as u16 };
        let mark = |whom| format!("{FIELD}: {}\r\n", keys.sign(Purpose::Loop, whom, claim));
        marked(message).map(mark).collect()
    }

    /// Whether the message has one of the marks that it would get now.
    pub(crate) fn was_here(&self, message: &Outgoing) -> bool {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let fields = all(beginning(&message.text), FIELD).take(FIELDS_MAX);
        let marks: Vec<&str> = fields.filter_map(|it| str::from_utf8(it).ok()).collect();
        let is_for = |whom, mark: &&str| keys.verify(Purpose::Loop, whom, mark.trim()).is_some();
        marked(message).any(|whom| marks.iter().any(|mark| is_for(whom, mark)))
    }
}

/// What a message is marked with.
fn marked(message: &Outgoing) -> impl Iterator<Item = &Address> {
    let list = message.list.as_ref().map(|list| &list.bounces);
    let others = if list.is_some() { &[] } else { &message.recipients[..] };
    list.into_iter().chain(others.iter().take(RECIPIENTS_MAX))
}
