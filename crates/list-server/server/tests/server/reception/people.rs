//! What strangers can have people read: the postmaster, abuse, a list's reader.

use crate::reception::sink::Sink;
use crate::reception::{Client, Place, connect, connect_from, table, text};
use sojourn_core::parameters::Value;
use std::net::{Ipv4Addr, TcpStream};

const LIST: &str = "news-bounces@lists.example";
const POSTMASTER: &str = "postmaster@lists.example";
const MESSAGE: &str = "From: x@y.example\r\nSubject: x\r\n\r\nx\r\n";

/// A server to which all of this machine are strangers.
fn strange(rules: &[(&str, Value)]) -> Place {
    let mut all = vec![("trusted", Value::List(vec![text("192.0.2.1")]))];
    all.extend(rules.iter().cloned());
    let mut place = Place::trusting(&[]);
    place.settings.set("reception", table(&all));
    place
}

fn greet(mut client: Client<TcpStream>) -> Client<TcpStream> {
    client.hear();
    client.say("EHLO client.example");
    client
}

/// Whoever reads for all of them has one copy.
#[test]
fn one_copy_for_one_reader() {
    let place = strange(&[("abuse", text("abuse@[127.0.0.78]"))]);
    let server = place.start();
    let mut to: Vec<String> = (0..64)
        .map(|it| {
            let letter = |(i, c): (usize, char)| {
                if it >> i & 1 == 1 { c.to_ascii_uppercase() } else { c }
            };
            "postmaster".chars().enumerate().map(letter).collect::<String>() + "@lists.example"
        })
        .collect();
    to.extend(["postmaster", "admin@[127.0.0.77]", "abuse@lists.example"].map(str::to_owned));
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let reply = greet(connect(&server)).mail("x@y.example", &to, MESSAGE);
    assert!(reply.starts_with("250 2.0.0 taken as "), "{reply}");
    server.stop();
    let [(stored, _)] = &place.stored()[..] else { panic!("one message") };
    let readers: Vec<_> = stored.submission.recipients.iter().map(|it| it.as_str()).collect();
    assert_eq!(readers, ["admin@[127.0.0.77]", "abuse@[127.0.0.78]"]);
    assert_eq!(stored.submission.sender, None);
}

/// Neighbours spend a tenth of the hour, and leave the rest to others; a reload changes nothing of
/// that.
#[test]
fn one_network_leaves_the_others_their_share() {
    let place = strange(&[("hourly", table(&[("octets", text("40kB"))]))]);
    let server = place.start();
    let (mut near, mut far) = (
        greet(connect_from(&server, Ipv4Addr::new(127, 0, 5, 1))),
        greet(connect_from(&server, Ipv4Addr::new(127, 0, 6, 1))),
    );
    let large = format!("{MESSAGE}{}", "x\r\n".repeat(1400));
    let too_large = "552 5.3.4 the message is too large for who reads it";
    assert_eq!(near.mail("x@y.example", &[POSTMASTER], &large), too_large);
    let mut taken = |tries: usize| {
        let replies = (0..tries).map(|_| near.mail("x@y.example", &[POSTMASTER], MESSAGE));
        replies.filter(|reply| reply.starts_with("250 ")).count()
    };
    // At the turn of an hour there are twice as many.
    let before = taken(25);
    assert!((10..=20).contains(&before), "{before}");
    server.reloader().reload(Ok(place.serving())).unwrap();
    let after = taken(5);
    assert!(before + after <= 20, "{before} {after}");
    let abuse = far.mail("y@z.example", &["abuse@lists.example"], MESSAGE);
    assert!(abuse.starts_with("250 2.0.0 taken as "), "{abuse}");
    server.stop();
}

/// A host that refuses a stranger's message sends nothing to whom the stranger named.
#[test]
fn no_backscatter() {
    let sink = Sink::open();
    let mut place = strange(&[("postmaster", text("refused@[127.0.0.77]"))]);
    place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
    let server = place.start();
    greet(connect(&server)).mail("victim@[127.0.0.77]", &[POSTMASTER], MESSAGE);
    let seen = place.eye.until_finished(1);
    assert_eq!(
        seen,
        ["refused@[127.0.0.77] Failed: 5.1.1: 550 5.1.1 not here (in reply to RCPT TO command)"]
    );
    assert_eq!(server.stop().messages, 0);
}

/// Nor is there a report on a report that has a return path.
#[test]
fn no_report_on_a_report() {
    let sink = Sink::open();
    let mut place = Place::trusting(&[]);
    place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
    let server = place.start();
    let report = "Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\
        From: mailer-daemon@x.example\r\nAuto-Submitted: auto-replied\r\n\r\n--b--\r\n";
    let mut client = greet(connect(&server));
    client.mail("victim@[127.0.0.77]", &["refused@[127.0.0.77]"], report);
    let seen = place.eye.until_finished(1);
    assert_eq!(
        seen,
        ["refused@[127.0.0.77] Failed: 5.1.1: 550 5.1.1 not here (in reply to RCPT TO command)"]
    );
    assert_eq!(server.stop().messages, 0);
}

/// What is refused for one recipient has not been sent on to another: its client comes again.
#[test]
fn nothing_is_done_with_what_is_refused() {
    let mut place = Place::trusting(&[("reader", text("ann@[127.0.0.78]"))]);
    let trusted = Value::List(vec![text("127.0.0.0/8")]);
    let rules = [("trusted", trusted), ("subscribers", Value::Int(1))];
    place.settings.set("reception", table(&rules));
    let server = place.start();
    let mut client = greet(connect(&server));
    client.mail(LIST, &["known@[127.0.0.77]"], MESSAGE);
    for _ in 0..3 {
        let reply = client.mail(LIST, &[LIST, "new@[127.0.0.77]"], MESSAGE);
        assert_eq!(reply, "452 4.3.1 there are as many subscribers as may be, try again later");
    }
    assert!(place.book().counted().unwrap().is_empty());
    server.stop();
    assert_eq!(place.stored().len(), 1);
}
