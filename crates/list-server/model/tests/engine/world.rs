//! The world of these tests: hosts that misbehave, a disk that can be full, and a power switch.

use crate::domains::Domains;
use crate::server::Host;
use crate::spool::Spool;
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};
use sojourn_mail_engine::policy::Limits;
use sojourn_mail_engine::{
    Config, Counts, Effect, Engine, Entry, Event, MessageId, Operation, Reason, RecipientIndex,
    Record, Selection, Submission, Task,
};
use sojourn_mail_model::world;
use sojourn_mail_model::world::{Line, Restart, WorldObserver, Write};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};

pub(crate) use sojourn_mail_model::world::Say as Names;

/// How long a write takes.
const WRITE: Span = Span::from_ms(3);

/// When the process ends: at the n-th write, before or after it reaches the disk; with the power, which
/// takes along what was noted and is not on the disk, or alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crash {
    pub(crate) write: u64,
    pub(crate) written: bool,
    pub(crate) power: bool,
}

/// When a recipient was taken over, over which line and in which of its transactions.
pub(crate) type Taken = (Time, Line, u32);

pub(crate) struct World {
    world: world::World<Host, DeliveryRecorder>,
}

/// What the engine is told at its time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    Message(MessageId),
    Operation(u64),
    Configuration(usize),
}

/// All that is to be known of a run.
pub(crate) struct DeliveryRecorder {
    pub(crate) config: Config,
    pub(crate) names: BTreeMap<String, Names>,
    /// Writes fail from the first of these times to the second.
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
    /// Who has it, as was noted.
    pub(crate) noted: BTreeSet<Task>,
    pub(crate) finished: BTreeMap<MessageId, Time>,
    pub(crate) most_open: usize,
    pub(crate) keep_trace: bool,
    pub(crate) spool: Spool,
    pub(crate) operations: Vec<(Operation, Selection)>,
    configurations: Vec<Config>,
    /// Those that the engine was told of and has not answered.
    pub(crate) asked: BTreeSet<u64>,
    /// What became of the operations that were answered, and when.
    pub(crate) answers: BTreeMap<u64, (Time, Counts)>,
    pub(crate) limits: Domains,
    seed: u64,
    /// Recipients that a host took in the present transaction, and how many transactions it
    /// accepted, line by line.
    named: BTreeMap<Line, Vec<String>>,
    accepted: BTreeMap<Line, u32>,
    /// When lines ended.
    ended: Vec<(Time, Line)>,
    /// Lines that count against the limits: until nothing is awaited from them.
    counted: BTreeMap<Line, IpAddr>,
    unanswered: BTreeSet<MessageId>,
}

impl Deref for World {
    type Target = DeliveryRecorder;

    fn deref(&self) -> &DeliveryRecorder {
        &self.world.observer
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut DeliveryRecorder {
        &mut self.world.observer
    }
}

impl World {
    pub(crate) fn new(config: Config, seed: u64) -> World {
        let engine = Engine::new(config.clone(), seed);
        let mut book = DeliveryRecorder {
            config,
            names: BTreeMap::new(),
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
            noted: BTreeSet::new(),
            finished: BTreeMap::new(),
            most_open: 0,
            keep_trace: false,
            spool: Spool::default(),
            operations: Vec::new(),
            configurations: Vec::new(),
            asked: BTreeSet::new(),
            answers: BTreeMap::new(),
            limits: Domains::default(),
            seed,
            named: BTreeMap::new(),
            accepted: BTreeMap::new(),
            ended: Vec::new(),
            counted: BTreeMap::new(),
            unanswered: BTreeSet::new(),
        };
        book.limits.born();
        let machine = world::Machine { write: WRITE, ..defaults() };
        World { world: world::World::new(engine, machine, book) }
    }

    pub(crate) fn add_host(&mut self, address: IpAddr, host: Host) {
        self.world.add_host(address, host);
    }

    /// What the name servers say of a domain, after 20 ms, for 300 s.
    pub(crate) fn say(&mut self, domain: String, say: Names) {
        let (takes, lifetime) = (Span::from_ms(20), Span::from_s(300));
        self.names.insert(domain.clone(), say.clone());
        self.world.add_names(&domain, world::Names { takes, lifetime, say });
    }

