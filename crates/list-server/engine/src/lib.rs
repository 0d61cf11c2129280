//! The delivery engine of a list server: one message to thousands of recipients, quickly, durably
//! and politely, without I/O and without a clock.
//!
//! [`Engine`] takes events with their times ([`Event`]) and returns effects ([`Effect`]): look up,
//! connect, send, write to stable storage, wake later. A simulated world and real sockets drive the
//! same code.
//!
//! A message's recipients are ordered and split into envelopes ([`policy`]); an envelope's
//! groups stand in the queues of their destinations, one group of an envelope at a time. A
//! destination with work asks its name servers, then wants sessions with its best hosts, within the
//! limits; a session that is free takes the next of its destination's queue. Nothing waits in line
//! for a host that does not answer: its recipients are set aside until it may be tried again, and
//! the first session that gets through takes them all, message after message.
//!
//! Each recipient stands in exactly one place at any time: in a group, in a transaction, set aside
//! with its destination or until a retry time, or at its end.
//!
//! - [`policy`]: the five decisions that have variants: how a message is split, in what order
//!   recipients are served, how long a session waits for a host, when results are written, when a
//!   recipient is tried again;
//! - [`list`]: lists, their return paths and tokens, requests to leave;
//! - [`bounce`]: reports of failures from other hosts, and what they cost a subscriber; [`report`]
//!   makes those of this server.
//!
//! The paper: R. Kolstad, *Tuning Sendmail for Large Mailing Lists*, LISA 1997.

mod attempt;
pub mod bounce;
mod clock;
mod config;
mod destination;
mod dispatch;
mod event;
mod host;
mod ids;
mod journal;
pub mod list;
mod message;
mod moment;
mod operator;
mod outcome;
mod own_hosts;
pub mod policy;
mod queue;
mod reason;
pub mod report;
mod session;
mod table;

pub use config::Config;
pub use destination::shaping::{Shaping, provider};
pub use event::{
    Answer, BatchId, Counts, Deferral, Delays, Effect, Entry, Event, MailHost, MessageId, Obstacle,
    Operation, Outcome, Progress, Record, Refusal, Relay, Selection, SessionId, Stored, Submission,
    Task,
};
pub use host::prefix;
pub use ids::{DestinationId, RecipientIndex};
pub use moment::Moment;
pub use own_hosts::OwnHosts;
pub use reason::Reason;

use crate::clock::{Clock, Timer};
use crate::destination::Destinations;
use crate::host::{Host, Hosts};
use crate::journal::Journal;
use crate::list::return_path::ReturnPaths;
use crate::list::token::Claim;
use crate::message::{Message, Wish};
use crate::operator::{Chosen, LAST_ATTEMPT};
use crate::queue::MessageQueue;
use crate::reason::{End, status};
use crate::session::{Session, SessionEvent, Sessions};
use sojourn_core::{Span, Streams};
use sojourn_smtp::Address;
use sojourn_smtp::client::Step;
use std::sync::Arc;

/// A list server without I/O.
///
/// Equal events at equal times give equal effects.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    /// The name that sessions give.
    hello: Arc<str>,
    own_hosts: OwnHosts,
    streams: Streams,
    clock: Clock,
    queue: MessageQueue,
    destinations: Destinations,
    hosts: Hosts,
    sessions: Sessions,
    journal: Journal,
    /// Whether nothing new is to begin.
    stopping: bool,
    effects: Vec<Effect>,
}

impl Engine {
    /// An engine without mail. `seed` decides what is left to chance: jitter, and which of several
    /// equal hosts is tried first.
    pub fn new(config: Config, seed: u64) -> Engine {
        Engine {
            hello: config.hello.as_str().into(),
            own_hosts: OwnHosts::default(),
            config,
            streams: Streams::new(seed, 0),
            clock: Clock::default(),
            queue: MessageQueue::default(),
            destinations: Destinations::default(),
            hosts: Hosts::default(),
            sessions: Sessions::default(),
            journal: Journal::default(),
            stopping: false,
            effects: Vec::new(),
        }
    }

    /// Handles an event at its time, where a time before the last one counts as the last one, and
    /// returns the effects, in order. Events of sessions and batches that are over are ignored.
    pub fn handle(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.handle_into(now, event, &mut effects);
        effects
    }

