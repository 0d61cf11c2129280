//! What is done next: which host and session a destination gets, and which transaction begins.
//!
//! Where each recipient has a separate transaction, the commands of the next one follow a message
//! without waiting for the answer to it (RFC 2920). With CHUNKING (RFC 3030) its message goes with
//! them, up to a window: a crash or a connection that breaks leaves no more in doubt.

use crate::clock::Timer;
use crate::destination::shaping::Blocked;
use crate::destination::{Resolved, Routes, literal};
use crate::event::{Answer, Effect, Entry, MessageId, Outcome, Relay, SessionId, Task};
use crate::host::Choice;
use crate::ids::{DestinationId, EnvelopeId, HostId};
use crate::message::DeliveryBatch;
use crate::policy::checkpoint::Checkpoint;
use crate::policy::retry::{Retry, RetryInput, chance};
use crate::policy::split::{Place, Split};
use crate::policy::timeouts::Timeouts;
use crate::queue::Next;
use crate::reason::{Reason, status};
use crate::session::Session;
use crate::{Engine, Moment};
use sojourn_core::Span;
use sojourn_smtp::client::{Client, Step};
use std::sync::Arc;

/// Octets of a message that goes out before its recipient is taken: what a connection swallows even
/// if the host reads on only when it has refused.
const WHOLE_MAX: u64 = 64 * 1024;

impl Engine {
    /// A message is ready to go: these recipients are ordered, split and queued.
    pub(super) fn start(&mut self, id: MessageId, mut places: Vec<Place>) {
        let expires = self.queue[id].accepted + self.config.lifetime;
        self.config.order.sort(&mut places, |it| self.destinations[it].delay);
        self.clock.schedule(expires.max(self.clock.now), Timer::Expiry(id));
        self.enqueue(id, places);
    }

    /// Splits recipients of one message, in the order of service, and queues the envelopes.
    pub(super) fn enqueue(&mut self, message: MessageId, places: Vec<Place>) {
        for envelope in self.config.split.cut(places) {
            let id = self.queue.add_envelope(message, &envelope);
            self.advance(id);
        }
    }

    /// Those whose time has come are queued again: one message's together, the oldest first.
    pub(super) fn queue_again(&mut self, destination: DestinationId, tasks: Vec<Task>) {
        for (message, places) in self.queue.by_message(destination, tasks) {
            self.enqueue(message, places);
        }
    }

    /// Queues the next group of an envelope, or forgets the envelope.
    fn advance(&mut self, id: EnvelopeId) {
        match self.queue.next(id, self.clock.now) {
            Next::Batch(destination, batch) => self.destinations.push(destination, batch),
            Next::Over(unsaved) if unsaved.is_empty() => {}
            Next::Over(unsaved) => self.journal.push_file(unsaved, None),
        }
    }

    /// A batch of an envelope is done.
    pub(super) fn done(&mut self, id: EnvelopeId) {
        if self.queue.is_group_done(id) {
            self.advance(id);
        }
    }

    /// Brings all work forward for which there is a place.
    pub(super) fn dispatch_all(&mut self) {
        while !self.stopping {
            let may_open = !self.sessions.is_full(&self.config.limits) && !self.journal.failing;
            let Some((id, has_waited)) = self.destinations.take_next(may_open) else { return };
            self.dispatch(id, has_waited);
        }
    }

    /// Brings one destination's work forward by one step. One that has not waited for a session goes
    /// behind those that do; one keeps its place among them while its names are looked up, so that
    /// the order of a list does not become that of the answers.
    fn dispatch(&mut self, id: DestinationId, has_waited: bool) {
        let worth = self.sessions_worth(id);
        let now = self.clock.now;
        let this = &mut self.destinations[id];
        let place = this.place_in_line.take();
        if this.queue.is_empty() {
            return;
        }
        let retry_at = this.retry_at;
        if retry_at < Moment::NEVER {
            return self.stall(id, retry_at);
        }
        match this.routes {
            Routes::Known(_, until) if now < until => {}
            Routes::Asking(_) => return this.place_in_line = place,
            _ => {
                self.destinations.keep_place(id, place);
                return self.ask(id);
            }
        }
        if self.journal.failing {
            return self.destinations.line_up(id, place);
        }
        if self.destinations.is_paced(id, now) {
            return self.destinations.set_alarm(id, &mut self.clock);
        }
        let this = &self.destinations[id];
        if let Some(&session) = this.idle.first() {
            self.leave_idle(session);
            self.sessions[session].since = now;
            self.go_on(session);
            return self.destinations.look_at(id);
        }
        if this.has_enough_sessions(worth, self.destinations.is_apart(id)) {
            // One of its sessions takes the work when it is free.
            return;
        }
        if self.sessions.is_full(&self.config.limits) {
            self.make_room(|_| true);
            return self.destinations.line_up(id, place);
        }
        if !has_waited && self.destinations.has_before(place) {
            return self.destinations.line_up(id, place);
        }
        self.open_or_wait(id);
    }