    pub(crate) fn host(&self, address: IpAddr) -> &Host {
        self.world.host(address)
    }

    pub(crate) fn hosts(&self) -> usize {
        self.world.hosts()
    }

    /// Offers a message of `recipients` at `at`.
    pub(crate) fn submit(&mut self, at: Time, id: u64, recipients: &[String]) {
        let recipients = recipients.iter().map(|it| it.parse().unwrap()).collect();
        let sender = Some("list-bounces@lists.example".parse().unwrap());
        let id = MessageId(id);
        let submission = Submission {
            id,
            sender,
            size: 1500,
            eight_bit: false,
            utf8: false,
            recipients,
            subscribers: vec![],
            day: 0,
        };
        self.submissions.insert(id, submission);
        self.world.remind(at, Due::Message(id));
    }

    /// It is set otherwise from `at` on.
    pub(crate) fn configure(&mut self, at: Time, config: Config) {
        self.configurations.push(config);
        self.world.remind(at, Due::Configuration(self.configurations.len() - 1));
    }

    /// An operator wants something done at `at`.
    pub(crate) fn operate(&mut self, at: Time, operation: Operation, selection: Selection) {
        let number = self.operations.len() as u64;
        self.operations.push((operation, selection));
        self.world.remind(at, Due::Operation(number));
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.world.engine()
    }

    pub(crate) fn now(&self) -> Time {
        self.world.now()
    }

    /// Runs until nothing is left to happen but what comes after `end`.
    pub(crate) fn run(&mut self, end: Time) {
        self.world.run(end);
    }

    /// Runs until all messages are finished. Panics when they are not by `end`.
    pub(crate) fn run_to_the_end(&mut self, end: Time) {
        self.run(end);
        let engine = self.world.engine();
        assert_eq!(engine.messages(), 0, "messages are left at {end}");
        assert_eq!(engine.sessions(), 0, "sessions are left at {end}");
    }
}

impl DeliveryRecorder {
    /// Whether a transaction was one of the last that were accepted over its line, cut by a crash.
    pub(crate) fn was_in_flight(&self, line: Line, transaction: u32) -> bool {
        let window = self.config.limits.window.get();
        self.cut.contains(&line) && transaction + window >= self.accepted[&line]
    }

    fn end(&mut self, now: Time, line: Line) -> bool {
        self.limits.closed(line.1);
        self.ended.push((now, line));
        self.counted.remove(&line).is_some()
    }

    /// Whether this is the write at which it ends.
    fn crash(&mut self) -> Option<Crash> {
        let crash = self.crashes.iter().find(|crash| crash.write == self.writes).copied();
        self.writes += 1;
        crash
    }

    fn forget(&mut self, crash: Option<Crash>) -> Write {
        let Some(crash) = crash else { return Write::Done };
        if crash.power {
            self.noted.clear();
        }
        Write::PowerFails
    }

    fn check_limits(&mut self, address: IpAddr) {
        let Limits { sessions, destination, network, .. } = &self.config.limits;
        let near = |other: &IpAddr| match (address, *other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => a.octets()[..3] == b.octets()[..3],
            _ => false,
        };
        let count =
            |fits: &dyn Fn(&IpAddr) -> bool| self.counted.values().filter(|it| fits(it)).count();
        // Those that may have a message whose answer is overdue count no more, up to as many again.
        assert!(self.counted.len() <= 2 * sessions.get() as usize);
        let set = self.config.domain.iter().filter_map(|it| it.sessions).max();
        let most = set.map_or(*destination, |it| it.max(*destination));
        assert!(count(&|it| *it == address) <= most.get() as usize);
        assert!(count(&near) <= network.get() as usize);
        self.most_open = self.most_open.max(self.counted.len());
    }
}

impl WorldObserver for DeliveryRecorder {
    type Due = Due;

    fn due(&mut self, _: Time, due: Due) -> Event {
        let id = match due {
            Due::Message(id) => id,
            Due::Configuration(number) => {
                self.config = self.configurations[number].clone();
                return Event::Configure(Box::new(self.config.clone()));
            }
            Due::Operation(number) => {
                let (operation, selection) = self.operations[number as usize].clone();
                self.asked.insert(number);
                return Event::Operate(number, operation, Box::new(selection));
            }
        };
        self.unanswered.insert(id);
        Event::Submitted(self.submissions[&id].clone())
    }

