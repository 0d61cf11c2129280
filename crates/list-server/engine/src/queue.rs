//! The messages that are not finished, and the envelopes that their recipients are split into.

use crate::clock::{Clock, Timer};
use crate::config::Config;
use crate::event::{Effect, MessageId, Record, Task};
use crate::ids::{DestinationId, EnvelopeId, Id, RecipientIndex};
use crate::journal::Journal;
use crate::list::return_path::{ReturnPaths, encode_verp};
use crate::list::token::Claim;
use crate::message::{DeliveryBatch, Message, Recipient, Wish};
use crate::moment::Moment;
use crate::policy::split::{Place, together};
use slab::Slab;
use sojourn_core::Span;
use sojourn_smtp::{Address, client};
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};

/// Octets of header fields that a copy for one recipient may have beyond the text of all.
const OWN_FIELDS: u64 = 4096;

/// Every message that is not finished, and how far its envelopes have come.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    messages: BTreeMap<MessageId, Message>,
    /// Messages that are being written to stable storage before anything else.
    offered: BTreeMap<MessageId, Message>,
    envelopes: Slab<Envelope>,
    return_paths: ReturnPaths,
}

/// Groups of one message that are worked off one after the other.
#[derive(Debug)]
struct Envelope {
    message: MessageId,
    groups: VecDeque<(DestinationId, Vec<RecipientIndex>)>,
    /// Batches of the present group that are not done.
    outstanding: u32,
    /// What is done and not written, where the envelope is written by itself.
    unsaved: Vec<Record>,
}

/// What an envelope goes on with.
#[derive(Debug)]
pub(super) enum Next {
    /// The batch of its next group, for this destination.
    Batch(DestinationId, DeliveryBatch),
    /// Nothing: it is forgotten, and these records are to be written by themselves.
    Over(Vec<Record>),
}

impl Index<MessageId> for MessageQueue {
    type Output = Message;

    fn index(&self, id: MessageId) -> &Message {
        &self.messages[&id]
    }
}

impl IndexMut<MessageId> for MessageQueue {
    fn index_mut(&mut self, id: MessageId) -> &mut Message {
        self.messages.get_mut(&id).expect("a message with open recipients is known")
    }
}

/// Messages.
impl MessageQueue {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.messages.len() + self.offered.len()
    }

    /// Whether this number is in use.
    pub(super) fn has(&self, id: MessageId) -> bool {
        self.messages.contains_key(&id) || self.offered.contains_key(&id)
    }

    /// One that is accepted.
    pub(super) fn get(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (MessageId, &mut Message)> {
        self.messages.iter_mut().map(|(&id, message)| (id, message))
    }

    /// All messages live so long from their acceptance on.
    pub(super) fn expire_after(&self, lifetime: Span, clock: &mut Clock) {
        for (&id, message) in &self.messages {
            clock.schedule((message.accepted + lifetime).max(clock.now), Timer::Expiry(id));
        }
    }

    /// A message is being written.
    pub(super) fn offer(&mut self, id: MessageId, message: Message) {
        self.offered.insert(id, message);
    }

    /// What was offered is written, or cannot be.
    pub(super) fn take_offered(&mut self, id: MessageId) -> Message {
        self.offered.remove(&id).expect("a message that is accepted was offered")
    }

    pub(super) fn insert(&mut self, id: MessageId, message: Message) {
        self.messages.insert(id, message);
    }

    /// A recipient of a message that is not finished.
    pub(super) fn recipient(&self, task: Task) -> &Recipient {
        &self[task.message].recipients[task.recipient]
    }

    pub(super) fn recipient_mut(&mut self, task: Task) -> &mut Recipient {
        &mut self[task.message].recipients[task.recipient]
    }

    /// Whether this recipient still has to be sent to.
    pub(super) fn is_waiting(&self, task: Task) -> bool {
        self.messages.get(&task.message).is_some_and(|message| message.is_waiting(task.recipient))
    }

    /// Whether all recipients of a batch under way were deleted.
    pub(super) fn is_deleted(&self, batch: &DeliveryBatch) -> bool {
        let message = &self[batch.message];
        batch.recipients.iter().all(|&it| message.recipients[it].wish == Wish::Remove)
    }

    /// The end of one recipient is on stable storage; its destination.
    pub(super) fn settle(&mut self, task: Task, effects: &mut Vec<Effect>) -> DestinationId {
        let message = &mut self[task.message];
        let destination = message.recipients[task.recipient].destination;
        message.open -= 1;
        if message.open == 0 {
            self.messages.remove(&task.message);
            effects.push(Effect::Finished(task.message));
        }
        destination
    }

    /// Failures were reported.
    pub(super) fn reported(
        &mut self,
        message: MessageId,
        recipients: &[RecipientIndex],
        journal: &mut Journal,
        now: Moment,
    ) {
        let Some(known) = self.messages.get_mut(&message) else { return };
        for &recipient in recipients {
            if let Some(reported) = known.recipients.get_mut(recipient)
                && reported.has_failed()
            {
                reported.end();
                journal.push(now, Record::Reported(Task { message, recipient }));
            }
        }
    }
}

