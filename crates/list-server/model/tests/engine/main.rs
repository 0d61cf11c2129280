//! The engine in a simulated world.

mod by_hand;
mod chance;
mod clock;
mod crashes;
mod delivery;
mod domains;
mod expiry;
mod limits;
mod memory;
mod operator;
mod outages;
mod outcomes;
mod own_hosts;
mod pipeline;
mod server;
mod shaping;
mod spool;
mod stragglers;
mod tarpits;
mod world;

use server::{Host, Personality};
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_core::{Span, Time};
use sojourn_mail_engine::Config;
use sojourn_mail_engine::policy::{DomainLimits, RollUp};
use std::net::{IpAddr, Ipv4Addr};
use world::{Names, World};

/// A list server with its defaults.
fn config() -> Config {
    let mut table = Table::default();
    table.set("hello", Value::Text("lists.example".into()));
    Config::read_table(&table).unwrap()
}

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Span::from_s(seconds)
}

/// An address for the n-th host; hosts lie four to a network.
fn address(n: u32) -> IpAddr {
    Ipv4Addr::new(10, (n / 1024) as u8, (n / 4 % 256) as u8, (n % 4 + 1) as u8).into()
}

/// Adds `domain` with a host of its own, 40 ms away.
fn add(world: &mut World, domain: &str, personality: Personality) -> IpAddr {
    add_with(world, domain, personality, false)
}

/// The same; the host may take BDAT.
fn add_with(world: &mut World, domain: &str, personality: Personality, chunking: bool) -> IpAddr {
    let host = address(world.hosts() as u32);
    world.add_host(host, Host::new(personality, Span::from_ms(40), true, chunking));
    world.say(domain.into(), Names::Hosts(vec![(10, vec![host])]));
    host
}

/// Limits of a domain; 0 is none.
fn limit(name: &str, sessions: u32, per_minute: u32) -> DomainLimits {
    let (sessions, per_minute) = (sessions.try_into().ok(), per_minute.try_into().ok());
    let (name, by) = (name.into(), RollUp::Domain);
    DomainLimits { name, by, sessions, per_minute, per_session: None }
}

/// `n` recipients at `domain`: `r0@domain`, `r1@domain`, ...
fn people(n: usize, domain: &str) -> Vec<String> {
    (0..n).map(|i| format!("r{i}@{domain}")).collect()
}

/// When each recipient of message `id` was taken over; panics unless it was once.
fn taken(world: &World, id: u64, recipient: &str) -> Time {
    let key = (sojourn_mail_engine::MessageId(id), recipient.to_owned());
    let times = world.taken.get(&key).unwrap_or_else(|| panic!("{recipient} has no message"));
    assert_eq!(times.len(), 1, "{recipient} has it more than once: {times:?}");
    times[0].0
}
