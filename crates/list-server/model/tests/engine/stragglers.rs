//! Hosts that are down for a while, and mail that grows too old.

use crate::server::Personality;
use crate::world::{Names, World};
use crate::{add, config, people, seconds, taken};
use sojourn_core::{Span, Time};
use sojourn_mail_engine::{MessageId, Reason};

/// Twenty messages wait for one host. When it is back they go together: over a few sessions, the
/// first of which is the one that found it up.
#[test]
fn what_waited_goes_together() {
    let mut world = World::new(config(), 3);
    let host = add(&mut world, "x.example", Personality::DownUntil(seconds(700)));
    (0..20).for_each(|i| world.submit(seconds(30 * i), i, &people(3, "x.example")));
    world.run(seconds(700));
    let tries = world.host(host).attempts;
    assert!((3..=10).contains(&tries), "{tries} connections to a dead host in 700 s");
    world.run_to_the_end(seconds(4000));
    let times = (0..20).map(|i| taken(&world, i, "r2@x.example"));
    let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
    // Left alone for 60, 120, 240 and 480 s, and a twentieth more at most.
    assert!(first < seconds(955), "{first}");
    assert!(last - first < Span::from_s(1), "{first} to {last}");
    let sessions = world.host(host).dialogues;
    assert!(sessions <= 5, "{sessions} sessions for 20 messages");
}

/// Ten domains with the same host: what one finds out holds for all.
#[test]
fn a_dead_host_is_found_out_once() {
    let mut world = World::new(config(), 3);
    let host = add(&mut world, "d0.example", Personality::BlackHole);
    let mut list = people(1, "d0.example");
    for n in 1..10 {
        world.say(format!("d{n}.example"), Names::Hosts(vec![(1, vec![host])]));
        list.extend(people(1, &format!("d{n}.example")));
    }
    world.submit(Time::ZERO, 1, &list);
    world.run(seconds(60));
    assert_eq!(world.host(host).attempts, 5, "as many as a host is given at first");
    // A probe after a minute and another after two more, by one domain for all.
    world.run(seconds(360));
    assert_eq!(world.host(host).attempts, 7);
}

fn failures(world: &World, recipient: &str) -> Vec<Reason> {
    world.failed.get(&(MessageId(1), recipient.to_owned())).cloned().unwrap_or_default()
}

/// What cannot be delivered goes back, at once where nothing will help, else at the end.
#[test]
fn failures_are_reported_once() {
    let mut config = config();
    config.lifetime = Span::from_s(3600);
    let mut world = World::new(config, 3);
    world.say("no.example".into(), Names::NoSuchDomain);
    add(&mut world, "dead.example", Personality::Refused);
    add(&mut world, "odd.example", Personality::UnknownUsers);
    let mut list = people(2, "no.example");
    list.extend(people(2, "dead.example"));
    list.extend(people(2, "odd.example"));
    world.submit(Time::ZERO, 1, &list);
    world.run(seconds(3599));
    let status = |world: &World, recipient: &str| {
        failures(world, recipient)
            .iter()
            .map(|reason| reason.status.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(status(&world, "r0@no.example"), ["5.1.2"]);
    assert_eq!(status(&world, "r1@odd.example"), ["5.1.1"]);
    assert_eq!(
        *failures(&world, "r1@odd.example")[0].text,
        *"550 5.1.1 no such user (in reply to RCPT TO command)"
    );
    assert!(status(&world, "r0@odd.example").is_empty());
    assert!(status(&world, "r0@dead.example").is_empty());
    world.run_to_the_end(seconds(3700));
    assert_eq!(status(&world, "r0@dead.example"), ["5.4.7"]);
    // Offered at 0, which is what counts; written in 2 + 3 ms, reported in 10, and that written.
    let finished = world.finished[&MessageId(1)];
    assert_eq!(finished, seconds(3600) + Span::from_ms(5 + 10 + 5));
    world.run(seconds(100_000));
    assert_eq!(world.failed.values().map(Vec::len).sum::<usize>(), 5);
}
