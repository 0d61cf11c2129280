//! What comes back: from strangers, and from our own delivery.

use crate::reception::sink::Sink;
use crate::reception::{Client, Place, connect, connect_from, table, text};
use sojourn_core::parameters::Value;
use sojourn_list_server::{KeyFile, ListServer, SubscriberStore};
use sojourn_mail_engine::list::return_path::{Form, form};
use sojourn_mail_engine::list::token::Purpose;
use sojourn_smtp::Address;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A list whose first bounce suspends.
fn strict() -> Place {
    let mut place = Place::trusting(&[("reader", text("ann@[127.0.0.77]"))]);
    let rule = [("threshold", Value::Float(1.0)), ("probe", Value::Bool(false))];
    place.settings.set("bounces", table(&rule));
    place
}

const LIST: &str = "news-bounces@lists.example";

const REPORT: &str = "From: MAILER-DAEMON@mx.example\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n\
    --b\r\nContent-Type: text/plain\r\n\r\nNo.\r\n\
    --b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n\
    Final-Recipient: rfc822; sub@x.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\
    Diagnostic-Code: smtp; 550 5.1.1 unknown\r\n--b--\r\n";

fn client(server: &ListServer) -> Client<TcpStream> {
    let mut client = connect(server);
    client.hear();
    client.say("EHLO mx.example");
    client
}

/// A strict list that has sent a message to two subscribers at `sink`; their return paths.
fn mailed(sink: &Sink) -> (Place, ListServer, BTreeMap<String, String>) {
    let mut place = strict();
    place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
    let server = place.start();
    let people = ["sub+scriber@[127.0.0.77]", "other@[127.0.0.77]"];
    // The case of the list's name does not matter.
    let reply = client(&server).mail("News-Bounces@lists.example", &people, "Subject: x\r\n\r\nx");
    assert!(reply.starts_with("250 2.0.0 taken as "), "{reply}");
    let paths = sink.paths(2);
    (place, server, paths)
}

fn counted(book: &SubscriberStore) -> Vec<(String, u64)> {
    book.counted().unwrap().into_iter().map(|it| (it.kind, it.number)).collect()
}

/// Whoever was sent a copy may say that it did not arrive, in letters of any case; then the
/// subscriber is suspended, for this list. The report's own words on whom it is about do not matter.
#[test]
fn a_report_suspends() {
    let sink = Sink::open();
    let (place, server, paths) = mailed(&sink);
    let path = &paths["sub+scriber@[127.0.0.77]"];
    assert!(path.split_once('@').unwrap().0.len() <= 64, "{path}");
    let mut client = client(&server);
    for path in [path.to_uppercase(), path.clone()] {
        assert_eq!(client.mail("", &[&path], REPORT), "250 2.0.0 taken");
    }
    assert_eq!(client.say(&format!("MAIL FROM:<{LIST}>")), "250 2.1.0 ok");
    let answer = "550 5.2.1 delivery is suspended after bounces; last: 550 5.1.1 unknown";
    assert_eq!(client.say("RCPT TO:<sub+scriber@[127.0.0.77]>"), answer);
    assert_eq!(client.say("RCPT TO:<other@[127.0.0.77]>"), "250 2.1.5 ok");
    assert_eq!(client.say("RCPT TO:<unknown@lists.example>"), "550 5.1.1 there is no such mailbox");
    client.say("RSET");
    client.say("MAIL FROM:<other@lists.example>");
    assert_eq!(client.say("RCPT TO:<sub+scriber@[127.0.0.77]>"), "250 2.1.5 ok");
    let members = place.book().members().unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].subscriber, "sub+scriber@[127.0.0.77]");
    assert_eq!(members[0].list, LIST);
    assert!(members[0].standing.suspended.is_some());
    assert_eq!(counted(&place.book()), []);
    server.stop();
    assert!(place.stored().is_empty());
    let mut told = place.ear.0.lock().unwrap().clone();
    told.retain(|line| !line.contains("client="));
    assert_eq!(
        told,
        [
            format!("bounced: list=<{LIST}>, to=<sub+scriber@[127.0.0.77]>: 550 5.1.1 unknown"),
            format!("suspended: list=<{LIST}>, to=<sub+scriber@[127.0.0.77]>: 550 5.1.1 unknown"),
        ]
    );
}

