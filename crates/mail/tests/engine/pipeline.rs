//! Transactions for one recipient each, one behind the other.

use crate::server::Personality;
use crate::world::World;
use crate::{add, config, people, seconds, taken};
use sojourn_kernel::{Span, Time};
use sojourn_mail::Config;
use sojourn_mail::engine::{Entry, Outcome};

/// Each recipient has a transaction of its own.
fn verp() -> Config {
    let mut config = config();
    config.verp = vec!["list-bounces@lists.example".parse().unwrap()];
    config
}

/// When the last of so many at one host, 40 ms away and of this kind, had the message.
fn last(config: Config, count: usize, personality: Personality) -> (Time, World) {
    let mut world = World::new(config, 1);
    add(&mut world, "there.example", personality);
    let list = people(count, "there.example");
    world.submit(Time::ZERO, 1, &list);
    world.run_to_the_end(seconds(4000));
    let last = list.iter().map(|recipient| taken(&world, 1, recipient)).max().unwrap();
    (last, world)
}

/// How many attempts ended so.
fn attempts(world: &World, wanted: Outcome) -> usize {
    let is = |entry: &Entry| matches!(entry, Entry::Attempt { outcome, .. } if *outcome == wanted);
    world.log.iter().filter(|(_, entry)| is(entry)).count()
}

/// Over one session: a round trip each, the write of the one before, and what it takes to begin.
#[test]
fn a_transaction_takes_one_round_trip() {
    let mut config = verp();
    config.limits.destination = 1.try_into().unwrap();
    config.limits.initial = 1.try_into().unwrap();
    let (last, world) = last(config, 100, Personality::Fast);
    assert!(last < Time::ZERO + Span::from_ms(48) * 106, "{last}");
    assert_eq!(world.most_open, 1);
}

/// One message's recipients at a host share its sessions.
#[test]
fn sessions_share_the_recipients_of_one_message() {
    let (last, world) = last(verp(), 100, Personality::Fast);
    assert!(last < seconds(1), "{last}");
    assert!((5..=13).contains(&world.most_open), "{} sessions", world.most_open);
}

/// Few are not worth a session each.
#[test]
fn few_recipients_share_one_session() {
    let (_, world) = last(verp(), 8, Personality::Fast);
    assert_eq!(world.most_open, 1);
}

/// A host that leaves after each message: what had been begun goes back unharmed, and nothing more
/// is begun early.
#[test]
fn a_host_that_leaves_after_each_message() {
    let (last, world) = last(verp(), 30, Personality::OneMessage);
    assert!(last < seconds(5), "{last}");
    assert_eq!(attempts(&world, Outcome::Delivered), 30);
    assert_eq!(attempts(&world, Outcome::Deferred), 0);
}

/// A host that closes in mid-message: nobody whose message was not under way waits for it.
#[test]
fn a_host_that_breaks_off() {
    let (_, world) = last(verp(), 30, Personality::ResetInData(3));
    assert_eq!(attempts(&world, Outcome::Delivered), 30);
    assert!(attempts(&world, Outcome::Deferred) <= 3);
}

/// A limit by the minute keeps transactions apart.
#[test]
fn a_limit_by_the_minute_holds() {
    let mut config = verp();
    config.domain = vec![sojourn_mail::policy::DomainLimits {
        name: "there.example".into(),
        sessions: None,
        per_minute: Some(60.try_into().unwrap()),
    }];
    let (last, _) = last(config, 20, Personality::Fast);
    assert!(last >= seconds(19), "{last}");
}
