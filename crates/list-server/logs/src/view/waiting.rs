//! Who is still waited for.

use super::View;
use crate::columns::{Column, Columns};
use crate::event::Outcome;
use crate::messages::Delivery;
use std::collections::BTreeMap;
use std::ops::Bound;

/// How many recipients of messages are kept.
const MOST: usize = 1 << 20;
/// How much is kept of what was said.
const LONGEST: usize = 200;

/// Recipients of messages that were deferred and have come to no end since.
#[derive(Debug, Default)]
pub struct Waiting {
    /// By the queue's name of the message, a zero octet, and the recipient.
    late: BTreeMap<Box<[u8]>, Late>,
    key: Vec<u8>,
    /// How many could not be kept.
    pub left_out: u64,
}

#[derive(Debug)]
struct Late {
    since: i64,
    last: i64,
    attempts: u64,
    relay: Box<[u8]>,
    text: Box<[u8]>,
}

impl Waiting {
    /// A row for each: `queue_id`, `recipient`, `relay` and `text` of the last attempt, `since_us`
    /// when the message was accepted, or first tried where the log does not say, `last_us` when it
    /// was last tried, or put off where it never was, `attempts`.
    pub fn rows(&self) -> Columns {
        let parts = self.late.keys().map(|key| {
            let end = memchr::memchr(0, key).unwrap_or(key.len());
            (&key[..end], key.get(end + 1..).unwrap_or_default())
        });
        let late = || self.late.values();
        vec![
            ("queue_id", Column::texts(parts.clone().map(|(id, _)| id))),
            ("recipient", Column::texts(parts.map(|(_, recipient)| recipient))),
            ("relay", Column::texts(late().map(|it| &it.relay[..]))),
            ("text", Column::texts(late().map(|it| &it.text[..]))),
            ("since_us", Column::int(late().map(|it| it.since))),
            ("last_us", Column::int(late().map(|it| it.last))),
            ("attempts", Column::int(late().map(|it| it.attempts as i64))),
        ]
    }

    fn name(&mut self, queue_id: &[u8], recipient: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(queue_id);
        self.key.push(0);
        self.key.extend_from_slice(recipient);
    }
}

impl View for Waiting {
    fn arrived(&mut self, _: i64) {}

    fn tried(&mut self, delivery: &Delivery<'_>) {
        if delivery.attempt.outcome == Outcome::Deferred {
            self.waits(delivery, true);
        } else {
            self.ended_untried(delivery);
        }
    }

    fn put_off(&mut self, delivery: &Delivery<'_>) {
        self.waits(delivery, false);
    }

    fn ended_untried(&mut self, delivery: &Delivery<'_>) {
        if !self.late.is_empty() {
            self.name(delivery.queue_id, delivery.recipient);
            self.late.remove(&self.key[..]);
        }
    }

    fn removed(&mut self, queue_id: &[u8]) {
        if self.late.is_empty() {
            return;
        }
        self.name(queue_id, b"");
        loop {
            let from = (Bound::Included(&self.key[..]), Bound::Unbounded);
            let next = self.late.range::<[u8], _>(from).next();
            let Some((key, _)) = next.filter(|(key, _)| key.starts_with(&self.key)) else { return };
            let key = key.clone();
            self.late.remove(&key);
        }
    }
}

impl Waiting {
    /// A recipient waits, who was tried or not: the reason stays that of the last attempt.
    fn waits(&mut self, delivery: &Delivery<'_>, is_tried: bool) {
        let attempt = delivery.attempt;
        self.name(delivery.queue_id, delivery.recipient);
        let text: Box<[u8]> = attempt.text[..attempt.text.len().min(LONGEST)].into();
        let relay: Box<[u8]> = attempt.relay.unwrap_or_default().into();
        if let Some(late) = self.late.get_mut(&self.key[..]) {
            if is_tried || late.attempts == 0 {
                late.last = delivery.at;
                (late.relay, late.text) = (relay, text);
            }
            late.attempts += u64::from(is_tried);
        } else if self.late.len() < MOST {
            let since = delivery.age.map_or(delivery.at, |age| delivery.at - age);
            let (last, attempts) = (delivery.at, u64::from(is_tried));
            let late = Late { since, last, attempts, relay, text };
            self.late.insert(self.key[..].into(), late);
        } else {
            self.left_out += 1;
        }
    }
}
