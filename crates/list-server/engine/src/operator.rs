//! What an operator does with recipients that wait.
//!
//! A recipient that is held, or given up, stands in no place of the engine: all places are looked
//! through once for each operation.

use crate::clock::Timer;
use crate::event::{Counts, Effect, Entry, MessageId, Operation, Record, Selection, Task};
use crate::host::Host;
use crate::ids::{DestinationId, RecipientIndex};
use crate::journal::Journal;
use crate::message::{Recipient, State, Wish};
use crate::policy::split::Place;
use crate::queue::MessageQueue;
use crate::{Engine, Moment};
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
        let result = match self.state {
            State::Waiting if applies => Applies::Waiting,
            State::InFlight if applies => Applies::UnderWay,
            _ => return Applies::No,
        };
        match (operation, result) {
            (Operation::Hold, _) => self.wish = Wish::Hold,
            (Operation::Release, _) => self.wish = Wish::Send,
            (Operation::Delete, Applies::UnderWay) => self.wish = Wish::Remove,
            (Operation::Delete, _) => self.state = State::Ended,
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
                if recipient.state != State::InFlight || lasts {
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
        recipient.state = State::Waiting;
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
        recipient.state = State::Ended;
        let chosen = Chosen { message: task.message, recipients: [task.recipient].into() };
        chosen.note(Operation::Delete, now, journal, effects);
        true
    }
}

impl Engine {
    /// Does an operation, and answers when it is on stable storage.
    pub(super) fn operate(&mut self, number: u64, operation: Operation, selection: &Selection) {
        let (counts, chosen) = self.queue.operate(operation, selection);
        match operation {
            Operation::Count => {}
            Operation::Hold => self.drop_places(),
            Operation::Delete => {
                self.drop_places();
                self.free_sessions();
            }
            Operation::Release => self.release_all(&chosen),
            Operation::Flush => self.flush(selection, &chosen),
            Operation::Requeue => self.requeue(&chosen),
        }
        let is_kept = !matches!(operation, Operation::Count | Operation::Flush);
        for chosen in chosen.into_iter().filter(|_| is_kept) {
            chosen.note(operation, self.clock.now, &mut self.journal, &mut self.effects);
        }
        match is_kept && self.journal.is_waiting() {
            true => self.journal.answer(number, counts),
            false => self.effects.push(Effect::Operated(number, counts)),
        }
    }

    /// Takes those that are not to be sent to now out of all places.
    fn drop_places(&mut self) {
        self.queue.drop_from_groups();
        let done = self.destinations.drop_places(|task| self.queue.is_waiting(task));
        done.into_iter().for_each(|envelope| self.done(envelope));
    }

    fn release_all(&mut self, chosen: &[Chosen]) {
        self.queue.change(chosen, |it| it.attempted = false);
        for it in chosen {
            let expires = self.queue[it.message].accepted + self.config.lifetime;
            if expires <= self.clock.now {
                let until = self.clock.now + LAST_ATTEMPT;
                self.clock.schedule(until, Timer::Expiry(it.message));
            }
            self.enqueue(it.message, self.queue.places(it));
        }
    }

    /// What waits for its time is queued; domains and hosts that are left alone are tried.
    fn flush(&mut self, selection: &Selection, chosen: &[Chosen]) {
        for id in self.queue.destinations_of(chosen) {
            let is_meant = |task| self.queue.is_selected(task, selection);
            let due = self.destinations[id].take_later(is_meant);
            self.queue_again(id, due);
            let stalled = self.destinations[id].take_stalled();
            self.queue_again(id, stalled);
            self.each_host(id, |host, now| host.down_until = now);
        }
    }

    /// The chosen are taken out of their places, and queued at their end as if they had never been
    /// refused.
    fn requeue(&mut self, chosen: &[Chosen]) {
        self.queue.change(chosen, |it| (it.refused, it.first_refused) = (0, Moment::ZERO));
        for id in self.queue.destinations_of(chosen) {
            self.each_host(id, |host, now| {
                (host.failures, host.down_until, host.tls_broken) = (0, now, false);
            });
            let this = &mut self.destinations[id];
            (this.failures, this.learned, this.trouble) = (0, None, None);
            let stalled = this.take_stalled();
            self.destinations.forget_routes_of(id, &mut self.hosts);
            self.queue_again(id, stalled);
        }
        self.queue.change(chosen, |it| it.wish = Wish::Hold);
        self.drop_places();
        self.queue.change(chosen, |it| it.wish = Wish::Send);
        for it in chosen {
            self.enqueue(it.message, self.queue.places(it));
        }
    }

    /// Changes what is known of each host of a destination, and looks again at those that wait for it.
    fn each_host(&mut self, id: DestinationId, change: impl Fn(&mut Host, Moment)) {
        let routes = self.destinations[id].routes.hosts();
        for host in routes.iter().map(|route| route.host).collect::<Vec<_>>() {
            change(&mut self.hosts[host], self.clock.now);
            self.wake_host_line(host);
        }
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
