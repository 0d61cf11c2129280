//! Hosts at IPv6 addresses.

use crate::delivery::internet::{Net, fast, text};
use crate::delivery::sink::Manners;
use crate::delivery::world::{World, outcomes};
use sojourn_core::parameters::Value;
use sojourn_mail_engine::Outcome::{Deferred, Delivered};
use sojourn_testnet::Host;
use std::net::Ipv6Addr;

const TEXT: &str = "Message-ID: <1@lists.example>\r\n\r\nhello\r\n";

/// Whether there is the one address that a world has; says so where there is none.
fn is_there() -> bool {
    let there = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if !there {
        // Not `eprintln!`: what a test that passes prints by that is not shown.
        let said = b"skipped: this machine has no ::1\n";
        std::io::Write::write_all(&mut std::io::stderr(), said).expect("standard error");
    }
    there
}

fn at_both() -> Host {
    Host { ipv6: true, ..fast() }
}

/// By its AAAA record, from the source that is of this family.
#[test]
fn mail_goes_by_ipv6_alone() {
    if !is_there() {
        return;
    }
    let net = Net::new().domain("x.example", vec![at_both()]);
    let alive = net.start();
    let sources = Value::List(vec![text("127.0.0.9"), text("::1")]);
    let server = alive.serve_with(&[("families", text("ipv6")), ("sources", sources)]).unwrap();
    let message = server.submit(&["a@x.example"], TEXT);
    server.until_finished(message);
    let accepted = alive.accepted();
    assert_eq!(alive.recipients(), ["a@x.example"]);
    assert!(accepted.iter().all(|it| it.host == Ipv6Addr::LOCALHOST));
    server.stop();
}

#[test]
fn a_literal_is_an_address() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    world.host("::1", Manners::default());
    let server = world.start();
    let message = server.submit(&["a@[IPv6:::1]"], TEXT);
    server.until_finished(message);
    let taken = world.taken();
    assert_eq!(taken.len(), 1);
    assert!(taken[0].host.is_ipv6() && taken[0].text == TEXT.as_bytes());
    server.stop();
}

/// IPv4 goes first; nobody waits for an IPv6 address that nobody is at.
#[test]
fn both_families() {
    if !is_there() {
        return;
    }
    let refused = Host { dead_ipv6: true, ..fast() };
    let net = Net::new().retry_soon().domain("dead.example", vec![refused]);
    let net = net.domain("x.example", vec![at_both()]);
    let alive = net.start();
    let server = alive.serve();
    let message = server.submit(&["a@dead.example", "a@x.example"], TEXT);
    let told = server.until_finished(message);
    assert!(outcomes(&told).iter().all(|(_, outcome)| matches!(outcome, Delivered | Deferred)));
    assert_eq!(alive.recipients(), ["a@dead.example", "a@x.example"]);
    assert!(alive.accepted().iter().all(|it| it.host.is_ipv4()));
    server.stop();
}