/// Transactions.
impl MessageQueue {
    /// The transaction of a batch begins, whose return path may have `named` its recipient.
    pub(super) fn begin(
        &mut self,
        batch: &DeliveryBatch,
        named: bool,
        config: &Config,
    ) -> client::Envelope {
        let message = &mut self[batch.message];
        let begin = |&recipient: &RecipientIndex| {
            let recipient = &mut message.recipients[recipient];
            recipient.begin();
            recipient.address.clone()
        };
        let recipients = batch.recipients.iter().map(begin).collect();
        let message = &self[batch.message];
        client::Envelope {
            sender: self.return_path(batch.message, &batch.recipients, config),
            recipients,
            // Copies for one recipient may have separate fields (RFC 1870 section 5: an estimate).
            size: message.size + if batch.recipients.len() == 1 && named { OWN_FIELDS } else { 0 },
            eight_bit: message.eight_bit,
            utf8: message.utf8,
        }
    }

    /// Those of `tasks`, all at one destination, that are to be sent to: one message's together, the
    /// oldest first.
    pub(super) fn by_message(
        &self,
        destination: DestinationId,
        tasks: Vec<Task>,
    ) -> BTreeMap<MessageId, Vec<Place>> {
        let mut messages: BTreeMap<_, Vec<Place>> = BTreeMap::new();
        for task in tasks {
            if self.is_waiting(task) {
                let place = Place { recipient: task.recipient, destination };
                messages.entry(task.message).or_default().push(place);
            }
        }
        messages.values_mut().for_each(|all| all.sort_unstable_by_key(|place| place.recipient));
        messages
    }
}

/// Return paths.
impl MessageQueue {
    pub(super) fn set_return_paths(&mut self, paths: ReturnPaths) {
        self.return_paths = paths;
    }

    /// Whether the return path of a message's mail names its recipient, so that each has a separate
    /// transaction.
    pub(super) fn names_recipients(&self, id: MessageId, config: &Config) -> bool {
        if self.return_paths.are_none() && config.verp.is_empty() {
            return false;
        }
        let sender = self.messages.get(&id).and_then(|message| message.sender.as_ref());
        sender.is_some_and(|sender| self.return_paths.has(sender) || config.verp.contains(sender))
    }

    /// What tokens in the copy for a recipient claim; nothing where the recipient has no number in
    /// the register, or its message is finished.
    pub(super) fn claim(&self, task: Task) -> Option<Claim> {
        let message = self.messages.get(&task.message)?;
        let subscriber = message.recipients.get(task.recipient)?.subscriber?;
        // Of a mailing's number, a token has the lower half.
        let mailing = task.message.0 as u32;
        Some(Claim { subscriber: subscriber.get(), mailing, day: message.day })
    }

