//! One case of a mail study: its parts, and how it runs.

use crate::arrivals::{Arrivals, Asked, Mailing};
use crate::bottleneck::{Cause, Parts};
use crate::internet::{Domain, Internet};
use crate::recorder::DeliveryRecorder;
use crate::rows::report;
use crate::series::Series;
use crate::world::{Machine, World};
use sojourn_core::parameters::{
    Check, Entry, Parameters, Refusal, Setting, Shape, Table, Value, defaults,
};
use sojourn_core::{
    Bytes, Cancelled, Execution, Keep, Progress, Report, Span, Streams, Time, nested, parameters,
};
use sojourn_mail_engine::{Config, Engine};
use sojourn_smtp::Address;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

parameters! {
    /// A list server: messages to the subscribers of a list, delivery by delivery. The engine is the
    /// one that `sojourn mail` runs on real sockets; the internet around it is simulated.
    pub struct MailCase: "mail" {
        /// The internet to which the server sends.
        pub internet: Internet,
        /// The list and its messages.
        pub list: List,
        /// Policies of the server.
        pub policy: Policy = Policy::default(),
        /// The server's machine.
        pub machine: Machine = defaults(),
        /// A cause of delay to remove, in order to measure its effect.
        pub without: Cause = Cause::Nothing,
        /// Interval at which deliveries and failures are counted for a time series. By default they
        /// are not counted.
        pub sample: Option<Span> = None,
    }
}

/// It is not counted more often.
const SHORTEST_SAMPLE: Span = Span::from_s(60);

parameters! {
    /// A list and its messages. Each message goes to all subscribers, in an order drawn once,
    /// unless a file lists the messages.
    pub struct List: "list" {
        /// Number of messages with rows.
        pub messages: NonZeroU32 = NonZeroU32::new(100).expect("above zero"),
        /// Number of messages before them, which have no rows.
        pub warmup: u32 = 0,
        /// When messages arrive.
        pub arrivals: Arrivals,
        /// Size of a message.
        pub size: Bytes = Bytes(3000),
        /// Longest time that a run continues after the last message. Later deliveries count as
        /// unfinished.
        pub drain: Span = Span::from_s(86_400),
    }
}
nested!(List);

impl Check for MailCase {
    fn check(&self) -> Result<(), Refusal> {
        if let Some(short) = self.sample.filter(|sample| *sample < SHORTEST_SAMPLE) {
            return Err(Refusal::of(&short, format!("at least {SHORTEST_SAMPLE}")).under("sample"));
        }
        Ok(())
    }
}

impl Check for List {
    fn check(&self) -> Result<(), Refusal> {
        if self.drain > LONGEST_DRAIN {
            return Err(Refusal::of(&self.drain, format!("at most {LONGEST_DRAIN}")).under("drain"));
        }
        Ok(())
    }
}

/// Messages come within this time, ...
const LONGEST: Span = Span::from_s(60 * 86_400);
/// ... and no longer is waited after the last: rows have 106 days.
const LONGEST_DRAIN: Span = Span::from_s(45 * 86_400);
/// All deliveries of a case are in memory.
const MAX_DELIVERIES: u128 = 100_000_000;

/// What a list server is set to, where its name does not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy(pub Config);

const HELLO: &str = "hello";

impl Default for Policy {
    fn default() -> Policy {
        Policy::read(&Value::Table(Table::default())).expect("the rest has defaults")
    }
}

impl Policy {
    /// What is known about it.
    pub fn entry() -> Entry {
        let mut entry = Config::entry();
        entry.name = "policy";
        entry.summary = "What the list server decides.";
        entry.parameters.retain(|parameter| parameter.name != HELLO);
        entry
    }
}

/// The settings of a list server without its name.
impl Setting for Policy {
    fn expected() -> String {
        "a table".to_owned()
    }

    fn shape() -> Shape {
        Shape::Table(Policy::entry)
    }

    fn read(value: &Value) -> Result<Policy, Refusal> {
        let Value::Table(given) = value else { return Err(Refusal::value(value, "a table")) };
        let mut table = given.clone();
        if table.get(HELLO).is_some() {
            let names = Policy::entry().parameters.iter().map(|parameter| parameter.name).collect();
            return Err(Refusal::key(HELLO, names));
        }
        table.set(HELLO, Value::Text("lists.example".to_owned()));
        Config::read_table(&table).map(Policy)
    }

    fn write(&self) -> Option<Value> {
        let mut table = self.0.write_table();
        table.remove(HELLO);
        Some(Value::Table(table))
    }
}

/// How many steps are done between looks at whether to go on.
const STEPS: u32 = 4096;

