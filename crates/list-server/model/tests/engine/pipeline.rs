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

/// By when 95 in 100 have their messages: a list of 400 domains, as many subscribers each as Zipf's
/// law gives 2,000. The ten largest are at providers that have a limit on sessions.
fn until(config: Config, messages: u64, allowed: u32, chunking: bool) -> f64 {
    let mut world = World::new(config, 1);
    let mut list = Vec::new();
    for n in 0..400 {
        let host = if n < LARGE { Personality::Busy(allowed) } else { Personality::Fast };
        let domain = format!("d{n}.example");
        add_with(&mut world, &domain, host, chunking);
        list.extend(people(1 + LARGEST / (n + 1), &domain));
    }
    (0..messages).for_each(|id| world.submit(Time::ZERO, id, &list));
    world.run_to_the_end(seconds(4000));
    let each = (0..messages).flat_map(|id| list.iter().map(move |recipient| (id, recipient)));
    let mut times: Vec<_> = each.map(|(id, who)| taken(&world, id, who)).collect();
    times.sort_unstable();
    times[times.len() * 95 / 100].since(Time::ZERO).seconds()
}

/// The largest domains, and how many subscribers the largest has but one.
const LARGE: usize = 10;
const LARGEST: usize = 243;

/// With a return path for each recipient 95 in 100 have it after at most half as long again as
/// without, for one message and for many, where hosts take BDAT.
#[test]
fn a_return_path_for_each_recipient_costs_little_time() {
    for messages in [1, 5, 20] {
        let shared = until(config(), messages, 10, true);
        let own = until(verp(), messages, 10, true);
        assert!(own < 1.5 * shared, "{messages} messages: {own} s and {shared} s");
    }
}

/// Where hosts do not take it, DATA ends a group of commands (RFC 2920, section 3.1): each copy takes a
/// round trip of its session, and the sessions of a destination decide how long all take. The
/// default of 20 is polite, and slow; 250 make it half as long again as without, where hosts
/// allow them.
#[test]
fn without_bdat_the_sessions_of_a_destination_decide() {
    for (messages, polite) in [(1, 2.5), (5, 5.0), (20, 8.5)] {
        let shared = until(config(), messages, 1000, false);
        let own = until(verp(), messages, 1000, false);
        assert!(own < polite * shared, "{messages} messages, 20 sessions: {own} s and {shared} s");
        let mut many = verp();
        many.limits.destination = 250.try_into().unwrap();
        many.limits.initial = 50.try_into().unwrap();
        many.limits.network = 1000.try_into().unwrap();
        many.limits.sessions = 10_000.try_into().unwrap();
        let own = until(many, messages, 1000, false);
        assert!(own < 1.5 * shared, "{messages} messages, 250 sessions: {own} s and {shared} s");
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
    assert!((10..=20).contains(&world.most_open), "{} sessions", world.most_open);
}

/// Few are not worth a session each.
#[test]
fn few_recipients_share_one_session() {
    let (_, world) = last(verp(), 4, Personality::Fast);
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
