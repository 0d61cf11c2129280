//! What an operator does with recipients that wait.
//!
//! A recipient that is held, or given up, stands in no place of the engine: all places are looked
//! through once for each operation.

use crate::event::{Counts, Effect, Entry, MessageId, Operation, Record, Selection, Task};
use crate::ids::{DestinationId, RecipientIndex};
use crate::journal::Journal;
use crate::message::{Recipient, Wish};
use crate::moment::Moment;
use crate::policy::split::Place;
use crate::queue::MessageQueue;
use sojourn_core::Span;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long a recipient without an attempt is tried after its message expired, before it is looked at
/// again.
pub(super) const LAST_ATTEMPT: Span = Span::from_s(3600);

/// Recipients of one message that an operation applies to.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) message: MessageId,
    pub(super) recipients: Arc<[RecipientIndex]>,
}

/// What an operation means for one recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applies {
    /// Nothing.
    No,
    /// It waits, and is changed.
    Waiting,
    /// It is in a transaction.
    UnderWay,
}

impl Recipient {
    /// Does an operation with it.
    fn operate(&mut self, operation: Operation) -> Applies {
        let applies = match operation {
            Operation::Count | Operation::Delete => true,
            Operation::Release => self.wish == Wish::Hold,
            Operation::Hold | Operation::Flush | Operation::Requeue => self.wish == Wish::Send,
        };
        if !applies || !self.is_open() {
            return Applies::No;
        }
        let result = if self.is_under_way() { Applies::UnderWay } else { Applies::Waiting };
        match (operation, result) {
            (Operation::Hold, _) => self.wish = Wish::Hold,
            (Operation::Release, _) => self.wish = Wish::Send,
            (Operation::Delete, Applies::UnderWay) => self.wish = Wish::Remove,
            (Operation::Delete, _) => self.end(),
            (Operation::Count | Operation::Flush | Operation::Requeue, _) => {}
        }
        result
    }
}

impl MessageQueue {
    /// Does an operation with the recipients that are meant: how many they are, and those whose places
    /// change or that it has to last for.
    pub(super) fn operate(
        &mut self,
        operation: Operation,
        selection: &Selection,
    ) -> (Counts, Vec<Chosen>) {
        let mut counts = Counts::default();
        let mut chosen = Vec::new();
        for (id, message) in self.iter_mut() {
            if !selection.has_message(id, message.sender.as_ref()) {
                continue;
            }
            let (mut some, before) = (Vec::new(), counts.under_way);
            for (index, recipient) in message.recipients.iter_mut() {
                if !selection.has_recipient(&recipient.address) {
                    continue;
                }
                match recipient.operate(operation) {
                    Applies::No => continue,
                    Applies::Waiting => counts.recipients += 1,
                    Applies::UnderWay => counts.under_way += 1,
                }
                // What is under way is deleted when it comes back; a hold has to last.
                let lasts = matches!(operation, Operation::Hold | Operation::Release);
                if !recipient.is_under_way() || lasts {
                    some.push(index);
                }
            }
            counts.messages += u64::from(!some.is_empty() || counts.under_way > before);
            if !some.is_empty() {
                chosen.push(Chosen { message: id, recipients: some.into() });
            }
        }
        (counts, chosen)
    }

    /// Where those of the chosen stand, of one message, that are to be sent to.
    pub(super) fn places(&self, chosen: &Chosen) -> Vec<Place> {
        let message = &self[chosen.message];
        let waiting = chosen.recipients.iter().filter(|&&recipient| message.is_waiting(recipient));
        let place = |&recipient: &RecipientIndex| {
            let destination = message.recipients[recipient].destination;
            Place { recipient, destination }
        };
        waiting.map(place).collect()
    }

    /// The destinations of the chosen, in the order of their ids.
    pub(super) fn destinations_of(&self, chosen: &[Chosen]) -> BTreeSet<DestinationId> {
        let mut all = BTreeSet::new();
        for Chosen { message, recipients } in chosen {
            let known = &self[*message].recipients;
            all.extend(recipients.iter().map(|&recipient| known[recipient].destination));
        }
        all
    }

    /// Whether a recipient is meant.
    pub(super) fn is_selected(&self, task: Task, selection: &Selection) -> bool {
        self.get(task.message).is_some_and(|message| {
            selection.has_message(task.message, message.sender.as_ref())
                && selection.has_recipient(&message.recipients[task.recipient].address)
        })
    }

    /// Changes the chosen.
    pub(super) fn change(&mut self, chosen: &[Chosen], change: impl Fn(&mut Recipient)) {
        for Chosen { message, recipients } in chosen {
            let message = &mut self[*message];
            recipients.iter().for_each(|&recipient| change(&mut message.recipients[recipient]));
        }
    }

    /// A transaction that is over has said nothing of this recipient; whether it is to be sent to.
    pub(super) fn wait_again(
        &mut self,
        task: Task,
        now: Moment,
        journal: &mut Journal,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if self.is_removed(task, now, journal, effects) {
            return false;
        }
        let recipient = self.recipient_mut(task);
        recipient.wait();
        recipient.is_waiting()
    }

    /// A recipient that was to be removed when its transaction is over is; whether it was.
    pub(super) fn is_removed(
        &mut self,
        task: Task,
        now: Moment,
        journal: &mut Journal,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let recipient = self.recipient_mut(task);
        if recipient.wish != Wish::Remove {
            return false;
        }
        recipient.end();
        let chosen = Chosen { message: task.message, recipients: [task.recipient].into() };
        chosen.note(Operation::Delete, now, journal, effects);
        true
    }
}

impl Chosen {
    /// Has it logged and written that an operation was done with these.
    pub(super) fn note(
        self,
        operation: Operation,
        now: Moment,
        journal: &mut Journal,
        effects: &mut Vec<Effect>,
    ) {
        let Chosen { message, recipients } = self;
        let entry = Entry::Operated(operation, message, Arc::clone(&recipients));
        effects.push(Effect::Log(entry));
        journal.push(now, Record::Operated(operation, message, recipients));
    }
}
