//! Mail that would come back to where it was sent on.

use crate::reception::sink::Sink;
use crate::reception::{Client, Place, connect, table, text};
use sojourn_core::parameters::Value;
use sojourn_list_server::ListServer;
use std::net::{TcpListener, TcpStream};

const LIST: &str = "news-bounces@lists.example";
const MESSAGE: &str = "From: x@y.example\r\nSubject: x\r\n\r\nx\r\n";
const AGAIN: &str = "554 5.4.6 the message goes round in circles: it was sent on from here before";

fn client(server: &ListServer) -> Client<TcpStream> {
    let mut client = connect(server);
    client.hear();
    client.say("EHLO mx.example");
    client
}

fn network(port: u16, loopback: bool) -> Value {
    table(&[("port", Value::Int(port.into())), ("loopback", Value::Bool(loopback))])
}

/// A server that trusts this machine, whose lists these are; its hosts take mail at `port`.
fn lists(names: &[&str], port: u16) -> Place {
    let mut place = Place::trusting(&[]);
    let bounces = |name| table(&[("bounces", text(&format!("{name}-bounces@lists.example")))]);
    place.settings.set("list", Value::List(names.iter().map(bounces).collect()));
    place.settings.set("network", network(port, true));
    place
}

/// A server whose port is the one that it sends to. A port that was free a moment ago may be taken by
/// a connection of another test: then it is another one.
fn listening_where_it_sends(listens: &str) -> (Place, ListServer) {
    let mut tries = 0;
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut place = lists(&["news"], port);
        let listener = table(&[("address", text(&format!("{listens}:{port}")))]);
        place.settings.set("listener", Value::List(vec![listener]));
        let trusted = ["127.0.0.0/8", "::1"].map(text).to_vec();
        place.settings.set("reception", table(&[("trusted", Value::List(trusted))]));
        let mail = [("hello", text("lists.example")), ("lifetime", text("1ms"))];
        place.settings.set("mail", table(&mail));
        match place.try_start() {
            Ok(server) => return (place, server),
            Err(why) => assert!(tries < 10, "{why}"),
        }
        tries += 1;
    }
}

/// A server that listens where it sends to does not send to itself, whoever leads it there; to other
/// servers of its machine it does where it may.
#[test]
fn nothing_is_sent_to_itself() {
    for (listens, to, is_itself) in [
        ("127.0.0.1", "[127.0.0.1]", true),
        ("127.0.0.1", "[0.0.0.0]", true),
        ("127.0.0.1", "[127.0.0.7]", false),
        ("0.0.0.0", "[127.0.0.7]", true),
        ("0.0.0.0", "[IPv6:::ffff:127.0.0.1]", true),
        ("[::]", "[IPv6:::1]", true),
        ("[::]", "[127.0.0.1]", true),
        ("[::1]", "[IPv6:::1]", true),
        ("[::1]", "[IPv6:::]", true),
    ] {
        if TcpListener::bind(format!("{listens}:0")).is_err() {
            // Not `eprintln!`: what a test that passes prints by that is not shown.
            let said = format!("{listens} is skipped: this machine has no such address\n");
            std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes())
                .expect("standard error");
            continue;
        }
        let (place, server) = listening_where_it_sends(listens);
        let reply = client(&server).mail(LIST, &[&format!("x@{to}")], MESSAGE);
        assert!(reply.starts_with("250 2.0.0 taken as "), "{reply}");
        let seen = place.eye.until_finished(1).join("\n");
        let loops = format!("5.4.6: mail for {} loops back to myself", to.to_lowercase());
        assert_eq!(seen.contains(&loops), is_itself, "{listens} {to}: {seen}");
        server.stop();
        // It was taken once, and is not held against a subscriber more than once.
        let taken = place.ear.0.lock().unwrap().iter().filter(|it| it.contains("from=<")).count();
        assert_eq!(taken, 1, "{listens} {to}");
    }
}

/// Loopback addresses are no route unless that is set, which a reload may do.
#[test]
fn loopback_is_no_route() {
    let sink = Sink::open();
    let mut place = lists(&["news"], sink.port);
    place.settings.set("network", network(sink.port, false));
    let server = place.start();
    let mut client = client(&server);
    client.mail(LIST, &["x@[127.0.0.77]"], MESSAGE);
    let seen = place.eye.until_finished(1);
    assert_eq!(seen, ["x@[127.0.0.77] Failed: 5.4.6: mail for [127.0.0.77] loops back to myself"]);
    place.settings.set("network", network(sink.port, true));
    server.reloader().reload(Ok(place.serving())).unwrap();
    client.mail(LIST, &["y@[127.0.0.77]"], MESSAGE);
    assert!(sink.copies(1).contains_key("y@[127.0.0.77]"));
    server.stop();
}

