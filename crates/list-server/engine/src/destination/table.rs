//! The table of all destinations, and the lines in which those stand that have work.

use super::line::Line;
use super::{Destination, Routes};
use crate::clock::{Clock, Timer};
use crate::config::Config;
use crate::event::{SessionId, Task};
use crate::host::Hosts;
use crate::ids::{DestinationId, EnvelopeId, HostId, ShaperId};
use crate::message::DeliveryBatch;
use crate::moment::Moment;
use crate::session::Session;
use crate::shaping::{Blocked, Shapers, Shaping};
use crate::table::{ClockHand, Table};
use sojourn_core::Span;
use sojourn_smtp::Address;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// All destinations, numbered as they become known; the id of one that is forgotten is given again.
#[derive(Debug, Default)]
pub(crate) struct Destinations {
    list: Table<DestinationId, Destination>,
    by_name: BTreeMap<Arc<str>, DestinationId>,
    free: Vec<DestinationId>,
    hand: ClockHand,
    /// Recipients that are not at their end on stable storage.
    recipients: u64,
    /// The destinations of the recipients of the message before.
    before: Vec<DestinationId>,
    /// Those to be looked at now, and those that want a session when there is one.
    ready: VecDeque<DestinationId>,
    line: Line,
    /// Those that want to probe a host.
    probe_line: VecDeque<DestinationId>,
    shapers: Shapers,
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

/// What is known.
impl Destinations {
    /// All ids, also those of free places.
    pub(crate) fn ids(&self) -> impl Iterator<Item = DestinationId> + use<> {
        self.list.ids()
    }

    pub(crate) fn find(&self, name: &str) -> Option<DestinationId> {
        self.by_name.get(name).copied()
    }

    /// How many are known.
    pub(crate) fn known(&self) -> usize {
        self.by_name.len()
    }

    /// Recipients that are not at their end on stable storage.
    pub(crate) fn recipients(&self) -> u64 {
        self.recipients
    }

    /// The destinations of a message's recipients, each of which is one more to be served.
    pub(crate) fn want_all(
        &mut self,
        recipients: &[Address],
        now: Moment,
        config: &Config,
        hosts: &mut Hosts,
    ) -> Vec<DestinationId> {
        // A list's messages are for the same people in the same order.
        let before = std::mem::take(&mut self.before);
        let guesses = before.into_iter().map(Some).chain(std::iter::repeat(None));
        let all: Vec<_> = recipients
            .iter()
            .zip(guesses)
            .map(|(recipient, guess)| self.want(recipient.domain(), guess, now, config, hosts))
            .collect();
        self.before.clone_from(&all);
        all
    }

    /// The destination of one more recipient, which is likely to be `guess`.
    fn want(
        &mut self,
        domain: &str,
        guess: Option<DestinationId>,
        now: Moment,
        config: &Config,
        hosts: &mut Hosts,
    ) -> DestinationId {
        let id = self.find_or_add(domain, guess, config);
        self.list[id].wanted += 1;
        self.recipients += 1;
        // Two for each that comes: after a rush there are as few again.
        for _ in 0..2 {
            let Some(old) = self.forgettable(now, config.limits.remembered.get()) else { break };
            let routes = self.forget(old, config);
            hosts.release(routes.hosts());
        }
        id
    }

    /// One recipient less.
    pub(crate) fn unwant(&mut self, id: DestinationId) {
        self.list[id].wanted -= 1;
        self.recipients -= 1;
    }

    /// The id of a domain, which is likely to be `guess`.
    fn find_or_add(
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
        let id = self.list.place(&mut self.free, new);
        self.by_name.insert(name, id);
        id
    }

    /// A destination without mail now and lately, where there are more than `most`. One that may have
    /// another transaction only later is remembered until then.
    fn forgettable(&mut self, now: Moment, most: u32) -> Option<DestinationId> {
        if self.known() <= most as usize {
            return None;
        }
        let shapers = &self.shapers;
        let is_paced = |it: &Destination| now < shapers.open_from(&it.shapers);
        self.hand.find(&mut self.list, |it| match it.is_at_rest() && !is_paced(it) {
            true => !std::mem::take(&mut it.recent),
            false => false,
        })
    }

    /// Forgets one; where its mail went.
    fn forget(&mut self, id: DestinationId, config: &Config) -> Routes {
        let none = Destination::new("".into(), config);
        let gone = std::mem::replace(&mut self.list[id], none);
        self.by_name.remove(&gone.name);
        self.free.push(id);
        self.shapers.release(&gone.shapers);
        gone.routes
    }

    /// Takes on the limits that are set for each.
    pub(crate) fn set_limits(&mut self, config: &Config) {
        self.shapers.set_limits(config);
        for id in self.ids() {
            self.set_most_sessions(id, config);
            self.look_at(id);
        }
    }

