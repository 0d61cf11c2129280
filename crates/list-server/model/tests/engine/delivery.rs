//! Deliveries whose times can be computed by hand. Every host is 40 ms away, name servers answer in
//! 20 ms and a write takes 3 ms: a message is taken over 3 + 20 ms after it was offered, and
//! 40 (connection) + 20 (greeting) + 40 (EHLO) + 40 (MAIL to DATA) + 20 (message) = 160 ms more.

use crate::server::Personality;
use crate::world::{Names, World};
use crate::{add, config, people, seconds, taken};
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};
use sojourn_mail_engine::policy::{OrderKind, SplitKind};
use sojourn_mail_engine::{Entry, Outcome};

const PROMPT: Time = Time::from_ps(183_000_000_000);

/// How many attempts of `outcome` the log has.
fn attempts(world: &World, outcome: Outcome) -> usize {
    let fits =
        |entry: &Entry| matches!(entry, Entry::Attempt { outcome: it, .. } if *it == outcome);
    world.log.iter().filter(|(_, entry)| fits(entry)).count()
}

#[test]
fn destinations_do_not_wait_for_each_other() {
    let mut world = World::new(config(), 1);
    let mut list = Vec::new();
    for n in 0..200 {
        let domain = format!("d{n}.example");
        let dead = [Personality::BlackHole, Personality::HungGreeting, Personality::Refused];
        add(&mut world, &domain, if n % 2 == 0 { dead[n / 2 % 3] } else { Personality::Fast });
        if n % 10 == 0 {
            world.say(domain.clone(), Names::Silent);
        }
        list.extend(people(3, &domain));
    }
    world.submit(Time::ZERO, 1, &list);
    world.run(seconds(1));
    for n in (1..200).step_by(2) {
        for recipient in people(3, &format!("d{n}.example")) {
            assert_eq!(taken(&world, 1, &recipient), PROMPT);
        }
    }
    assert_eq!(attempts(&world, Outcome::Delivered), 300);
}

/// One envelope a message: each destination begins when the answer to the one before has come.
#[test]
fn one_envelope_is_one_after_the_other() {
    let mut config = config();
    config.split = SplitKind::Whole(defaults());
    config.order = OrderKind::List(defaults());
    let mut world = World::new(config, 1);
    let domains = ["a.example", "b.example", "c.example"];
    for domain in domains {
        add(&mut world, domain, Personality::Fast);
    }
    // The list mixes them; a host gets its recipients in one go.
    let list: Vec<String> = (0..6).map(|i| format!("r{i}@{}", domains[i % 3])).collect();
    world.submit(Time::ZERO, 1, &list);
    world.run_to_the_end(seconds(10));
    for (i, recipient) in list.iter().enumerate() {
        let after = Span::from_ms(200) * (i as u64 % 3);
        assert_eq!(taken(&world, 1, recipient), PROMPT + after, "{recipient}");
    }
}

/// Those who were quick with the first message are first with the second.
#[test]
fn good_citizens_first() {
    let mut config = config();
    config.split = SplitKind::Whole(defaults());
    let mut world = World::new(config, 1);
    add(&mut world, "slow.example", Personality::Slow);
    add(&mut world, "fast.example", Personality::Fast);
    let list = ["r@slow.example".to_owned(), "r@fast.example".to_owned()];
    world.submit(Time::ZERO, 1, &list);
    world.submit(seconds(100), 2, &list);
    world.run_to_the_end(seconds(200));
    assert!(taken(&world, 1, &list[1]) > taken(&world, 1, &list[0]));
    // Its name is known for 300 s: no question to the name servers.
    let second = seconds(100) + Span::from_ms(163);
    assert_eq!(taken(&world, 2, &list[1]), second);
    assert!(taken(&world, 2, &list[0]) > second);
}

