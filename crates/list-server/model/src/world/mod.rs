//! A world around the engine: name servers, hosts, a network with distances, stable storage, and
//! the list server's own machine, all under one calendar.
//!
//! [`World`] moves what happens between the [`Engine`] and the hosts; a [`Host`] decides what is
//! done at each step of a session, and a [`WorldObserver`] receives everything. The engine's tests
//! bring hosts that misbehave and a witness that turns the power off; studies bring hosts drawn at
//! random or listed ([`crate::internet`]) and a witness that keeps rows.
//!
//! What is not modelled: loss of packets, TLS, the size of anything but messages on the line, and
//! a name server's queue.

mod clock;
mod dns;
mod host;
mod machine;
mod network;
mod observer;
mod server;

pub use clock::{shown, when};
pub use dns::{Names, Say};
pub use host::{Act, ConnectionAnswer, Host, SessionView, Step};
pub use machine::{Machine, Worked};
pub use observer::{Line, Restart, WorldObserver, Write};

use machine::Stations;
use network::{At, Behind, Connections};
use sojourn_core::{Calendar, Span, Time};
use sojourn_mail_engine::{BatchId, Effect, Engine, Event, MessageId, RecipientIndex, Record};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// How long it takes to report failures.
const REPORTING: Span = Span::from_ms(10);

/// An engine in its world.
#[derive(Debug)]
pub struct World<H, W: WorldObserver> {
    /// Receives what happens.
    pub observer: W,
    engine: Engine,
    /// How often the power has gone.
    life: u32,
    now: Time,
    /// When the engine wants to be woken.
    wake: Time,
    calendar: Calendar<WorldEvent<W::Due>>,
    names: BTreeMap<Arc<str>, Names>,
    sites: Vec<Site<H>>,
    by_address: BTreeMap<IpAddr, u32>,
    connections: Connections,
    stations: Stations,
    events: u64,
    /// What the engine wants, as long as it is looked at.
    effects: Vec<Effect>,
}

/// A host and how many connections it has.
#[derive(Debug)]
struct Site<H> {
    host: H,
    connections: u32,
}

#[derive(Debug)]
enum WorldEvent<D> {
    Due(D),
    Names(u32, Arc<str>),
    Arrives(At),
    /// A text is out.
    Out(At, MessageId),
    Heard(Line, Vec<u8>),
    Closed(Line, &'static str),
    HungUp(At),
    Written(u32, BatchId, Arc<[Record]>),
    Reported(u32, MessageId, Vec<RecipientIndex>),
}

impl<H: Host, W: WorldObserver> World<H, W> {
    /// A world without hosts around an engine without mail.
    pub fn new(engine: Engine, machine: Machine, observer: W) -> World<H, W> {
        World {
            observer,
            engine,
            life: 0,
            now: Time::ZERO,
            wake: Time::NEVER,
            calendar: Calendar::new(),
            names: BTreeMap::new(),
            sites: Vec::new(),
            by_address: BTreeMap::new(),
            connections: Connections::default(),
            effects: Vec::new(),
            stations: Stations::new(machine),
            events: 0,
        }
    }

    /// Adds a host, or puts another in its place.
    pub fn add_host(&mut self, address: IpAddr, host: H) {
        match self.by_address.get(&address) {
            Some(&site) => self.sites[site as usize].host = host,
            None => {
                self.by_address.insert(address, self.sites.len() as u32);
                self.sites.push(Site { host, connections: 0 });
            }
        }
    }

    /// Says what the name servers know of a domain.
    pub fn add_names(&mut self, domain: &str, names: Names) {
        self.names.insert(domain.into(), names);
    }

    /// The host of an address; panics where there is none.
    pub fn host(&self, address: IpAddr) -> &H {
        &self.sites[self.by_address[&address] as usize].host
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.sites.len()
    }