    /// How many sessions a destination's queue is worth, up to its limit, where each of its
    /// recipients has a separate transaction; nothing where they share.
    fn sessions_worth(&self, id: DestinationId) -> Option<usize> {
        let this = &self.destinations[id];
        let message = this.queue.front()?.message;
        if !self.queue.names_recipients(message, &self.config) {
            return None;
        }
        let in_windows = self.hosts.takes_whole(this.routes.hosts()) && this.is_quick();
        let window = if in_windows { self.config.limits.window.get() as usize } else { 1 };
        Some(this.sessions_worth(window))
    }

    /// Opens a session with the best host that may have one, or waits for that.
    fn open_or_wait(&mut self, id: DestinationId) {
        if let Some(Blocked { by, is_full }) = self.destinations.blocked(id) {
            if is_full {
                self.make_room(|session| session.shapers.contains(&by));
            }
            return self.destinations.wait_for_shaper(by, id);
        }
        let limits = &self.config.limits;
        let may_probe = self.sessions.probes() < limits.share(limits.sessions);
        let routes = self.destinations[id].routes.hosts();
        match self.hosts.choose(routes, may_probe, self.clock.now) {
            Choice::Host(host, name) => {
                self.open(id, host, name);
                self.destinations.look_at(id);
            }
            Choice::HostFull(host) => {
                self.make_room(|session| session.host == host);
                self.destinations.wait_in(&mut self.hosts[host].line, id);
            }
            Choice::NetworkFull(network) => {
                self.make_room(|session| session.network == network);
                self.destinations.wait_in(&mut self.hosts.networks[network].line, id);
            }
            Choice::TooManyProbes => self.destinations.wait_for_probe(id),
            Choice::Down(until) => self.stall(id, until),
        }
    }

    fn open(&mut self, destination: DestinationId, number: HostId, name: Arc<str>) {
        self.hosts.add_session(number);
        let host = &self.hosts[number];
        let this = &mut self.destinations[destination];
        this.sessions += 1;
        this.soon_free += 1;
        let steps = self.config.timeouts.steps(host.failures);
        let relay = Relay { name, address: host.address };
        let client = Client::new(Arc::clone(&self.hello), host.tls(self.config.tls));
        let now = self.clock.now;
        let mut session =
            Session::new(destination, number, host, relay.clone(), steps, client, now);
        session.shapers = self.destinations.opened(destination);
        let id = self.sessions.open(session);
        self.effects.push(Effect::Connect(id, relay));
        self.set_deadline(id, true);
    }

    /// Ends one open session without work, for a destination that has some.
    fn make_room(&mut self, fits: impl Fn(&Session) -> bool) {
        if let Some(idle) = self.sessions.find_idle(fits) {
            self.quit(idle);
        }
    }

    /// Sets aside all that is queued: the destination is not to be tried before `until`.
    fn stall(&mut self, id: DestinationId, until: Moment) {
        let this = &mut self.destinations[id];
        let (newly, envelopes) = this.stall(until);
        let unknown = || Reason::new(status::NO_ANSWER, "no host answers");
        let reason = this.trouble.clone().unwrap_or_else(unknown);
        for task in newly {
            if self.queue.is_waiting(task) {
                self.queue.recipient_mut(task).attempted = true;
                self.log_unsent(task, Outcome::Deferred, &reason);
            }
        }
        envelopes.into_iter().for_each(|envelope| self.done(envelope));
        self.destinations.set_alarm(id, &mut self.clock);
    }

    pub(super) fn destination_alarm(&mut self, at: Moment, id: DestinationId) {
        let (now, this) = (self.clock.now, &mut self.destinations[id]);
        if this.alarm > at {
            return;
        }
        this.alarm = Moment::NEVER;
        if matches!(this.routes, Routes::Asking(until) if until <= now) {
            self.unresolved(id, "the name servers do not answer".into());
        }
        let due = self.destinations[id].take_due(now);
        self.queue_again(id, due);
        if self.destinations.is_apart(id) {
            self.destinations.look_at(id);
        }
        self.destinations.set_alarm(id, &mut self.clock);
    }

