//! More clients than there are connections for.

use crate::reception::{Client, Place, connect, connect_from, table, text};
use sojourn_core::parameters::Value;
use sojourn_list_server::ListServer;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

const BACK: &str = "news-bounces@lists.example";
const NEEDED: &str = "421 4.7.0 the connection is needed, try again later";
const TOO_MANY: &str = "421 4.7.0 too many sessions, try again later";

/// A server with a list whose own machine at 127.0.0.1 alone is trusted.
fn place(rules: &[(&str, Value)]) -> Place {
    let mut place = Place::trusting(&[]);
    let mut all = vec![("trusted", Value::List(vec![text("127.0.0.1")]))];
    all.extend(rules.iter().cloned());
    place.settings.set("reception", table(&all));
    place
}

/// So many sessions, and no more for a network than for all strangers.
pub(crate) fn few(sessions: i64, strangers: i64) -> [(&'static str, Value); 4] {
    let strangers = Value::Int(strangers);
    let of = |key| (key, strangers.clone());
    [("sessions", Value::Int(sessions)), of("strangers"), of("neighbours"), of("stranger")]
}

/// A client that says nothing, and was greeted.
fn idle(server: &ListServer, source: [u8; 4]) -> Client<TcpStream> {
    let mut client = connect_from(server, Ipv4Addr::from(source));
    assert_eq!(client.hear(), "220 lists.example ESMTP", "{source:?}");
    client
}

/// A message from another host arrives.
fn arrives(server: &ListServer, source: [u8; 4], from: &str, to: &str) {
    let mut client = idle(server, source);
    client.say("EHLO x");
    assert!(client.mail(from, &[to], "Subject: x\r\n\r\nx").starts_with("250 2.0.0 taken"));
    assert_eq!(client.say("QUIT"), "221 2.0.0 bye");
}

/// Finding 11: neighbours, and hosts of many networks.
#[test]
fn bounces_arrive_while_fifty_strangers_are_idle() {
    for far in [false, true] {
        let place = place(&[]);
        let server = place.start();
        let address = |n: u8| if far { [127, 1, n, n] } else { [127, 1, 0, n] };
        let _idle: Vec<_> = (0..50).map(|n| idle(&server, address(1 + n % 5))).collect();
        for n in 1..4 {
            arrives(&server, [127, 9, 0, n], "", BACK);
            arrives(&server, [127, 0, 0, 1], "a@b", "x@[127.0.0.77]");
        }
        server.stop();
    }
}

/// Finding 11: those who are trusted have no more than the others.
#[test]
fn two_hundred_idle_clients_of_this_machine_leave_room() {
    let place = place(&[]);
    let server = place.start();
    let mut idle: Vec<_> = (0..200).map(|_| idle(&server, [127, 0, 0, 1])).collect();
    arrives(&server, [127, 0, 0, 1], "a@b", "x@[127.0.0.77]");
    arrives(&server, [127, 9, 0, 1], "", BACK);
    assert_eq!((idle[0].hear(), idle[0].hear()), (NEEDED.into(), String::new()));
    assert_eq!(idle[199].say("NOOP"), "250 2.0.0 here");
    server.stop();
}

/// Strangers do not take the connections of those in the midst of a message, nor of the trusted.
#[test]
fn a_message_under_way_is_not_disturbed() {
    let place = place(&few(4, 2));
    let server = place.start();
    let mut busy: Vec<_> = (1..3).map(|n| idle(&server, [127, 1, n, 1])).collect();
    for client in &mut busy {
        client.say("EHLO x");
        client.begin("", &[BACK]);
        assert!(client.say("DATA").starts_with("354"));
    }
    assert_eq!(connect_from(&server, Ipv4Addr::new(127, 1, 3, 1)).hear(), TOO_MANY);
    let mut own = connect(&server);
    own.hear();
    assert_eq!(own.say("NOOP"), "250 2.0.0 here");
    for client in &mut busy {
        assert!(client.say("Subject: x\r\n\r\nx\r\n.").starts_with("250 2.0.0 taken"));
    }
    // Having sent it, the first of them may be replaced.
    let mut third = idle(&server, [127, 1, 3, 1]);
    assert_eq!(busy[0].hear(), NEEDED);
    assert_eq!(third.say("NOOP"), "250 2.0.0 here");
    server.stop();
}

/// Those who are connected already have less time as connections become scarce.
#[test]
fn idle_clients_are_closed_as_connections_become_scarce() {
    let stressed = table(&[("command", text("1s"))]);
    let bounds = table(&[("stressed", stressed)]);
    let place = place(&[&few(6, 2)[..], &[("bounds", bounds)]].concat());
    let server = place.start();
    let (tells, told) = mpsc::channel();
    for _ in 0..4 {
        let mut client = idle(&server, [127, 0, 0, 1]);
        let tells = tells.clone();
        std::thread::spawn(move || tells.send(client.hear()));
    }
    // A command may take 300 s by itself.
    let first = told.recv_timeout(Duration::from_secs(100)).unwrap();
    assert_eq!(first, "421 4.4.2 this takes too long");
    server.stop();
}
