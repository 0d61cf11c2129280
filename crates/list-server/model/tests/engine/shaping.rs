//! Limits that domains share by their mail hosts, and rates that hosts ask for.

use crate::server::{Host, Personality};
use crate::world::{Names, World};
use crate::{add, address, config, limit, people, seconds, taken};
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};
use sojourn_mail_engine::policy::{DomainLimits, RollUp, SplitKind};
use sojourn_mail_engine::{Config, Entry};
use std::net::IpAddr;

/// Each recipient has a transaction.
fn each() -> Config {
    Config { split: SplitKind::Each(defaults()), ..config() }
}

/// Ten domains at one host, 40 ms away; their recipients, ten each.
fn ten_domains(world: &mut World, personality: Personality) -> (IpAddr, Vec<String>) {
    let host = address(world.hosts() as u32);
    world.add_host(host, Host::new(personality, Span::from_ms(40), true, false));
    let mut list = Vec::new();
    for n in 0..10 {
        let domain = format!("d{n}.example");
        world.say(domain.clone(), Names::Hosts(vec![(10, vec![host])]));
        list.extend(people(10, &domain));
    }
    (host, list)
}

/// The name that the world gives a host's provider, with so many labels before it.
fn named(host: IpAddr, by: RollUp) -> String {
    let IpAddr::V4(v4) = host else { unreachable!() };
    let provider = format!("h{}.example", v4.to_bits());
    if by == RollUp::Mx { format!("MX.{provider}") } else { provider }
}

fn by(host: IpAddr, by: RollUp, sessions: u32, per_minute: u32) -> DomainLimits {
    DomainLimits { by, ..limit(&named(host, by), sessions, per_minute) }
}

/// All domains at a host or provider share its sessions.
#[test]
fn domains_share_the_sessions_of_their_host() {
    for kind in [RollUp::Mx, RollUp::Provider] {
        let shared = by(address(0), kind, 2, 0);
        let mut world = World::new(Config { domain: vec![shared], ..each() }, 1);
        let (host, list) = ten_domains(&mut world, Personality::Fast);
        let other = add(&mut world, "other.example", Personality::Fast);
        let others = people(100, "other.example");
        world.submit(Time::ZERO, 1, &[&list[..], &others].concat());
        world.run_to_the_end(seconds(60));
        assert_eq!(world.host(host).most_open, 2, "{kind:?}");
        assert!(world.host(other).most_open > 4, "{kind:?}");
        // Two at a time, of 85 ms each, and ten domains' sessions: none waits without need.
        let last = list.iter().map(|it| taken(&world, 1, it)).max().unwrap();
        assert!(last < Time::ZERO + Span::from_ms(85) * 50 + Span::from_ms(183) * 10, "{last}");
    }
}

/// All domains at a host or provider share its rate, and nobody else's mail waits.
#[test]
fn domains_share_the_rate_of_their_host() {
    for kind in [RollUp::Mx, RollUp::Provider] {
        let shared = by(address(0), kind, 0, 120);
        let mut world = World::new(Config { domain: vec![shared], ..each() }, 1);
        let (host, list) = ten_domains(&mut world, Personality::Fast);
        add(&mut world, "other.example", Personality::Fast);
        world.submit(Time::ZERO, 1, &[&list[..], &people(20, "other.example")].concat());
        world.run_to_the_end(seconds(70));
        let begun = &world.host(host).begun;
        assert_eq!(begun.len(), 100);
        let apart = Span::from_ms(500);
        assert!(begun.windows(2).all(|pair| pair[1] - pair[0] >= apart), "{begun:?}");
        assert!(begun[99] < seconds(60), "{kind:?}: {}", begun[99]);
        assert!(taken(&world, 1, "r19@other.example") < seconds(2));
    }
}

/// A session has as many transactions as it may have, and then another one has the next.
#[test]
fn a_session_has_so_many_transactions() {
    for verp in [false, true] {
        let mut config = each();
        if verp {
            config.verp = vec!["list-bounces@lists.example".parse().unwrap()];
        }
        let per_session = Some(3.try_into().unwrap());
        config.domain = vec![DomainLimits { per_session, ..limit("x.example", 1, 0) }];
        let mut world = World::new(config, 1);
        let host = add(&mut world, "x.example", Personality::Fast);
        world.submit(Time::ZERO, 1, &people(30, "x.example"));
        world.run_to_the_end(seconds(60));
        assert_eq!((world.host(host).begun.len(), world.host(host).dialogues), (30, 10));
    }
}

