//! A simulated world around the engine: name servers, hosts, a network with latency, a spool, and
//! a power switch.

use crate::server::{Host, Reaction, Server};
use crate::spool::Spool;
use sojourn_kernel::{Calendar, Span, Time};
use sojourn_mail::engine::{
    Answer, BatchId, Effect, Engine, Entry, Event, MailHost, MessageId, Reason, Record, SessionId,
    Submission,
};
use sojourn_mail::{Config, policy::Limits};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// What the name servers know of a domain.
#[derive(Clone, Debug)]
pub(crate) enum Names {
    Hosts(Vec<(u16, Vec<IpAddr>)>),
    NoSuchDomain,
    Silent,
    /// They fail until this time, then know these hosts.
    FailUntil(Time, Vec<(u16, Vec<IpAddr>)>),
}

/// When the power goes: at the n-th write, before or after it reaches the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crash {
    pub(crate) write: u64,
    pub(crate) written: bool,
}

/// A session as the world knows it: its number is unique within one life of the engine.
pub(crate) type Line = (u32, SessionId);

/// When a recipient was taken over, over which line and in which of its transactions.
pub(crate) type Taken = (Time, Line, u32);

#[derive(Debug)]
enum Happening {
    Wake(u32),
    Names(u32, Arc<str>),
    Arrives(Line),
    ToServer(Line, Vec<u8>),
    Body(Line, MessageId),
    HungUp(Line),
    ToClient(Line, Event),
    Written(u32, BatchId, Arc<[Record]>),
    Reported(u32, MessageId, Vec<u32>),
    Submit(MessageId),
}

#[derive(Debug)]
struct Connection {
    host: IpAddr,
    server: Server,
    /// Transactions that the server accepted here.
    accepted: u32,
    open: bool,
    gone: bool,
}

pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) hosts: BTreeMap<IpAddr, Host>,
    pub(crate) names: BTreeMap<String, Names>,
    pub(crate) write_takes: Span,
    /// Writes fail until then, from the first that is asked for after `fails_from`.
    pub(crate) disk_fails: (Time, Time),
    pub(crate) submissions: BTreeMap<MessageId, Submission>,
    pub(crate) taken: BTreeMap<(MessageId, String), Vec<Taken>>,
    pub(crate) failed: BTreeMap<(MessageId, String), Vec<Reason>>,
    pub(crate) log: Vec<(Time, Entry)>,
    pub(crate) refused: Vec<MessageId>,
    pub(crate) trace: Vec<String>,
    pub(crate) crashes: Vec<Crash>,
    /// The lines that were open at a crash, or ended so shortly before that their last transaction
    /// may not have been written.
    pub(crate) cut: BTreeSet<Line>,
    pub(crate) writes: u64,
    pub(crate) finished: BTreeMap<MessageId, Time>,
    pub(crate) most_open: usize,
    pub(crate) keep_trace: bool,
    pub(crate) spool: Spool,
    engine: Engine,
    life: u32,
    seed: u64,
    calendar: Calendar<Happening>,
    connections: BTreeMap<Line, Connection>,
    /// When lines ended.
    ended: Vec<(Time, Line)>,
    /// Lines that count against the limits: from Connect to Close or Closed.
    counted: BTreeMap<Line, IpAddr>,
    unanswered: BTreeSet<MessageId>,
}

impl World {
    pub(crate) fn new(config: Config, seed: u64) -> World {
        World {
            engine: Engine::new(config.clone(), seed),
            config,
            hosts: BTreeMap::new(),
            names: BTreeMap::new(),
            write_takes: Span::from_ms(3),
            disk_fails: (Time::NEVER, Time::ZERO),
            submissions: BTreeMap::new(),
            taken: BTreeMap::new(),
            failed: BTreeMap::new(),
            log: Vec::new(),
            refused: Vec::new(),
            trace: Vec::new(),
            crashes: Vec::new(),
            cut: BTreeSet::new(),
            writes: 0,
            finished: BTreeMap::new(),
            most_open: 0,
            keep_trace: false,
            spool: Spool::default(),
            life: 0,
            seed,
            calendar: Calendar::new(),
            connections: BTreeMap::new(),
            ended: Vec::new(),
            counted: BTreeMap::new(),
            unanswered: BTreeSet::new(),
        }
    }

