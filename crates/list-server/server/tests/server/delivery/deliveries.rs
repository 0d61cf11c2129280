//! Mail that arrives.

use crate::delivery::sink::{Manners, Rcpt};
use crate::delivery::world::{Told, World};
use sojourn_core::parameters::Value;
use sojourn_list_server::StopReport;
use sojourn_mail_engine::Outcome;

const TEXT: &str = "Subject: hello\r\n\r\n.dots\r\n..\r\nends\r\n";
const EXTENSIONS: [&[&str]; 3] = [&[], &["PIPELINING"], &["PIPELINING", "CHUNKING"]];

/// With and without PIPELINING and CHUNKING; every octet as it was given.
#[test]
fn plain() {
    for extensions in EXTENSIONS {
        let mut world = World::new();
        world.host("127.0.0.2", Manners { extensions, ..Manners::default() });
        let server = world.start();
        let message = server.submit(&["a@[127.0.0.2]", "b@[127.0.0.2]"], TEXT);
        server.until_finished(message);
        let taken = world.taken();
        assert_eq!(taken.len(), 1, "{taken:?}");
        assert_eq!(taken[0].sender, "owner@lists.example");
        assert_eq!(taken[0].recipients, ["a@[127.0.0.2]", "b@[127.0.0.2]"]);
        assert_eq!(String::from_utf8_lossy(&taken[0].text), TEXT);
        assert_eq!(server.stop(), StopReport { messages: 0, cut: 0 });
    }
}

/// A message of many pieces, whose lines begin with dots and are longer than SMTP would have them.
#[test]
fn a_long_message() {
    let lines = (".x".repeat(400) + "\r\n").repeat(2000);
    let text = format!("Subject: long\r\n\r\n{lines}");
    for extensions in EXTENSIONS {
        let mut world = World::new();
        world.host("127.0.0.2", Manners { extensions, ..Manners::default() });
        let server = world.start();
        let message = server.submit(&["a@[127.0.0.2]"], &text);
        server.until_finished(message);
        let taken = world.taken();
        assert_eq!(taken.len(), 1);
        assert!(taken[0].text == text.as_bytes(), "{} octets came", taken[0].text.len());
        server.stop();
    }
}

/// 452 after ten: the others follow over the same connection, ten at a time.
#[test]
fn ten_at_a_time() {
    fn ten(rcpt: Rcpt<'_>) -> &'static str {
        if rcpt.accepted < 10 { "250 ok" } else { "452 4.5.3 too many recipients" }
    }
    for extensions in EXTENSIONS {
        let mut world = World::new();
        world.host("127.0.0.2", Manners { extensions, rcpt: Some(ten), ..Manners::default() });
        let server = world.start();
        let list: Vec<String> = (0..25).map(|i| format!("r{i}@[127.0.0.2]")).collect();
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let message = server.submit(&list, TEXT);
        server.until_finished(message);
        let mut taken = world.taken();
        taken.sort_by_key(|it| it.before);
        assert_eq!(taken.iter().map(|it| it.recipients.len()).collect::<Vec<_>>(), [10, 10, 5]);
        assert_eq!(taken.iter().map(|it| it.before).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(taken.iter().all(|it| it.peer == taken[0].peer), "one connection");
        let all: Vec<&String> = taken.iter().flat_map(|it| &it.recipients).collect();
        assert_eq!(all, list.iter().collect::<Vec<_>>());
        server.stop();
    }
}

#[test]
fn an_unknown_user_fails_and_nobody_else() {
    fn unknown(rcpt: Rcpt<'_>) -> &'static str {
        if rcpt.address.starts_with("nobody") { "550 5.1.1 no such user" } else { "250 ok" }
    }
    let mut world = World::new();
    world.host("127.0.0.2", Manners { rcpt: Some(unknown), ..Manners::default() });
    let server = world.start();
    let message = server.submit(&["nobody@[127.0.0.2]", "b@[127.0.0.2]"], TEXT);
    let told = server.until_finished(message);
    let attempt = |recipient: &str, outcome, reason: &str| Told::Attempt {
        recipient: recipient.into(),
        outcome,
        reason: reason.into(),
    };
    let failed = attempt(
        "nobody@[127.0.0.2]",
        Outcome::Failed,
        "5.1.1: 550 5.1.1 no such user (in reply to RCPT TO command)",
    );
    let delivered = attempt("b@[127.0.0.2]", Outcome::Delivered, "2.0.0: 250 2.0.0 taken");
    assert_eq!(told, [failed, delivered]);
    server.stop();
}

/// Connections come from the addresses that are set, in turn.
#[test]
fn source_addresses() {
    let mut world = World::new();
    let sources = ["127.0.0.7", "127.0.0.8"].map(|it| Value::Text(it.into()));
    world.set("network", "sources", Value::List(sources.to_vec()));
    for host in ["127.0.0.2", "127.0.0.3"] {
        world.host(host, Manners::default());
    }
    let server = world.start();
    let message = server.submit(&["a@[127.0.0.2]", "b@[127.0.0.3]"], TEXT);
    server.until_finished(message);
    let mut ends: Vec<[String; 2]> = world
        .taken()
        .iter()
        .map(|it| [it.host.ip(), it.peer.ip()].map(|ip| ip.to_string()))
        .collect();
    ends.sort();
    assert_eq!(ends, [["127.0.0.2", "127.0.0.7"], ["127.0.0.3", "127.0.0.8"]]);
    server.stop();
}