    /// The mail of a destination goes elsewhere; the hosts of the new routes are retained already.
    pub(crate) fn set_routes(&mut self, id: DestinationId, routes: Routes, hosts: &mut Hosts) {
        let before = std::mem::replace(&mut self.list[id].routes, routes);
        hosts.release(before.hosts());
    }

    /// The mail of a destination goes this way now, which says what limits it has.
    pub(crate) fn shape(&mut self, id: DestinationId, hosts: &mut Hosts, config: &Config) {
        let this = &mut self.list[id];
        let new = self.shapers.attach(&this.name, this.routes.hosts(), hosts, config);
        let before = std::mem::replace(&mut this.shapers, new);
        self.shapers.release(&before);
        self.set_most_sessions(id, config);
        if let Some(set) = self.shapers.most_sessions(&self.list[id].shapers) {
            let routes = self.list[id].routes.hosts();
            routes.iter().for_each(|route| hosts[route.host].allow(set.get()));
        }
    }

    /// A destination has as many sessions as are set for it, or else as each.
    fn set_most_sessions(&mut self, id: DestinationId, config: &Config) {
        let this = &mut self.list[id];
        let set = self.shapers.most_sessions(&this.shapers);
        this.most_sessions = set.unwrap_or(config.limits.destination).get();
    }

    /// Where all mail goes is to be asked for anew.
    pub(crate) fn forget_routes(&mut self, hosts: &mut Hosts) {
        self.ids().for_each(|id| self.forget_routes_of(id, hosts));
    }

    /// Where one's mail goes is to be asked for anew.
    pub(crate) fn forget_routes_of(&mut self, id: DestinationId, hosts: &mut Hosts) {
        if let Routes::Known(..) = self.list[id].routes {
            self.set_routes(id, Routes::Unknown, hosts);
        }
    }
}

/// Who is served next.
impl Destinations {
    /// One has work, or may have a session for it: it is dispatched before the engine returns.
    pub(crate) fn look_at(&mut self, id: DestinationId) {
        let this = &mut self.list[id];
        if !this.lined_up {
            this.lined_up = true;
            self.ready.push_back(id);
        }
    }

    /// All in a line are looked at again.
    pub(crate) fn look_at_all(&mut self, line: &mut VecDeque<DestinationId>) {
        self.ready.append(line);
    }

    /// A session less waits for a host that did not answer last time.
    pub(crate) fn look_at_probes(&mut self) {
        self.ready.append(&mut self.probe_line);
    }

    /// The next one to be looked at, or, where a session `may_open`, the first that wants one; and
    /// whether it has waited for that.
    pub(crate) fn take_next(&mut self, may_open: bool) -> Option<(DestinationId, bool)> {
        let (id, has_waited) = match self.ready.pop_front() {
            Some(id) => (id, false),
            None if may_open => (self.line.pop_first()?, true),
            None => return None,
        };
        self.list[id].lined_up = false;
        Some((id, has_waited))
    }

    /// One keeps its place in the line of all, or gets the last one, while it waits for something else.
    pub(crate) fn keep_place(&mut self, id: DestinationId, place: Option<u64>) {
        self.list[id].place_in_line = Some(self.line.place(place));
    }

    /// One waits for a session, at its place or behind all others.
    pub(crate) fn line_up(&mut self, id: DestinationId, place: Option<u64>) {
        let place = self.line.place(place);
        let this = &mut self.list[id];
        (this.lined_up, this.place_in_line) = (true, Some(place));
        self.line.insert(place, id);
    }

    /// One waits in this line.
    pub(crate) fn wait_in(&mut self, line: &mut VecDeque<DestinationId>, id: DestinationId) {
        line.push_back(id);
        self.list[id].lined_up = true;
    }

    /// One waits for a host to be probed.
    pub(crate) fn wait_for_probe(&mut self, id: DestinationId) {
        self.probe_line.push_back(id);
        self.list[id].lined_up = true;
    }

    /// Whether any stands in the line of all before this place; before none, the end of the line.
    pub(crate) fn has_before(&self, place: Option<u64>) -> bool {
        self.line.has_before(place)
    }

    /// Whether another one than `id` stands in the line of all.
    pub(crate) fn has_other(&self, id: DestinationId) -> bool {
        self.line.iter().any(|&other| other != id)
    }
}

/// Limits that destinations share.
impl Destinations {
    /// Whether one may have another transaction only later.
    pub(crate) fn is_paced(&self, id: DestinationId, now: Moment) -> bool {
        now < self.shapers.open_from(&self.list[id].shapers)
    }

    /// Whether the transactions of one have to be apart.
    pub(crate) fn is_apart(&self, id: DestinationId) -> bool {
        self.shapers.gap(&self.list[id].shapers) > Span::ZERO
    }

    /// Whether a session of one has had as many transactions as it may have.
    pub(crate) fn is_spent(&self, session: &Session) -> bool {
        self.shapers.is_spent(&session.shapers, session.begun)
    }