    /// The return path for `recipients` of a message; nothing for a report. It is the message's
    /// sender where it cannot name one recipient: the recipient has no number in the register, or
    /// its address is too long.
    pub(super) fn return_path(
        &self,
        id: MessageId,
        recipients: &[RecipientIndex],
        config: &Config,
    ) -> Option<Address> {
        let message = &self[id];
        let sender = message.sender.as_ref()?;
        let [one] = recipients else { return Some(sender.clone()) };
        let named = if self.return_paths.has(sender) {
            let claim = self.claim(Task { message: id, recipient: *one });
            claim.and_then(|claim| self.return_paths.path(sender, claim))
        } else if config.verp.contains(sender) {
            encode_verp(sender, &message.recipients[*one].address)
        } else {
            None
        };
        Some(named.unwrap_or_else(|| sender.clone()))
    }
}

/// Envelopes.
impl MessageQueue {
    /// A new envelope, which stands before its first group.
    pub(super) fn add_envelope(&mut self, message: MessageId, places: &[Place]) -> EnvelopeId {
        Id::new(self.envelopes.insert(Envelope::new(message, places)))
    }

    /// The present group of an envelope is done.
    pub(super) fn next(&mut self, id: EnvelopeId, now: Moment) -> Next {
        let envelope = &mut self.envelopes[id.index()];
        let Some((destination, recipients)) = envelope.groups.pop_front() else {
            return Next::Over(self.envelopes.remove(id.index()).unsaved);
        };
        envelope.outstanding = 1;
        let message = envelope.message;
        let batch = DeliveryBatch { message, recipients, envelope: id, queued: now };
        Next::Batch(destination, batch)
    }

    /// A batch of an envelope is done; whether its group is.
    pub(super) fn is_group_done(&mut self, id: EnvelopeId) -> bool {
        let envelope = &mut self.envelopes[id.index()];
        envelope.outstanding -= 1;
        envelope.outstanding == 0
    }

    /// The present group of an envelope has one batch more.
    pub(super) fn add_batch(&mut self, id: EnvelopeId) {
        self.envelopes[id.index()].outstanding += 1;
    }

    /// The records that the journal has had after the first `mark` are of an envelope that is written
    /// by itself when there are `enough`: whether they are, and it waits for that. A recipient that is
    /// tried again has left the envelope: its record stays in the journal.
    pub(super) fn save(
        &mut self,
        id: EnvelopeId,
        mark: usize,
        enough: u32,
        journal: &mut Journal,
    ) -> bool {
        let unsaved = &mut self.envelopes[id.index()].unsaved;
        journal.move_since(mark, unsaved);
        let is_enough = unsaved.len() >= enough as usize;
        if is_enough {
            journal.push_file(std::mem::take(unsaved), Some(id));
        }
        is_enough
    }

    /// What is not written of each envelope that is written by itself.
    pub(super) fn take_unsaved(&mut self) -> impl Iterator<Item = Vec<Record>> {
        let all = self.envelopes.iter_mut().map(|(_, envelope)| &mut envelope.unsaved);
        all.filter(|unsaved| !unsaved.is_empty()).map(std::mem::take)
    }

    /// Takes those that are not to be sent to now out of the groups to come.
    pub(super) fn drop_from_groups(&mut self) {
        for (_, envelope) in &mut self.envelopes {
            let message = &self.messages.get(&envelope.message);
            let waits = |&recipient: &RecipientIndex| {
                message.is_some_and(|message| message.is_waiting(recipient))
            };
            envelope.groups.iter_mut().for_each(|(_, group)| group.retain(waits));
            envelope.groups.retain(|(_, group)| !group.is_empty());
        }
    }
}

impl Envelope {
    /// The envelope's groups, one for each destination, in the order of their first recipients.
    fn new(message: MessageId, places: &[Place]) -> Envelope {
        let group = |group: &[Place]| {
            (group[0].destination, group.iter().map(|place| place.recipient).collect())
        };
        // Most envelopes are for one destination.
        let mut runs = places.chunk_by(|a, b| a.destination == b.destination);
        let groups = match (runs.next(), runs.next()) {
            (_, Some(_)) => together(places).iter().map(|it| group(it)).collect(),
            (only, None) => only.into_iter().map(group).collect(),
        };
        Envelope { message, groups, outstanding: 0, unsaved: Vec::new() }
    }
}