#[test]
fn a_greylisted_recipient_comes_back_when_it_can_first_succeed() {
    for delay in [60, 300] {
        let mut world = World::new(config(), 7);
        add(&mut world, "grey.example", Personality::Greylist(Span::from_s(delay)));
        let list = people(5, "grey.example");
        world.submit(Time::ZERO, 1, &list);
        world.run_to_the_end(seconds(600));
        let first = taken(&world, 1, &list[0]);
        let latest = seconds(delay + delay / 20 + 2);
        assert!(seconds(delay) < first && first < latest, "{delay} s: {first}");
        assert!(list.iter().all(|recipient| taken(&world, 1, recipient) == first));
        // Whoever is new there comes back once, when it was learned that it helps.
        let before = attempts(&world, Outcome::Deferred);
        world.submit(seconds(1000), 2, &["other@grey.example".to_owned()]);
        world.run_to_the_end(seconds(2000));
        assert_eq!(attempts(&world, Outcome::Deferred), before + 1);
        let second = taken(&world, 2, "other@grey.example");
        assert!(second < seconds(1000) + latest.since(Time::ZERO) + Span::from_s(delay / 20));
    }
}

/// 25 recipients where ten fit into a transaction: three transactions, one connection, no waiting.
#[test]
fn too_many_recipients_go_on_in_the_next_transaction() {
    let mut world = World::new(config(), 1);
    let host = add(&mut world, "strict.example", Personality::TooMany(10));
    let list = people(25, "strict.example");
    world.submit(Time::ZERO, 1, &list);
    world.run_to_the_end(seconds(10));
    assert_eq!((world.host(host).attempts, attempts(&world, Outcome::Deferred)), (1, 0));
    assert_eq!(attempts(&world, Outcome::Delivered), 25);
    // 80 ms for a transaction, and 2 + 3 ms until the one before is written.
    for (i, recipient) in list.iter().enumerate() {
        let after = Span::from_ms(85) * (i as u64 / 10);
        assert_eq!(taken(&world, 1, recipient), PROMPT + after, "{recipient}");
    }
}

#[test]
fn the_next_mail_host_is_tried_at_once() {
    for (personality, lost) in [
        (Personality::Refused, Span::from_ms(40)),
        // The first pass waits a fifth of 30 s for a connection, of 300 s for a greeting.
        (Personality::BlackHole, Span::from_s(6)),
        (Personality::HungGreeting, Span::from_ms(40) + Span::from_s(60)),
        (Personality::Garbage, Span::from_ms(60)),
    ] {
        let mut world = World::new(config(), 1);
        let first = add(&mut world, "x.example", personality);
        let second = add(&mut world, "y.example", Personality::Fast);
        let list = vec![(20, vec![second]), (10, vec![first])];
        world.say("x.example".into(), Names::Hosts(list));
        world.submit(Time::ZERO, 1, &people(2, "x.example"));
        world.run_to_the_end(seconds(200));
        assert_eq!(taken(&world, 1, "r1@x.example"), PROMPT + lost, "{personality:?}");
        // It is remembered: the next message goes there directly.
        let again = world.now() + Span::from_ms(100);
        world.submit(again, 2, &people(2, "x.example"));
        world.run(again + Span::from_s(1));
        assert!(taken(&world, 2, "r1@x.example") <= again + Span::from_ms(183));
    }
}

/// The server has the message and its answer is lost: nothing can tell, and it goes again
/// (RFC 5321 section 4.5.3.2.6; RFC 1047).
#[test]
fn an_answer_that_is_lost_costs_a_duplicate_and_no_loss() {
    let mut world = World::new(config(), 1);
    add(&mut world, "x.example", Personality::AcceptThenReset(1));
    world.submit(Time::ZERO, 1, &people(3, "x.example"));
    world.run_to_the_end(seconds(400));
    assert!(world.taken.values().all(|times| times.len() == 2));
    assert_eq!((world.taken.len(), world.failed.len()), (3, 0));
}