    /// Offers a message of `recipients` at `at`.
    pub(crate) fn submit(&mut self, at: Time, id: u64, recipients: &[String]) {
        let recipients = recipients.iter().map(|it| it.parse().unwrap()).collect();
        let sender = Some("list-bounces@lists.example".parse().unwrap());
        let id = MessageId(id);
        let submission =
            Submission { id, sender, size: 1500, eight_bit: false, utf8: false, recipients };
        self.submissions.insert(id, submission);
        self.calendar.schedule(at, Happening::Submit(id));
    }

    pub(crate) fn now(&self) -> Time {
        self.calendar.now()
    }

    /// Runs until nothing is left to happen but what comes after `end`.
    pub(crate) fn run(&mut self, end: Time) {
        while self.calendar.peek_time().is_some_and(|at| at <= end) {
            let (_, happening) = self.calendar.pop().unwrap();
            self.happen(happening);
        }
    }

    /// Runs until all messages are finished. Panics when they are not by `end`.
    pub(crate) fn run_to_the_end(&mut self, end: Time) {
        self.run(end);
        assert_eq!(self.engine.messages(), 0, "messages are left at {end}");
        assert_eq!(self.engine.sessions(), 0, "sessions are left at {end}");
    }

    /// Whether a transaction was the last that was accepted over its line, cut by a crash.
    pub(crate) fn was_in_flight(&self, line: Line, transaction: u32) -> bool {
        self.cut.contains(&line) && transaction + 1 == self.connections[&line].accepted
    }

    fn happen(&mut self, happening: Happening) {
        let life = self.life;
        match happening {
            Happening::Wake(of) if of == life => self.tell(Event::Tick),
            Happening::Names(of, domain) if of == life => self.answer(domain),
            Happening::Arrives(line) => self.arrives(line),
            Happening::ToServer(line, bytes) => {
                let now = self.now();
                self.serve(line, |server, host| server.read(host, now, &bytes));
            }
            Happening::Body(line, message) => {
                self.serve(line, |server, host| server.body(host, message));
            }
            Happening::HungUp(line) => self.server_closes(line),
            Happening::ToClient(line, event) if line.0 == life => {
                if let Event::Closed(..) = event {
                    self.end(line);
                }
                self.tell(event);
            }
            Happening::Written(of, batch, records) if of == life => {
                let now = self.now();
                if self.disk_fails.0 <= now && now < self.disk_fails.1 {
                    return self.tell(Event::NotPersisted(batch, "no space left on device".into()));
                }
                self.spool.apply(now, &records, &self.submissions);
                self.tell(Event::Persisted(batch));
            }
            Happening::Reported(of, message, recipients) if of == life => {
                self.tell(Event::Reported(message, recipients));
            }
            Happening::Submit(id) => {
                self.unanswered.insert(id);
                self.tell(Event::Submitted(self.submissions[&id].clone()));
            }
            _ => {}
        }
    }

    fn tell(&mut self, event: Event) {
        let now = self.now();
        if self.keep_trace {
            self.trace.push(format!("{now} {event:?}"));
        }
        for effect in self.engine.handle(now, event) {
            if self.keep_trace {
                self.trace.push(format!("{now} -> {effect:?}"));
            }
            if !self.obey(effect) {
                return;
            }
        }
    }

