//! Which destination is given a session, and with which host.

use crate::destination::{Route, Routes};
use crate::event::{Effect, Outcome, Relay, Task};
use crate::host::HostCapacity;
use crate::ids::{DestinationId, HostId, NetworkId, RecipientIndex};
use crate::policy::retry::{Retry, RetryInput};
use crate::policy::split::Place;
use crate::policy::timeouts::Timeouts;
use crate::reason::{Reason, status};
use crate::session::Session;
use crate::{Engine, Timer};
use sojourn_core::{Span, Time};
use sojourn_smtp::client::Client;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands between a destination and one more session.
enum Choice {
    Host(HostId, Arc<str>),
    /// All hosts of the best preference that answers have their limit.
    HostFull(HostId),
    NetworkFull(NetworkId),
    /// Too many sessions wait already for hosts that did not answer last time.
    TooManyProbes,
    /// No host is to be tried before this time.
    Down(Time),
}

impl Engine {
    /// The destination has work, or may have a session for it: it is dispatched before the engine returns.
    pub(super) fn look_at(&mut self, destination: DestinationId) {
        let this = &mut self.destinations[destination];
        if !this.lined_up {
            this.lined_up = true;
            self.ready.push_back(destination);
        }
    }

    /// All in a line are looked at again.
    pub(super) fn wake_host_line(&mut self, host: HostId) {
        self.ready.append(&mut self.hosts[host].line);
    }

    pub(super) fn dispatch_all(&mut self) {
        if self.stopping {
            return;
        }
        loop {
            let (destination, has_waited) = match self.ready.pop_front() {
                Some(destination) => (destination, false),
                None if self.is_full() || self.journal.failing => return,
                None => match self.line.pop_first() {
                    Some((_, destination)) => (destination, true),
                    None => return,
                },
            };
            self.destinations[destination].lined_up = false;
            self.dispatch(destination, has_waited);
        }
    }

    /// Whether there are as many sessions as there may be in all.
    pub(super) fn is_full(&self) -> bool {
        self.sessions.len() >= self.config.limits.sessions.get() as usize
    }

    /// Brings one destination's work forward by one step. One that has not waited for a session goes
    /// behind those that do; one keeps its place among them while its names are looked up, so that
    /// the order of a list does not become that of the answers.
    fn dispatch(&mut self, destination: DestinationId, has_waited: bool) {
        let worth = self.sessions_worth(destination);
        let this = &mut self.destinations[destination];
        let place = this.place_in_line.take();
        if this.queue.is_empty() {
            return;
        }
        let retry_at = this.retry_at;
        if retry_at < Time::NEVER {
            return self.stall(destination, retry_at);
        }
        match this.routes {
            Routes::Known(_, until) if self.now < until => {}
            Routes::Asking(_) => return this.place_in_line = place,
            _ => {
                this.place_in_line = Some(self.line.place(place));
                return self.ask(destination);
            }
        }
        if self.journal.failing {
            return self.line_up(destination, place);
        }
        if this.is_paced(self.now) {
            return self.set_destination_alarm(destination);
        }
        if let Some(&session) = this.idle.first() {
            self.take_up(session);
            return self.look_at(destination);
        }
        // One at a time is enough where transactions have to be apart.
        let enough = match worth {
            _ if this.gap > Span::ZERO => this.soon_free >= 1,
            Some(worth) => this.sessions as usize >= worth,
            None => this.soon_free as usize >= this.queue.len(),
        };
        if enough || this.sessions >= this.most_sessions {
            // One of its sessions takes the work when it is free.
            return;
        }
        if self.is_full() {
            self.make_room(|_| true);
            return self.line_up(destination, place);
        }
        if !has_waited && self.line.has_before(place) {
            return self.line_up(destination, place);
        }
        match self.choose(destination) {
            Choice::Host(host, name) => {
                self.open(destination, host, name);
                self.look_at(destination);
            }
            Choice::HostFull(host) => {
                self.make_room(|session| session.host == host);
                self.hosts[host].line.push_back(destination);
                self.destinations[destination].lined_up = true;
            }
            Choice::NetworkFull(network) => {
                self.make_room(|session| session.network == network);
                self.hosts.networks[network].line.push_back(destination);
                self.destinations[destination].lined_up = true;
            }
            Choice::TooManyProbes => {
                self.probe_line.push_back(destination);
                self.destinations[destination].lined_up = true;
            }
            Choice::Down(until) => self.stall(destination, until),
        }
    }

