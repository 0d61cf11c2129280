//! Destinations: recipient domains, their queues and what is known of their hosts.

mod routes;

use crate::Engine;
use crate::clock::rebase_clock;
use crate::config::Config;
use crate::event::{SessionId, Task};
use crate::eviction::ClockHand;
use crate::ids::{DestinationId, HostId, Table};
use crate::message::DeliveryBatch;
use crate::policy::DomainLimits;
use crate::reason::Reason;
use sojourn_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// One recipient domain.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) name: Arc<str>,
    pub(super) routes: Routes,
    /// Recipients that are not at their end on stable storage.
    pub(super) wanted: u32,
    /// Whether it was wanted since it was last thought of forgetting it.
    recent: bool,
    /// Failures of its name servers in a row, and when the first was.
    pub(super) failures: u32,
    pub(super) first_failure: Time,
    /// Work for the next session that is free, or for one to be opened.
    pub(super) queue: VecDeque<DeliveryBatch>,
    /// Recipients that wait for the domain to be reachable, until `retry_at`.
    pub(super) stalled: Vec<Task>,
    pub(super) retry_at: Time,
    /// Why it was not reachable last.
    pub(super) trouble: Option<Reason>,
    /// Recipients that were refused for now, each with its retry time.
    pub(super) later: BTreeSet<(Time, Task)>,
    /// Open sessions without work, the oldest first.
    pub(super) idle: Vec<SessionId>,
    /// All its sessions, and those of them that will be free in a moment: not ready yet, or
    /// between two transactions.
    pub(super) sessions: u32,
    pub(super) soon_free: u32,
    /// Whether it stands in one of the lines for a session.
    pub(super) lined_up: bool,
    /// Its place in the line of all, also while its names are looked up.
    pub(super) place_in_line: Option<u64>,
    /// When its timer rings next.
    pub(super) alarm: Time,
    /// How long attempts took lately.
    pub(super) delay: Option<Span>,
    /// How long after a first refusal it accepted a recipient.
    pub(super) learned: Option<Span>,
    /// How many recipients it takes in one transaction, as far as is known.
    pub(super) most_recipients: u32,
    /// How many sessions it may have.
    pub(super) most_sessions: u32,
    /// How long after a transaction the next may begin, and when the next may.
    pub(super) gap: Span,
    pub(super) open_from: Time,
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
    pub(super) host: HostId,
    pub(super) name: Arc<str>,
}

/// All destinations, numbered as they become known; the number of one that is forgotten is given
/// again.
#[derive(Debug, Default)]
pub(super) struct Destinations {
    list: Table<DestinationId, Destination>,
    by_name: BTreeMap<Arc<str>, DestinationId>,
    free: Vec<DestinationId>,
    hand: ClockHand,
}

impl Index<DestinationId> for Destinations {
    type Output = Destination;

    fn index(&self, id: DestinationId) -> &Destination {
        &self.list[id]
    }
}

impl IndexMut<DestinationId> for Destinations {
    fn index_mut(&mut self, id: DestinationId) -> &mut Destination {
        &mut self.list[id]
    }
}

impl Destinations {
    /// All ids, also those of free places.
    pub(super) fn ids(&self) -> impl Iterator<Item = DestinationId> + use<> {
        self.list.ids()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Destination> {
        self.list.values_mut()
    }

    pub(super) fn find(&self, name: &str) -> Option<DestinationId> {
        self.by_name.get(name).copied()
    }

    /// How many are known.
    pub(super) fn known(&self) -> usize {
        self.by_name.len()
    }

    /// The number of a domain, which is likely to be `guess`.
    pub(super) fn find_or_add(
        &mut self,
        name: &str,
        guess: Option<DestinationId>,
        config: &Config,
    ) -> DestinationId {
        let guessed = guess.filter(|&it| *self.list[it].name == *name);
        if let Some(known) = guessed.or_else(|| self.find(name)) {
            self.list[known].recent = true;
            return known;
        }
        let name: Arc<str> = name.into();
        let new = Destination::new(name.clone(), config);
        let number = self.list.place(&mut self.free, new);
        self.by_name.insert(name, number);
        number
    }

    /// A destination without mail now and lately, where there are more than `most`. One that may have
    /// another transaction only later is remembered until then.
    pub(super) fn forgettable(&mut self, now: Time, most: u32) -> Option<DestinationId> {
        if self.known() <= most as usize {
            return None;
        }
        self.hand.find(&mut self.list, |it| match it.is_at_rest() && !it.is_paced(now) {
            true => !std::mem::take(&mut it.recent),
            false => false,
        })
    }

    /// Forgets one; where its mail went.
    pub(super) fn forget(&mut self, number: DestinationId, config: &Config) -> Routes {
        let nobody = Destination::new("".into(), config);
        let gone = std::mem::replace(&mut self.list[number], nobody);
        self.by_name.remove(&gone.name);
        self.free.push(number);
        gone.routes
    }
}

impl Destination {
    fn new(name: Arc<str>, config: &Config) -> Destination {
        let mut new = Destination {
            name,
            routes: Routes::Unknown,
            wanted: 0,
            recent: true,
            failures: 0,
            first_failure: Time::ZERO,
            queue: VecDeque::new(),
            stalled: Vec::new(),
            retry_at: Time::NEVER,
            trouble: None,
            later: BTreeSet::new(),
            idle: Vec::new(),
            sessions: 0,
            soon_free: 0,
            lined_up: false,
            place_in_line: None,
            alarm: Time::NEVER,
            delay: None,
            learned: None,
            most_recipients: u32::MAX,
            most_sessions: 0,
            gap: Span::ZERO,
            open_from: Time::ZERO,
        };
        new.set_limits(config);
        new
    }

