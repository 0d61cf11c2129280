//! Worlds, lists and policies drawn from a seed.

use crate::server::{Host, Personality, odd};
use crate::world::{Names, World};
use crate::{address, limit};
use sojourn_core::parameters::{Check, Parameters, defaults};
use sojourn_core::{Span, Stream, Streams, Time};
use sojourn_mail_engine::policy::{
    CheckpointKind, DomainLimits, OrderKind, RetryKind, SplitKind, TimeoutsKind, checkpoint, order,
    retry, split, timeouts,
};
use sojourn_mail_engine::{Config, MessageId};

/// What has to become of a recipient in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Delivered,
    Failed,
}

fn pick<T: Clone>(stream: &mut Stream, of: &[T]) -> T {
    of[stream.below(of.len() as u64) as usize].clone()
}

fn default<P: Parameters>() -> P {
    defaults()
}

/// A list server with policies drawn at random.
pub(crate) fn config(seed: u64) -> Config {
    let stream = &mut Streams::new(seed, 0).stream("config", 0);
    let mut config = crate::config();
    config.split = pick(
        stream,
        &[
            SplitKind::ByDestination(default()),
            SplitKind::Whole(default()),
            SplitKind::Chunks(split::Chunks { size: 4.try_into().unwrap() }),
            SplitKind::Dealt(split::Dealt { size: 4.try_into().unwrap() }),
            SplitKind::Each(default()),
        ],
    );
    config.order = pick(
        stream,
        &[
            OrderKind::List(default()),
            OrderKind::PastDelay(order::PastDelay { unknown: Span::from_ms(200) }),
            OrderKind::ByDestination(default()),
        ],
    );
    config.timeouts = pick(
        stream,
        &[
            TimeoutsKind::Passes(default()),
            TimeoutsKind::Rfc5321(default()),
            TimeoutsKind::Passes(timeouts::Passes { cut: 20.try_into().unwrap() }),
        ],
    );
    config.checkpoint = pick(
        stream,
        &[
            CheckpointKind::Group(default()),
            CheckpointKind::Group(checkpoint::Group { width: Span::ZERO }),
            CheckpointKind::Every(checkpoint::Every {
                recipients: 5.try_into().unwrap(),
                linger: Span::from_ms(100),
            }),
            CheckpointKind::QueueFiles(checkpoint::QueueFiles {
                recipients: 3.try_into().unwrap(),
            }),
        ],
    );
    config.retry = pick(
        stream,
        &[
            RetryKind::Prompt(default()),
            RetryKind::Backoff(default()),
            RetryKind::Fixed(retry::Fixed { every: Span::from_s(400), ..default() }),
        ],
    );
    config.limits.sessions = pick(stream, &[2, 5, 50]).try_into().unwrap();
    config.limits.destination = pick(stream, &[1, 3, 20]).try_into().unwrap();
    config.limits.initial =
        pick(stream, &[1, 5]).min(config.limits.destination.get()).try_into().unwrap();
    config.limits.network = pick(stream, &[2, 100]).try_into().unwrap();
    config.limits.recipients = pick(stream, &[3, 100]).try_into().unwrap();
    config.lifetime = Span::from_s(5 * 3600);
    config.domain = limited(seed);
    if seed % 2 == 1 {
        config.verp = vec!["list-bounces@lists.example".parse().unwrap()];
    }
    config
}

/// A third of the domains want few sessions, or few transactions a minute, or both.
fn limited(seed: u64) -> Vec<DomainLimits> {
    let stream = &mut Streams::new(seed, 0).stream("limited domains", 0);
    let mut some = |of: &[u32]| pick(stream, of);
    let draw = |n| limit(&format!("D{n}.example"), some(&[0, 1, 2]), some(&[0, 6, 60]));
    let drawn: Vec<_> = (0..12).step_by(3).map(draw).collect();
    drawn.into_iter().filter(|it| it.check().is_ok()).collect()
}

/// A world with about a dozen domains of all kinds, and two or three messages.
pub(crate) fn world(seed: u64) -> World {
    world_of(config(seed), seed)
}