    /// What one more session of one is against.
    pub(crate) fn blocked(&self, id: DestinationId) -> Option<Blocked> {
        self.shapers.blocked(&self.list[id].shapers)
    }

    /// One waits for others' sessions to end, or to begin transactions.
    pub(crate) fn wait_for_shaper(&mut self, shaper: ShaperId, id: DestinationId) {
        self.shapers.line(shaper).push_back(id);
        self.list[id].lined_up = true;
    }

    /// Whether another destination waits for what a session holds.
    pub(crate) fn has_other_in_shapers_lines(&self, session: &Session) -> bool {
        self.shapers.has_other_in_line(&session.shapers, session.destination)
    }

    /// A session of one is open; the limits that it counts for.
    pub(crate) fn opened(&mut self, id: DestinationId) -> Arc<[ShaperId]> {
        let shapers = Arc::clone(&self.list[id].shapers);
        self.shapers.opened(&shapers);
        shapers
    }

    /// A session is over.
    pub(crate) fn closed(&mut self, session: &Session) {
        self.shapers.closed(&session.shapers, session.begun > 0);
        self.look_at_lines(&session.shapers);
        self.shapers.release(&session.shapers);
    }

    /// A session of one begins a transaction, its first or another.
    pub(crate) fn began(&mut self, session: &Session, clock: &mut Clock) {
        let id = session.destination;
        let shapers = Arc::clone(&self.list[id].shapers);
        self.shapers.began(&shapers, clock.now);
        if session.begun == 1 {
            self.shapers.used(&session.shapers);
            self.look_at_lines(&session.shapers);
        }
        if self.is_apart(id) {
            self.set_alarm(id, clock);
        }
    }

    fn look_at_lines(&mut self, shapers: &[ShaperId]) {
        shapers.iter().for_each(|&id| self.ready.append(self.shapers.line(id)));
    }

    /// The provider of one asks to slow down: its name, and the transactions that begin in a minute
    /// from now on.
    pub(crate) fn slow_down(
        &mut self,
        id: DestinationId,
        clock: &Clock,
    ) -> Option<(Arc<str>, u32)> {
        self.shapers.slow_down(&self.list[id].shapers, clock.now)
    }

    /// The limits of a domain, the provider's last; of none, all that are in use.
    pub(crate) fn shaping(&self, domain: Option<&str>) -> Vec<Shaping> {
        match domain {
            None => self.shapers.limited(),
            Some(domain) => self
                .find(domain)
                .map_or(Vec::new(), |id| self.shapers.views(&self.list[id].shapers)),
        }
    }
}

/// What waits.
impl Destinations {
    /// A batch waits for a session behind all others.
    pub(crate) fn push(&mut self, id: DestinationId, batch: DeliveryBatch) {
        self.list[id].queue.push_back(batch);
        self.look_at(id);
    }

    /// A batch goes before all others.
    pub(crate) fn push_first(&mut self, id: DestinationId, batch: DeliveryBatch) {
        self.list[id].queue.push_front(batch);
        self.look_at(id);
    }

    /// A recipient waits until `due`.
    pub(crate) fn set_aside(
        &mut self,
        id: DestinationId,
        task: Task,
        due: Moment,
        clock: &mut Clock,
    ) {
        self.list[id].later.insert((due, task));
        self.set_alarm(id, clock);
    }

    pub(crate) fn set_alarm(&mut self, id: DestinationId, clock: &mut Clock) {
        let this = &mut self.list[id];
        let next = this.next_alarm(clock.now, self.shapers.open_from(&this.shapers));
        if next < this.alarm {
            this.alarm = next;
            clock.schedule(next.max(clock.now), Timer::Destination(id));
        }
    }

    /// A session of a destination has no work.
    pub(crate) fn add_idle(&mut self, id: DestinationId, session: SessionId) {
        let idle = &mut self.list[id].idle;
        let place = idle.partition_point(|&older| older < session);
        idle.insert(place, session);
        self.look_at(id);
    }

    /// Those that waited for a host that answers now need not wait longer.
    pub(crate) fn take_all_due(
        &mut self,
        host: HostId,
        now: Moment,
    ) -> Vec<(DestinationId, Vec<Task>)> {
        let mut all = Vec::new();
        for id in self.ids() {
            let this = &mut self.list[id];
            let is_routed = this.routes.hosts().iter().any(|route| route.host == host);
            if is_routed && this.retry_at < Moment::NEVER {
                this.retry_at = now;
                all.push((id, this.take_due(now)));
            }
        }
        all
    }

    /// Takes those that are not to be sent to now out of all places; the envelopes of batches of which
    /// nothing is left.
    pub(crate) fn drop_places(&mut self, waits: impl Fn(Task) -> bool) -> Vec<EnvelopeId> {
        let mut done = Vec::new();
        for destination in self.list.values_mut() {
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
        done
    }
}
