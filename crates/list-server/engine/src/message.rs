//! Messages, and the work that is made of them.

use crate::clock::rebase_clock;
use crate::event::{MessageId, Record, Submission, Task};
use crate::ids::{DestinationId, EnvelopeId, Id, RecipientIndex, Table};
use crate::list::return_path::{ReturnPaths, encode_verp};
use crate::list::token::Claim;
use crate::policy::split::{Place, Split, together};
use crate::{Engine, Timer};
use slab::Slab;
use sojourn_core::{Span, Time};
use sojourn_smtp::Address;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// A message under way.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) sender: Option<Address>,
    pub(super) size: u64,
    pub(super) eight_bit: bool,
    pub(super) utf8: bool,
    pub(super) accepted: Time,
    /// The day that its return paths name.
    pub(super) day: u16,
    pub(super) recipients: Table<RecipientIndex, Recipient>,
    /// Recipients whose end is not on stable storage yet.
    pub(super) open: u32,
}

#[derive(Debug)]
pub(super) struct Recipient {
    pub(super) address: Address,
    pub(super) destination: DestinationId,
    /// Its number in the list's register.
    pub(super) subscriber: Option<NonZeroU32>,
    pub(super) state: State,
    pub(super) wish: Wish,
    /// How many times it was refused for now, and when first.
    pub(super) refused: u32,
    pub(super) first_refused: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It stands in a parcel or waits for its time, or is held.
    Waiting,
    /// It is in a transaction.
    InFlight,
    /// It failed, on stable storage or on the way there, and was not reported.
    Failed,
    /// It is delivered or reported, on stable storage or on the way there.
    Ended,
}

/// What an operator wants to become of a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Send,
    /// Not to be tried: it stands in no place while it waits.
    Hold,
    /// It is in a transaction; if that does not deliver it, it is given up.
    Remove,
}

/// Recipients of one message at one destination: the work of one or more transactions.
#[derive(Debug)]
pub(super) struct DeliveryBatch {
    pub(super) message: MessageId,
    pub(super) recipients: Vec<RecipientIndex>,
    /// The envelope that goes on when this is done.
    pub(super) envelope: EnvelopeId,
    /// When it was queued.
    pub(super) queued: Time,
}

/// Groups of one message that are worked off one after the other.
#[derive(Debug)]
pub(super) struct EnvelopeProgress {
    pub(super) message: MessageId,
    pub(super) groups: VecDeque<(DestinationId, Vec<RecipientIndex>)>,
    /// Parcels of the present group that are not done.
    pub(super) outstanding: u32,
    /// What is done and not written, where the envelope is written by itself.
    pub(super) unsaved: Vec<Record>,
}

impl Recipient {
    /// Whether it is to be sent to.
    pub(super) fn is_waiting(&self) -> bool {
        self.state == State::Waiting && self.wish == Wish::Send
    }
}

impl Message {
    /// A message whose recipients go to `destinations`.
    pub(super) fn new(
        submission: Submission,
        accepted: Time,
        destinations: Vec<DestinationId>,
    ) -> Message {
        let numbers = submission.subscribers.into_iter().chain(std::iter::repeat(0));
        let recipients = submission.recipients.into_iter().zip(destinations).zip(numbers);
        let recipients: Table<_, _> = recipients
            .map(|((address, destination), number)| Recipient {
                address,
                destination,
                subscriber: NonZeroU32::new(number),
                state: State::Waiting,
                wish: Wish::Send,
                refused: 0,
                first_refused: Time::ZERO,
            })
            .collect();
        Message {
            sender: submission.sender,
            size: submission.size,
            eight_bit: submission.eight_bit,
            utf8: submission.utf8,
            accepted,
            day: submission.day,
            open: recipients.len() as u32,
            recipients,
        }
    }

    pub(super) fn rebase_clock(&mut self, by: Span) {
        rebase_clock(&mut self.accepted, by);
        self.recipients.values_mut().for_each(|it| rebase_clock(&mut it.first_refused, by));
    }

    pub(super) fn is_waiting(&self, recipient: RecipientIndex) -> bool {
        self.recipients[recipient].is_waiting()
    }

    /// The places of all recipients that wait, in the list's order.
    pub(super) fn waiting(&self) -> Vec<Place> {
        let places = self.recipients.iter();
        places
            .filter(|(_, recipient)| recipient.is_waiting())
            .map(|(recipient, it)| Place { recipient, destination: it.destination })
            .collect()
    }
}

impl EnvelopeProgress {
    /// The envelope's groups, one for each destination, in the order of their first recipients.
    pub(super) fn new(message: MessageId, envelope: &[Place]) -> EnvelopeProgress {
        let group = |group: &[Place]| {
            (group[0].destination, group.iter().map(|place| place.recipient).collect())
        };
        // Most envelopes are for one destination.
        let mut runs = envelope.chunk_by(|a, b| a.destination == b.destination);
        let groups = match (runs.next(), runs.next()) {
            (_, Some(_)) => together(envelope).iter().map(|it| group(it)).collect(),
            (only, None) => only.into_iter().map(group).collect(),
        };
        EnvelopeProgress { message, groups, outstanding: 0, unsaved: Vec::new() }
    }
}