    /// The witness is to be reminded of something at a time.
    pub fn remind(&mut self, at: Time, due: W::Due) {
        self.calendar.schedule(at, WorldEvent::Due(due));
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events the engine was told of.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// For how long the machine's parts have worked.
    pub fn worked(&self) -> Worked {
        self.stations.worked()
    }

    /// When something happens next.
    pub fn next(&self) -> Time {
        self.calendar.peek_time().map_or(self.wake, |at| at.min(self.wake))
    }

    /// Runs until nothing is left to happen but what comes after `end`.
    pub fn run(&mut self, end: Time) {
        while self.next() <= end && self.next() < Time::NEVER {
            self.step();
        }
    }

    /// Does what happens next.
    pub fn step(&mut self) {
        if self.calendar.peek_time().is_none_or(|at| self.wake < at) {
            self.now = self.now.max(self.wake);
            self.wake = Time::NEVER;
            return self.tell(Event::Tick);
        }
        let (at, happening) = self.calendar.pop().expect("something is to happen");
        self.now = at;
        self.happen(happening);
    }

    fn happen(&mut self, happening: WorldEvent<W::Due>) {
        let (now, life) = (self.now, self.life);
        match happening {
            WorldEvent::Due(due) => {
                let event = self.observer.due(now, due);
                self.tell(event);
            }
            WorldEvent::Names(of, domain) if of == life => {
                if let Some(answer) = self.names[&domain].answer(now) {
                    self.tell(Event::Resolved(domain, answer));
                }
            }
            WorldEvent::Arrives(here) => self.arrives(here),
            WorldEvent::Out(here, message) if here.line.0 == life => self.out(here, message),
            WorldEvent::Heard(line, bytes) if line.0 == life => {
                self.tell(Event::Received(line.1, bytes));
            }
            WorldEvent::Closed(line, why) if line.0 == life => {
                self.observer.closes(now, line, false);
                self.tell(Event::Closed(line.1, why.into()));
            }
            WorldEvent::HungUp(here) => self.hung_up(here),
            WorldEvent::Written(of, batch, records) if of == life => {
                let event = match self.observer.written(now, &records) {
                    Ok(()) => Event::Persisted(batch),
                    Err(why) => Event::NotPersisted(batch, why),
                };
                self.tell(event);
            }
            WorldEvent::Reported(of, message, recipients) if of == life => {
                self.tell(Event::Reported(message, recipients));
            }
            _ => {}
        }
    }

    fn tell(&mut self, event: Event) {
        self.events += 1;
        self.observer.told(self.now, &event);
        let mut effects = std::mem::take(&mut self.effects);
        self.engine.handle_into(shown(self.now), event, &mut effects);
        let noted = effects.iter().filter_map(|effect| match effect {
            Effect::Note(task) => Some(*task),
            _ => None,
        });
        for task in noted {
            if self.observer.notes(self.now, task) == Write::PowerFails {
                effects.clear();
                self.effects = effects;
                return self.restart();
            }
        }
        for effect in &mut effects {
            self.observer.wanted(self.now, effect);
            if !self.perform(effect) {
                break;
            }
        }
        effects.clear();
        self.effects = effects;
    }

    /// Does one effect, whose bytes are moved out of it; false when the power went.
    fn perform(&mut self, effect: &mut Effect) -> bool {
        let (now, life) = (self.now, self.life);
        match effect {
            Effect::Resolve(domain) => {
                let at = now + self.names[domain].takes;
                self.calendar.schedule(at, WorldEvent::Names(life, Arc::clone(domain)));
            }
            &mut Effect::Connect(session, ref relay) => {
                self.connect((life, session), relay.address)
            }
            &mut Effect::Send(session, ref mut bytes) => {
                self.order((life, session), Behind::Commands(std::mem::take(bytes)));
            }
            &mut Effect::SendBody(session, message, ..) => {
                self.order((life, session), Behind::Text(message));
            }
            &mut Effect::Close(session) => {
                let line = (life, session);
                self.observer.closes(now, line, true);
                let here = self.connections.find(line);
                if let Some(connection) = self.connections.get(here) {
                    let at = now + self.half(connection);
                    self.calendar.schedule(at, WorldEvent::HungUp(here));
                }
            }
            Effect::StartTls(_) => panic!("no host of a world offers TLS"),
            // It was, before all others.
            Effect::Note(_) => {}
            Effect::Persist(batch, records) => match self.observer.writes(now, records) {
                Write::Done => {
                    let at = self.stations.writes(now);
                    self.calendar
                        .schedule(at, WorldEvent::Written(life, *batch, Arc::clone(records)));
                }
                Write::PowerFails => {
                    self.restart();
                    return false;
                }
            },
            &mut Effect::Accepted(id) => self.observer.accepted(now, id),
            &mut Effect::Refused(id, _) => self.observer.refused(now, id),
            &mut Effect::Report(message, ref mut failures) => {
                let failures = std::mem::take(failures);
                let recipients = failures.iter().map(|&(recipient, _)| recipient).collect();
                self.observer.report(now, message, failures);
                let reported = WorldEvent::Reported(life, message, recipients);
                self.calendar.schedule(now + REPORTING, reported);
            }
            &mut Effect::Finished(id) => self.observer.finished(now, id),
            &mut Effect::Operated(number, counts) => self.observer.operated(now, number, counts),
            Effect::Log(entry) => self.observer.log(now, entry),
            &mut Effect::Wake(at) => self.wake = when(at).max(now),
        }
        true
    }
}
