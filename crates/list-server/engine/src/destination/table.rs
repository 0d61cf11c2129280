//! The table of all destinations, and the lines in which those stand that have work.

use super::line::Line;
use super::shaping::Shapers;
use super::{Destination, Routes};
use crate::clock::{Clock, Timer};
use crate::config::Config;
use crate::event::{SessionId, Task};
use crate::host::Hosts;
use crate::ids::{DestinationId, EnvelopeId, HostId};
use crate::message::{DeliveryBatch, Message};
use crate::moment::Moment;
use crate::table::{ClockHand, Table};
use sojourn_smtp::Address;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// All destinations, numbered as they become known; the id of one that is forgotten is given again.
#[derive(Debug, Default)]
pub(crate) struct Destinations {
    pub(super) list: Table<DestinationId, Destination>,
    by_name: BTreeMap<Arc<str>, DestinationId>,
    free: Vec<DestinationId>,
    hand: ClockHand,
    /// Recipients that are not at their end on stable storage.
    recipients: u64,
    /// The destinations of the recipients of the message before.
    before: Vec<DestinationId>,
    /// Those to be looked at now, and those that want a session when there is one.
    pub(super) ready: VecDeque<DestinationId>,
    line: Line,
    /// Those that want to probe a host.
    probe_line: VecDeque<DestinationId>,
    pub(super) shapers: Shapers,
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

impl crate::Engine {
    /// Recipients whose end is not on stable storage yet, also the recipients of offered messages.
    pub fn waiting(&self) -> u64 {
        self.destinations.recipients
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

    /// All recipients of a message less.
    pub(crate) fn unwant_all(&mut self, message: &Message) {
        message.recipients.values().for_each(|it| self.unwant(it.destination));
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
        if !line.is_empty() {
            self.ready.append(line);
        }
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
