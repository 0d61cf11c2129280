//! Messages, their recipients, and batches of these.

use crate::event::{Deferral, MessageId, Progress, Refusal, Submission};
use crate::ids::{DestinationId, EnvelopeId, RecipientIndex};
use crate::moment::Moment;
use crate::policy::split::Place;
use crate::reason::{Reason, status};
use crate::table::Table;
use sojourn_smtp::Address;
use sojourn_smtp::client::Extensions;
use std::num::NonZeroU32;

impl Submission {
    /// Why the message is refused while `waiting` recipients wait, of at most `most`.
    pub(super) fn refusal(&self, waiting: u64, most: NonZeroU32) -> Option<Refusal> {
        // One message may wait when no other does; reports of failures always may, because what
        // they are about waits for them.
        let is_full = waiting > 0 && waiting + self.recipients.len() as u64 > most.get().into();
        match self {
            _ if self.recipients.is_empty() => Some(Refusal::Invalid("it has no recipients")),
            _ if self.sender.is_some() && is_full => Some(Refusal::Full(waiting)),
            _ => None,
        }
    }
}

/// A message under way.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) sender: Option<Address>,
    pub(super) size: u64,
    pub(super) eight_bit: bool,
    pub(super) utf8: bool,
    pub(super) accepted: Moment,
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
    state: State,
    pub(super) wish: Wish,
    /// Whether an attempt for it was made since the engine knows of it.
    pub(super) attempted: bool,
    /// How many times it was refused for now, and when first.
    pub(super) refused: u32,
    pub(super) first_refused: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
    pub(super) queued: Moment,
}

/// What has to be done for a message's recipients, as stable storage has them.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those that are to be sent to now, in the list's order.
    pub(super) waiting: Vec<Place>,
    /// Those that are tried again later.
    pub(super) deferred: Vec<(RecipientIndex, Moment)>,
    /// The destinations of those that are at their end.
    pub(super) ended: Vec<DestinationId>,
    /// Those that failed and were not reported.
    pub(super) unreported: Vec<(RecipientIndex, Reason)>,
}

impl Recipient {
    /// It was refused for now: how many times, and when first.
    pub(super) fn refuse(&mut self, now: Moment) -> (u32, Moment) {
        if self.refused == 0 {
            self.first_refused = now;
        }
        self.refused += 1;
        self.attempted = true;
        self.wait();
        (self.refused, self.first_refused)
    }

    /// Its transaction begins.
    pub(super) fn begin(&mut self) {
        self.state = State::InFlight;
    }

    /// It is in no transaction any more, and has to be tried again.
    pub(super) fn wait(&mut self) {
        self.state = State::Waiting;
    }

    /// It will never be delivered, which has to be reported.
    pub(super) fn fail(&mut self) {
        self.state = State::Failed;
    }

    /// It is delivered or reported, or an operator gave it up.
    pub(super) fn end(&mut self) {
        self.state = State::Ended;
    }

    /// Whether it is in a transaction.
    pub(super) fn is_under_way(&self) -> bool {
        self.state == State::InFlight
    }

    /// Whether it failed, and was not reported.
    pub(super) fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// Whether it is at no end: it waits, is held, or is in a transaction.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Waiting | State::InFlight)
    }

    /// Whether it is to be sent to.
    pub(super) fn is_waiting(&self) -> bool {
        self.state == State::Waiting && self.wish == Wish::Send
    }
}

impl Message {
    /// A message whose recipients go to `destinations`.
    pub(super) fn new(
        submission: Submission,
        accepted: Moment,
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
                attempted: false,
                refused: 0,
                first_refused: Moment::ZERO,
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

    /// The recipients that wait and had an attempt, and whether others may still be sent to.
    pub(super) fn past_attempts(&self) -> (Vec<RecipientIndex>, bool) {
        let (mut past, mut others) = (Vec::new(), false);
        for (index, recipient) in self.recipients.iter() {
            if recipient.is_waiting() && recipient.attempted {
                past.push(index);
            } else {
                others |= recipient.is_waiting() || recipient.is_under_way();
            }
        }
        (past, others)
    }

    /// Takes on how far its recipients have come; what has to be done from `now` on.
    pub(super) fn restore(
        &mut self,
        progress: Vec<Progress>,
        held: &[RecipientIndex],
        now: Moment,
    ) -> Found {
        let mut found = Found::default();
        for ((index, recipient), progress) in self.recipients.iter_mut().zip(progress) {
            match progress {
                Progress::Open => {}
                Progress::Deferred(Deferral { times, first, due }) => {
                    (recipient.refused, recipient.first_refused) = (times, first);
                    if due > now {
                        found.deferred.push((index, due));
                    }
                }
                Progress::Failed(reason) => {
                    recipient.fail();
                    found.unreported.push((index, reason));
                }
                Progress::Ended => {
                    recipient.end();
                    self.open -= 1;
                    found.ended.push(recipient.destination);
                }
            }
        }
        for &index in held {
            if let Some(recipient) = self.recipients.get_mut(index) {
                recipient.wish = Wish::Hold;
            }
        }
        found.waiting = self.waiting();
        let is_deferred = |place: &Place| {
            found.deferred.binary_search_by_key(&place.recipient, |&(index, _)| index).is_ok()
        };
        found.waiting.retain(|place| !is_deferred(place));
        found
    }

    /// Takes those of `recipients` out to which a host with these extensions cannot be sent the
    /// message, if there are any; why.
    pub(super) fn take_unfit(
        &self,
        recipients: &mut Vec<RecipientIndex>,
        can: &Extensions,
    ) -> Option<(Vec<RecipientIndex>, Reason)> {
        let all = if can.largest.is_some_and(|largest| self.size > largest) {
            Some(Reason::new(status::TOO_LARGE, "the message is larger than the host takes"))
        } else if !can.smtp_utf8
            && (self.utf8 || self.sender.as_ref().is_some_and(Address::is_international))
        {
            Some(Reason::new(status::INTERNATIONAL, "the host takes no UTF-8 headers"))
        } else {
            None
        };
        let unfit = |index: &mut RecipientIndex| {
            all.is_some() || !can.smtp_utf8 && self.recipients[*index].address.is_international()
        };
        let taken: Vec<_> = recipients.extract_if(.., unfit).collect();
        (!taken.is_empty()).then(|| {
            let why = "the host takes no UTF-8 addresses";
            (taken, all.unwrap_or_else(|| Reason::new(status::INTERNATIONAL, why)))
        })
    }
}