/// A copy for each recipient takes a round trip at a host without CHUNKING (RFC 2920 has the text wait
/// for the answer to DATA), so the sessions decide: with five times as many, a list at one host has its
/// mail in a third of the time.
#[test]
fn a_domain_may_have_more_sessions_than_others() {
    let last = |domain| {
        let verp = vec!["list-bounces@lists.example".parse().unwrap()];
        let mut world = World::new(Config { domain, verp, ..config() }, 1);
        let host = add(&mut world, "x.example", Personality::Fast);
        let list = people(1000, "x.example");
        world.submit(Time::ZERO, 1, &list);
        world.run_to_the_end(seconds(60));
        let last = list.iter().map(|it| taken(&world, 1, it)).max().unwrap();
        (world.host(host).most_open, last.since(Time::ZERO).seconds())
    };
    let ((few, slow), (many, fast)) = (last(vec![]), last(vec![limit("x.example", 100, 0)]));
    assert_eq!((few, many), (20, 100));
    assert!(3.0 * fast < slow, "{fast} s and {slow} s");
}

/// Transactions that began with a host in each minute.
fn by_minute(begun: &[Time]) -> Vec<usize> {
    let minute = |it: &Time| it.since(Time::ZERO).seconds() as usize / 60;
    let mut minutes = vec![0; begun.last().map_or(0, minute) + 1];
    begun.iter().for_each(|it| minutes[minute(it)] += 1);
    minutes
}

/// A host that takes sixty transactions a minute: few are refused once it has said so, the rate goes
/// down by half and up again by steps, and all is delivered once.
#[test]
fn a_host_that_says_slow_down_is_sent_less() {
    let mut world = World::new(each(), 1);
    let (host, list) = ten_domains(&mut world, Personality::Throttled(60));
    let other = add(&mut world, "other.example", Personality::Fast);
    for id in 0..12 {
        world.submit(seconds(60 * id), id, &[&list[..], &people(30, "other.example")].concat());
    }
    world.run_to_the_end(seconds(3 * 3600));
    let rates: Vec<u32> = world.log.iter().filter_map(|(_, entry)| slowed(entry)).collect();
    // The first minute sends a hundred at once; later cuts are of what was allowed by then.
    assert!(rates[0] >= 30 && rates[0] <= 50, "{rates:?}");
    assert!(rates.iter().all(|rate| (10..=60).contains(rate)), "{rates:?}");
    let begun = by_minute(&world.host(host).begun);
    let refused = world.host(host).begun.len() - 1200;
    assert!(refused < 200, "{refused} refusals, rates {rates:?}, by minute {begun:?}");
    // It takes sixty; what is tried after the first minute is near that.
    let busy = &begun[2..20];
    let mean = busy.iter().sum::<usize>() as f64 / busy.len() as f64;
    assert!(mean > 30.0 && busy.iter().all(|&it| it <= 90), "{begun:?}");
    // Another provider's mail does not wait.
    assert_eq!(world.host(other).begun.len(), 360);
    assert!((0..12).all(|id| taken(&world, id, "r29@other.example") < seconds(60 * id + 5)));
}

fn slowed(entry: &Entry) -> Option<u32> {
    if let Entry::Slowed(_, rate, _) = entry { Some(*rate) } else { None }
}

/// Greylisting is no request to slow down, and neither is a host that has as many sessions as it serves.
#[test]
fn greylisting_changes_no_rate() {
    for personality in [Personality::Greylist(Span::from_s(60)), Personality::Busy(2)] {
        let mut world = World::new(each(), 1);
        let (_, list) = ten_domains(&mut world, personality);
        world.submit(Time::ZERO, 1, &list);
        world.run_to_the_end(seconds(3600));
        let rates: Vec<_> = world.log.iter().filter_map(|(_, entry)| slowed(entry)).collect();
        assert_eq!(rates, [], "{personality:?}");
    }
}

/// Limits change while there is mail: they hold from then on, and end.
#[test]
fn limits_are_taken_on() {
    let mut world = World::new(each(), 1);
    let (host, list) = ten_domains(&mut world, Personality::Slow);
    let limited = vec![by(host, RollUp::Provider, 1, 0)];
    (0..20).for_each(|id| world.submit(seconds(5 * id), id, &list));
    world.run(seconds(60));
    let view = world.engine().shaping(Some("d0.example"));
    assert_eq!(view.len(), 1);
    assert_eq!((&*view[0].name, view[0].by), (&*named(host, RollUp::Provider), RollUp::Provider));
    assert!(view[0].open > 5 && view[0].sessions.is_none(), "{view:?}");
    world.configure(seconds(60), Config { domain: limited, ..each() });
    world.run(seconds(100));
    let view = world.engine().shaping(None);
    assert_eq!((view.len(), view[0].sessions.unwrap().get()), (1, 1));
    assert!(view[0].open <= 1, "{view:?}");
    world.configure(seconds(100), each());
    world.run_to_the_end(seconds(4 * 3600));
    assert_eq!(world.engine().shaping(None), []);
    assert_eq!(world.taken.len(), 2000);
}
