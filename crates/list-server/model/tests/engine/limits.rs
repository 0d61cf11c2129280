//! Limits that adapt, and hosts that do not answer and hold up nobody.

use crate::server::Personality;
use crate::world::World;
use crate::{add, config, limit, people, seconds, taken};
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};
use sojourn_mail_engine::Entry;
use sojourn_mail_engine::policy::SplitKind;

/// A host that serves two at a time is soon given two, and is never taken for dead.
#[test]
fn a_host_is_given_as_many_sessions_as_it_serves() {
    let mut config = config();
    config.split = SplitKind::Each(defaults());
    let mut world = World::new(config, 1);
    let host = add(&mut world, "busy.example", Personality::Busy(2));
    let list = people(300, "busy.example");
    world.submit(Time::ZERO, 1, &list);
    world.run_to_the_end(seconds(60));
    // Two sessions, 85 ms a transaction.
    let last = list.iter().map(|recipient| taken(&world, 1, recipient)).max().unwrap();
    assert!(last < Time::ZERO + Span::from_ms(85) * 160, "{last}");
    assert!(world.host(host).turned_away <= 5, "{}", world.host(host).turned_away);
    assert!(!world.log.iter().any(|(_, entry)| matches!(entry, Entry::HostDown(..))));
}

/// Four sessions in all, twenty black holes, and one host that answers, last in every list.
#[test]
fn hosts_that_do_not_answer_hold_up_nobody() {
    let mut config = config();
    config.limits.sessions = 4.try_into().unwrap();
    let mut world = World::new(config, 1);
    let mut list = Vec::new();
    for n in 0..20 {
        add(&mut world, &format!("hole{n}.example"), Personality::BlackHole);
        list.extend(people(2, &format!("hole{n}.example")));
    }
    add(&mut world, "fast.example", Personality::Fast);
    list.extend(people(2, "fast.example"));
    let times: Vec<Time> = (0..60).map(|i| seconds(60 * i)).collect();
    for (i, &at) in times.iter().enumerate() {
        world.submit(at, i as u64, &list);
    }
    world.run(seconds(3600));
    for (i, &at) in times.iter().enumerate().skip(1) {
        let delay = taken(&world, i as u64, "r0@fast.example") - at;
        assert!(delay <= Span::from_ms(183), "message {i}: {delay}");
    }
    // The first time nobody can know: 20 connections of 6 s, four or so at a time.
    let first = taken(&world, 0, "r0@fast.example");
    assert!(first < seconds(40), "{first}");
}

/// While two domains want the one session that there is, they take turns.
#[test]
fn a_place_that_others_want_is_given_up() {
    let mut config = config();
    config.split = SplitKind::Each(defaults());
    config.limits.sessions = 1.try_into().unwrap();
    let mut world = World::new(config, 1);
    add(&mut world, "a.example", Personality::Fast);
    add(&mut world, "b.example", Personality::Fast);
    let mut list = people(200, "a.example");
    list.extend(people(200, "b.example"));
    world.submit(Time::ZERO, 1, &list);
    world.run_to_the_end(seconds(300));
    let last_a = taken(&world, 1, "r199@a.example");
    // The other one lined up for a second place before this one came: two turns of 20, with a
    // connection and a QUIT each.
    assert!(
        taken(&world, 1, "r0@b.example")
            < Time::ZERO + Span::from_ms(85 * 20 + 183) * 2 + Span::from_ms(183)
    );
    assert!(taken(&world, 1, "r150@b.example") < last_a);
}

/// A domain that takes a transaction every two seconds, beside one that takes what comes.
#[test]
fn transactions_of_a_domain_keep_their_distance() {
    let mut config = config();
    config.split = SplitKind::Each(defaults());
    config.domain = vec![limit("Slow.example", 0, 30)];
    let mut world = World::new(config, 1);
    add(&mut world, "slow.example", Personality::Fast);
    add(&mut world, "fast.example", Personality::Fast);
    let (slow, fast) = (people(20, "slow.example"), people(20, "fast.example"));
    world.submit(Time::ZERO, 1, &[&slow[..10], &fast].concat());
    world.submit(seconds(1), 2, &slow[10..]);
    world.run_to_the_end(seconds(60));
    let mut times: Vec<Time> = slow[..10].iter().map(|it| taken(&world, 1, it)).collect();
    times.extend(slow[10..].iter().map(|it| taken(&world, 2, it)));
    times.sort_unstable();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == Span::from_s(2)), "{times:?}");
    assert!(fast.iter().all(|it| taken(&world, 1, it) < seconds(1)));
}

