//! An operator holds, releases, deletes, flushes and requeues.

use crate::world::{Crash, World};
use crate::{Personality, add, chance, config, limit, people, seconds, taken};
use sojourn_core::{Span, Streams, Time};
use sojourn_mail_engine::{Entry, MessageId, Operation, RecipientIndex, Selection, Task};
use std::collections::BTreeMap;

fn of_domain(domain: &str) -> Selection {
    Selection { domains: [domain.to_owned()].into(), ..Selection::default() }
}

fn of_address(address: &str) -> Selection {
    Selection { addresses: [address.to_owned()].into(), ..Selection::default() }
}

fn of_message(id: u64) -> Selection {
    Selection { messages: [MessageId(id)].into(), ..Selection::default() }
}

/// One domain whose host defers everybody for five minutes.
fn deferring() -> World {
    let mut world = World::new(config(), 1);
    add(&mut world, "x.example", Personality::Greylist(Span::from_s(300)));
    world.submit(seconds(1), 1, &people(10, "x.example"));
    world
}

/// What is held is not tried, for longer than it would live, and one attempt follows the release.
#[test]
fn held_for_longer_than_its_lifetime() {
    let mut world = deferring();
    world.operate(seconds(3), Operation::Hold, of_message(1));
    let released = seconds(6 * 86_400);
    world.operate(released, Operation::Release, Selection::default());
    world.run(seconds(6 * 86_400 - 1));
    assert!(world.taken.is_empty() && world.failed.is_empty());
    assert_eq!(world.engine().messages(), 1);
    assert_eq!(world.engine().sessions(), 0);
    world.run_to_the_end(seconds(7 * 86_400));
    (0..10).for_each(|i| {
        let at = taken(&world, 1, &format!("r{i}@x.example"));
        assert!(released < at && at < released + Span::from_s(10), "{at}");
    });
    let counts = [0, 1].map(|number| world.answers[&number].1);
    for it in counts {
        assert_eq!((it.messages, it.recipients, it.under_way), (1, 10, 0));
    }
}

/// A released recipient that cannot be delivered is given back soon, as its message has expired.
#[test]
fn released_after_its_lifetime_to_a_host_that_is_gone() {
    let mut world = World::new(config(), 1);
    add(&mut world, "x.example", Personality::BlackHole);
    world.submit(seconds(1), 1, &people(1, "x.example"));
    world.operate(seconds(2), Operation::Hold, Selection::default());
    world.operate(seconds(6 * 86_400), Operation::Release, Selection::default());
    world.run_to_the_end(seconds(6 * 86_400 + 7200));
    assert_eq!(world.failed.len(), 1);
}

/// What is deleted is not sent and not reported; what is left of the message goes on.
#[test]
fn deleted_by_domain_and_by_address() {
    let mut world = World::new(config(), 1);
    for domain in ["x.example", "y.example"] {
        add(&mut world, domain, Personality::Greylist(Span::from_s(300)));
        world.submit(seconds(1), u64::from(domain == "x.example"), &people(10, domain));
    }
    world.operate(seconds(3), Operation::Delete, of_domain("x.example"));
    world.operate(seconds(3), Operation::Delete, of_address("r4@y.example"));
    world.run_to_the_end(seconds(86_400));
    assert_eq!((world.taken.len(), world.failed.len()), (9, 0));
    assert_eq!(world.spool.deleted.len(), 11);
    let deleted = world.log.iter().filter_map(|(_, entry)| match entry {
        Entry::Operated(Operation::Delete, _, recipients) => Some(recipients.len()),
        _ => None,
    });
    assert_eq!(deleted.sum::<usize>(), 11);
}

/// A transaction under way ends as it ends; what its host then defers is deleted.
#[test]
fn deleted_while_under_way() {
    for (personality, deleted) in [(Personality::Slow, 0), (Personality::HungRcpt, 1)] {
        let mut world = World::new(config(), 1);
        add(&mut world, "x.example", personality);
        world.submit(seconds(1), 1, &people(1, "x.example"));
        // The host has greeted, and is slow to answer MAIL, or does not answer RCPT.
        world.operate(seconds(1) + Span::from_s(5), Operation::Delete, Selection::default());
        world.run_to_the_end(seconds(86_400));
        let counts = world.answers[&0].1;
        assert_eq!((counts.recipients, counts.under_way), (0, 1), "{personality:?}");
        assert_eq!(world.spool.deleted.len(), deleted, "{personality:?}");
        assert_eq!((world.taken.len(), world.failed.len()), (1 - deleted, 0));
    }
}