    /// Takes on the limits that are set for it.
    pub(super) fn set_limits(&mut self, config: &Config) {
        let own = config.domain.iter().find(|it| it.is_for(&self.name));
        let limit = config.limits.destination;
        self.most_sessions = own.and_then(|it| it.sessions).map_or(limit, |it| it.min(limit)).get();
        self.gap = own.map_or(Span::ZERO, DomainLimits::gap);
    }

    /// Whether it may have another transaction only later.
    pub(super) fn is_paced(&self, now: Time) -> bool {
        now < self.open_from
    }

    /// Whether nothing refers to it. A free slot, which has no name, is not at rest.
    fn is_at_rest(&self) -> bool {
        let has_work = self.wanted > 0 || !self.queue.is_empty() || !self.stalled.is_empty();
        let is_wanted = has_work || !self.later.is_empty() || self.sessions > 0 || self.lined_up;
        !(is_wanted || matches!(self.routes, Routes::Asking(_)) || self.name.is_empty())
    }

    pub(super) fn rebase_clock(&mut self, by: Span) {
        for time in
            [&mut self.first_failure, &mut self.retry_at, &mut self.alarm, &mut self.open_from]
        {
            rebase_clock(time, by);
        }
        if let Routes::Asking(until) | Routes::Known(_, until) = &mut self.routes {
            rebase_clock(until, by);
        }
        self.queue.iter_mut().for_each(|batch| rebase_clock(&mut batch.queued, by));
        let earlier = |(mut due, task)| {
            rebase_clock(&mut due, by);
            (due, task)
        };
        self.later = std::mem::take(&mut self.later).into_iter().map(earlier).collect();
    }

    /// When it has to be looked at next, if nothing happens.
    pub(super) fn next_alarm(&self, now: Time) -> Time {
        let asking = match self.routes {
            Routes::Asking(until) => until,
            _ => Time::NEVER,
        };
        let later = self.later.first().map_or(Time::NEVER, |&(due, _)| due);
        let is_due = self.is_paced(now) && !self.queue.is_empty();
        let open = if is_due { self.open_from } else { Time::NEVER };
        asking.min(self.retry_at).min(later).min(open)
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

impl Engine {
    /// How many destinations and hosts are known.
    pub fn remembered(&self) -> (usize, usize) {
        (self.destinations.known(), self.hosts.known())
    }

    /// The destination of one more recipient, which is likely to be `guess`.
    pub(super) fn want(&mut self, domain: &str, guess: Option<DestinationId>) -> DestinationId {
        let number = self.destinations.find_or_add(domain, guess, &self.config);
        self.destinations[number].wanted += 1;
        self.recipients += 1;
        // Two for each that comes: after a rush there are as few again.
        for _ in 0..2 {
            let most = self.config.limits.remembered.get();
            let Some(old) = self.destinations.forgettable(self.now, most) else { break };
            let routes = self.destinations.forget(old, &self.config);
            self.release(&routes);
        }
        number
    }

    /// One recipient less.
    pub(super) fn unwant(&mut self, destination: DestinationId) {
        self.destinations[destination].wanted -= 1;
        self.recipients -= 1;
    }

    /// The mail of `destination` goes elsewhere; the hosts of the new routes are retained already.
    pub(super) fn set_routes(&mut self, destination: DestinationId, routes: Routes) {
        let known = &mut self.destinations[destination].routes;
        let before = std::mem::replace(known, routes);
        self.release(&before);
    }

    fn release(&mut self, routes: &Routes) {
        if let Routes::Known(hosts, _) = routes {
            for route in hosts {
                self.hosts[route.host].routed -= 1;
            }
        }
    }
}
