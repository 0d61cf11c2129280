//! Destinations: recipient domains, their queues and what is known of their hosts.

mod limits;
mod line;
mod routes;
pub(crate) mod shaping;
mod table;

pub(crate) use routes::{Resolved, Routes, literal};
pub(crate) use table::Destinations;

use crate::config::Config;
use crate::event::{SessionId, Task};
use crate::ids::{EnvelopeId, ShaperId};
use crate::message::DeliveryBatch;
use crate::moment::Moment;
use crate::reason::Reason;
use sojourn_core::Span;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// So many round trips of transactions that carry one recipient each are worth another session: to
/// set one up takes three, and sessions are set up at the same time.
const WORTH_A_SESSION: usize = 4;

/// A host that takes longer for a transaction thinks rather than being far: a window does not help
/// there, and sessions share the thinking.
pub(crate) const QUICK: Span = Span::from_s(1);

/// One recipient domain.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) name: Arc<str>,
    pub(crate) routes: Routes,
    /// Recipients that are not at their end on stable storage.
    pub(crate) wanted: u32,
    /// Whether it was wanted since it was last thought of forgetting it.
    pub(crate) recent: bool,
    /// Failures of its name servers in a row, and when the first was.
    pub(crate) failures: u32,
    pub(crate) first_failure: Moment,
    /// Work for the next session that is free, or for one to be opened.
    pub(crate) queue: VecDeque<DeliveryBatch>,
    /// Recipients that wait for the domain to be reachable, until `retry_at`.
    pub(crate) stalled: Vec<Task>,
    pub(crate) retry_at: Moment,
    /// Why it was not reachable last.
    pub(crate) trouble: Option<Reason>,
    /// Recipients that were refused for now, each with its retry time.
    pub(crate) later: BTreeSet<(Moment, Task)>,
    /// Open sessions without work, the oldest first.
    pub(crate) idle: Vec<SessionId>,
    /// All its sessions, and those of them that will be free in a moment: not ready yet, or
    /// between two transactions.
    pub(crate) sessions: u32,
    pub(crate) soon_free: u32,
    /// Whether it stands in one of the lines.
    pub(crate) lined_up: bool,
    /// Its place in the line of all, also while its names are looked up.
    pub(crate) place_in_line: Option<u64>,
    /// When its timer rings next.
    pub(crate) alarm: Moment,
    /// How long attempts took lately.
    pub(crate) delay: Option<Span>,
    /// How long after a first refusal it accepted a recipient.
    pub(crate) learned: Option<Span>,
    /// How many recipients it takes in one transaction, as far as is known.
    pub(crate) most_recipients: u32,
    /// How many sessions it may have.
    pub(crate) most_sessions: u32,
    /// Limits that it shares with others, once it is known where its mail goes.
    pub(crate) shapers: Arc<[ShaperId]>,
}

impl Destination {
    pub(crate) fn new(name: Arc<str>, config: &Config) -> Destination {
        Destination {
            name,
            routes: Routes::Unknown,
            wanted: 0,
            recent: true,
            failures: 0,
            first_failure: Moment::ZERO,
            queue: VecDeque::new(),
            stalled: Vec::new(),
            retry_at: Moment::NEVER,
            trouble: None,
            later: BTreeSet::new(),
            idle: Vec::new(),
            sessions: 0,
            soon_free: 0,
            lined_up: false,
            place_in_line: None,
            alarm: Moment::NEVER,
            delay: None,
            learned: None,
            most_recipients: u32::MAX,
            most_sessions: config.limits.destination.get(),
            shapers: Arc::default(),
        }
    }

    /// Whether nothing refers to it. A free slot, which has no name, is not at rest.
    pub(crate) fn is_at_rest(&self) -> bool {
        let has_work = self.wanted > 0 || !self.queue.is_empty() || !self.stalled.is_empty();
        let is_wanted = has_work || !self.later.is_empty() || self.sessions > 0 || self.lined_up;
        !(is_wanted || matches!(self.routes, Routes::Asking(_)) || self.name.is_empty())
    }

    /// When it has to be looked at next, if nothing happens; it may begin a transaction at
    /// `open_from`.
    pub(crate) fn next_alarm(&self, now: Moment, open_from: Moment) -> Moment {
        let asking = match self.routes {
            Routes::Asking(until) => until,
            _ => Moment::NEVER,
        };
        let later = self.later.first().map_or(Moment::NEVER, |&(due, _)| due);
        let is_due = now < open_from && !self.queue.is_empty();
        let open = if is_due { open_from } else { Moment::NEVER };
        asking.min(self.retry_at).min(later).min(open)
    }