/// Forged reports, to the plain path, to one that names a subscriber as lists had it before, and to
/// guessed ones: they are counted, and leave every subscriber as it was.
#[test]
fn forged_reports_suspend_nobody() {
    let sink = Sink::open();
    let (place, server, paths) = mailed(&sink);
    let right = &paths["other@[127.0.0.77]"];
    let mut client = client(&server);
    // The last letter of what the server signed, changed.
    let (token, domain) = right.split_once('@').unwrap();
    let (rest, last) = token.split_at(token.len() - 1);
    let tampered = format!("{rest}{}@{domain}", if last == "a" { "b" } else { "a" });
    let guessed = format!("news-bounces+{}@lists.example", "7a".repeat(16));
    let named = "news-bounces+other=x.example@lists.example";
    for path in [LIST, named, &tampered, &guessed] {
        for _ in 0..5 {
            assert_eq!(client.mail("", &[path], REPORT), "250 2.0.0 taken", "{path}");
        }
    }
    // Five in one message are five, and a message that names many paths is parsed for one of them.
    assert_eq!(
        client.mail("", &[&guessed, &tampered, LIST, named, right], REPORT),
        "250 2.0.0 taken"
    );
    let told = place.ear.0.lock().unwrap().join("\n");
    let line = format!("unverified: client=[127.0.0.1], list=<{LIST}>, no token, nrcpt=1");
    assert!(told.contains(&line), "{told}");
    let book = place.book();
    assert_eq!(counted(&book), [("no token".into(), 12), ("wrong".into(), 12)]);
    let members = book.members().unwrap();
    assert_eq!(members.len(), 1, "the one with a good token: {members:?}");
    assert_eq!(members[0].subscriber, "other@[127.0.0.77]");
    for path in [
        "news-bounces+short@lists.example",
        &format!("news-bounces+{}@lists.example", "-".repeat(32)),
    ] {
        client.say("MAIL FROM:<>");
        assert_eq!(client.say(&format!("RCPT TO:<{path}>")), "550 5.1.1 there is no such mailbox");
        client.say("RSET");
    }
    server.stop();
}

