//! What domains ask of those who send to them.

use crate::delivery::internet::{Net, fast, text};
use sojourn_core::parameters::{Table, Value};
use sojourn_testnet::Acceptance;
use std::collections::BTreeSet;
use std::time::Duration;

const TEXT: &str = "Message-ID: <1@lists.example>\r\n\r\nhello\r\n";
const EACH: usize = 40;

/// Delivers to forty at each of two hosts that are alike, a transaction each; `limit` of one of the
/// domains. What was taken over at that one, and at the other.
fn deliver(limit: (&str, i64)) -> [Vec<Acceptance>; 2] {
    let mut own = Table::default();
    own.set("name", text("limited.example"));
    own.set(limit.0, Value::Int(limit.1));
    let net = Net::new()
        .set("mail", "split", text("each"))
        .set("mail", "domain", Value::List(vec![Value::Table(own)]))
        .domain("limited.example", vec![fast()])
        .domain("free.example", vec![fast()]);
    let alive = net.start();
    let server = alive.serve();
    let list: Vec<String> = (0..EACH)
        .flat_map(|n| ["limited", "free"].map(|it| format!("r{n}@{it}.example")))
        .collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let message = server.submit(&list, TEXT);
    server.until_finished(message);
    server.stop();
    let taken = ["limited", "free"].map(|domain| {
        let all = alive.accepted().into_iter();
        all.filter(|it| it.recipient.ends_with(&format!("@{domain}.example"))).collect()
    });
    assert!(taken.iter().all(|it: &Vec<_>| it.len() == EACH));
    taken
}

fn sessions(taken: &[Acceptance]) -> usize {
    taken.iter().map(|it| it.session).collect::<BTreeSet<_>>().len()
}

/// All of a domain's mail goes over two sessions, while another's goes over five or more.
#[test]
fn a_domain_has_as_many_sessions_as_it_wants() {
    let [limited, free] = deliver(("sessions", 2));
    assert_eq!(sessions(&limited), 2);
    assert!(sessions(&free) >= 5, "{}", sessions(&free));
}

/// Transactions begin 100 ms apart, and end as they began, but for what the system takes.
#[test]
fn a_domain_has_as_many_transactions_a_minute_as_it_wants() {
    let [limited, free] = deliver(("per_minute", 600));
    let took = |all: &[Acceptance]| {
        let times = || all.iter().map(|it| it.at);
        times().max().unwrap() - times().min().unwrap()
    };
    let late = Duration::from_millis(100);
    assert!(took(&limited) + late >= Duration::from_millis(100) * (EACH as u32 - 1));
    assert!(took(&free) < took(&limited));
}