    /// An attempt took this long; recent ones count most.
    pub(crate) fn took(&mut self, span: Span) {
        self.delay = Some(match self.delay {
            None => span,
            Some(before) => Span::from_ps(before.ps() / 4 * 3 + span.ps() / 4),
        });
    }

    /// How many sessions its queue is worth, up to its limit, where each of its recipients has a
    /// separate transaction, and `window` of these are under way at a time.
    pub(crate) fn sessions_worth(&self, window: usize) -> usize {
        let most = self.most_sessions as usize;
        let worth = WORTH_A_SESSION.saturating_mul(window);
        // Each batch is worth a part of one at least.
        let batches = self.queue.iter().take(most.saturating_mul(worth));
        let recipients: usize = batches.map(|batch| batch.recipients.len()).sum();
        recipients.div_ceil(worth).min(most)
    }

    /// Its host took only this number of recipients in one transaction, which is its limit.
    pub(crate) fn has_taken(&mut self, recipients: usize) {
        self.most_recipients = (recipients as u32).clamp(1, self.most_recipients);
    }

    /// A session less is open; whether that would have been free in a moment.
    pub(crate) fn remove_session(&mut self, was_soon_free: bool) {
        self.sessions -= 1;
        self.soon_free -= u32::from(was_soon_free);
    }

    /// Whether its sessions are enough for its queue, which is `worth` so many where each recipient has
    /// a separate transaction, or as many as it may have; `apart` says whether transactions have to
    /// be.
    pub(crate) fn has_enough_sessions(&self, worth: Option<usize>, apart: bool) -> bool {
        // One at a time is enough where transactions have to be apart.
        let enough = match worth {
            _ if apart => self.soon_free >= 1,
            Some(worth) => self.sessions as usize >= worth,
            None => self.soon_free as usize >= self.queue.len(),
        };
        enough || self.sessions >= self.most_sessions
    }

    /// Whether a transaction takes so little time that what it takes is the way there.
    pub(crate) fn is_quick(&self) -> bool {
        self.delay.is_none_or(|delay| delay < QUICK)
    }

    /// The name servers did not answer: how many times in a row, and when not for the first time.
    pub(crate) fn lose_routes(&mut self, now: Moment) -> (u32, Moment) {
        self.routes = Routes::Unknown;
        if self.failures == 0 {
            self.first_failure = now;
        }
        self.failures += 1;
        (self.failures, self.first_failure)
    }

    /// Sets aside all that is queued until a time: which these are, and the envelopes that they leave.
    pub(crate) fn stall(&mut self, until: Moment) -> (Vec<Task>, Vec<EnvelopeId>) {
        self.place_in_line = None;
        let (already, mut envelopes) = (self.stalled.len(), Vec::new());
        for batch in self.queue.drain(..) {
            let task = |recipient| Task { message: batch.message, recipient };
            self.stalled.extend(batch.recipients.into_iter().map(task));
            envelopes.push(batch.envelope);
        }
        if !self.stalled.is_empty() {
            self.retry_at = until;
        }
        (self.stalled[already..].to_vec(), envelopes)
    }

    /// Takes those out of the ones that wait for their time.
    pub(crate) fn take_later(&mut self, is_meant: impl Fn(Task) -> bool) -> Vec<Task> {
        let later = std::mem::take(&mut self.later);
        let (taken, left): (Vec<_>, Vec<_>) =
            later.into_iter().partition(|&(_, task)| is_meant(task));
        self.later = BTreeSet::from_iter(left);
        taken.into_iter().map(|(_, task)| task).collect()
    }

    /// Takes those that wait for the domain to be reachable: it is tried at once.
    pub(crate) fn take_stalled(&mut self) -> Vec<Task> {
        self.retry_at = Moment::NEVER;
        std::mem::take(&mut self.stalled)
    }

    /// A recipient was delivered to, so long after it was first refused.
    pub(crate) fn learn(&mut self, after: Span) {
        self.learned = Some(self.learned.map_or(after, |before| before.min(after)));
    }

    /// Takes all whose time has come.
    pub(crate) fn take_due(&mut self, now: Moment) -> Vec<Task> {
        let mut due = Vec::new();
        while let Some(&(at, task)) = self.later.first()
            && at <= now
        {
            self.later.pop_first();
            due.push(task);
        }
        if self.retry_at <= now {
            due.append(&mut self.take_stalled());
        }
        due
    }
}