    /// Does one effect; false when the power went.
    fn obey(&mut self, effect: Effect) -> bool {
        let (now, life) = (self.now(), self.life);
        match effect {
            Effect::Resolve(domain) => {
                let asked = Happening::Names(life, domain);
                self.calendar.schedule(now + Span::from_ms(20), asked);
            }
            Effect::Connect(session, relay) => self.connect((life, session), relay.address),
            Effect::Send(session, bytes) => {
                let line = (life, session);
                let at = now + self.half(line);
                self.calendar.schedule(at, Happening::ToServer(line, bytes));
            }
            Effect::SendBody(session, message, _) => {
                let line = (life, session);
                let at = now + self.half(line);
                self.calendar.schedule(at, Happening::Body(line, message));
                let written = Happening::ToClient(line, Event::Written(session, true));
                self.calendar.schedule(now + Span::from_us(50), written);
            }
            Effect::Close(session) => {
                let line = (life, session);
                assert!(self.end(line), "{line:?} is closed already");
                if self.connections.contains_key(&line) {
                    let at = now + self.half(line);
                    self.calendar.schedule(at, Happening::HungUp(line));
                }
            }
            Effect::StartTls(_) => panic!("no server offered it"),
            Effect::Persist(batch, records) => {
                let crash = self.crashes.iter().find(|crash| crash.write == self.writes).copied();
                self.writes += 1;
                if let Some(crash) = crash {
                    if crash.written {
                        self.spool.apply(now, &records, &self.submissions);
                    }
                    self.restart();
                    return false;
                }
                let done = Happening::Written(life, batch, records);
                self.calendar.schedule(now + self.write_takes, done);
            }
            Effect::Accepted(id) => assert!(self.unanswered.remove(&id), "answered twice"),
            Effect::Refused(id, _) => {
                assert!(self.unanswered.remove(&id), "answered twice");
                self.refused.push(id);
            }
            Effect::Report(message, failures) => {
                let recipients = failures.iter().map(|&(recipient, _)| recipient).collect();
                for (recipient, reason) in failures {
                    let address = &self.submissions[&message].recipients[recipient as usize];
                    self.failed.entry((message, address.to_string())).or_default().push(reason);
                }
                let at = now + Span::from_ms(10);
                self.calendar.schedule(at, Happening::Reported(life, message, recipients));
            }
            Effect::Finished(id) => {
                self.finished.insert(id, now);
            }
            Effect::Log(entry) => self.log.push((now, entry)),
            Effect::Wake(at) => self.calendar.schedule(at.max(now), Happening::Wake(life)),
        }
        true
    }

    fn end(&mut self, line: Line) -> bool {
        self.ended.push((self.now(), line));
        self.counted.remove(&line).is_some()
    }

    fn half(&self, line: Line) -> Span {
        self.hosts[&self.connections[&line].host].rtt / 2
    }

    fn connect(&mut self, line: Line, address: IpAddr) {
        self.counted.insert(line, address);
        self.check_limits(address);
        let now = self.now();
        let host = self.hosts.get_mut(&address).unwrap();
        host.attempts += 1;
        let connection = Connection {
            host: address,
            server: Server::default(),
            accepted: 0,
            open: false,
            gone: false,
        };
        self.connections.insert(line, connection);
        let at = now + host.rtt;
        match host.answers(now) {
            Some(true) => self.calendar.schedule(at, Happening::Arrives(line)),
            Some(false) => {
                let refused = Event::Closed(line.1, "connection refused".into());
                self.calendar.schedule(at, Happening::ToClient(line, refused));
            }
            None => {}
        }
    }

    fn check_limits(&mut self, address: IpAddr) {
        let Limits { sessions, destination, network, .. } = &self.config.limits;
        let near = |other: &IpAddr| match (address, *other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => a.octets()[..3] == b.octets()[..3],
            _ => false,
        };
        let count =
            |fits: &dyn Fn(&IpAddr) -> bool| self.counted.values().filter(|it| fits(it)).count();
        assert!(self.counted.len() <= sessions.get() as usize);
        assert!(count(&|it| *it == address) <= destination.get() as usize);
        assert!(count(&near) <= network.get() as usize);
        self.most_open = self.most_open.max(self.counted.len());
    }