    /// All that wait for a session with a host, or in its network, are looked at again.
    pub(super) fn wake_host_line(&mut self, host: HostId) {
        self.destinations.look_at_all(&mut self.hosts[host].line);
        self.destinations.look_at_all(self.hosts.network_line(host));
    }

    fn ask(&mut self, id: DestinationId) {
        let this = &self.destinations[id];
        let name = Arc::clone(&this.name);
        if let Some(answer) = literal(&name) {
            let routes = Routes::Asking(Moment::NEVER);
            self.destinations.set_routes(id, routes, &mut self.hosts);
            return self.resolved(&name, answer);
        }
        let until = self.clock.now + self.config.timeouts.steps(this.failures).resolve;
        self.effects.push(Effect::Resolve(name));
        self.destinations.set_routes(id, Routes::Asking(until), &mut self.hosts);
        self.destinations.set_alarm(id, &mut self.clock);
    }

    pub(super) fn resolved(&mut self, domain: &str, answer: Answer) {
        let Some(id) = self.destinations.find(domain) else { return };
        let this = &mut self.destinations[id];
        if !matches!(this.routes, Routes::Asking(_)) {
            return;
        }
        this.routes = Routes::Unknown;
        match Resolved::of(answer, domain, &self.own_hosts, &self.hello) {
            Resolved::To(hosts, lifetime) => {
                let chance = |i| chance(&self.streams, "preference", id.0, i);
                let hosts = self.hosts.route_to(hosts, &self.config.limits, chance);
                let routes = Routes::known(hosts, self.clock.now, lifetime);
                this.failures = 0;
                self.destinations.set_known(id, routes, &mut self.hosts, &self.config);
            }
            Resolved::NotNow(why) => self.unresolved(id, why),
            Resolved::Never(reason) => self.give_up(id, &reason),
        }
    }

    /// The name servers did not answer, or not for now.
    fn unresolved(&mut self, id: DestinationId, why: String) {
        let now = self.clock.now;
        let (times, first) = self.destinations[id].lose_routes(now);
        let until = now + self.host_wait("name servers", id.0, times, first);
        let this = &mut self.destinations[id];
        let reason = Reason::new(status::NAME_SERVERS, why);
        this.trouble = Some(reason.clone());
        let down = Entry::DomainDown(Arc::clone(&this.name), until, reason);
        self.effects.push(Effect::Log(down));
        self.stall(id, until);
    }

    /// All recipients at this domain fail: it takes no mail.
    fn give_up(&mut self, id: DestinationId, reason: &Reason) {
        let this = &mut self.destinations[id];
        this.place_in_line = None;
        for batch in std::mem::take(&mut this.queue) {
            for recipient in batch.recipients {
                let task = Task { message: batch.message, recipient };
                if self.queue.is_waiting(task) {
                    self.fail_unsent(task, reason.clone());
                }
            }
            self.done(batch.envelope);
        }
    }

    /// How long a host or name server that did not answer `times` times in a row is left alone.
    pub(super) fn host_wait(&self, who: &str, entity: u32, times: u32, first: Moment) -> Span {
        self.config.retry.host(&RetryInput {
            times,
            since_first: self.clock.now.since(first),
            named: None,
            learned: None,
            chance: chance(&self.streams, who, entity, times),
        })
    }

    /// A session is open and has no transaction: it begins the next, or waits.
    pub(super) fn go_on(&mut self, id: SessionId) {
        let session = &mut self.sessions[id];
        let (destination, was_soon_free) = (session.destination, session.is_soon_free());
        if !session.make_idle() {
            return;
        }
        self.destinations[destination].soon_free -= u32::from(was_soon_free);
        if self.has_had_its_turn(id) {
            return self.quit(id);
        }
        while !self.journal.failing && !self.destinations.is_paced(destination, self.clock.now) {
            let Some(batch) = self.destinations[destination].queue.pop_front() else { break };
            if let Some(batch) = self.fit(id, batch) {
                self.begin(id, batch);
                return self.begin_early(id);
            }
        }
        self.sessions.add_idle(id);
        self.destinations.add_idle(destination, id);
        self.set_deadline(id, true);
    }

    pub(super) fn leave_idle(&mut self, id: SessionId) {
        if self.sessions.remove_idle(id) {
            let destination = self.sessions[id].destination;
            self.destinations[destination].idle.retain(|&other| other != id);
        }
    }

    pub(super) fn quit(&mut self, id: SessionId) {
        self.leave_idle(id);
        let mut outputs = self.sessions.outputs();
        self.sessions[id].quit(&mut outputs);
        self.set_deadline(id, true);
        self.perform(id, outputs);
    }

