//! What the engine remembers, and how much may wait, is bounded.

use crate::server::Personality;
use crate::world::{Names, World};
use crate::{add, address, chance, config, people, seconds, taken};
use sojourn_core::Span;
use sojourn_mail_engine::{BatchId, Effect, Engine, Event, MessageId, Refusal, Submission};
use sojourn_mail_model::world::shown;

/// 300 domains, each written to once, ten hosts for each ten of them; twenty may be remembered.
#[test]
fn domains_without_mail_are_forgotten() {
    let mut config = config();
    config.limits.remembered = 20.try_into().unwrap();
    let mut world = World::new(config, 1);
    for n in 0..300 {
        let host = add(&mut world, &format!("d{n}.example"), Personality::Fast);
        // The provider is found under a new domain every time.
        world.say(format!("d{n}.example"), Names::Hosts(vec![(10, vec![host, address(0)])]));
    }
    for n in 0..300 {
        let at = seconds(10 * n as u64);
        world.submit(at, n as u64, &people(2, &format!("d{n}.example")));
        world.run(at + Span::from_s(9));
        let (domains, hosts) = world.engine().remembered();
        let most = if n < 100 { 25 } else { 21 };
        assert!(domains <= most && hosts <= 50, "{domains} domains, {hosts} hosts after {n}");
    }
    world.run_to_the_end(seconds(4000));
    assert!((0..300).all(|n| taken(&world, n, &format!("r1@d{n}.example")) > seconds(10 * n)));
}

/// Who is written to again and again is spared: what was learnt of it holds.
#[test]
fn what_is_used_is_remembered() {
    let mut config = config();
    config.limits.remembered = 4.try_into().unwrap();
    let mut world = World::new(config, 1);
    let regular = add(&mut world, "regular.example", Personality::TooMany(1));
    for n in 0..60 {
        add(&mut world, &format!("d{n}.example"), Personality::Fast);
    }
    for n in 0..60 {
        let mut list = people(1, &format!("d{n}.example"));
        list.extend(people(2, "regular.example"));
        world.submit(seconds(10 * n as u64), n as u64, &list);
    }
    world.run_to_the_end(seconds(4000));
    assert!(world.engine().remembered().0 <= 5);
    // One refusal was enough to know that it takes one recipient at a time.
    assert_eq!(world.host(regular).refusals, 1);
}

/// Worlds in which everything is forgotten as soon as it can be: nothing lost, nothing twice.
#[test]
fn forgetting_loses_nothing() {
    let mut forgotten = 0;
    for seed in 0..400 {
        let mut world = chance::busy_world(seed);
        world.run_to_the_end(seconds(12 * 3600));
        assert_eq!(world.check_all(true), 0, "seed {seed}");
        forgotten += 12 - world.engine().remembered().0;
    }
    assert!(forgotten > 2000, "{forgotten}");
}

fn offer(engine: &mut Engine, id: u64, sender: bool, recipients: usize) -> Option<Refusal> {
    let submission = Submission {
        id: MessageId(id),
        sender: sender.then(|| "owner@lists.example".parse().unwrap()),
        size: 1000,
        eight_bit: false,
        utf8: false,
        subscribers: Vec::new(),
        day: 0,
        recipients: people(recipients, "x.example").iter().map(|it| it.parse().unwrap()).collect(),
    };
    let effects = engine.handle(shown(seconds(id)), Event::Submitted(submission));
    effects.into_iter().find_map(|effect| match effect {
        Effect::Refused(_, why) => Some(why),
        _ => None,
    })
}

/// What waits is counted in recipients; a report of failures may always wait, and so may one message
/// alone.
#[test]
fn so_much_may_wait_and_no_more() {
    let mut config = config();
    config.limits.waiting = 10.try_into().unwrap();
    let mut engine = Engine::new(config.clone(), 1);
    assert_eq!(offer(&mut engine, 1, true, 6), None);
    assert_eq!(offer(&mut engine, 2, true, 5), Some(Refusal::Full(6)));
    assert_eq!(offer(&mut engine, 3, true, 4), None);
    assert_eq!(offer(&mut engine, 4, true, 1), Some(Refusal::Full(10)));
    assert_eq!(offer(&mut engine, 5, false, 1), None);
    // Storage that refuses them makes room again.
    engine.handle(shown(seconds(6)), Event::NotPersisted(BatchId(0), "full".into()));
    assert_eq!(engine.messages(), 2);
    let mut engine = Engine::new(config, 1);
    assert_eq!(offer(&mut engine, 1, true, 50), None);
    assert_eq!(offer(&mut engine, 2, true, 1), Some(Refusal::Full(50)));
}

/// Who is at his end makes room for another.
#[test]
fn what_is_delivered_makes_room() {
    let mut config = config();
    config.limits.waiting = 3.try_into().unwrap();
    let mut world = World::new(config, 1);
    add(&mut world, "x.example", Personality::Fast);
    add(&mut world, "dead.example", Personality::Refused);
    let mut list = people(2, "x.example");
    list.extend(people(1, "dead.example"));
    world.submit(seconds(0), 1, &list);
    world.submit(seconds(0) + Span::from_ms(50), 2, &people(1, "x.example"));
    world.submit(seconds(1), 3, &people(2, "x.example"));
    world.submit(seconds(1) + Span::from_ms(50), 4, &people(1, "x.example"));
    world.run(seconds(10));
    assert_eq!(world.refused, [MessageId(2), MessageId(4)]);
    assert!(taken(&world, 3, "r1@x.example") > seconds(1));
}