    /// The destination waits for a session, at its place or behind all others.
    fn line_up(&mut self, destination: DestinationId, place: Option<u64>) {
        let this = &mut self.destinations[destination];
        let place = self.line.place(place);
        (this.lined_up, this.place_in_line) = (true, Some(place));
        self.line.insert(place, destination);
    }

    /// The host for one more session. One of a worse preference is tried only when all better ones
    /// do not answer, never because of this server's limits.
    fn choose(&self, destination: DestinationId) -> Choice {
        let Routes::Known(hosts, _) = &self.destinations[destination].routes else {
            unreachable!("where its mail goes is known");
        };
        let limits = &self.config.limits;
        let most_probes = (limits.sessions.get() / limits.probes.get()).max(1);
        let mut earliest = Time::NEVER;
        for group in hosts.chunk_by(|a, b| a.preference == b.preference) {
            let mut blocked = None;
            for &Route { host: number, ref name, .. } in group {
                let host = &self.hosts[number];
                let network = &self.hosts.networks[host.network];
                match host.room(self.now) {
                    HostCapacity::Down(until) => earliest = earliest.min(until),
                    HostCapacity::Full => blocked = Some(Choice::HostFull(number)),
                    HostCapacity::Free if network.sessions >= limits.network.get() => {
                        blocked = Some(Choice::NetworkFull(host.network));
                    }
                    HostCapacity::Free if host.failures > 0 && self.probes >= most_probes => {
                        blocked.get_or_insert(Choice::TooManyProbes);
                    }
                    HostCapacity::Free => return Choice::Host(number, Arc::clone(name)),
                }
            }
            if let Some(blocked) = blocked {
                return blocked;
            }
        }
        Choice::Down(earliest)
    }

    fn open(&mut self, destination: DestinationId, number: HostId, name: Arc<str>) {
        self.hosts.has_session(number);
        let host = &self.hosts[number];
        let probe = host.failures > 0;
        self.probes += u32::from(probe);
        let this = &mut self.destinations[destination];
        this.sessions += 1;
        this.soon_free += 1;
        let steps = self.config.timeouts.steps(host.failures);
        let relay = Relay { name, address: host.address };
        let client = Client::new(Arc::clone(&self.hello), host.tls(self.config.tls));
        let session =
            Session::new(destination, number, host, relay.clone(), steps, client, self.now);
        let id = self.sessions.open(session);
        self.effects.push(Effect::Connect(id, relay));
        self.set_deadline(id);
    }

    /// Ends one open session without work, for a destination that has some.
    fn make_room(&mut self, fits: impl Fn(&Session) -> bool) {
        if let Some(&idle) = self.idle.iter().find(|&id| fits(&self.sessions[*id])) {
            self.quit(idle);
        }
    }

    /// How long a host or name server that did not answer `times` times in a row is left alone.
    pub(super) fn host_wait(&self, who: &str, entity: u64, times: u32, first: Time) -> Span {
        self.config.retry.host(&RetryInput {
            times,
            since_first: self.now.since(first),
            named: None,
            learned: None,
            chance: self.chance(who, entity, times),
        })
    }

