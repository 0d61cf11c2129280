//! The messages that are not finished.

use crate::event::QueueId;
use serde_json::{Value, json};
use sojourn_mail_engine::MessageId;
use std::collections::BTreeMap;

/// The messages that are not finished.
#[derive(Debug, Default)]
pub(super) struct Queue(BTreeMap<MessageId, Queued>);

#[derive(Debug)]
struct Queued {
    sender: Option<String>,
    size: u64,
    accepted_ms: i64,
    /// Recipients that were not at their end when it was taken over or found.
    recipients: usize,
    delivered: usize,
    failed: usize,
}

impl Queued {
    fn left(&self) -> usize {
        self.recipients.saturating_sub(self.delivered + self.failed)
    }
}

impl Queue {
    pub(super) fn accepted(
        &mut self,
        message: MessageId,
        sender: Option<String>,
        size: u64,
        accepted_ms: i64,
        recipients: usize,
    ) {
        let queued = Queued { sender, size, accepted_ms, recipients, delivered: 0, failed: 0 };
        self.0.insert(message, queued);
    }

    pub(super) fn ended(&mut self, message: MessageId, delivered: bool) {
        if let Some(queued) = self.0.get_mut(&message) {
            *(if delivered { &mut queued.delivered } else { &mut queued.failed }) += 1;
        }
    }

    /// A recipient was given up by an operator.
    pub(super) fn deleted(&mut self, message: MessageId) {
        if let Some(queued) = self.0.get_mut(&message) {
            queued.recipients = queued.recipients.saturating_sub(1);
        }
    }

    pub(super) fn finished(&mut self, message: MessageId) {
        self.0.remove(&message);
    }

    pub(super) fn messages(&self) -> usize {
        self.0.len()
    }

    /// Recipients that are not at their end, of all messages.
    pub(super) fn left(&self) -> usize {
        self.0.values().map(Queued::left).sum()
    }

    /// When the oldest was accepted, in milliseconds since 1970.
    pub(super) fn oldest_ms(&self) -> Option<i64> {
        self.0.values().map(|queued| queued.accepted_ms).min()
    }

    /// The messages with the most recipients left.
    pub(super) fn largest(&self, count: usize) -> Vec<Value> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(id, queued)| (std::cmp::Reverse(queued.left()), **id));
        all.truncate(count);
        let show = |(id, queued): (&MessageId, &Queued)| {
            json!({
                "message": QueueId(*id).to_string(),
                "sender": queued.sender,
                "size_bytes": queued.size,
                "accepted_ms": queued.accepted_ms,
                "recipients": queued.recipients,
                "delivered": queued.delivered,
                "failed": queued.failed,
                "left": queued.left(),
            })
        };
        all.into_iter().map(show).collect()
    }
}