/// 186 reports that name 1000 addresses each make no row: neither of those the list mailed nor of
/// any other.
#[test]
fn named_addresses_make_no_rows() {
    let place = Place::trusting(&[]);
    let server = place.start();
    let mut client = client(&server);
    let (head, tail) = REPORT.split_at(REPORT.find("Final-Recipient").unwrap());
    let tail = &tail[tail.find("--b--").unwrap()..];
    for report in 0..186 {
        let groups: String = (0..1000)
            .map(|i| {
                format!(
                    "Final-Recipient: rfc822; s{report}.{i}@x.example\r\nAction: failed\r\n\r\n"
                )
            })
            .collect();
        assert_eq!(client.mail("", &[LIST], &format!("{head}{groups}{tail}")), "250 2.0.0 taken");
    }
    let book = place.book();
    assert_eq!(
        (book.members().unwrap().len(), counted(&book)),
        (0, vec![("no token".into(), 186)])
    );
    server.stop();
    drop(book);
    let octets: u64 = std::fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().contains("bounces"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(octets < 1_000_000, "{octets}");
}

/// A new key signs when the server has read it; what the old one signed is good until that is gone.
#[test]
fn keys_are_rotated() {
    let sink = Sink::open();
    let (place, server, paths) = mailed(&sink);
    let file = KeyFile::beside(&place.folder.path().join("spool"));
    let mut keys = KeyFile::read(&file).unwrap();
    let before = keys.token_keys();
    keys.rotate(0).unwrap();
    server.reload_keys().unwrap();
    let mut client = client(&server);
    client.mail(LIST, &["new@[127.0.0.77]"], "x");
    let newer = &sink.paths(1)["new@[127.0.0.77]"];
    let back: Address = LIST.parse().unwrap();
    let verified = |path: &str, keys: &sojourn_mail_engine::list::token::TokenKeys| {
        let Some(Form::Token(token)) = form(&back, &path.parse().unwrap()) else {
            panic!("{path}")
        };
        keys.verify(Purpose::Bounce, &back, &token).is_some()
    };
    assert!(!verified(newer, &before) && verified(newer, &keys.token_keys()));
    let older = &paths["other@[127.0.0.77]"];
    assert!(verified(older, &before) && verified(older, &keys.token_keys()));
    for path in [older, newer] {
        assert_eq!(client.mail("", &[path], REPORT), "250 2.0.0 taken");
    }
    assert_eq!(place.book().members().unwrap().len(), 2);
    // After eight more it is gone.
    (0..8).for_each(|now| keys.rotate(now).unwrap());
    server.reload_keys().unwrap();
    let third = &paths["sub+scriber@[127.0.0.77]"];
    assert_eq!(client.mail("", &[third], REPORT), "250 2.0.0 taken");
    assert_eq!(place.book().members().unwrap().len(), 2);
    assert_eq!(counted(&place.book()), [("wrong".into(), 1)]);
    // A file that is none leaves what was there.
    std::fs::write(&file, "no key\n").unwrap();
    assert!(server.reload_keys().unwrap_err().to_string().contains("line 1: expected"));
    server.stop();
}

/// What answers to a copy of itself costs its recipient nothing; what a person answers is read.
#[test]
fn answers_are_no_bounces() {
    let sink = Sink::open();
    let (place, server, paths) = mailed(&sink);
    let path = &paths["other@[127.0.0.77]"];
    let mut client = client(&server);
    for sign in ["Precedence: bulk", "X-Autoreply: yes", "X-Auto-Response-Suppress: All"] {
        let note = format!("From: other@x.example\r\n{sign}\r\n\r\nAway.\r\n");
        assert_eq!(client.mail("", &[path], &note), "250 2.0.0 taken");
    }
    let receipt = REPORT.replace("delivery-status", "disposition-notification");
    let receipt = receipt.replace("MAILER-DAEMON@mx.example", "other@x.example");
    assert_eq!(client.mail("", &[path], &receipt), "250 2.0.0 taken");
    let answer = "From: other@x.example\r\nSubject: Re: x\r\n\r\nThank you.\r\n";
    assert_eq!(client.mail("other@x.example", &[path], answer), "250 2.0.0 taken");
    let read = &sink.copies(1)["ann@[127.0.0.77]"];
    assert!(read.text.contains("\r\nSubject: Re: x\r\n"), "{}", read.text);
    assert_eq!(read.path, "");
    assert!(place.book().members().unwrap().is_empty());
    // In words alone a mail system still says that it failed.
    let words = "From: MAILER-DAEMON@mx.example\r\nSubject: failure notice\r\n\r\nSorry.\r\n";
    client.mail("", &[path], words);
    assert_eq!(place.book().members().unwrap()[0].standing.score, 0.5);
    server.stop();
}

/// What no program understands goes to a person, so many times in an hour.
#[test]
fn what_is_no_report_is_read_by_somebody() {
    let mut place = strict();
    let rules = [
        ("trusted", Value::List(vec![text("127.0.0.0/8")])),
        ("hourly", table(&[("reader", Value::Int(2))])),
    ];
    place.settings.set("reception", table(&rules));
    // At the turn of an hour three go through: then another three are tried.
    let server = place.start();
    let mut client = client(&server);
    let words = "Subject: I am moving\r\n\r\nSo stop.\r\n";
    let replies: Vec<_> = (0..6).map(|_| client.mail("a@b", &[LIST], words)).collect();
    assert_eq!(replies[..2], ["250 2.0.0 taken"; 2]);
    assert_eq!(
        replies[5],
        "452 4.3.1 mail for the list's reader: the bound of this hour is reached, try again later"
    );
    // Reports do not go there.
    assert_eq!(client.mail("", &[LIST], REPORT), "250 2.0.0 taken");
    server.stop();
    let stored = place.stored();
    assert!((2..=4).contains(&stored.len()), "{}", stored.len());
    let (stored, text) = &stored[0];
    assert_eq!(stored.submission.sender, None);
    assert_eq!(stored.submission.recipients[0].as_str(), "ann@[127.0.0.77]");
    assert!(text.contains("\r\nSubject: I am moving\r\n"), "{text}");
    assert!(place.book().members().unwrap().is_empty());
}

/// Providers write to the address for complaints, and have the copy's return path in what they
/// enclose. What is no complaint is read by abuse.
#[test]
fn complaints_have_an_address() {
    let sink = Sink::open();
    let mut place = strict();
    place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
    let trusted = Value::List(vec![text("127.0.0.1/32")]);
    let (complaints, abuse) = (text("fbl@lists.example"), text("ann@[127.0.0.77]"));
    let rules = [("trusted", trusted), ("complaints", complaints), ("abuse", abuse)];
    place.settings.set("reception", table(&rules));
    let server = place.start();
    client(&server).mail(LIST, &["sub@[127.0.0.77]", "other@[127.0.0.77]"], "Subject: x\r\n\r\nx");
    let path = &sink.paths(2)["sub@[127.0.0.77]"];
    let complaint = format!(
        "Content-Type: multipart/report; boundary=b\r\n\r\n\
         --b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n\
         --b\r\nContent-Type: message/rfc822\r\n\r\nReturn-Path: <{path}>\r\n\r\n--b--\r\n"
    );
    let mut stranger = connect_from(&server, [127, 0, 0, 9].into());
    stranger.hear();
    stranger.say("EHLO provider.example");
    assert_eq!(
        stranger.mail("fbl@p.example", &["FBL@lists.example"], &complaint),
        "250 2.0.0 taken"
    );
    let left = place.book().left().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1, "sub@[127.0.0.77]");
    let question = "Subject: Please confirm\r\n\r\nIs it you?\r\n";
    assert_eq!(stranger.mail("a@p.example", &["fbl@lists.example"], question), "250 2.0.0 taken");
    assert!(sink.copies(1)["ann@[127.0.0.77]"].text.contains("Please confirm"));
    server.stop();
}

