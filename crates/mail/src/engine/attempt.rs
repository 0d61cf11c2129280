//! What the log says of attempts.

use super::Engine;
use super::event::{Delays, Effect, Entry, Obstacle, Outcome, Relay, Task};
use super::reason::Reason;
use super::session::UnderWay;
use sojourn_core::{Span, Time};
use std::sync::Arc;

/// An attempt, whoever of its recipients it is about.
#[derive(Clone)]
pub(super) struct Attempt {
    relay: Option<Relay>,
    delays: Delays,
    pub(super) took: Span,
}

impl Attempt {
    /// That it did not succeed, at this time and for this reason.
    pub(super) fn obstacle(&self, at: Time, reason: Reason) -> Obstacle {
        Obstacle { at, host: self.relay.as_ref().map(|relay| Arc::clone(&relay.name)), reason }
    }
}

impl Engine {
    /// The attempt of a transaction with `relay` that is over now.
    pub(super) fn attempt(&self, relay: &Relay, transaction: &UnderWay) -> Attempt {
        let UnderWay { parcel, since, began, .. } = transaction;
        let accepted = self.messages[&parcel.message].accepted;
        let setup = (*since).clamp(parcel.queued, *began);
        let delays = Delays {
            before: parcel.queued.since(accepted),
            queued: setup - parcel.queued,
            setup: *began - setup,
            sending: self.now - *began,
        };
        Attempt { relay: Some(relay.clone()), delays, took: self.now.since(*since) }
    }

    pub(super) fn log_attempt(
        &mut self,
        task: Task,
        attempt: &Attempt,
        outcome: Outcome,
        reason: &Reason,
    ) {
        let (Attempt { relay, delays, took }, reason) = (attempt.clone(), reason.clone());
        let entry = Entry::Attempt { task, relay, delays, took, outcome, reason };
        self.effects.push(Effect::Log(entry));
    }

    /// A recipient that is set aside, or fails, without a transaction.
    pub(super) fn log_unsent(&mut self, task: Task, outcome: Outcome, reason: &Reason) {
        let before = self.now.since(self.messages[&task.message].accepted);
        let none = Span::ZERO;
        let delays = Delays { before, queued: none, setup: none, sending: none };
        self.log_attempt(task, &Attempt { relay: None, delays, took: none }, outcome, reason);
    }
}
