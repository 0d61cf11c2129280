//! Mail that would come back to the server itself (RFC 5321 section 5.1).

use crate::config;
use sojourn_core::Span;
use sojourn_mail_engine::{
    Answer, BatchId, Effect, Engine, Entry, Event, MailHost, MessageId, Moment, Outcome, OwnHosts,
    Submission,
};
use std::net::IpAddr;

/// A mail host: its preference, its name, its addresses.
type Named<'a> = (u16, &'a str, &'a [&'a str]);

/// What the engine does with a message for a domain whose hosts are `hosts`, where `own`
/// addresses are the server's: where it connects to, or what fails.
fn fate(own: &[&str], domain: &str, hosts: &[Named]) -> String {
    let ip = |text: &&str| text.parse::<IpAddr>().unwrap();
    let mut engine = Engine::new(config(), 1);
    engine.set_own_hosts(OwnHosts { by_name: true, addresses: own.iter().map(ip).collect() });
    engine.handle(Moment::ZERO, Event::Submitted(submission(1, domain)));
    let mut effects = engine.handle(Moment::ZERO, Event::Persisted(BatchId(0)));
    if let Some(Effect::Resolve(domain)) =
        effects.iter().find(|it| matches!(it, Effect::Resolve(_)))
    {
        let hosts = hosts.iter().map(|(preference, name, addresses)| MailHost {
            name: (*name).into(),
            preference: *preference,
            addresses: addresses.iter().map(ip).collect(),
        });
        let answer = Answer::Hosts { hosts: hosts.collect(), lifetime: Span::from_s(60) };
        let event = Event::Resolved(domain.clone(), answer);
        effects = engine.handle(Moment::ZERO, event);
    }
    let told = effects.into_iter().find_map(|effect| match effect {
        Effect::Connect(_, relay) => Some(format!("to {}", relay.address)),
        Effect::Log(Entry::Attempt { outcome: Outcome::Failed, reason, .. }) => {
            Some(reason.to_string())
        }
        Effect::Log(Entry::DomainDown(_, _, reason)) => Some(reason.to_string()),
        _ => None,
    });
    told.expect("something is done")
}

fn submission(id: u64, domain: &str) -> Submission {
    Submission {
        id: MessageId(id),
        sender: Some("owner@lists.example".parse().unwrap()),
        size: 10,
        eight_bit: false,
        utf8: false,
        subscribers: Vec::new(),
        day: 0,
        recipients: vec![format!("x@{domain}").parse().unwrap()],
    }
}

#[test]
fn a_host_that_is_the_server_is_none() {
    let own = ["192.0.2.25", "2001:db8::25"];
    let loops = |domain| format!("5.4.6: mail for {domain} loops back to myself");
    let by_name = |hosts: &[Named]| fate(&[], "d.example", hosts);
    let by_address = |hosts: &[Named]| fate(&own, "d.example", hosts);
    // By name, whatever its case and wherever it is; by address, in each form of it.
    assert_eq!(by_name(&[(10, "LISTS.example", &["192.0.2.1"])]), loops("d.example"));
    for address in ["192.0.2.25", "2001:db8::25", "::ffff:192.0.2.25"] {
        assert_eq!(by_address(&[(10, "mx", &[address])]), loops("d.example"));
        assert_eq!(by_address(&[(10, "mx", &["192.0.2.1", address])]), loops("d.example"));
    }
    // Nor to those that are not preferred to it; to those that are.
    let both: [Named; 3] =
        [(20, "own", &["192.0.2.25"]), (20, "a", &["192.0.2.1"]), (30, "b", &["192.0.2.2"])];
    assert_eq!(by_address(&both), loops("d.example"));
    let [own_host, _, last] = both;
    assert_eq!(by_address(&[(10, "first", &["192.0.2.9"]), own_host, last]), "to 192.0.2.9");
    // A better one whose address is not found now is waited for.
    let waited = "4.4.3: no mail host is found that is preferred to this one";
    assert_eq!(by_address(&[(10, "first", &[]), own_host, last]), waited);
    assert_eq!(by_address(&[last, (40, "own", &["192.0.2.25"])]), "to 192.0.2.2");
    assert_eq!(fate(&own, "[192.0.2.25]", &[]), loops("[192.0.2.25]"));
    assert_eq!(fate(&own, "[ipv6:2001:db8::25]", &[]), loops("[ipv6:2001:db8::25]"));
    assert_eq!(fate(&own, "[192.0.2.24]", &[]), "to 192.0.2.24");
}

/// An unspecified address stands for the loopback addresses of its family, and a connection to one
/// leads there.
#[test]
fn loopback_addresses() {
    for (own, address, loops) in [
        ("0.0.0.0", "127.0.0.1", true),
        ("0.0.0.0", "127.1.2.3", true),
        ("0.0.0.0", "0.0.0.0", true),
        ("0.0.0.0", "::ffff:127.0.0.1", true),
        ("0.0.0.0", "::1", false),
        ("0.0.0.0", "192.0.2.1", false),
        ("::", "::1", true),
        ("::", "::", true),
        ("::", "127.0.0.1", false),
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "0.0.0.0", true),
        ("127.0.0.1", "127.0.0.2", false),
    ] {
        let found = fate(&[own], "d.example", &[(0, "mx", &[address])]);
        assert_eq!(found.starts_with("5.4.6"), loops, "{own} {address}: {found}");
    }
}

/// What becomes known while the server runs counts for what was resolved before.
#[test]
fn addresses_change() {
    let mut engine = Engine::new(config(), 1);
    let mut connects = |id| {
        let effects = engine.handle(Moment::ZERO, Event::Submitted(submission(id, "[192.0.2.1]")));
        let batch = effects.iter().find_map(|it| match it {
            Effect::Persist(batch, _) => Some(*batch),
            _ => None,
        });
        let effects = engine.handle(Moment::ZERO, Event::Persisted(batch.unwrap()));
        let connects = effects.iter().any(|it| matches!(it, Effect::Connect(..)));
        let addresses = vec!["192.0.2.1".parse().unwrap()];
        engine.set_own_hosts(OwnHosts { by_name: true, addresses });
        connects
    };
    assert!(connects(1));
    assert!(!connects(2));
}