/// A failure that our own delivery meets is entered too, and no report is sent to ourselves.
#[test]
fn our_own_failures_are_entered() {
    let sink = Sink::open();
    let mut place = strict();
    place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
    let server = place.start();
    client(&server).mail(LIST, &["refused@[127.0.0.77]"], "x");
    let begun = Instant::now();
    while place.book().members().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    let member = &place.book().members().unwrap()[0];
    assert_eq!(member.subscriber, "refused@[127.0.0.77]");
    assert_eq!(member.status.as_deref(), Some("5.1.1"));
    // The failure is entered before the message is finished.
    place.eye.until_finished(1);
    server.stop();
    assert!(place.stored().is_empty());
}

/// A register that is full takes no further subscribers, and serves those whom it has.
#[test]
fn a_register_may_be_full() {
    let mut place = strict();
    let rules =
        [("trusted", Value::List(vec![text("127.0.0.0/8")])), ("subscribers", Value::Int(2))];
    place.settings.set("reception", table(&rules));
    let server = place.start();
    let mut client = client(&server);
    let known = ["a@[127.0.0.77]", "b@[127.0.0.77]"];
    assert!(client.mail(LIST, &known, "x").starts_with("250 2.0.0 taken as "));
    let full = "452 4.3.1 there are as many subscribers as may be, try again later";
    assert_eq!(client.mail(LIST, &["c@[127.0.0.77]", known[0]], "x"), full);
    assert!(client.mail(LIST, &known, "x").starts_with("250 2.0.0 taken as "));
    server.stop();
    let stored = place.stored();
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[0].0.submission.subscribers, stored[1].0.submission.subscribers);
    assert_eq!(stored[0].0.submission.subscribers.len(), 2);
}
