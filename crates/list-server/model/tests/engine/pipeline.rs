//! Transactions for one recipient each, one behind the other.

use crate::server::Personality;
use crate::world::World;
use crate::{add_with, config, limit, people, seconds, taken};
use sojourn_core::{Span, Time};
use sojourn_mail_engine::{Config, Entry, Outcome};

/// Each recipient has a transaction of its own.
fn verp() -> Config {
    let mut config = config();
    config.verp = vec!["list-bounces@lists.example".parse().unwrap()];
    config
}

/// When the last of so many at one host, 40 ms away and of this kind, had the message.
fn last(config: Config, count: usize, personality: Personality) -> (Time, World) {
    last_of(config, 1, count, personality, false)
}

/// The same for so many messages; the host may take BDAT.
fn last_of(
    config: Config,
    messages: u64,
    count: usize,
    personality: Personality,
    chunking: bool,
) -> (Time, World) {
    let mut world = World::new(config, 1);
    add_with(&mut world, "there.example", personality, chunking);
    let list = people(count, "there.example");
    (0..messages).for_each(|id| world.submit(Time::ZERO, id, &list));
    world.run_to_the_end(seconds(4000));
    let each = (0..messages).flat_map(|id| list.iter().map(move |recipient| (id, recipient)));
    let last = each.map(|(id, recipient)| taken(&world, id, recipient)).max().unwrap();
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

/// Over one session to a host that takes BDAT: ten in a round trip, and no more than ten in doubt.
#[test]
fn ten_transactions_take_one_round_trip_where_they_go_out_whole() {
    let mut config = verp();
    config.limits.destination = 1.try_into().unwrap();
    config.limits.initial = 1.try_into().unwrap();
    let (last, world) = last_of(config.clone(), 1, 100, Personality::Fast, true);
    assert!(last < Time::ZERO + Span::from_ms(44) * 15, "{last}");
    assert_eq!(world.most_open, 1);
    config.limits.window = 1.try_into().unwrap();
    let (apart, _) = last_of(config, 1, 100, Personality::Fast, true);
    assert!(apart > Time::ZERO + Span::from_ms(40) * 100, "{apart}");
}

/// A list with its largest domains at providers that allow ten sessions, all of whose hosts take
/// BDAT: with a return path for each recipient 95 in 100 have it after at most half as long again as
/// without, for one message and for many.
#[test]
fn a_return_path_for_each_recipient_costs_little_time() {
    // By Zipf's law, as 2,000 subscribers of 400 domains are.
    let sizes = (1..=400).map(|n| 1 + 243 / n);
    let until = |config, messages| {
        let mut world = World::new(config, 1);
        let mut list = Vec::new();
        for (n, size) in sizes.clone().enumerate() {
            let host = if n < 10 { Personality::Busy(10) } else { Personality::Fast };
            let domain = format!("d{n}.example");
            add_with(&mut world, &domain, host, true);
            list.extend(people(size, &domain));
        }
        (0..messages).for_each(|id| world.submit(Time::ZERO, id, &list));
        world.run_to_the_end(seconds(4000));
        let each = (0..messages).flat_map(|id| list.iter().map(move |recipient| (id, recipient)));
        let mut times: Vec<_> = each.map(|(id, who)| taken(&world, id, who)).collect();
        times.sort_unstable();
        times[times.len() * 95 / 100].since(Time::ZERO).seconds()
    };
    for messages in [1, 5, 20] {
        let (shared, own) = (until(config(), messages), until(verp(), messages));
        assert!(own < 1.5 * shared, "{messages} messages: {own} s and {shared} s");
    }
}

/// Recipients that a host does not know fail alone, each once, in whatever window they are.
#[test]
fn unknown_recipients_among_whole_transactions() {
    let mut world = World::new(verp(), 1);
    add_with(&mut world, "there.example", Personality::UnknownUsers, true);
    let list = people(60, "there.example");
    world.submit(Time::ZERO, 1, &list);
    world.run_to_the_end(seconds(4000));
    assert_eq!(attempts(&world, Outcome::Failed), 30);
    assert_eq!(attempts(&world, Outcome::Delivered), 30);
    (0..60).step_by(2).for_each(|n| assert!(taken(&world, 1, &list[n]) < seconds(2)));
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
    for chunking in [false, true] {
        let (last, world) = last_of(verp(), 1, 30, Personality::OneMessage, chunking);
        assert!(last < seconds(5), "{last}");
        assert_eq!(attempts(&world, Outcome::Delivered), 30);
        assert_eq!(attempts(&world, Outcome::Deferred), 0);
    }
}

/// A host that closes in mid-message: nobody whose message was not under way waits for it.
#[test]
fn a_host_that_breaks_off() {
    for chunking in [false, true] {
        let (_, world) = last_of(verp(), 1, 30, Personality::ResetInData(3), chunking);
        assert_eq!(attempts(&world, Outcome::Delivered), 30);
        assert!(attempts(&world, Outcome::Deferred) <= 3);
    }
}

/// A limit by the minute keeps transactions apart.
#[test]
fn a_limit_by_the_minute_holds() {
    let mut config = verp();
    config.domain = vec![limit("there.example", 0, 60)];
    let (last, _) = last(config, 20, Personality::Fast);
    assert!(last >= seconds(19), "{last}");
}
