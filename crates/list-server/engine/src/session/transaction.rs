//! From a batch of recipients to a transaction.
//!
//! Where each recipient has a separate transaction, the commands of the next one follow a message
//! without waiting for the answer to it (RFC 2920). With CHUNKING (RFC 3030) its message goes with
//! them, up to a window: a crash or a connection that breaks leaves no more in doubt.

use super::Session;
use crate::Engine;
use crate::destination::Routes;
use crate::event::{MessageId, SessionId, Task};
use crate::ids::{DestinationId, RecipientIndex};
use crate::message::{DeliveryBatch, State};
use crate::policy::checkpoint::Checkpoint;
use crate::reason::{Reason, status};
use sojourn_core::Span;
use sojourn_smtp::Address;
use sojourn_smtp::client::Envelope;

/// So many round trips of transactions that carry one recipient each are worth another session: to
/// set one up takes three.
const WORTH_A_SESSION: usize = 8;

/// A host that takes longer for a transaction thinks rather than being far: a window does not help
/// there, and sessions share the thinking.
pub(crate) const QUICK: Span = Span::from_s(1);

/// Octets of a message that goes out before its recipient is taken: what a connection swallows even
/// if the host reads on only when it has refused.
const WHOLE_MAX: u64 = 64 * 1024;

/// Octets of header fields that a copy for one recipient may have beyond the text of all.
const OWN_FIELDS: u64 = 4096;

impl Engine {
    /// Whether the return path of a message's mail names its recipient, so that each has a
    /// separate transaction.
    pub(crate) fn names_recipients(&self, message: MessageId) -> bool {
        self.messages.get(&message).is_some_and(|message| self.is_named(message))
    }

    /// How many sessions a destination's queue is worth, up to its limit, where each of its
    /// recipients has a separate transaction; nothing where they share.
    pub(crate) fn sessions_worth(&self, destination: DestinationId) -> Option<usize> {
        let this = &self.destinations[destination];
        let (queue, most) = (&this.queue, this.most_sessions as usize);
        if !self.names_recipients(queue.front()?.message) {
            return None;
        }
        let takes_whole = match &this.routes {
            Routes::Known(hosts, _) => hosts.iter().any(|route| self.hosts[route.host].takes_whole),
            _ => false,
        };
        let in_windows = takes_whole && this.delay.is_none_or(|it| it < QUICK);
        let window = if in_windows { self.config.limits.window.get() as usize } else { 1 };
        let worth = WORTH_A_SESSION.saturating_mul(window);
        // Each parcel is worth a part of one at least.
        let batches = queue.iter().take(most.saturating_mul(worth));
        let recipients: usize = batches.map(|batch| batch.recipients.len()).sum();
        Some(recipients.div_ceil(worth).min(most))
    }

    /// Begins transactions before those under way are answered, where that gains a round trip and
    /// nothing wants transactions apart: the host, a limit by the minute, or envelopes that are
    /// written one by one. Where a session waits for storage, only a text that does not go out with
    /// its commands does.
    pub(crate) fn begin_early(&mut self, id: SessionId) {
        while self.may_begin_early(id) {
            let number = self.sessions[id].destination;
            let batch = self.destinations[number]
                .queue
                .pop_front()
                .expect("a destination that may begin has a batch");
            if let Some(batch) = self.fit(id, batch) {
                self.begin(id, batch);
            }
        }
    }

    fn may_begin_early(&self, id: SessionId) -> bool {
        let Some(session) = self.sessions.get(id) else { return false };
        let destination = &self.destinations[session.destination];
        let Some(batch) = destination.queue.front() else { return false };
        // What was answered and is not written counts as under way: a crash repeats it too.
        let window = self.window(session, batch.message).saturating_sub(session.writes() as usize);
        session.client.can_begin_early(window)
            && !self.hosts[session.host].no_pipelining
            && self.config.checkpoint.file().is_none()
            && destination.gap == Span::ZERO
            && !self.journal.failing
            && self.names_recipients(batch.message)
            && !self.has_had_its_turn(id)
    }