    fn size(&self, message: MessageId) -> u64 {
        self.submissions[&message].size
    }

    fn log(&mut self, now: Time, entry: &Entry) {
        self.log.push((now, entry.clone()));
    }

    fn told(&mut self, now: Time, event: &Event) {
        if self.keep_trace {
            self.trace.push(format!("{now} {event:?}"));
        }
    }

    fn wanted(&mut self, now: Time, effect: &Effect) {
        if let Effect::Send(session, bytes) = effect {
            self.limits.sent(&self.config, now, *session, bytes);
        }
        if self.keep_trace {
            self.trace.push(format!("{now} -> {effect:?}"));
        }
    }

    fn accepted(&mut self, _: Time, id: MessageId) {
        assert!(self.unanswered.remove(&id), "answered twice");
    }

    fn refused(&mut self, _: Time, id: MessageId) {
        assert!(self.unanswered.remove(&id), "answered twice");
        self.refused.push(id);
    }

    fn report(&mut self, _: Time, message: MessageId, failures: Vec<(RecipientIndex, Reason)>) {
        for (recipient, reason) in failures {
            let address = &self.submissions[&message].recipients[recipient.index()];
            self.failed.entry((message, address.to_string())).or_default().push(reason);
        }
    }

    fn finished(&mut self, now: Time, message: MessageId) {
        self.finished.insert(message, now);
    }

    fn operated(&mut self, now: Time, number: u64, counts: Counts) {
        assert!(self.asked.remove(&number), "answered twice");
        self.answers.insert(number, (now, counts));
    }

    fn opens(&mut self, _: Time, line: Line, address: IpAddr) {
        self.counted.insert(line, address);
        self.check_limits(address);
    }

    fn closes(&mut self, now: Time, line: Line, by_us: bool) {
        let counted = self.end(now, line);
        assert!(counted || !by_us, "{line:?} is closed already");
    }

    fn named(&mut self, line: Line, recipient: &str, taken: bool) {
        if taken {
            self.named.entry(line).or_default().push(recipient.to_owned());
        }
    }

    fn took(&mut self, at: Time, line: Line, message: MessageId) {
        let accepted = self.accepted.entry(line).or_default();
        for recipient in self.named.remove(&line).unwrap_or_default() {
            self.taken.entry((message, recipient)).or_default().push((at, line, *accepted));
        }
        *accepted += 1;
    }

    fn notes(&mut self, _: Time, task: Task) -> Write {
        let crash = self.crash();
        if crash.is_none_or(|crash| crash.written) {
            assert!(self.noted.insert(task), "{task:?} was noted, and sent again");
        }
        self.forget(crash)
    }

    fn writes(&mut self, now: Time, records: &[Record]) -> Write {
        let Some(crash) = self.crash() else { return Write::Done };
        if crash.written {
            self.spool.apply(now, records, &self.submissions);
        }
        self.forget(Some(crash))
    }

    fn written(&mut self, now: Time, records: &[Record]) -> Result<(), String> {
        if self.disk_fails.0 <= now && now < self.disk_fails.1 {
            return Err("no space left on device".into());
        }
        self.spool.apply(now, records, &self.submissions);
        Ok(())
    }

    fn reborn(&mut self, now: Time) -> Restart<Due> {
        self.cut.extend(self.counted.keys());
        self.noted.iter().for_each(|&task| self.spool.note(task));
        let unwritten = Span::from_ms(4) + WRITE * 2;
        let lately = self.ended.drain(..).filter(|(at, _)| now.since(*at) <= unwritten);
        self.cut.extend(lately.map(|(_, line)| line));
        self.counted.clear();
        self.limits.born();
        // Whoever was not answered offers the message again, unless it is found in the spool.
        let unanswered = std::mem::take(&mut self.unanswered).into_iter();
        let again = unanswered.filter(|id| !self.spool.stored.contains_key(id));
        // So does an operator.
        let wishes = std::mem::take(&mut self.asked).into_iter().map(Due::Operation);
        let again = again.map(Due::Message).chain(wishes);
        Restart {
            due: again.map(|due| (now + Span::from_s(1), due)).collect(),
            engine: Engine::new(self.config.clone(), self.seed),
            stored: self.spool.stored.values().cloned().collect(),
        }
    }
}