fn world_of(config: Config, seed: u64) -> World {
    let mut world = World::new(config, seed);
    let stream = &mut Streams::new(seed, 0).stream("world", 0);
    let personalities = [
        Personality::Fast,
        Personality::Fast,
        Personality::Slow,
        Personality::HungGreeting,
        Personality::HungRcpt,
        Personality::Refused,
        Personality::DownUntil(Time::ZERO + Span::from_s(700)),
        Personality::BlackHole,
        Personality::Greylist(pick(stream, &[60, 300]).pipe(Span::from_s)),
        Personality::TooMany(pick(stream, &[1, 3])),
        Personality::Busy(pick(stream, &[1, 2])),
        Personality::UnknownUsers,
        Personality::ResetInData(pick(stream, &[1, 3])),
        Personality::OneMessage,
        Personality::Garbage,
        Personality::Old,
    ];
    let hosts = 14u32;
    for n in 0..hosts {
        let personality = pick(stream, &personalities);
        let rtt = Span::from_ms(2 + 2 * stream.below(60));
        let (pipelining, chunking) = (stream.below(2) == 0, stream.below(3) == 0);
        world.add_host(address(n), Host::new(personality, rtt, pipelining, chunking));
    }
    for n in 0..12 {
        let one = address(stream.below(hosts.into()) as u32);
        let two = address(stream.below(hosts.into()) as u32);
        let list = match stream.below(3) {
            0 => vec![(10, vec![one]), (20, vec![two])],
            1 => vec![(10, vec![one, two])],
            _ => vec![(10, vec![one])],
        };
        let names = match stream.below(12) {
            0 => Names::Silent,
            1 => Names::NoSuchDomain,
            2 => Names::FailUntil(Time::ZERO + Span::from_s(500), list),
            _ => Names::Hosts(list),
        };
        world.say(format!("d{n}.example"), names);
    }
    for message in 0..2 + stream.below(2) {
        let mut recipients = Vec::new();
        for n in 0..12 {
            let many = 1 + stream.below(12) * stream.below(2);
            recipients.extend((0..many).map(|i| format!("r{i}@d{n}.example")));
        }
        // A list is in no order of domains.
        recipients.sort_by_cached_key(|_| stream.bits());
        let at = Time::ZERO + Span::from_ms(stream.below(4000));
        world.submit(at, message, &recipients);
    }
    world
}

/// The same, forgetful, with forty messages more, a minute apart and each to a few of the domains.
pub(crate) fn busy_world(seed: u64) -> World {
    let mut forgetful = config(seed);
    forgetful.limits.remembered = 1.try_into().unwrap();
    let mut world = world_of(forgetful, seed);
    let stream = &mut Streams::new(seed, 0).stream("more messages", 0);
    for message in 0..40 {
        let domains = (0..1 + stream.below(3)).map(|_| stream.below(12)).collect::<Vec<_>>();
        let mut recipients: Vec<_> = domains.iter().map(|n| format!("r0@d{n}.example")).collect();
        recipients.sort();
        recipients.dedup();
        world.submit(crate::seconds(60 + 60 * message), 100 + message, &recipients);
    }
    world
}

/// Pipes a value through a function.
trait Pipe: Sized {
    fn pipe<T>(self, into: impl FnOnce(Self) -> T) -> T {
        into(self)
    }
}

impl<T> Pipe for T {}

impl World {
    /// What has to become of `recipient`, where that is certain.
    pub(crate) fn fate(&self, recipient: &str) -> Option<Fate> {
        let domain = recipient.split('@').nth(1).unwrap();
        let list = match &self.names[domain] {
            Names::NoSuchDomain | Names::Silent => return Some(Fate::Failed),
            Names::Hosts(list) | Names::FailUntil(_, list) => list,
            Names::Provider(..) => unreachable!("the hosts of these tests have no provider"),
        };
        let hosts = list.iter().flat_map(|(_, addresses)| addresses);
        let fates: Vec<_> = hosts
            .map(|address| match self.host(*address).personality {
                Personality::HungGreeting
                | Personality::HungRcpt
                | Personality::Refused
                | Personality::BlackHole
                | Personality::Garbage => Fate::Failed,
                Personality::UnknownUsers if odd(recipient) => Fate::Failed,
                _ => Fate::Delivered,
            })
            .collect();
        fates.iter().all(|fate| *fate == fates[0]).then(|| fates[0])
    }

    /// Each recipient of each message that was taken over has it, or its sender was told why not.
    /// Returns how many have it more than once; each of those was in flight at a crash.
    pub(crate) fn check_all(&self, exactly: bool) -> usize {
        self.limits.check_distances(&self.config);
        let mut more = 0;
        for (&id, submission) in &self.submissions {
            if self.refused.contains(&id) && !self.spool.stored.contains_key(&id) {
                continue;
            }
            for address in &submission.recipients {
                let key = (id, address.to_string());
                let taken = self.taken.get(&key).map_or(&[][..], Vec::as_slice);
                let reports = self.failed.get(&key).map_or(&[][..], Vec::as_slice);
                let failed = reports.len();
                let what = format!("{id:?} {address}: {taken:?}, {reports:?}");
                assert!(!taken.is_empty() || failed > 0, "lost: {what}");
                match self.fate(address.as_str()) {
                    Some(Fate::Delivered) => assert!(failed == 0, "failed: {what}"),
                    Some(Fate::Failed) => assert!(taken.is_empty(), "delivered: {what}"),
                    None => {}
                }
                if self.crashes.is_empty() {
                    assert_eq!(taken.len() + failed, 1, "twice: {what}");
                }
                more += taken.len().saturating_sub(1);
                if let Some((_, before)) = taken.split_last() {
                    for &(_, line, transaction) in before {
                        let in_flight = self.was_in_flight(line, transaction);
                        assert!(!exactly || in_flight, "not in flight: {what}");
                    }
                }
            }
        }
        let ids = self.submissions.keys().filter(|id| self.spool.stored.contains_key(id));
        ids.for_each(|id: &MessageId| assert!(self.finished.contains_key(id), "{id:?} goes on"));
        more
    }
}