    /// How many transactions for one recipient of `message` each may be under way over a session.
    fn window(&self, session: &Session, message: MessageId) -> usize {
        let apart = self.hosts[session.host].no_pipelining;
        let large = self.messages.get(&message).is_none_or(|it| it.size > WHOLE_MAX);
        let most = self.config.limits.window.get() as usize;
        if apart || large { 1 } else { most.min(session.window) }
    }

    /// What of `batch` can go into one transaction now; the rest goes back or fails.
    pub(crate) fn fit(&mut self, id: SessionId, mut batch: DeliveryBatch) -> Option<DeliveryBatch> {
        let session = &self.sessions[id];
        let can = *session.client.extensions();
        let number = session.destination;
        let task = |recipient| Task { message: batch.message, recipient };
        let mut recipients = std::mem::take(&mut batch.recipients);
        // What is too many is cut off first: a large parcel is looked through once, not each time.
        let named = self.names_recipients(batch.message);
        let most = if named { 1 } else { self.config.limits.recipients.get() };
        let destination = &mut self.destinations[number];
        let most = destination.most_recipients.min(most) as usize;
        if recipients.len() > most {
            let rest = recipients.split_off(most);
            let progress = &mut self.envelopes[batch.envelope];
            progress.outstanding += 1;
            destination.queue.push_front(DeliveryBatch { recipients: rest, ..batch });
            if named {
                // Sessions at the same time may carry the others.
                self.look_at(number);
            }
        }
        let Some(message) = self.messages.get(&batch.message) else {
            self.done(batch.envelope);
            return None;
        };
        recipients.retain(|&recipient| message.is_waiting(recipient));
        let all = if can.largest.is_some_and(|largest| message.size > largest) {
            Some(Reason::new(status::TOO_LARGE, "the message is larger than the host takes"))
        } else if message.eight_bit && !can.eight_bit_mime {
            Some(Reason::new(status::EIGHT_BIT, "the host takes no 8-bit text"))
        } else if !can.smtp_utf8
            && (message.utf8 || message.sender.as_ref().is_some_and(Address::is_international))
        {
            Some(Reason::new(status::INTERNATIONAL, "the host takes no UTF-8 headers"))
        } else {
            None
        };
        let unfit: Vec<RecipientIndex> = recipients
            .extract_if(.., |recipient| {
                let address = &message.recipients[*recipient].address;
                all.is_some() || (!can.smtp_utf8 && address.is_international())
            })
            .collect();
        let reason = all.unwrap_or_else(|| {
            Reason::new(status::INTERNATIONAL, "the host takes no UTF-8 addresses")
        });
        for recipient in unfit {
            self.fail_unsent(task(recipient), reason.clone());
        }
        if recipients.is_empty() {
            self.done(batch.envelope);
            return None;
        }
        Some(DeliveryBatch { recipients, ..batch })
    }

    pub(crate) fn begin(&mut self, id: SessionId, batch: DeliveryBatch) {
        let named = self.names_recipients(batch.message);
        let message =
            self.messages.get_mut(&batch.message).expect("a message with open recipients is known");
        let begin = |&recipient: &RecipientIndex| {
            let recipient = &mut message.recipients[recipient];
            recipient.state = State::InFlight;
            recipient.address.clone()
        };
        let recipients: Vec<Address> = batch.recipients.iter().map(begin).collect();
        let message = &self.messages[&batch.message];
        let envelope = Envelope {
            sender: self.return_path(batch.message, &batch.recipients),
            recipients,
            // Copies for one recipient may have separate fields (RFC 1870 section 5: an estimate).
            size: message.size + if batch.recipients.len() == 1 && named { OWN_FIELDS } else { 0 },
            eight_bit: message.eight_bit,
            utf8: message.utf8,
        };
        let whole = named && self.window(&self.sessions[id], batch.message) > 1;
        let session = self.sessions.get_mut(id).expect("an event names an open session");
        session.begin(batch, whole, self.now);
        let number = session.destination;
        let mut outputs = self.spare.pop().unwrap_or_default();
        session.client.begin(envelope, whole, &mut outputs);
        let destination = &mut self.destinations[number];
        if destination.gap > Span::ZERO {
            destination.open_from = self.now + destination.gap;
            self.set_destination_alarm(number);
        }
        self.set_deadline(id);
        self.perform(id, outputs);
    }
}
