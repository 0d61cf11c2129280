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

pub mod bounce;
mod clock;
mod config;
mod destination;
mod dispatch;
mod event;
mod eviction;
mod host;
mod ids;
mod journal;
pub mod list;
mod message;
mod operator;
mod outcome;
mod own_hosts;
pub mod policy;
mod reason;
pub mod report;
mod session;

pub use config::Config;
pub use event::{
    Answer, BatchId, Counts, Deferral, Delays, Effect, Entry, Event, MailHost, MessageId, Obstacle,
    Operation, Outcome, Progress, Record, Refusal, Relay, Selection, SessionId, Stored, Submission,
    Task,
};
pub use host::prefix;
pub use ids::{DestinationId, RecipientIndex};
pub use own_hosts::OwnHosts;
pub use reason::Reason;

use crate::destination::Destinations;
use crate::dispatch::Line;
use crate::host::Hosts;
use crate::journal::Journal;
use crate::list::return_path::ReturnPaths;
use crate::message::{Envelopes, Message};
use crate::session::{Session, Sessions};
use sojourn_core::{Calendar, Streams, Time};
use sojourn_smtp::Address;
use sojourn_smtp::client::{Output, Step};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A list server without I/O.
///
/// Equal events at equal times give equal effects.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    /// The name that sessions give.
    hello: Arc<str>,
    return_paths: ReturnPaths,
    own_hosts: OwnHosts,
    streams: Streams,
    now: Time,
    timers: Calendar<Timer>,
    /// The time of the last [`Effect::Wake`].
    announced: Time,
    messages: BTreeMap<MessageId, Message>,
    /// Messages that are being written to stable storage before anything else.
    offered: BTreeMap<MessageId, Message>,
    /// Recipients that are not at their end on stable storage.
    recipients: u64,
    envelopes: Envelopes,
    destinations: Destinations,
    hosts: Hosts,
    sessions: Sessions,
    /// Open sessions without work.
    idle: BTreeSet<SessionId>,
    /// Sessions that wait for hosts that did not answer last time.
    probes: u32,
    /// Destinations to be looked at now, and those that want a session when there is one.
    ready: VecDeque<DestinationId>,
    line: Line,
    /// Destinations that want to probe a host.
    probe_line: VecDeque<DestinationId>,
    journal: Journal,
    /// Whether nothing new is to begin.
    stopping: bool,
    effects: Vec<Effect>,
    /// Empty lists, for what clients want next.
    spare: Vec<Vec<Output>>,
    /// The destinations of the recipients of the message before.
    before: Vec<DestinationId>,
}

#[derive(Clone, Copy, Debug)]
enum Timer {
    Session(SessionId),
    Destination(DestinationId),
    Expiry(MessageId),
    Journal,
}

impl Engine {
    /// An engine without mail. `seed` decides what is left to chance: jitter, and which of several
    /// equal hosts is tried first.
    pub fn new(config: Config, seed: u64) -> Engine {
        Engine {
            hello: config.hello.as_str().into(),
            return_paths: ReturnPaths::default(),
            own_hosts: OwnHosts::default(),
            config,
            streams: Streams::new(seed, 0),
            now: Time::ZERO,
            timers: Calendar::new(),
            announced: Time::NEVER,
            messages: BTreeMap::new(),
            offered: BTreeMap::new(),
            recipients: 0,
            envelopes: Envelopes::default(),
            destinations: Destinations::default(),
            hosts: Hosts::default(),
            sessions: Sessions::default(),
            idle: BTreeSet::new(),
            probes: 0,
            ready: VecDeque::new(),
            line: Line::default(),
            probe_line: VecDeque::new(),
            journal: Journal::default(),
            stopping: false,
            effects: Vec::new(),
            spare: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Handles an event at its time, where a time before the last one counts as the last one, and
    /// returns the effects, in order. Events of sessions and batches that are over are ignored.
    pub fn handle(&mut self, now: Time, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.handle_into(now, event, &mut effects);
        effects
    }

    /// Like [`Engine::handle`], with the effects appended to `effects`.
    pub fn handle_into(&mut self, now: Time, event: Event, effects: &mut Vec<Effect>) {
        std::mem::swap(&mut self.effects, effects);
        self.now = self.now.max(now);
        while self.timers.peek_time().is_some_and(|at| at <= self.now) {
            let (at, timer) = self.timers.pop().expect("a timer that was seen is there");
            self.ring(at, timer);
        }
        match event {
            Event::Submitted(submission) => self.submitted(submission),
            Event::Restored(stored) => self.restored(stored),
            Event::Persisted(batch) => self.persisted(batch),
            Event::NotPersisted(batch, why) => self.not_persisted(batch, why),
            Event::Resolved(domain, answer) => self.resolved(&domain, answer),
            Event::Connected(session) => self.connected(session),
            Event::Received(session, bytes) => self.received(session, &bytes),
            Event::Written(session, messages) => self.written(session, messages),
            Event::Secured(session) => self.secured(session),
            Event::Closed(session, why) => self.closed(session, why),
            Event::Reported(message, recipients) => self.reported(message, &recipients),
            // The clock that rang may be ahead of the one that is read.
            Event::Operate(number, operation, selection) => {
                self.operate(number, operation, &selection);
            }
            Event::Configure(config) => self.configure(*config),
            Event::Tick => self.announced = Time::NEVER,
            Event::Stop => self.stop(),
        }
        self.dispatch_all();
        self.checkpoint();
        if let Some(at) = self.timers.peek_time()
            && at != self.announced
        {
            self.announced = at;
            self.effects.push(Effect::Wake(at));
        }
        std::mem::swap(&mut self.effects, effects);
    }

    /// Messages that are not finished.
    pub fn messages(&self) -> usize {
        self.messages.len() + self.offered.len()
    }

    /// Sessions that are not closed.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
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
        self.messages.get(&message)?.sender.as_ref()
    }

    /// A recipient of a message that is not finished.
    pub fn recipient(&self, task: Task) -> Option<&Address> {
        let message = self.messages.get(&task.message)?;
        Some(&message.recipients.get(task.recipient)?.address)
    }

    /// When a message that is not finished was accepted.
    pub fn accepted(&self, message: MessageId) -> Option<Time> {
        self.messages.get(&message).map(|message| message.accepted)
    }

    fn ring(&mut self, at: Time, timer: Timer) {
        match timer {
            Timer::Session(session) => self.session_alarm(at, session),
            Timer::Destination(destination) => self.destination_alarm(at, destination),
            Timer::Expiry(message) => self.expire(message),
            Timer::Journal => {}
        }
    }

    /// A random number between 0 and 1 that belongs to `entity` at its `times`-th turn.
    fn chance(&self, purpose: &str, entity: u64, times: u32) -> f64 {
        let key = sojourn_core::random::mix(entity) ^ u64::from(times);
        self.streams.stream(purpose, key).uniform()
    }
}
