//! Destinations: recipient domains, where their mail goes, and what waits for them.

use super::event::{SessionId, Task};
use super::message::Parcel;
use super::reason::Reason;
use sojourn_kernel::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// One recipient domain.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) name: Arc<str>,
    pub(super) routes: Routes,
    /// Failures of its name servers in a row, and when the first was.
    pub(super) failures: u32,
    pub(super) first_failure: Time,
    /// Work for the next session that is free, or for one to be opened.
    pub(super) queue: VecDeque<Parcel>,
    /// Whoever waits for the domain to be reachable, until `retry_at`.
    pub(super) stalled: Vec<Task>,
    pub(super) retry_at: Time,
    /// Why it was not reachable last.
    pub(super) trouble: Option<Reason>,
    /// Whoever was refused for now, each until its own time.
    pub(super) later: BTreeSet<(Time, Task)>,
    /// Open sessions without work.
    pub(super) idle: BTreeSet<SessionId>,
    /// All its sessions, and those of them that will be free in a moment: not ready yet, or
    /// between two transactions.
    pub(super) sessions: u32,
    pub(super) coming: u32,
    /// Whether it stands in one of the lines for a session.
    pub(super) lined_up: bool,
    /// When its timer rings next.
    pub(super) alarm: Time,
    /// How long attempts took lately.
    pub(super) delay: Option<Span>,
    /// How long after a first refusal it accepted somebody.
    pub(super) learned: Option<Span>,
    /// How many recipients it takes in one transaction, as far as is known.
    pub(super) most_recipients: u32,
}

/// Where a destination's mail goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Routes {
    Unknown,
    /// The name servers are asked, until this time.
    Asking(Time),
    /// Hosts, best first; until this time.
    Known(Vec<Route>, Time),
}

/// A host that takes a destination's mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) preference: u16,
    pub(super) host: u32,
    pub(super) name: Arc<str>,
}

/// All destinations, numbered as they become known.
#[derive(Debug, Default)]
pub(super) struct Destinations {
    pub(super) list: Vec<Destination>,
    by_name: BTreeMap<Arc<str>, u32>,
}

impl Destinations {
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    pub(super) fn find_or_add(&mut self, name: &str) -> u32 {
        if let Some(known) = self.find(name) {
            return known;
        }
        let (name, number): (Arc<str>, _) = (name.into(), self.list.len() as u32);
        self.by_name.insert(name.clone(), number);
        self.list.push(Destination {
            name,
            routes: Routes::Unknown,
            failures: 0,
            first_failure: Time::ZERO,
            queue: VecDeque::new(),
            stalled: Vec::new(),
            retry_at: Time::NEVER,
            trouble: None,
            later: BTreeSet::new(),
            idle: BTreeSet::new(),
            sessions: 0,
            coming: 0,
            lined_up: false,
            alarm: Time::NEVER,
            delay: None,
            learned: None,
            most_recipients: u32::MAX,
        });
        number
    }
}

impl Destination {
    /// When it has to be looked at next, if nothing happens.
    pub(super) fn next_alarm(&self) -> Time {
        let asking = match self.routes {
            Routes::Asking(until) => until,
            _ => Time::NEVER,
        };
        let later = self.later.first().map_or(Time::NEVER, |&(due, _)| due);
        asking.min(self.retry_at).min(later)
    }

    /// An attempt took this long; recent ones count most.
    pub(super) fn took(&mut self, span: Span) {
        self.delay = Some(match self.delay {
            None => span,
            Some(before) => Span::from_ps(before.ps() / 4 * 3 + span.ps() / 4),
        });
    }

    /// Takes all whose time has come.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<Task> {
        let mut due = Vec::new();
        while let Some(&(at, task)) = self.later.first()
            && at <= now
        {
            self.later.pop_first();
            due.push(task);
        }
        if self.retry_at <= now {
            self.retry_at = Time::NEVER;
            due.append(&mut self.stalled);
        }
        due
    }
}