    /// Sets aside all that is queued: the destination is not to be tried before `until`.
    pub(super) fn stall(&mut self, destination: DestinationId, until: Time) {
        let this = &mut self.destinations[destination];
        this.place_in_line = None;
        let (already, mut envelopes) = (this.stalled.len(), Vec::new());
        for batch in this.queue.drain(..) {
            let task = |recipient| Task { message: batch.message, recipient };
            this.stalled.extend(batch.recipients.into_iter().map(task));
            envelopes.push(batch.envelope);
        }
        if !this.stalled.is_empty() {
            this.retry_at = until;
        }
        let (newly, reason) = (this.stalled[already..].to_vec(), this.trouble.clone());
        let reason = reason.unwrap_or_else(|| Reason::new(status::NO_ANSWER, "no host answers"));
        for task in newly {
            if self.is_waiting(task) {
                self.log_unsent(task, Outcome::Deferred, &reason);
            }
        }
        envelopes.into_iter().for_each(|envelope| self.done(envelope));
        self.set_destination_alarm(destination);
    }

    pub(super) fn set_destination_alarm(&mut self, destination: DestinationId) {
        let this = &mut self.destinations[destination];
        let next = this.next_alarm(self.now);
        if next < this.alarm {
            this.alarm = next;
            self.timers.schedule(next.max(self.now), Timer::Destination(destination));
        }
    }

    pub(super) fn destination_alarm(&mut self, at: Time, destination: DestinationId) {
        let this = &mut self.destinations[destination];
        if this.alarm > at {
            return;
        }
        this.alarm = Time::NEVER;
        if matches!(this.routes, Routes::Asking(until) if until <= self.now) {
            self.unresolved(destination, "the name servers do not answer".into());
        }
        let due = self.destinations[destination].take_due(self.now);
        self.queue_again(destination, due);
        if self.destinations[destination].gap > Span::ZERO {
            self.look_at(destination);
        }
        self.set_destination_alarm(destination);
    }

    /// Those whose time has come are queued again: one message's together, the oldest first.
    pub(super) fn queue_again(&mut self, destination: DestinationId, tasks: Vec<Task>) {
        let mut messages: BTreeMap<_, Vec<RecipientIndex>> = BTreeMap::new();
        for task in tasks {
            if self.is_waiting(task) {
                messages.entry(task.message).or_default().push(task.recipient);
            }
        }
        for (message, mut recipients) in messages {
            recipients.sort_unstable();
            let place = |recipient| Place { recipient, destination };
            self.queue(message, recipients.into_iter().map(place).collect());
        }
    }

    /// The host answers: the destinations that waited for it need not wait longer.
    pub(super) fn host_is_up(&mut self, host: HostId) {
        self.wake_host_line(host);
        for destination in self.destinations.ids() {
            let this = &mut self.destinations[destination];
            let routed = matches!(&this.routes, Routes::Known(hosts, _)
                if hosts.iter().any(|route| route.host == host));
            if routed && this.retry_at < Time::NEVER {
                this.retry_at = self.now;
                let due = this.take_due(self.now);
                self.queue_again(destination, due);
            }
        }
    }
}

/// Destinations by their places, which are given in rising order and kept while a destination has
/// to wait for something else first.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: BTreeMap<u64, DestinationId>,
    given: u64,
}

impl Line {
    /// The place that a destination has already, or the next one.
    pub(super) fn place(&mut self, kept: Option<u64>) -> u64 {
        kept.unwrap_or_else(|| {
            self.given += 1;
            self.given
        })
    }

    pub(super) fn insert(&mut self, place: u64, destination: DestinationId) {
        self.waiting.insert(place, destination);
    }

    pub(super) fn pop_first(&mut self) -> Option<(u64, DestinationId)> {
        self.waiting.pop_first()
    }

    /// Whether any stands before this place; before none, the end of the line.
    pub(super) fn has_before(&self, place: Option<u64>) -> bool {
        let first = self.waiting.first_key_value();
        first.is_some_and(|(&first, _)| place.is_none_or(|place| first < place))
    }

    /// The destinations, the first one first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &DestinationId> {
        self.waiting.values()
    }
}
