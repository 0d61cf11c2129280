//! What an operator does with recipients that wait.
//!
//! A recipient that is held, or given up, stands in no place of the engine: all places are looked
//! through once for each operation.

use crate::destination::Routes;
use crate::event::{Counts, Effect, Entry, MessageId, Operation, Record, Selection, Task};
use crate::ids::{DestinationId, HostId, RecipientIndex, Table};
use crate::message::{State, Wish};
use crate::policy::split::Place;
use crate::{Engine, Timer};
use sojourn_core::{Span, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long a recipient is tried that is released after its message expired.
const LAST_ATTEMPT: Span = Span::from_s(3600);

impl Engine {
    /// Does an operation, and answers when it is on stable storage.
    pub(super) fn operate(&mut self, number: u64, operation: Operation, selection: &Selection) {
        let mut counts = Counts::default();
        let mut chosen: Vec<(MessageId, Arc<[RecipientIndex]>)> = Vec::new();
        for (&id, message) in &mut self.messages {
            if !selection.has_message(id, message.sender.as_ref()) {
                continue;
            }
            let (mut some, before) = (Vec::new(), counts.under_way);
            for (place, recipient) in message.recipients.iter_mut() {
                let wish = recipient.wish;
                let applies = match operation {
                    Operation::Count | Operation::Delete => true,
                    Operation::Hold => wish == Wish::Send,
                    Operation::Release => wish == Wish::Hold,
                    Operation::Flush | Operation::Requeue => wish == Wish::Send,
                };
                if !applies || !selection.has_recipient(&recipient.address) {
                    continue;
                }
                match (recipient.state, operation) {
                    (State::Waiting, Operation::Delete) => recipient.state = State::Ended,
                    (State::Waiting, _) => {}
                    (State::InFlight, Operation::Delete) => recipient.wish = Wish::Remove,
                    (State::InFlight, _) => {}
                    (State::Failed | State::Ended, _) => continue,
                }
                match operation {
                    Operation::Hold => recipient.wish = Wish::Hold,
                    Operation::Release => recipient.wish = Wish::Send,
                    _ => {}
                }
                if recipient.state == State::InFlight {
                    counts.under_way += 1;
                    // What is under way is deleted when it comes back; a hold has to last.
                    if !matches!(operation, Operation::Hold | Operation::Release) {
                        continue;
                    }
                } else {
                    counts.recipients += 1;
                }
                some.push(place);
            }
            counts.messages += u64::from(!some.is_empty() || counts.under_way > before);
            if !some.is_empty() {
                chosen.push((id, some.into()));
            }
        }
        match operation {
            Operation::Count => {}
            Operation::Hold | Operation::Delete => self.drop_places(),
            Operation::Release => self.release_all(&chosen),
            Operation::Flush => self.flush(selection, &chosen),
            Operation::Requeue => self.requeue(&chosen),
        }
        let is_kept = !matches!(operation, Operation::Count | Operation::Flush);
        for (message, recipients) in chosen.into_iter().filter(|_| is_kept) {
            self.effects.push(Effect::Log(Entry::Operated(
                operation,
                message,
                Arc::clone(&recipients),
            )));
            self.journal.push(self.now, Record::Operated(operation, message, recipients));
        }
        match is_kept && self.journal.is_waiting() {
            true => self.journal.answer(number, counts),
            false => self.effects.push(Effect::Operated(number, counts)),
        }
    }

    /// Takes those that are not to be sent to now out of all places.
    fn drop_places(&mut self) {
        let messages = &self.messages;
        let waits = |task: Task| {
            messages.get(&task.message).is_some_and(|message| message.is_waiting(task.recipient))
        };
        for progress in self.envelopes.values_mut() {
            let message = progress.message;
            for (_, group) in &mut progress.groups {
                group.retain(|&recipient| waits(Task { message, recipient }));
            }
            progress.groups.retain(|(_, group)| !group.is_empty());
        }
        let mut done = Vec::new();
        for destination in self.destinations.values_mut() {
            destination.queue.retain_mut(|batch| {
                let message = batch.message;
                batch.recipients.retain(|&recipient| waits(Task { message, recipient }));
                if batch.recipients.is_empty() {
                    done.push(batch.envelope);
                }
                !batch.recipients.is_empty()
            });
            destination.stalled.retain(|&task| waits(task));
            destination.later.retain(|&(_, task)| waits(task));
        }
        done.into_iter().for_each(|envelope| self.done(envelope));
    }

    /// Queues recipients that stand in no place.
    fn place(&mut self, message: MessageId, recipients: &[RecipientIndex]) {
        let known = &self.messages[&message];
        let places = recipients.iter().filter(|&&recipient| known.is_waiting(recipient));
        let places = places.map(|&recipient| {
            let destination = known.recipients[recipient].destination;
            Place { recipient, destination }
        });
        let places = places.collect();
        self.queue(message, places);
    }

    fn release_all(&mut self, chosen: &[(MessageId, Arc<[RecipientIndex]>)]) {
        for (message, recipients) in chosen {
            let expires = self.messages[message].accepted + self.config.lifetime;
            if expires <= self.now {
                self.timers.schedule(self.now + LAST_ATTEMPT, Timer::Expiry(*message));
            }
            self.place(*message, recipients);
        }
    }

    /// What waits for its time is queued; domains and hosts that are left alone are tried.
    fn flush(&mut self, selection: &Selection, chosen: &[(MessageId, Arc<[RecipientIndex]>)]) {
        for destination in self.destinations_of_chosen(chosen) {
            let later = std::mem::take(&mut self.destinations[destination].later);
            let (due, later): (Vec<_>, Vec<_>) = later.into_iter().partition(|&(_, task)| {
                let message = self.messages.get(&task.message);
                message.is_some_and(|message| {
                    let address = &message.recipients[task.recipient].address;
                    selection.has_message(task.message, message.sender.as_ref())
                        && selection.has_recipient(address)
                })
            });
            self.destinations[destination].later = BTreeSet::from_iter(later);
            self.queue_again(destination, due.into_iter().map(|(_, task)| task).collect());
            let this = &mut self.destinations[destination];
            if this.retry_at < Time::NEVER {
                this.retry_at = Time::NEVER;
                let stalled = std::mem::take(&mut this.stalled);
                self.queue_again(destination, stalled);
            }
            self.each_host(destination, |host, now| host.down_until = now);
        }
    }

    fn requeue(&mut self, chosen: &[(MessageId, Arc<[RecipientIndex]>)]) {
        for (message, recipients) in chosen {
            let message =
                self.messages.get_mut(message).expect("a message with open recipients is known");
            for &recipient in &recipients[..] {
                let recipient = &mut message.recipients[recipient];
                (recipient.refused, recipient.first_refused) = (0, Time::ZERO);
            }
        }
        for destination in self.destinations_of_chosen(chosen) {
            self.each_host(destination, |host, now| {
                (host.failures, host.down_until, host.tls_broken) = (0, now, false);
            });
            let this = &mut self.destinations[destination];
            (this.failures, this.learned, this.trouble) = (0, None, None);
            let stalled = std::mem::take(&mut this.stalled);
            this.retry_at = Time::NEVER;
            if let Routes::Known(..) = this.routes {
                self.set_routes(destination, Routes::Unknown);
            }
            self.queue_again(destination, stalled);
        }
        self.queue_anew(chosen);
    }

    /// The chosen are taken out of their places, and queued at their end.
    fn queue_anew(&mut self, chosen: &[(MessageId, Arc<[RecipientIndex]>)]) {
        for to in [Wish::Hold, Wish::Send] {
            for (message, recipients) in chosen {
                let message = self
                    .messages
                    .get_mut(message)
                    .expect("a message with open recipients is known");
                for &recipient in &recipients[..] {
                    message.recipients[recipient].wish = to;
                }
            }
            if to == Wish::Hold {
                self.drop_places();
            }
        }
        for (message, recipients) in chosen {
            self.place(*message, recipients);
        }
    }

    fn destinations_of_chosen(
        &self,
        chosen: &[(MessageId, Arc<[RecipientIndex]>)],
    ) -> Vec<DestinationId> {
        let mut known: Table<DestinationId, bool> =
            self.destinations.ids().map(|_| false).collect();
        for (message, recipients) in chosen {
            let message = &self.messages[message];
            for &recipient in &recipients[..] {
                known[message.recipients[recipient].destination] = true;
            }
        }
        known.iter().filter(|(_, known)| **known).map(|(id, _)| id).collect()
    }

    fn each_host(
        &mut self,
        destination: DestinationId,
        change: impl Fn(&mut crate::host::Host, Time),
    ) {
        let numbers: Vec<HostId> = match &self.destinations[destination].routes {
            Routes::Known(hosts, _) => hosts.iter().map(|route| route.host).collect(),
            _ => Vec::new(),
        };
        for number in numbers {
            change(&mut self.hosts[number], self.now);
            self.wake_host_line(number);
        }
    }

    /// A recipient that was to be removed when its transaction is over is; whether it was.
    pub(super) fn is_removed(&mut self, task: Task) -> bool {
        let message =
            self.messages.get_mut(&task.message).expect("a message with open recipients is known");
        let recipient = &mut message.recipients[task.recipient];
        if recipient.wish != Wish::Remove {
            return false;
        }
        recipient.state = State::Ended;
        let (operation, recipients) = (Operation::Delete, Arc::from([task.recipient]));
        let entry = Entry::Operated(operation, task.message, Arc::clone(&recipients));
        self.effects.push(Effect::Log(entry));
        self.journal.push(self.now, Record::Operated(operation, task.message, recipients));
        true
    }
}