/// Two lists subscribed to each other, by a list manager at the sink's host: each subscriber has the
/// message once.
#[test]
fn two_lists_subscribed_to_each_other() {
    let sink = Sink::open();
    let place = lists(&["a", "b"], sink.port);
    let server = place.start();
    let mut manager = client(&server);
    let mut post = |list: &str, to: [&str; 2], text: &str| {
        manager.mail(&format!("{list}-bounces@lists.example"), &to, text)
    };
    let (of_a, of_b) =
        (["ann@[127.0.0.77]", "b@[127.0.0.77]"], ["bob@[127.0.0.77]", "a@[127.0.0.77]"]);
    assert!(post("a", of_a, MESSAGE).starts_with("250 "));
    let first = sink.copies(2);
    let reply = post("b", of_b, &first["b@[127.0.0.77]"].text);
    assert!(reply.starts_with("250 "), "{reply}");
    let second = sink.copies(2);
    let copy = &second["a@[127.0.0.77]"].text;
    assert_eq!(copy.matches("\r\nX-Loop: ").count(), 2, "{copy}");
    assert_eq!(post("a", of_a, copy), AGAIN);
    assert_eq!(post("b", of_b, copy), AGAIN);
    // Nor where it started, with a header that others have added to.
    let more = format!("{}{copy}", "X-Forwarded: yes\r\n".repeat(1000));
    assert_eq!(post("a", of_a, &more), AGAIN);
    server.stop();
}

/// A subscriber who forwards to the list, and a user's mail that comes back for the same recipient.
#[test]
fn who_forwards_back() {
    let sink = Sink::open();
    let place = lists(&["news"], sink.port);
    let server = place.start();
    let mut client = client(&server);
    client.mail(LIST, &["sub@[127.0.0.77]"], MESSAGE);
    let copy = sink.copies(1).remove("sub@[127.0.0.77]").unwrap().text;
    assert_eq!(client.mail(LIST, &["sub@[127.0.0.77]"], &copy), AGAIN);
    // To another it is sent on, and comes back from there no more.
    let forward = |client: &mut Client<_>, to: &str, text: &str| {
        let reply = client.mail("x@y.example", &[to], text);
        (reply == AGAIN)
            .then_some(())
            .map_or_else(|| Some(sink.copies(1).remove(to).unwrap().text), |()| None)
    };
    let once = forward(&mut client, "one@[127.0.0.77]", &copy).unwrap();
    let twice = forward(&mut client, "two@[127.0.0.77]", &once).unwrap();
    assert_eq!(forward(&mut client, "one@[127.0.0.77]", &twice), None);
    // Other marks mean nothing: those of another purpose, and what is no token.
    let token = copy.lines().find(|it| it.starts_with("List-Unsubscribe")).map(str::to_owned);
    let forged: String = ["a2".repeat(16), "x".into(), token.unwrap_or_default()]
        .map(|mark| format!("X-Loop: {mark}\r\n"))
        .concat();
    let reply = client.mail(LIST, &["sub@[127.0.0.77]"], &format!("{forged}{MESSAGE}"));
    assert!(reply.starts_with("250 "), "{reply}");
    server.stop();
}

/// Who reads for the postmaster, or for a list, and forwards it back.
#[test]
fn a_reader_who_forwards_back() {
    let sink = Sink::open();
    let mut place = Place::trusting(&[("reader", text("ann@[127.0.0.77]"))]);
    place.settings.set("network", network(sink.port, true));
    place.settings.set("reception", table(&[("trusted", Value::List(vec![text("192.0.2.1")]))]));
    let server = place.start();
    let mut client = client(&server);
    for (to, reader) in
        [("postmaster@lists.example", "admin@[127.0.0.77]"), (LIST, "ann@[127.0.0.77]")]
    {
        assert!(client.mail("x@y.example", &[to], MESSAGE).starts_with("250 "));
        let copy = &sink.copies(1)[reader].text;
        assert_eq!(client.mail("x@y.example", &[to], copy), AGAIN, "{to}");
    }
    server.stop();
}