    fn answer(&mut self, domain: Arc<str>) {
        let now = self.now();
        let hosts = |hosts: &[(u16, Vec<IpAddr>)]| Answer::Hosts {
            hosts: hosts
                .iter()
                .map(|(preference, addresses)| MailHost {
                    name: "mx.example".into(),
                    preference: *preference,
                    addresses: addresses.clone(),
                })
                .collect(),
            lifetime: Span::from_s(300),
        };
        let answer = match &self.names[&*domain] {
            Names::Hosts(list) => hosts(list),
            Names::NoSuchDomain => Answer::NoSuchDomain,
            Names::Silent => return,
            Names::FailUntil(until, _) if now < *until => Answer::Failed("SERVFAIL".into()),
            Names::FailUntil(_, list) => hosts(list),
        };
        self.tell(Event::Resolved(domain, answer));
    }

    fn arrives(&mut self, line: Line) {
        let connection = self.connections.get_mut(&line).unwrap();
        if connection.gone {
            return;
        }
        connection.open = true;
        let address = connection.host;
        let reactions = self.hosts.get_mut(&address).unwrap().greet();
        // The handshake's end reaches the client a little before the greeting.
        if line.0 == self.life && self.counted.contains_key(&line) {
            self.tell(Event::Connected(line.1));
        }
        self.react(line, reactions);
    }

    fn serve(&mut self, line: Line, act: impl FnOnce(&mut Server, &mut Host) -> Vec<Reaction>) {
        let connection = self.connections.get_mut(&line).unwrap();
        if connection.open {
            let host = self.hosts.get_mut(&connection.host).unwrap();
            let reactions = act(&mut connection.server, host);
            self.react(line, reactions);
        }
    }

    fn react(&mut self, line: Line, reactions: Vec<Reaction>) {
        let now = self.now();
        let took_over = reactions.iter().any(|it| matches!(it, Reaction::Accept(..)));
        let host = &self.hosts[&self.connections[&line].host];
        let at = now + host.rtt / 2 + host.thinking();
        for reaction in reactions {
            match reaction {
                Reaction::Reply(text) => {
                    let bytes = (text + "\r\n").into_bytes();
                    let received = Event::Received(line.1, bytes);
                    self.calendar.schedule(at, Happening::ToClient(line, received));
                }
                Reaction::Accept(message, recipient) => {
                    let transaction = self.connections[&line].accepted;
                    let taken = self.taken.entry((message, recipient)).or_default();
                    taken.push((now, line, transaction));
                }
                Reaction::Close => {
                    let closed = Event::Closed(line.1, "reset by peer".into());
                    self.calendar.schedule(at, Happening::ToClient(line, closed));
                    self.server_closes(line);
                }
            }
        }
        self.connections.get_mut(&line).unwrap().accepted += u32::from(took_over);
    }

    fn server_closes(&mut self, line: Line) {
        let connection = self.connections.get_mut(&line).unwrap();
        connection.gone = true;
        if std::mem::take(&mut connection.open) {
            self.hosts.get_mut(&connection.host).unwrap().connections -= 1;
        }
    }

    /// The power goes and comes back: nothing is left but the spool, and what is on the wire.
    fn restart(&mut self) {
        let now = self.now();
        for &line in self.counted.keys() {
            self.cut.insert(line);
            let at = now + self.half(line);
            self.calendar.schedule(at, Happening::HungUp(line));
        }
        let unwritten = Span::from_ms(4) + self.write_takes * 2;
        let lately = self.ended.drain(..).filter(|(at, _)| now.since(*at) <= unwritten);
        self.cut.extend(lately.map(|(_, line)| line));
        self.counted.clear();
        self.life += 1;
        self.engine = Engine::new(self.config.clone(), self.seed);
        for stored in self.spool.stored.clone().into_values() {
            self.tell(Event::Restored(stored));
        }
        // Whoever was not answered offers the message again, unless it is found in the spool.
        for id in std::mem::take(&mut self.unanswered) {
            if !self.spool.stored.contains_key(&id) {
                self.calendar.schedule(now + Span::from_s(1), Happening::Submit(id));
            }
        }
    }
}