/// The envelopes that are not worked off.
#[derive(Debug, Default)]
pub(super) struct Envelopes(Slab<EnvelopeProgress>);

impl Envelopes {
    pub(super) fn insert(&mut self, progress: EnvelopeProgress) -> EnvelopeId {
        Id::new(self.0.insert(progress))
    }

    pub(super) fn remove(&mut self, id: EnvelopeId) -> EnvelopeProgress {
        self.0.remove(id.index())
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut EnvelopeProgress> {
        self.0.iter_mut().map(|(_, progress)| progress)
    }
}

impl Index<EnvelopeId> for Envelopes {
    type Output = EnvelopeProgress;

    fn index(&self, id: EnvelopeId) -> &EnvelopeProgress {
        &self.0[id.index()]
    }
}

impl IndexMut<EnvelopeId> for Envelopes {
    fn index_mut(&mut self, id: EnvelopeId) -> &mut EnvelopeProgress {
        &mut self.0[id.index()]
    }
}

impl Engine {
    /// A message is ready to go: these recipients are ordered, split and queued.
    pub(super) fn start(&mut self, id: MessageId, mut places: Vec<Place>) {
        let expires = self.messages[&id].accepted + self.config.lifetime;
        let destinations = &self.destinations;
        self.config.order.sort(&mut places, |it| destinations[it].delay);
        self.timers.schedule(expires.max(self.now), Timer::Expiry(id));
        self.queue(id, places);
    }

    /// Splits recipients of one message, in the order of service, and queues the envelopes.
    pub(super) fn queue(&mut self, message: MessageId, places: Vec<Place>) {
        for envelope in self.config.split.cut(places) {
            let number = self.envelopes.insert(EnvelopeProgress::new(message, &envelope));
            self.advance(number);
        }
    }

    /// Queues the next group of an envelope, or forgets the envelope.
    pub(super) fn advance(&mut self, number: EnvelopeId) {
        let progress = &mut self.envelopes[number];
        let Some((destination, recipients)) = progress.groups.pop_front() else {
            if !progress.unsaved.is_empty() {
                self.journal.push_file(std::mem::take(&mut progress.unsaved), None);
            }
            self.envelopes.remove(number);
            return;
        };
        progress.outstanding = 1;
        let batch = DeliveryBatch {
            message: progress.message,
            recipients,
            envelope: number,
            queued: self.now,
        };
        self.destinations[destination].queue.push_back(batch);
        self.look_at(destination);
    }

    /// A parcel of an envelope is done.
    pub(super) fn done(&mut self, envelope: EnvelopeId) {
        let progress = &mut self.envelopes[envelope];
        progress.outstanding -= 1;
        if progress.outstanding == 0 {
            self.advance(envelope);
        }
    }

    /// Whether `recipient` of `message` still has to be sent to.
    pub(super) fn is_waiting(&self, task: Task) -> bool {
        let message = self.messages.get(&task.message);
        message.is_some_and(|message| message.is_waiting(task.recipient))
    }

    /// A transaction that is over has said nothing of this recipient; whether it is to be sent to.
    pub(super) fn is_to_be_sent(&mut self, task: Task) -> bool {
        self.set_state(task, State::Waiting);
        self.is_waiting(task)
    }

    pub(super) fn set_state(&mut self, task: Task, state: State) {
        let message =
            self.messages.get_mut(&task.message).expect("a message with open recipients is known");
        message.recipients[task.recipient].state = state;
    }

    /// Copies of lists' mail get return paths with tokens from now on, as `paths` says. What is sent
    /// already keeps the path that it has.
    pub fn set_return_paths(&mut self, paths: ReturnPaths) {
        self.return_paths = paths;
    }

    /// What tokens in the copy for a recipient claim; nothing where the recipient has no number in
    /// the register, or its message is finished.
    pub fn claim(&self, task: Task) -> Option<Claim> {
        let message = self.messages.get(&task.message)?;
        let subscriber = message.recipients.get(task.recipient)?.subscriber?;
        // Of a mailing's number, a token has the lower half.
        let mailing = task.message.0 as u32;
        Some(Claim { subscriber: subscriber.get(), mailing, day: message.day })
    }

    /// Whether each recipient of `message` gets a separate return path, and so a separate transaction.
    pub(super) fn is_named(&self, message: &Message) -> bool {
        message.sender.as_ref().is_some_and(|sender| {
            self.return_paths.has(sender) || self.config.verp.contains(sender)
        })
    }

    /// The return path for `recipients` of message `id`, by their places; nothing for a report. It
    /// is the message's sender where it cannot name one recipient: the recipient has no number in
    /// the register, or its address is too long.
    pub(super) fn return_path(
        &self,
        id: MessageId,
        recipients: &[RecipientIndex],
    ) -> Option<Address> {
        let message = &self.messages[&id];
        let sender = message.sender.as_ref()?;
        let [one] = recipients else { return Some(sender.clone()) };
        let named = if self.return_paths.has(sender) {
            let claim = self.claim(Task { message: id, recipient: *one });
            claim.and_then(|claim| self.return_paths.path(sender, claim))
        } else if self.config.verp.contains(sender) {
            encode_verp(sender, &message.recipients[*one].address)
        } else {
            None
        };
        Some(named.unwrap_or_else(|| sender.clone()))
    }
}
