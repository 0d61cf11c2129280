//! An hour in which nobody is reached.

use crate::server::{Host, Personality};
use crate::world::{Names, World};
use crate::{address, config, people, seconds, taken};
use sojourn_core::{Span, Time};

const DOMAINS: u32 = 60;
const FROM: u64 = 100;
const TO: u64 = FROM + 3600;

fn names(n: u32) -> Names {
    Names::Hosts(vec![(10, vec![address(n)])])
}

fn domain(n: u32) -> String {
    format!("d{n}.example")
}

/// When the messages are offered: before the outage, each ten minutes in it, and when it is over for
/// everybody.
const OFFERED: [u64; 8] = [0, 600, 1200, 1800, 2400, 3000, 3600, 6000];

fn world() -> World {
    let mut world = World::new(config(), 1);
    let mut list = Vec::new();
    for n in 0..DOMAINS {
        set_host(&mut world, n, Personality::Fast);
        world.say(domain(n), names(n));
        list.extend(people(2, &domain(n)));
    }
    (0..).zip(OFFERED).for_each(|(message, at)| world.submit(seconds(at), message, &list));
    world.run(seconds(FROM));
    world
}

fn set_host(world: &mut World, n: u32, personality: Personality) {
    world.add_host(address(n), Host::new(personality, Span::from_ms(40), true, false));
}

/// Everybody has everything once, nobody was given up, and all of it by `latest`.
fn check(mut world: World, latest: Time) -> World {
    world.run_to_the_end(seconds(20_000));
    assert!(world.failed.is_empty() && world.refused.is_empty());
    for n in 0..DOMAINS {
        for (message, offered) in (0..).zip(OFFERED) {
            let at = taken(&world, message, &format!("r1@{}", domain(n)));
            match offered {
                0 | 6000 => assert!(at < seconds(offered + 1), "{at}"),
                _ => assert!(at >= seconds(TO) && at < latest, "{message}: {at}"),
            }
        }
    }
    world
}

/// A host is left alone for 60, 120, 240, 480, 960 and 1920 s, each a twentieth longer at most; the
/// first message that fails is the one at 600 s, so the last try before the end of the outage is at
/// 2460 s at the earliest, and the next at 4569 s at the latest.
#[test]
fn all_hosts() {
    let mut world = world();
    for n in 0..DOMAINS {
        set_host(&mut world, n, Personality::DownUntil(seconds(TO)));
    }
    let world = check(world, seconds(4600));
    for n in 0..DOMAINS {
        let attempts = world.host(address(n)).attempts;
        assert!(attempts <= 10, "{attempts} connections to a host");
    }
}

#[test]
fn all_name_servers_fail() {
    let mut world = world();
    for n in 0..DOMAINS {
        world.say(domain(n), Names::FailUntil(seconds(TO), vec![(10, vec![address(n)])]));
    }
    check(world, seconds(4600));
}

/// The same, without a word.
#[test]
fn all_name_servers_are_silent() {
    let mut world = world();
    (0..DOMAINS).for_each(|n| world.say(domain(n), Names::Silent));
    world.run(seconds(TO));
    (0..DOMAINS).for_each(|n| world.say(domain(n), names(n)));
    // Each question waits for its answer before the domain is left alone.
    check(world, seconds(5000));
}