    /// Whether others wait for what this session holds, and it has had it for long enough; or has
    /// no work for it now.
    fn has_had_its_turn(&self, id: SessionId) -> bool {
        let session = &self.sessions[id];
        if self.stopping || self.destinations.is_spent(session) {
            return true;
        }
        let is_over = session.begun >= self.config.limits.turn.get()
            || self.destinations[session.destination].queue.is_empty()
            || self.destinations.is_paced(session.destination, self.clock.now);
        is_over
            && (self.hosts.has_other_in_line(session.host, session.destination)
                || self.destinations.has_other_in_shapers_lines(session)
                || (self.sessions.is_full(&self.config.limits)
                    && self.destinations.has_other(session.destination)))
    }

    /// Begins transactions before those under way are answered, where that gains a round trip and
    /// nothing wants transactions apart: the host, a limit by the minute, or envelopes that are
    /// written one by one. Where a session waits for storage, only a text that does not go out with
    /// its commands does.
    pub(super) fn begin_early(&mut self, id: SessionId) {
        while let Some(destination) = self.may_begin_early(id) {
            let batch = self.destinations[destination].queue.pop_front();
            let batch = batch.expect("a destination that may begin has a batch");
            if let Some(batch) = self.fit(id, batch) {
                self.begin(id, batch);
            }
        }
    }

    /// The destination whose next transaction may begin early.
    fn may_begin_early(&self, id: SessionId) -> Option<DestinationId> {
        let session = self.sessions.get(id)?;
        let this = &self.destinations[session.destination];
        let message = this.queue.front()?.message;
        // What was answered and is not written counts as under way: a crash repeats it too.
        let window = self.window(session, message).saturating_sub(session.writes() as usize);
        let may = session.client.can_begin_early(window)
            && !self.hosts[session.host].no_pipelining
            && self.config.checkpoint.file().is_none()
            && !self.destinations.is_apart(session.destination)
            && !self.journal.failing
            && self.queue.names_recipients(message, &self.config)
            && !self.has_had_its_turn(id);
        may.then_some(session.destination)
    }

    /// How many transactions for one recipient of `message` each may be under way over a session.
    fn window(&self, session: &Session, message: MessageId) -> usize {
        let apart = self.hosts[session.host].no_pipelining;
        let large = self.queue.get(message).is_none_or(|it| it.size > WHOLE_MAX);
        let most = self.config.limits.window.get() as usize;
        if apart || large { 1 } else { most.min(session.window) }
    }

    /// What of `batch` can go into one transaction now; the rest goes back or fails.
    fn fit(&mut self, id: SessionId, mut batch: DeliveryBatch) -> Option<DeliveryBatch> {
        let session = &self.sessions[id];
        let destination = session.destination;
        // What is too many is cut off first: a large batch is looked through once, not each time.
        let named = self.queue.names_recipients(batch.message, &self.config);
        let most = if named { 1 } else { self.config.limits.recipients.get() };
        let most = self.destinations[destination].most_recipients.min(most) as usize;
        if batch.recipients.len() > most {
            let rest = DeliveryBatch { recipients: batch.recipients.split_off(most), ..batch };
            self.queue.add_batch(batch.envelope);
            self.destinations[destination].queue.push_front(rest);
            if named {
                // Sessions at the same time may carry the others.
                self.destinations.look_at(destination);
            }
        }
        if let Some(message) = self.queue.get(batch.message) {
            batch.recipients.retain(|&recipient| message.is_waiting(recipient));
            let can = session.client.extensions();
            if let Some((unfit, reason)) = message.take_unfit(&mut batch.recipients, can) {
                for recipient in unfit {
                    let task = Task { message: batch.message, recipient };
                    self.fail_unsent(task, reason.clone());
                }
            }
            if !batch.recipients.is_empty() {
                return Some(batch);
            }
        }
        self.done(batch.envelope);
        None
    }

    fn begin(&mut self, id: SessionId, batch: DeliveryBatch) {
        let named = self.queue.names_recipients(batch.message, &self.config);
        let envelope = self.queue.begin(&batch, named, &self.config);
        let whole = named && self.window(&self.sessions[id], batch.message) > 1;
        let mut outputs = self.sessions.outputs();
        let session = &mut self.sessions[id];
        let is_first = session.client.step() == Step::Idle;
        session.begin(batch, named, whole, self.clock.now);
        session.client.begin(envelope, whole, &mut outputs);
        self.destinations.began(session, &mut self.clock);
        self.set_deadline(id, is_first);
        self.perform(id, outputs);
    }
}
