//! What comes back: from strangers, and from our own delivery.

use crate::{Place, connect, table, text};
use sojourn_kernel::parameters::Value;
use std::time::{Duration, Instant};

/// A list whose first bounce suspends.
fn strict() -> Place {
    let mut place = Place::trusting(&[("reader", text("ann@[127.0.0.77]"))]);
    place.settings.set("bounces", table(&[("threshold", Value::Float(1.0))]));
    place
}

const REPORT: &str = "From: MAILER-DAEMON@mx.example\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n\
    --b\r\nContent-Type: text/plain\r\n\r\nNo.\r\n\
    --b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n\
    Final-Recipient: rfc822; inner@x.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\
    Diagnostic-Code: smtp; 550 5.1.1 unknown\r\n--b--\r\n";

/// Anybody may send what comes back, by the path that names the subscriber; then the subscriber is
/// suspended, for this list.
#[test]
fn a_report_suspends() {
    let place = strict();
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO mx.example");
    let back = "news-bounces+Sub+scriber=x.example@lists.example";
    assert_eq!(client.mail("", &[back], REPORT), "250 2.0.0 taken");
    assert_eq!(client.say("MAIL FROM:<news-bounces@lists.example>"), "250 2.1.0 ok");
    let answer = "550 5.2.1 delivery is suspended after bounces; last: 550 5.1.1 unknown";
    assert_eq!(client.say("RCPT TO:<sub+scriber@x.example>"), answer);
    assert_eq!(client.say("RCPT TO:<other@x.example>"), "250 2.1.5 ok");
    assert_eq!(client.say("RCPT TO:<unknown@lists.example>"), "550 5.1.1 there is no such mailbox");
    client.say("RSET");
    client.say("MAIL FROM:<other@lists.example>");
    assert_eq!(client.say("RCPT TO:<sub+scriber@x.example>"), "250 2.1.5 ok");
    let members = place.book().members().unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].subscriber, "sub+scriber@x.example");
    assert_eq!(members[0].list, "news-bounces@lists.example");
    assert!(members[0].standing.suspended.is_some());
    server.stop();
    assert!(place.stored().is_empty());
    let told = place.ear.0.lock().unwrap().join("\n");
    assert_eq!(
        told,
        "bounced: list=<news-bounces@lists.example>, to=<Sub+scriber@x.example>: 550 5.1.1 unknown\n\
         suspended: list=<news-bounces@lists.example>, to=<Sub+scriber@x.example>"
    );
}

/// What no program understands goes to a person.
#[test]
fn what_is_no_report_is_read_by_somebody() {
    let place = strict();
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO mx.example");
    let words = "Subject: I am moving\r\n\r\nSo stop.\r\n";
    assert_eq!(client.mail("a@b", &["news-bounces@lists.example"], words), "250 2.0.0 taken");
    server.stop();
    let [(stored, text)] = &place.stored()[..] else { panic!("one") };
    assert_eq!(stored.submission.sender, None);
    assert_eq!(stored.submission.recipients[0].as_str(), "ann@[127.0.0.77]");
    assert!(text.contains("\r\nSubject: I am moving\r\n"), "{text}");
    assert!(place.book().members().unwrap().is_empty());
}

/// A failure that our own delivery meets is entered too, and no report is sent to ourselves.
#[test]
fn our_own_failures_are_entered() {
    let mut place = strict();
    // Messages that get no second try: nobody is there.
    let mail = [("hello", text("lists.example")), ("lifetime", text("1ms"))];
    place.settings.set("mail", table(&mail));
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    client.mail("news-bounces@lists.example", &["sub@[127.0.0.77]"], "x");
    let begun = Instant::now();
    while place.book().members().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    let member = &place.book().members().unwrap()[0];
    assert_eq!(member.subscriber, "sub@[127.0.0.77]");
    assert_eq!(member.status.as_deref(), Some("5.4.7"));
    server.stop();
    assert!(place.stored().is_empty());
}
