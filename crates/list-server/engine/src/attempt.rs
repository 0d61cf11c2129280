//! One attempt, as the log has it, and what is said of its recipients.

use crate::event::{Delays, Effect, Entry, Obstacle, Outcome, Relay, Task};
use crate::message::Message;
use crate::moment::Moment;
use crate::reason::{Reason, status};
use crate::session::Transaction;
use sojourn_core::Span;
use sojourn_smtp::Reply;
use sojourn_smtp::client::Asked;
use std::sync::Arc;

/// What the log entries of one attempt share, one for each recipient.
#[derive(Clone)]
pub(super) struct Attempt {
    relay: Option<Relay>,
    delays: Delays,
    pub(super) took: Span,
}

impl Attempt {
    /// The attempt of a transaction for `message` with `relay` that is over `now`.
    pub(super) fn new(
        relay: &Relay,
        transaction: &Transaction,
        message: &Message,
        now: Moment,
    ) -> Attempt {
        let Transaction { batch, since, began, .. } = transaction;
        let setup = (*since).clamp(batch.queued, *began);
        let delays = Delays {
            before: batch.queued.since(message.accepted),
            queued: setup.since(batch.queued),
            setup: began.since(setup),
            sending: now.since(*began),
        };
        Attempt { relay: Some(relay.clone()), delays, took: now.since(*since) }
    }

    /// What stands for an attempt where a recipient is set aside, or fails, without a transaction,
    /// so long after its message was accepted.
    pub(super) fn none(before: Span) -> Attempt {
        let none = Span::ZERO;
        let delays = Delays { before, queued: none, setup: none, sending: none };
        Attempt { relay: None, delays, took: none }
    }

    /// That it did not succeed, at this time and for this reason.
    pub(super) fn obstacle(&self, at: Moment, reason: &Reason) -> Obstacle {
        let reason = fitted(reason, Outcome::Deferred);
        Obstacle { at, host: self.relay.as_ref().map(|relay| Arc::clone(&relay.name)), reason }
    }

    /// Logs what came of it for one recipient.
    pub(super) fn log(
        &self,
        task: Task,
        outcome: Outcome,
        reason: &Reason,
        effects: &mut Vec<Effect>,
    ) {
        let (Attempt { relay, delays, took }, reason) = (self.clone(), fitted(reason, outcome));
        effects.push(Effect::Log(Entry::Attempt { task, relay, delays, took, outcome, reason }));
    }
}

/// With the class of status that belongs to what came of it (RFC 3463 section 2): a host may refuse
/// for good what is tried again, or reply with a code that has no class.
fn fitted(reason: &Reason, outcome: Outcome) -> Reason {
    reason.of_class(match outcome {
        Outcome::Delivered => 2,
        Outcome::Deferred => 4,
        Outcome::Failed => 5,
    })
}

/// Those of one transaction, and of transactions close to each other, come back together.
pub(super) fn gathered(due: Moment) -> Moment {
    const SECOND_NS: u64 = 1_000_000_000;
    Moment::from_ns(due.ns().div_ceil(SECOND_NS).saturating_mul(SECOND_NS))
}

/// What a reply to a command says. Recipients of one transaction share theirs: `last` is the one
/// before.
pub(super) fn said(
    reply: Arc<Reply>,
    asked: Option<Asked>,
    last: &mut Option<(Arc<Reply>, Reason)>,
) -> &Reason {
    let reason = match last.take() {
        Some((before, reason)) if Arc::ptr_eq(&before, &reply) => reason,
        _ => Reason::reply(&reply, asked),
    };
    &last.insert((reply, reason)).1
}

/// Why a recipient fails whose message has had its time, and which was refused for `last`.
pub(super) fn expired(last: &Reason) -> Reason {
    Reason::new(status::EXPIRED, format!("it could not be delivered in its time; last: {last}"))
}
