//! The marks of what was sent on from here, by which it is known when it comes back, whoever
//! carried it (RFC 5321 section 6.3).
//!
//! A list's mail is marked with the list; other mail with whom it is for. Other programs have such
//! fields too (Mailman's `X-BeenThere`, Postfix's `Delivered-To`), but what these have here is made
//! with a key: whoever has never had the message cannot keep it from a list.

use super::lists::Lists;
use super::submission::Outgoing;
use sojourn_mail_engine::list::token::{Claim, Purpose};
use sojourn_smtp::Address;
use sojourn_smtp::header::{all, beginning};
use std::sync::PoisonError;

const FIELD: &str = "X-Loop";
/// Fields that are looked at.
const FIELDS_MAX: usize = 50;
/// Recipients whom a message that is no list's is marked with. One for more that comes back comes
/// for fewer, and is marked then.
const RECIPIENTS_MAX: usize = 10;
const DAY: i64 = 86_400;

impl Lists {
    /// The marks of a message that is sent on at `now`, in seconds since 1970: whole header fields.
    pub(super) fn marks(&self, message: &Outgoing, now: i64) -> String {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let claim = Claim { subscriber: 0, mailing: 0, day: now.div_euclid(DAY) as u16 };
        let mark = |whom| format!("{FIELD}: {}\r\n", keys.sign(Purpose::Loop, whom, claim));
        marked(message).map(mark).collect()
    }

    /// Whether the message has one of the marks that it would get now.
    pub(super) fn was_here(&self, message: &Outgoing) -> bool {
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
