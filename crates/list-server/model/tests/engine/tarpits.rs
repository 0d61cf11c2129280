//! Hosts that keep sessions waiting, and hold up nobody.

use crate::server::{Host, Personality};
use crate::world::{Names, World};
use crate::{add, config, people, seconds, taken};
use sojourn_core::{Span, Time};
use sojourn_mail_engine::{Config, Entry, MessageId, Operation, Selection};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The recipients at so many hosts that keep sessions waiting, one each, a hundred to a network.
fn tarpits(
    world: &mut World,
    first: usize,
    count: usize,
    v6: bool,
    how: Personality,
) -> Vec<String> {
    let place = |n: usize| -> IpAddr {
        match v6 {
            true => Ipv6Addr::new(0x2001, 0xdb8, 1, n as u16, 0, 0, 0, 1).into(),
            false => Ipv4Addr::new(192, 168, (n / 100) as u8, (n % 100 + 1) as u8).into(),
        }
    };
    let add = |n: usize| {
        let domain = format!("tarpit{n}.example");
        world.add_host(place(n), Host::new(how, Span::from_ms(40), true, false));
        world.say(domain.clone(), Names::Hosts(vec![(10, vec![place(n)])]));
        format!("r@{domain}")
    };
    (first..first + count).map(add).collect()
}

/// Twenty recipients at hosts that answer, and 1,200 that do not, who come first.
fn attacked(how: Personality, v6: bool) -> (World, Vec<String>) {
    let mut world = World::new(config(), 1);
    let honest: Vec<String> = (0..20)
        .flat_map(|n| {
            let domain = format!("honest{n}.example");
            add(&mut world, &domain, Personality::Fast);
            people(1, &domain)
        })
        .collect();
    let held = tarpits(&mut world, 0, 1200, v6, how);
    world.submit(Time::ZERO, 0, &[&held[..], &honest].concat());
    (world, honest)
}

/// 1,200 hosts in twelve networks, or in one of IPv6: honest recipients get their mail within five
/// seconds, at each time of the attack. Nothing is sent twice.
#[test]
fn tarpits_hold_up_nobody() {
    for how in [Personality::HungDot, Personality::HungGreeting, Personality::HungRcpt] {
        for v6 in [false, true] {
            let (mut world, honest) = attacked(how, v6);
            let times: Vec<_> = [1, 7, 20, 29, 31, 45, 61, 90, 150, 300, 500, 599, 700].into();
            let ids = 1..=times.len() as u64;
            ids.clone().zip(&times).for_each(|(id, &at)| world.submit(seconds(at), id, &honest));
            world.run(seconds(800));
            for (id, at) in (0..).zip(std::iter::once(0).chain(times)) {
                for who in &honest {
                    let took = taken(&world, id, who) - seconds(at);
                    assert!(took < Span::from_s(5), "{how:?} {v6} at {at} s: {took}");
                }
            }
            let most = if v6 { 25 } else { 300 };
            assert!(world.most_open <= most + 20, "{how:?} {v6}: {} sessions", world.most_open);
            assert!(world.taken.values().all(|times| times.len() == 1));
        }
    }
}

/// Hosts that answered well keep all places at once, each with a message: those whose answer is
/// overdue count no more, and mail goes on.
#[test]
fn places_of_overdue_answers_are_given_away() {
    let mut config = config();
    config.limits.sessions = 40.try_into().unwrap();
    let mut world = World::new(config, 1);
    // Forty networks of one each, so that no network's share is the limit.
    let held: Vec<String> = (0..40)
        .flat_map(|n| {
            let address = Ipv4Addr::new(192, 168, n, 1).into();
            let domain = format!("tarpit{n}.example");
            world
                .add_host(address, Host::new(Personality::HungDot, Span::from_ms(40), true, false));
            world.say(domain.clone(), Names::Hosts(vec![(10, vec![address])]));
            people(1, &domain)
        })
        .collect();
    add(&mut world, "honest.example", Personality::Fast);
    let honest = people(1, "honest.example");
    world.submit(Time::ZERO, 0, &held);
    (1..=20).for_each(|id| world.submit(seconds(29 * id), id, &honest));
    world.run(seconds(601));
    // All places are held until they are overdue, and few afterwards.
    let first = taken(&world, 1, &honest[0]);
    assert!(first > seconds(30) && first < seconds(31), "{first}");
    for id in 2..=20 {
        let took = taken(&world, id, &honest[0]) - seconds(29 * id);
        assert!(took < Span::from_s(1), "message {id}: {took}");
    }
    assert!((40..=41).contains(&world.most_open), "{}", world.most_open);
}

/// As many sessions as may be open are kept beside the others, and not more: whoever holds those too
/// holds up mail.
#[test]
fn overdue_sessions_are_bounded_in_all() {
    let mut config: Config = config();
    config.limits.sessions = 20.try_into().unwrap();
    config.limits.network = 1000.try_into().unwrap();
    let mut world = World::new(config, 1);
    let held = tarpits(&mut world, 0, 200, false, Personality::HungDot);
    world.submit(Time::ZERO, 0, &held);
    world.run(seconds(500));
    // Two shares of five, and twenty beside.
    assert!((35..=40).contains(&world.most_open), "{}", world.most_open);
    assert_eq!(world.engine().sessions(), world.most_open);
}

/// A deleted message frees its sessions: at once where an answer is overdue, else when it would be, and
/// sooner where no host can have the message. Nothing is sent again, and no host is taken for dead.
#[test]
fn a_deleted_message_frees_its_sessions() {
    for (how, deleted, freed) in [
        (Personality::HungDot, 100, 101),
        (Personality::HungDot, 4, 31),
        (Personality::HungRcpt, 4, 7),
        (Personality::HungGreeting, 4, 7),
        (Personality::BlackHole, 4, 7),
    ] {
        let (mut world, honest) = attacked(how, false);
        let only = Selection { messages: [MessageId(0)].into(), ..Selection::default() };
        world.submit(seconds(1), 1, &honest);
        world.operate(seconds(deleted), Operation::Delete, only);
        world.run(seconds(deleted - 1));
        assert!(world.engine().sessions() >= 250, "{how:?}");
        world.run(seconds(freed));
        assert_eq!((world.engine().sessions(), world.engine().messages()), (0, 0), "{how:?}");
        world.run(seconds(4000));
        assert_eq!(world.taken.len(), 40, "{how:?}");
        assert!(
            !world.log.iter().any(|(_, entry)| matches!(entry, Entry::HostDown(..))),
            "{how:?}"
        );
    }
}
