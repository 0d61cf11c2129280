//! Attempts as rows of a table.

use super::View;
use crate::columns::{Column, Columns};
use crate::messages::{Delivery, domain};
use crate::refusal::Refusal;

/// Every attempt for a recipient, or for one recipient or domain alone.
#[derive(Debug)]
pub struct Rows {
    wanted: Option<Box<[u8]>>,
    columns: Columns,
    rows: usize,
}

const INTS: [&str; 13] = [
    "at_us",
    "accepted_us",
    "delay_us",
    "before_us",
    "queued_us",
    "connecting_us",
    "sending_us",
    "took_us",
    "size_bytes",
    "leads",
    "outcome",
    "pushback",
    "step",
];
const TEXTS: [&str; 10] = [
    "mailer",
    "queue_id",
    "sender",
    "message_id",
    "recipient",
    "original",
    "relay",
    "address",
    "dsn",
    "text",
];

impl Rows {
    /// Of all recipients, or of those whose address, or the address it stands for, is this; of a domain
    /// where it begins with `@`. Capitals do not matter.
    pub fn new(wanted: Option<&str>) -> Rows {
        let wanted = wanted.map(|text| text.as_bytes().into());
        Rows { wanted, columns: empty(), rows: 0 }
    }

    /// How many rows are held.
    pub fn held(&self) -> usize {
        self.rows
    }

    /// The rows since the last call.
    ///
    /// Times in microseconds: `at_us` when the attempt ended, `accepted_us` when the message was
    /// accepted, `delay_us` how old it was; Postfix's parts of that, `before_us`, `queued_us`,
    /// `connecting_us`, `sending_us`; `took_us`. `size_bytes`; `leads` 1 for the first recipient of
    /// its transaction, else 0; `outcome` 0 delivered, 1 deferred, 2 bounced. Where a host refused for
    /// now, `pushback` is 0 where it does not say what it wants, 1 for greylisting, 2 for fewer
    /// messages, 3 for fewer sessions; and `step` is 0 where it refused the session, 1 at MAIL, 2 at
    /// RCPT, 3 at DATA or later. Of texts, what is not known is empty.
    pub fn take(&mut self) -> Columns {
        self.rows = 0;
        std::mem::replace(&mut self.columns, empty())
    }

    fn wants(&self, delivery: &Delivery<'_>) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        let fits = |address: &[u8]| match wanted.strip_prefix(b"@") {
            Some(wanted) => domain(address).eq_ignore_ascii_case(wanted),
            None => address.eq_ignore_ascii_case(wanted),
        };
        fits(delivery.recipient) || delivery.attempt.original.is_some_and(fits)
    }
}

fn empty() -> Columns {
    let ints = INTS.into_iter().map(|name| (name, Column::int([])));
    ints.chain(TEXTS.into_iter().map(|name| (name, Column::text()))).collect()
}

impl View for Rows {
    fn arrived(&mut self, _: i64) {}

    fn tried(&mut self, delivery: &Delivery<'_>) {
        if !self.wants(delivery) {
            return;
        }
        self.rows += 1;
        let (attempt, message) = (delivery.attempt, delivery.message);
        let [before, queued, connecting, sending] = match attempt.parts {
            Some(parts) => parts.map(Some),
            None => [None; 4],
        };
        let refusal = Refusal::of(attempt);
        let ints = [
            Some(delivery.at),
            message.accepted,
            delivery.age,
            before,
            queued,
            connecting,
            sending,
            attempt.took,
            message.size.map(|size| size as i64),
            Some(i64::from(delivery.leads)),
            Some(attempt.outcome as i64),
            refusal.as_ref().map(Refusal::pushback),
            refusal.and_then(|it| it.step).map(|step| step as i64),
        ];
        let dsn = attempt.dsn.map(|dsn| format!("{}.{}.{}", dsn.0, dsn.1, dsn.2));
        let texts = [
            delivery.mailer.name.as_bytes(),
            delivery.queue_id,
            message.sender.as_deref().unwrap_or_default(),
            message.message_id.as_deref().unwrap_or_default(),
            delivery.recipient,
            attempt.original.unwrap_or_default(),
            attempt.relay.unwrap_or_default(),
            attempt.address,
            dsn.as_deref().unwrap_or_default().as_bytes(),
            attempt.text,
        ];
        let (numbers, names) = self.columns.split_at_mut(INTS.len());
        for ((_, column), value) in numbers.iter_mut().zip(ints) {
            column.push_int(value);
        }
        for ((_, column), value) in names.iter_mut().zip(texts) {
            column.push_text(value);
        }
    }

    fn removed(&mut self, _: &[u8]) {}
}
