//! Hosts and name servers that do not do what they should.

use crate::delivery::internet::{Net, fast, host, text, with_tls};
use crate::delivery::world::{Told, outcomes};
use sojourn_core::parameters::Value;
use sojourn_list_server::StopReport;
use sojourn_mail_engine::Outcome::{Deferred, Delivered, Failed};
use sojourn_testnet::Tls;

const TEXT: &str = "Message-ID: <1@lists.example>\r\n\r\nhello\r\n";

/// A wait that is named is believed, and costs little more.
#[test]
fn greylisting() {
    let wait = [("wait", text("1s")), ("named", Value::Bool(true))];
    let net = Net::new().domain("x.example", vec![host("greylist", &wait)]);
    let alive = net.start();
    let server = alive.serve();
    let message = server.submit(&["a@x.example"], TEXT);
    let told = server.until_finished(message);
    assert_eq!(outcomes(&told), [("a@x.example", Deferred), ("a@x.example", Delivered)]);
    assert_eq!(alive.recipients(), ["a@x.example"]);
    server.stop();
}

/// Nobody waits for those who are not there; they are in the spool when the server stops.
#[test]
fn the_dead_hold_up_nobody() {
    let net = Net::new()
        .domain("refused.example", vec![host("refused", &[])])
        .domain("hung.example", vec![host("hung", &[])])
        .domain("silent.example", vec![fast()])
        .names("silent")
        .domain("servfail.example", vec![fast()])
        .names("servfail")
        .domain("x.example", vec![fast()]);
    let alive = net.start();
    let server = alive.serve();
    let list = ["refused", "hung", "silent", "servfail", "x"].map(|it| format!("a@{it}.example"));
    server.submit(&list.each_ref().map(String::as_str), TEXT);
    let mut told = server.until(|told| told.is_attempt("a@x.example", Delivered));
    told.extend(server.until(|told| matches!(told, Told::DomainDown(_))));
    let refused = |told: &Told| told.is_attempt("a@refused.example", Deferred);
    if !told.iter().any(refused) {
        server.until(refused);
    }
    assert_eq!(alive.recipients(), ["a@x.example"]);
    assert_eq!(server.stop(), StopReport { messages: 1, cut: 0 });
}

#[test]
fn a_reset_in_mid_message_is_tried_again() {
    let reset = [("times", Value::Int(1))];
    let net = Net::new().retry_soon().domain("x.example", vec![host("reset-in-data", &reset)]);
    let alive = net.start();
    let server = alive.serve();
    let message = server.submit(&["a@x.example"], &TEXT.repeat(100));
    let told = server.until_finished(message);
    assert_eq!(outcomes(&told), [("a@x.example", Deferred), ("a@x.example", Delivered)]);
    assert_eq!(alive.recipients(), ["a@x.example"]);
    server.stop();
}

#[test]
fn the_first_exchanger_is_dead() {
    let second = sojourn_testnet::Host { preference: 20, ..fast() };
    let net = Net::new().domain("x.example", vec![host("refused", &[]), second]);
    let alive = net.start();
    let server = alive.serve();
    let message = server.submit(&["a@x.example"], TEXT);
    let told = server.until_finished(message);
    assert_eq!(told[0], Told::HostDown("127.64.0.1".parse().unwrap()));
    assert_eq!(outcomes(&told), [("a@x.example", Delivered)]);
    assert_eq!(alive.accepted()[0].host.to_string(), "127.64.1.1");
    server.stop();
}

/// Names that lead nowhere fail at once, and the sender is told.
#[test]
fn failures_are_reported() {
    let net = Net::new()
        .domain("lists.example", vec![fast()])
        .names("address-only")
        .domain("none.example", vec![fast()])
        .names("null-mx")
        .domain("x.example", vec![host("unknown-users", &[("share", Value::Float(1.0))])]);
    let alive = net.start();
    let server = alive.serve();
    let list = ["a@none.example", "b@nowhere.example", "c@x.example"];
    let message = server.submit(&list, TEXT);
    let mut told = server.until_finished(message);
    assert_eq!(outcomes(&told).iter().filter(|it| it.1 == Failed).count(), 3, "{told:?}");
    // One report or more: those that fail together are reported together, and a report may be there
    // before the message is finished.
    let (reports, reported) = loop {
        let accepted = alive.accepted();
        assert!(accepted.iter().all(|it| it.sender.is_empty()), "{accepted:?}");
        let texts = accepted.iter().map(|it| it.text.clone().unwrap());
        let reported: String =
            texts.map(|text| String::from_utf8(text.to_vec()).unwrap()).collect();
        if list.iter().all(|it| reported.contains(&format!("Final-Recipient: rfc822; {it}"))) {
            break (accepted.len(), reported);
        }
        told.push(server.next());
    };
    assert!(reported.contains("Status: 5.1.2") && reported.contains("Status: 5.1.10"));
    assert!(reported.contains("Message-ID: <1@lists.example>"), "{reported}");
    while told.iter().filter(|it| matches!(it, Told::Finished(_))).count() < reports {
        told.push(server.next());
    }
    assert_eq!(server.stop(), StopReport { messages: 0, cut: 0 });
}

/// Where TLS is opportunistic, it is used whoever vouches for it, and done without where it breaks.
#[test]
fn opportunistic_tls() {
    let net = Net::new()
        .domain("good.example", vec![with_tls(Tls::Good)])
        .domain("wrong.example", vec![with_tls(Tls::WrongName)])
        .domain("refused.example", vec![with_tls(Tls::Refused)])
        .domain("broken.example", vec![with_tls(Tls::Broken)]);
    let alive = net.start();
    let server = alive.serve();
    let list = ["good", "wrong", "refused", "broken"].map(|it| format!("a@{it}.example"));
    let message = server.submit(&list.each_ref().map(String::as_str), &TEXT.repeat(2000));
    server.until_finished(message);
    let mut secured: Vec<(String, bool)> =
        alive.accepted().iter().map(|it| (it.recipient.to_string(), it.secured)).collect();
    secured.sort();
    let expected = [("broken", false), ("good", true), ("refused", false), ("wrong", true)];
    assert_eq!(secured, expected.map(|(it, secured)| (format!("a@{it}.example"), secured)));
    server.stop();
}

/// Where TLS is required, nobody gets mail whom the given authority does not vouch for.
#[test]
fn required_tls() {
    let net = Net::new()
        .domain("good.example", vec![with_tls(Tls::Required)])
        .domain("wrong.example", vec![with_tls(Tls::WrongName)])
        .domain("plain.example", vec![fast()])
        .domain("broken.example", vec![with_tls(Tls::Broken)])
        .set("mail", "tls", text("required"));
    let alive = net.start();
    let server = alive.serve_with(&[("roots", text(alive.roots().to_str().unwrap()))]).unwrap();
    let list = ["good", "wrong", "plain", "broken"].map(|it| format!("a@{it}.example"));
    server.submit(&list.each_ref().map(String::as_str), TEXT);
    let mut open = list.to_vec();
    while !open.is_empty() {
        let told = server.next();
        open.retain(|it| !told.is_attempt(it, Deferred) && !told.is_attempt(it, Delivered));
    }
    let secured: Vec<_> =
        alive.accepted().iter().map(|it| (it.recipient.to_string(), it.secured)).collect();
    assert_eq!(secured, [("a@good.example".to_owned(), true)]);
    assert_eq!(server.stop(), StopReport { messages: 1, cut: 0 });
}