impl MailCase {
    /// How many deliveries each replication has. Reads and checks every file that the case names,
    /// and simulates nothing: what this takes, [`run`](MailCase::run) takes.
    pub fn count(&self) -> Result<usize, Refusal> {
        let domains = self.domains(Streams::new(0, 0))?;
        let subscribers: u128 = domains.iter().map(|domain| u128::from(domain.subscribers)).sum();
        let List { messages, warmup, .. } = &self.list;
        let listed = matches!(self.list.arrivals, Arrivals::Listed(_));
        for (key, messages) in [("messages", messages.get()), ("warmup", *warmup)] {
            let to_all = if listed { 1 } else { messages };
            if subscribers * u128::from(to_all) > MAX_DELIVERIES {
                let expected = format!(
                    "at most {MAX_DELIVERIES} deliveries in a case, to {subscribers} subscribers \
                     of each"
                );
                return Err(Refusal::value(&Value::Int(messages.into()), expected)
                    .under(key)
                    .under("list"));
            }
        }
        let (_, mailings) = self.mailings(&domains, Streams::new(0, 0))?;
        Ok(mailings[*warmup as usize..].iter().map(|mailing| mailing.to.len()).sum())
    }

    fn domains(&self, streams: Streams) -> Result<Vec<Domain>, Refusal> {
        self.internet.domains(streams).map_err(|refusal| refusal.under("internet"))
    }

    /// The list, each subscriber with its domain's number, and the messages to it.
    fn mailings(
        &self,
        domains: &[Domain],
        streams: Streams,
    ) -> Result<(Subscribers, Vec<Mailing>), Refusal> {
        let order = self.internet.order(domains).map_err(|it| it.under("internet"))?;
        let list = subscribers(domains);
        let mut next = 0;
        let places: BTreeMap<&str, Range<u32>> = domains
            .iter()
            .map(|domain| {
                let first = next;
                next += domain.subscribers;
                (domain.name.as_str(), first..next)
            })
            .collect();
        let mailings = self.list.arrivals.mailings(Asked {
            messages: self.list.warmup + self.list.messages.get(),
            longest: LONGEST,
            size: self.list.size.0,
            all_places: all_places(domains, order, streams),
            places: &places,
            stream: streams.stream("messages", 0),
        })?;
        Ok((list, mailings))
    }

    /// Simulates one replication.
    pub fn run(
        &self,
        streams: Streams,
        execution: Execution<'_>,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        let Execution { keep, progress, .. } = execution;
        let domains = self.domains(streams)?;
        let (list, mailings) = self.mailings(&domains, streams)?;
        let mut parts =
            Parts { domains, policy: self.policy.0.clone(), machine: self.machine.clone() };
        self.without.remove(&mut parts);
        let Parts { domains, policy, machine } = parts;
        let engine = Engine::new(policy, streams.stream("engine", 0).bits());
        let series = self.sample.filter(|_| keep == Keep::Rows).map(Series::new);
        let recorder = DeliveryRecorder::new(&domains, list, mailings, keep, series);
        let mut world = World::of(&domains, streams, engine, machine, recorder);
        let times: Vec<Time> = world.observer.times().collect();
        for (number, at) in (0..).zip(times) {
            world.remind(at, number);
        }
        let end = world.observer.last() + self.list.drain;
        Ok(match sojourn_simulate(&mut world, end, progress) {
            Ok(()) => Ok(report(&world, self.list.warmup)),
            Err(cancelled) => Err(cancelled),
        })
    }
}

/// The event loop: until every message has come to its end, or `end`.
#[inline(never)]
fn sojourn_simulate(
    world: &mut World<crate::internet::Met, DeliveryRecorder>,
    end: Time,
    progress: &Progress,
) -> Result<(), Cancelled> {
    loop {
        for _ in 0..STEPS {
            let done = world.now() >= world.observer.last() && world.engine().messages() == 0;
            if done && world.observer.all_came()
                || world.next() > end
                || world.next() == Time::NEVER
            {
                return Ok(());
            }
            world.step();
        }
        progress.finished.store(world.observer.delivered(), Ordering::Relaxed);
        progress.simulated_ps.store(world.now().ps(), Ordering::Relaxed);
        if progress.is_cancelled() {
            return Err(Cancelled);
        }
    }
}

/// Those of a list, each with its domain's number.
type Subscribers = Vec<(Address, u32)>;

/// The subscribers of a list, domain after domain.
fn subscribers(domains: &[Domain]) -> Subscribers {
    let of_domain = |(number, domain): (u32, &Domain)| {
        let name = domain.name.clone();
        (0..domain.subscribers).map(move |i| {
            (Address::of(&format!("u{i}"), &name).expect("a drawn name is a domain"), number)
        })
    };
    (0..).zip(domains).flat_map(of_domain).collect()
}

/// The places of all subscribers in the order that is given, or in one drawn at random.
fn all_places(domains: &[Domain], order: Option<Vec<u32>>, streams: Streams) -> Arc<[u32]> {
    let all = domains.iter().map(|domain| domain.subscribers).sum();
    if let Some(order) = order {
        let mut next: Vec<u32> = Vec::new();
        let mut first = 0;
        for domain in domains {
            next.push(first);
            first += domain.subscribers;
        }
        let place = |number: u32| {
            let next = &mut next[number as usize];
            *next += 1;
            *next - 1
        };
        return order.into_iter().map(place).collect();
    }
    let mut list: Vec<u32> = (0..all).collect();
    let mut stream = streams.stream("list", 0);
    for place in (1..list.len()).rev() {
        list.swap(place, stream.below(place as u64 + 1) as usize);
    }
    list.into()
}