    /// Like [`Engine::handle`], with the effects appended to `effects`.
    pub fn handle_into(&mut self, now: Moment, event: Event, effects: &mut Vec<Effect>) {
        std::mem::swap(&mut self.effects, effects);
        self.clock.advance(now);
        while let Some((at, timer)) = self.clock.next_due() {
            self.ring(at, timer);
        }
        match event {
            Event::Submitted(submission) => self.submitted(submission),
            Event::Restored(stored) => self.restored(stored),
            Event::Persisted(batch) => self.persisted(batch),
            Event::NotPersisted(batch, why) => self.not_persisted(batch, why),
            Event::Resolved(domain, answer) => self.resolved(&domain, answer),
            Event::Connected(session) => self.heard(session, SessionEvent::Connected),
            Event::Received(session, bytes) => self.heard(session, SessionEvent::Received(&bytes)),
            Event::Written(session, texts) => self.heard(session, SessionEvent::Written(texts)),
            Event::Secured(session) => self.heard(session, SessionEvent::Secured),
            Event::Closed(session, why) => {
                self.end(session, End::Dropped, Reason::new(status::LOST, why));
            }
            Event::Reported(message, recipients) => {
                self.queue.reported(message, &recipients, &mut self.journal, self.clock.now);
            }
            // The clock that rang may be ahead of the one that is read.
            Event::Operate(number, operation, selection) => {
                self.operate(number, operation, &selection);
            }
            Event::Configure(config) => self.configure(*config),
            Event::Tick => self.clock.wake(),
            Event::Stop => self.stop(),
        }
        self.dispatch_all();
        self.journal.checkpoint(&self.config.checkpoint, &mut self.clock, &mut self.effects);
        if let Some(at) = self.clock.next_wake() {
            self.effects.push(Effect::Wake(at));
        }
        std::mem::swap(&mut self.effects, effects);
    }

    /// Messages that are not finished.
    pub fn messages(&self) -> usize {
        self.queue.len()
    }

    /// Sessions that are not closed.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How many destinations and hosts are known.
    pub fn remembered(&self) -> (usize, usize) {
        (self.destinations.known(), self.hosts.known())
    }