/// Those who wait for their time go at once, and those whose host was left alone.
#[test]
fn flushed() {
    for (personality, up) in
        [(Personality::Greylist(Span::from_s(60)), 63), (Personality::DownUntil(seconds(60)), 61)]
    {
        let mut slow = config();
        let table = sojourn_core::parameters::Table::default();
        let retry = sojourn_core::parameters::Parameters::read_table(&table).unwrap();
        slow.retry = sojourn_mail_engine::policy::RetryKind::Fixed(
            sojourn_mail_engine::policy::retry::Fixed { every: Span::from_s(4000), ..retry },
        );
        let mut world = World::new(slow, 1);
        add(&mut world, "x.example", personality);
        world.submit(seconds(1), 1, &people(3, "x.example"));
        world.operate(seconds(up), Operation::Flush, of_domain("x.example"));
        world.run_to_the_end(seconds(86_400));
        (0..3).for_each(|i| {
            let at = taken(&world, 1, &format!("r{i}@x.example"));
            assert!(at < seconds(up + 5), "{personality:?}: {at}");
        });
    }
}

/// Requeued, a recipient counts as never refused.
#[test]
fn requeued() {
    let mut world = deferring();
    world.operate(seconds(100), Operation::Hold, Selection::default());
    world.operate(seconds(400), Operation::Release, Selection::default());
    world.operate(seconds(30), Operation::Requeue, Selection::default());
    world.run_to_the_end(seconds(86_400));
    let counts = world.answers[&2].1;
    assert_eq!((counts.messages, counts.recipients), (1, 10));
    (0..10).for_each(|i| {
        assert!(taken(&world, 1, &format!("r{i}@x.example")) > seconds(400));
    });
}

/// Another lifetime is that of messages that wait already.
#[test]
fn another_lifetime() {
    for (lifetime_s, failed_s) in [(3600, 3600), (10 * 86_400, 10 * 86_400), (60, 1000)] {
        let mut world = World::new(config(), 1);
        add(&mut world, "x.example", Personality::BlackHole);
        world.submit(seconds(1), 1, &people(3, "x.example"));
        let other = sojourn_mail_engine::Config { lifetime: Span::from_s(lifetime_s), ..config() };
        world.configure(seconds(1000), other);
        world.run_to_the_end(seconds(11 * 86_400));
        assert_eq!(world.failed.len(), 3);
        let finished = world.finished[&MessageId(1)];
        let expected = seconds(failed_s);
        let late = Span::from_s(2);
        assert!(expected <= finished && finished < expected + late, "{lifetime_s}: {finished}");
    }
}

/// A domain that gets a limit while it has work keeps to it from then on.
#[test]
fn another_limit() {
    let mut each = config();
    each.limits.recipients = 1.try_into().unwrap();
    let mut world = World::new(each.clone(), 1);
    add(&mut world, "x.example", Personality::Slow);
    world.submit(seconds(1), 1, &people(300, "x.example"));
    let limited = limit("x.example", 0, 6);
    world.configure(seconds(60), sojourn_mail_engine::Config { domain: vec![limited], ..each });
    world.run_to_the_end(seconds(86_400));
    let mut times: Vec<Time> = world.taken.values().map(|taken| taken[0].0).collect();
    times.sort_unstable();
    // What was under way by then is through.
    times.retain(|&at| at > seconds(120));
    assert!(times.len() > 50, "{}", times.len());
    for pair in times.windows(2) {
        assert!(pair[1].since(pair[0]) > Span::from_s(5), "{pair:?}");
    }
}