/// Where transactions lie farther apart than a session waits for work, each has one of its own.
#[test]
fn a_long_way_from_one_transaction_to_the_next() {
    let mut config = config();
    config.split = SplitKind::Each(defaults());
    config.domain = vec![limit("a.example", 0, 1)];
    let mut world = World::new(config, 1);
    add(&mut world, "a.example", Personality::Fast);
    let list = people(3, "a.example");
    world.submit(Time::ZERO, 1, &list);
    world.run_to_the_end(seconds(200));
    let times: Vec<Time> = list.iter().map(|it| taken(&world, 1, it)).collect();
    // The next session is opened when the minute is over: connection, greeting and EHLO.
    let apart = Span::from_s(60) + Span::from_ms(100);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == apart), "{times:?}");
}

/// A domain that may have a transaction a second, and one after it in the only place that there is:
/// nobody waits for a session that may not begin anything yet.
#[test]
fn who_has_to_wait_for_the_next_transaction_keeps_no_place() {
    let mut config = config();
    config.split = SplitKind::Each(defaults());
    config.limits.sessions = 1.try_into().unwrap();
    config.domain = vec![limit("slow.example", 0, 60)];
    let mut world = World::new(config, 1);
    add(&mut world, "slow.example", Personality::Fast);
    add(&mut world, "fast.example", Personality::Fast);
    let slow = people(30, "slow.example");
    world.submit(Time::ZERO, 1, &[&slow[..], &people(1, "fast.example")].concat());
    world.run_to_the_end(seconds(60));
    let fast = taken(&world, 1, "r0@fast.example");
    assert!(fast < seconds(1), "{fast}");
    assert!(slow.iter().all(|it| taken(&world, 1, it) < seconds(35)));
}

/// A domain that is forgotten as soon as it can be, and may have a transaction a minute.
#[test]
fn a_pace_is_not_forgotten_with_its_domain() {
    let mut config = config();
    config.limits.remembered = 1.try_into().unwrap();
    config.domain = vec![limit("slow.example", 0, 1)];
    let mut world = World::new(config, 1);
    let names = ["slow.example", "a.example", "b.example", "c.example", "d.example"];
    for name in names {
        add(&mut world, name, Personality::Fast);
    }
    world.submit(Time::ZERO, 0, &people(1, "slow.example"));
    for (n, name) in (1..).zip(&names[1..]) {
        world.submit(seconds(5 + n), n, &people(1, name));
    }
    world.submit(seconds(15), 9, &people(1, "slow.example"));
    world.run_to_the_end(seconds(100));
    let apart = taken(&world, 9, "r0@slow.example") - taken(&world, 0, "r0@slow.example");
    assert!(apart >= Span::from_s(60), "{apart}");
}

#[test]
fn a_domain_has_no_more_sessions_than_it_wants() {
    let mut config = config();
    config.split = SplitKind::Each(defaults());
    config.domain = vec![limit("one.example", 1, 0)];
    let mut world = World::new(config, 1);
    add(&mut world, "one.example", Personality::Fast);
    add(&mut world, "many.example", Personality::Fast);
    let (one, many) = (people(40, "one.example"), people(40, "many.example"));
    world.submit(Time::ZERO, 1, &[&one[..], &many].concat());
    world.run_to_the_end(seconds(60));
    let last = |list: &[String]| list.iter().map(|it| taken(&world, 1, it)).max().unwrap();
    // A transaction takes 85 ms, one after the other.
    assert!(last(&one) > Time::ZERO + Span::from_ms(80) * 40, "{}", last(&one));
    assert!(last(&many) < seconds(1), "{}", last(&many));
}