    /// What each session that is not closed waits for.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        self.sessions.values().map(Session::step)
    }

    /// Whether a text is on its way over this session, or was sent and is not answered: until its
    /// answer is on stable storage, a crash sends it again.
    pub fn is_sending(&self, session: SessionId) -> bool {
        self.sessions.get(session).is_some_and(|it| it.client.is_sending())
    }

    /// Whether it is at rest after [`Event::Stop`]: no session is open, and all that is done is on
    /// stable storage.
    pub fn is_at_rest(&self) -> bool {
        self.stopping && self.sessions.len() == 0 && !self.journal.is_waiting_or_writing()
    }

    /// The sender of a message that is not finished; none for a report.
    pub fn sender(&self, message: MessageId) -> Option<&Address> {
        self.queue.get(message)?.sender.as_ref()
    }

    /// A recipient of a message that is not finished.
    pub fn recipient(&self, task: Task) -> Option<&Address> {
        let message = self.queue.get(task.message)?;
        Some(&message.recipients.get(task.recipient)?.address)
    }

    /// The limits of a domain that there was mail for lately, its provider's last; of none, all limits
    /// that are in use.
    pub fn shaping(&self, domain: Option<&str>) -> Vec<Shaping> {
        self.destinations.shaping(domain)
    }

    /// When a message that is not finished was accepted.
    pub fn accepted(&self, message: MessageId) -> Option<Moment> {
        self.queue.get(message).map(|message| message.accepted)
    }

    /// Whether a session's host takes no octets above 127, which the message has.
    pub fn is_seven_bit(&self, session: SessionId, message: MessageId) -> bool {
        let session = self.sessions.get(session);
        self.queue.get(message).is_some_and(|message| message.eight_bit)
            && session.is_some_and(|session| !session.client.extensions().eight_bit_mime)
    }

    /// What tokens in the copy for a recipient claim; nothing where the recipient has no number in
    /// the register, or its message is finished.
    pub fn claim(&self, task: Task) -> Option<Claim> {
        self.queue.claim(task)
    }

    /// Copies of lists' mail get return paths with tokens from now on, as `paths` says. What is sent
    /// already keeps the path that it has.
    pub fn set_return_paths(&mut self, paths: ReturnPaths) {
        self.queue.set_return_paths(paths);
    }

    /// Hosts that are the server itself, from now on.
    pub fn set_own_hosts(&mut self, own_hosts: OwnHosts) {
        if own_hosts != self.own_hosts {
            self.own_hosts = own_hosts;
            self.destinations.forget_routes(&mut self.hosts);
        }
    }

    fn ring(&mut self, at: Moment, timer: Timer) {
        match timer {
            Timer::Session(session) => self.session_alarm(at, session),
            Timer::Destination(destination) => self.destination_alarm(at, destination),
            Timer::Expiry(message) => self.expire(message),
            Timer::Journal => {}
        }
    }

    /// Counts the time of a session's present step from now on; `hears` says whether its host has said
    /// something, or is asked again.
    fn set_deadline(&mut self, id: SessionId, hears: bool) {
        self.sessions.set_deadline(id, hears, self.config.limits.idle, &mut self.clock);
    }

    /// A message is offered.
    fn submitted(&mut self, submission: Submission) {
        let id = submission.id;
        if let Some(why) = self.refusal(&submission) {
            return self.effects.push(Effect::Refused(id, why));
        }
        let now = self.clock.now;
        let recipients = &submission.recipients;
        let destinations =
            self.destinations.want_all(recipients, now, &self.config, &mut self.hosts);
        self.queue.offer(id, Message::new(submission, now, destinations));
        self.journal.push(now, Record::Accepted(id));
    }

    /// Why a message is not taken over now, if it is not.
    fn refusal(&self, submission: &Submission) -> Option<Refusal> {
        let waiting = self.destinations.recipients();
        match submission {
            _ if self.queue.has(submission.id) => Some(Refusal::Invalid("its number is in use")),
            _ if self.stopping => Some(Refusal::Stopping),
            _ if self.journal.failing => {
                Some(Refusal::Storage("stable storage cannot be written".into()))
            }
            _ => submission.refusal(waiting, self.config.limits.waiting),
        }
    }

    /// A message from before a restart. One whose number is in use is ignored.
    fn restored(&mut self, mut stored: Stored) {
        let (id, now) = (stored.submission.id, self.clock.now);
        if self.queue.has(id) {
            return;
        }
        stored.not_after(now);
        let recipients = &stored.submission.recipients;
        let destinations =
            self.destinations.want_all(recipients, now, &self.config, &mut self.hosts);
        let mut message = Message::new(stored.submission, stored.accepted, destinations);
        let found = message.restore(stored.progress, &stored.held, now);
        found.ended.into_iter().for_each(|ended| self.destinations.unwant(ended));
        if message.open == 0 {
            return self.effects.push(Effect::Finished(id));
        }
        self.queue.insert(id, message);
        for (recipient, due) in found.deferred {
            self.set_aside(Task { message: id, recipient }, due);
        }
        self.start(id, found.waiting);
        if !found.unreported.is_empty() {
            self.effects.push(Effect::Report(id, found.unreported));
        }
    }

    /// Goes by other settings from now on. What is under way ends as it began; the name stays.
    fn configure(&mut self, config: Config) {
        let is_shorter = config.lifetime < self.config.lifetime;
        let is_reshaped =
            config.domain != self.config.domain || config.limits != self.config.limits;
        self.config = config;
        self.destinations.set_limits(&self.config);
        if is_reshaped {
            // The limits that a domain shares are found with its hosts.
            self.destinations.forget_routes(&mut self.hosts);
        }
        self.hosts.set_limits(&self.config.limits);
        if is_shorter {
            self.queue.expire_after(self.config.lifetime, &mut self.clock);
        }
    }

    /// Nothing new begins: sessions without a transaction end.
    fn stop(&mut self) {
        self.stopping = true;
        for unsaved in self.queue.take_unsaved() {
            self.journal.push_file(unsaved, None);
        }
        for id in self.sessions.ids() {
            if self.sessions.is_idle(id) {
                self.quit(id);
            } else if !self.sessions[id].was_ready() {
                self.effects.push(Effect::Close(id));
                self.end(id, End::Dropped, Reason::new(status::LOST, "the server is stopping"));
            }
        }
    }

    /// The message has had its time. A recipient without an attempt since the start gets one.
    fn expire(&mut self, id: MessageId) {
        let Some(message) = self.queue.get(id) else { return };
        let expires = message.accepted + self.config.lifetime;
        if self.clock.now < expires {
            // The lifetime was set to be longer meanwhile.
            return self.clock.schedule(expires, Timer::Expiry(id));
        }
        let (past, others) = message.past_attempts();
        if others {
            let wait = LAST_ATTEMPT.min(self.config.lifetime).max(Span::from_ms(1));
            self.clock.schedule(self.clock.now + wait, Timer::Expiry(id));
        }
        for recipient in past {
            let reason = Reason::new(status::EXPIRED, "it could not be delivered in its time");
            self.fail_unsent(Task { message: id, recipient }, reason);
        }
    }

    /// Does an operation, and answers when it is on stable storage.
    fn operate(&mut self, number: u64, operation: Operation, selection: &Selection) {
        let (counts, chosen) = self.queue.operate(operation, selection);
        match operation {
            Operation::Count => {}
            Operation::Hold | Operation::Delete => self.drop_places(),
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
        self.sessions.free(&self.queue, &self.destinations, &self.config.limits, &mut self.clock);
    }

    fn release_all(&mut self, chosen: &[Chosen]) {
        self.queue.change(chosen, |it| it.attempted = false);
        for it in chosen {
            if self.queue[it.message].accepted + self.config.lifetime <= self.clock.now {
                self.clock.schedule(self.clock.now + LAST_ATTEMPT, Timer::Expiry(it.message));
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
