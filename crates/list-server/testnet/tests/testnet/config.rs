//! Worlds as they are written.

use crate::{domain, near};
use sojourn_core::parameters::{Parameters, Table, Value, defaults};
use sojourn_testnet::{Class, Domain, Host, TestNet, TestNetConfig};

#[test]
fn a_domain_is_as_good_as_its_best_host() {
    let class = |hosts: &[&str]| {
        domain("x.example", hosts.iter().map(|personality| near(personality)).collect()).class()
    };
    assert_eq!(class(&["refused", "fast"]), Class::Fast);
    assert_eq!(class(&["black-hole", "greylist"]), Class::Deferring);
    assert_eq!(class(&["slow"]), Class::Slow);
    assert_eq!(class(&["endless"]), Class::Unreachable);
    assert_eq!(class(&[]), Class::Unreachable);
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal = |domain| {
        let mut table = TestNetConfig { domain, ..defaults() }.write_table();
        table.set("network", Value::Int(255));
        TestNetConfig::read_table(&table).unwrap_err()
    };
    let two = |a: &str, b: &str| vec![domain(a, vec![near("fast")]), domain(b, vec![near("fast")])];
    assert_eq!(refusal(two("a.example", "A.example")).path, ["domain"]);
    let ipv6 = || vec![Host { ipv6: true, ..near("fast") }];
    let both = vec![domain("a.example", ipv6()), domain("b.example", ipv6())];
    assert_eq!(refusal(both).path, ["domain"]);
    let many: Vec<Domain> =
        (0..256).map(|n| domain(&format!("d{n}.example"), vec![near("fast")])).collect();
    assert_eq!(refusal(many).path, ["network"]);
    for name in ["", "a..b", "a b", "ä.example"] {
        let mut table = Table::default();
        table.set("name", Value::Text(name.into()));
        assert_eq!(Domain::read_table(&table).unwrap_err().path, ["name"], "{name}");
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let holder = std::net::TcpListener::bind("127.64.0.1:0").unwrap();
    let smtp_port = holder.local_addr().unwrap().port();
    let domain = vec![domain("x.example", vec![near("fast")])];
    let error = TestNet::start(&TestNetConfig { domain, smtp_port, ..defaults() }).unwrap_err();
    let expected =
        format!("cannot start a small internet: 127.64.0.1:{smtp_port}: Address already");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn a_drawn_world_starts() {
    let world = TestNetConfig { drawn: Some(defaults()), ..defaults() };
    let internet = TestNet::start(&world).unwrap();
    assert_eq!(internet.wait_for(0, std::time::Duration::ZERO), 0);
    assert!(world.subscribers().len() == 2000);
}