/// Operations drawn from a seed, among them a release of all at the end.
fn operations(world: &mut World, seed: u64) {
    let stream = &mut Streams::new(seed, 0).stream("operations", 0);
    for _ in 0..12 {
        let operation = [
            Operation::Count,
            Operation::Hold,
            Operation::Hold,
            Operation::Release,
            Operation::Delete,
            Operation::Flush,
            Operation::Requeue,
        ][stream.below(7) as usize];
        let domain = format!("d{}.example", stream.below(12));
        let selection = match stream.below(4) {
            0 if operation != Operation::Delete => Selection::default(),
            1 => of_address(&format!("r{}@{domain}", stream.below(3))),
            2 if operation != Operation::Delete => of_message(stream.below(2)),
            _ => of_domain(&domain),
        };
        let until_ms = [8000, 4_000_000][stream.below(2) as usize];
        let at = Time::ZERO + Span::from_ms(stream.below(until_ms));
        world.operate(at, operation, selection);
    }
    world.operate(seconds(2 * 3600), Operation::Release, Selection::default());
}

/// Each recipient is delivered, failed or deleted, exactly once unless a crash was in between.
fn check(world: &World) {
    let mut deleted = 0;
    for (&id, submission) in &world.submissions {
        if world.refused.contains(&id) && !world.spool.stored.contains_key(&id) {
            continue;
        }
        for (recipient, address) in RecipientIndex::all().zip(&submission.recipients) {
            let key = (id, address.to_string());
            let taken = world.taken.get(&key).map_or(0, Vec::len);
            let failed = world.failed.get(&key).map_or(0, Vec::len);
            let gone = usize::from(world.spool.deleted.contains(&Task { message: id, recipient }));
            deleted += gone;
            let all = taken + failed + gone;
            let what = format!("{id:?} {address}: {taken} {failed} {gone}");
            assert!(all > 0, "lost: {what}");
            assert!(all == 1 || !world.crashes.is_empty(), "twice: {what}");
        }
        assert!(world.finished.contains_key(&id), "{id:?} goes on");
    }
    assert_eq!(deleted, world.spool.deleted.len());
}

/// Recipients that are held, from the answer to it until something else is done with them.
fn check_held(world: &World) {
    let mut held: BTreeMap<(MessageId, String), Vec<(Time, Time)>> = BTreeMap::new();
    for (at, entry) in &world.log {
        let Entry::Operated(operation, message, recipients) = entry else { continue };
        for &recipient in &recipients[..] {
            let address = &world.submissions[message].recipients[recipient.index()];
            let spans = held.entry((*message, address.to_string())).or_default();
            match operation {
                Operation::Hold => spans.push((*at, Time::NEVER)),
                _ => drop(spans.last_mut().filter(|it| it.1 == Time::NEVER).map(|it| it.1 = *at)),
            }
        }
    }
    for (key, spans) in held {
        for &(at, _, _) in world.taken.get(&key).into_iter().flatten() {
            // What was under way may end: with its slow host, 1.5 s an answer.
            let late = |&&(from, to): &&(Time, Time)| from + Span::from_s(20) < at && at < to;
            assert!(spans.iter().find(late).is_none(), "{key:?} at {at}: {spans:?}");
        }
    }
}

/// Whatever an operator does, and when.
#[test]
fn at_random() {
    for seed in 0..600 {
        let mut world = chance::world(seed);
        operations(&mut world, seed);
        world.run_to_the_end(seconds(16 * 3600));
        assert_eq!(world.answers.len(), world.operations.len(), "seed {seed}");
        check(&world);
        check_held(&world);
    }
}

/// A crash at each write: what is held stays held, what is deleted stays deleted.
#[test]
fn crashes() {
    let mut crashes = 0;
    for seed in 0..8 {
        let mut world = chance::world(seed);
        operations(&mut world, seed);
        world.run_to_the_end(seconds(16 * 3600));
        for write in 0..world.writes {
            for written in [false, true] {
                let mut world = chance::world(seed);
                operations(&mut world, seed);
                world.crashes = vec![Crash { write, written, power: false }];
                world.run_to_the_end(seconds(16 * 3600));
                check(&world);
                crashes += 1;
            }
        }
    }
    assert!(crashes > 300, "{crashes} crashes");
}
