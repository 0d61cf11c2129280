//! Who may send to which list, and as whom; and what becomes of the mail of all others.

use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::{Parameters, Value};
use sojourn_list_server::{ListServer, Serving, hash_password};
use std::time::{Duration, Instant};

/// A mailbox at a host that is not there: mail for it stays in the spool.
const UNREACHABLE: &str = "x@[127.0.0.77]";
const NEWS: &str = "news-bounces@lists.example";
const WELL: &str = "From: editor@lists.example\r\nSubject: x\r\n\r\nx";

fn texts(all: &[&str]) -> Value {
    Value::List(all.iter().map(|it| text(it)).collect())
}

/// A server with two lists that it signs for; `settings` say who may send.
fn place(settings: &[(&str, Value)]) -> Place {
    let list = |name: &str| {
        let path = format!("{name}-bounces@lists.example");
        table(&[("bounces", text(&path)), ("id", text(&format!("{name}.lists.example")))])
    };
    let key = format!("{}/tests/keys/ed25519.pem", env!("CARGO_MANIFEST_DIR"));
    let dkim = [("domain", "lists.example"), ("selector", "s"), ("key", &key)];
    let dkim = table(&dkim.map(|(key, value)| (key, text(value))));
    let mut all = vec![
        ("list", Value::List(vec![list("news"), list("board")])),
        ("dkim", Value::List(vec![dkim])),
        ("reception", table(&[("postmaster", text("ann@[127.0.0.77]"))])),
    ];
    all.extend(settings.iter().cloned());
    Place::new(&all)
}

/// One where programs on this machine may send what `grant` says.
fn with_program(grant: &[(&str, Value)]) -> Place {
    let mut all = vec![("networks", texts(&["127.0.0.0/8"]))];
    all.extend(grant.iter().cloned());
    place(&[("submitter", Value::List(vec![table(&all)]))])
}

fn greeted(server: &ListServer) -> crate::reception::Client<std::net::TcpStream> {
    let mut client = connect(server);
    client.hear();
    client.say("EHLO client.example");
    client
}

/// What RCPT says to mail from `sender` to somebody elsewhere.
fn answer(server: &ListServer, sender: &str) -> String {
    let mut client = greeted(server);
    assert_eq!(client.say(&format!("MAIL FROM:<{sender}>")), "250 2.1.0 ok");
    client.say(&format!("RCPT TO:<{UNREACHABLE}>"))
}

/// A stranger says to be the list: the mail goes to the postmaster as it came, without the list's
/// fields and signature, and its failure is no bounce of the list's.
#[test]
fn nothing_is_signed_for_strangers() {
    let stranger = table(&[("networks", texts(&["192.0.2.1"])), ("lists", texts(&["*"]))]);
    let place = place(&[("submitter", Value::List(vec![stranger]))]);
    let server = place.start();
    let mut client = greeted(&server);
    let forged = "From: ceo@lists.example\r\nBcc: x@y\r\nSubject: pay\r\n\r\nx\r\n";
    assert!(client.mail(NEWS, &["ann@[127.0.0.77]"], forged).starts_with("250 2.0.0 taken"));
    client.mail("other@there.example", &["postmaster"], "Subject: no author\r\n\r\nx");
    server.stop();
    let stored = place.stored();
    assert_eq!(stored.len(), 2);
    for (_, text) in &stored {
        assert!(!text.contains("DKIM-Signature") && !text.contains("List-Id"), "{text}");
        assert!(text.starts_with("Received: from client.example"), "{text}");
    }
    assert!(stored[0].1.ends_with(&format!("\r\n{forged}\r\n")), "{}", stored[0].1);
    // What a stranger says of failures is not believed.
    assert!(stored.iter().all(|(it, _)| it.submission.sender.is_none()));
}

#[test]
fn a_network_sends_what_it_may() {
    let place = with_program(&[
        ("lists", texts(&["News-bounces@lists.example"])),
        ("senders", texts(&["*@there.example", "Ed@lists.example"])),
    ]);
    let server = place.start();
    for sender in [NEWS, "NEWS-bounces@LISTS.example", "a@there.example", "ed@lists.example"] {
        assert_eq!(answer(&server, sender), "250 2.1.5 ok", "{sender}");
    }
    for (sender, why) in [
        ("board-bounces@lists.example", "to the list of <board-bounces@lists.example>"),
        ("ceo@lists.example", "as <ceo@lists.example>"),
        ("a@sub.there.example", "as <a@sub.there.example>"),
        ("", "without a return path"),
    ] {
        let refused = format!("550 5.7.1 client 127.0.0.1 may not send {why}");
        assert_eq!(answer(&server, sender), refused);
        // What is at home is for everybody.
        let mut client = greeted(&server);
        client.begin(sender, &[NEWS, "postmaster"]);
    }
    let mut client = greeted(&server);
    assert!(client.mail(NEWS, &[UNREACHABLE], WELL).starts_with("250"));
    server.stop();
    let text = &place.stored()[0].1;
    assert!(text.contains("\r\nDKIM-Signature: ") && text.contains("\r\nList-Id: "), "{text}");
}

/// A return path is a list's, whatever `senders` may mean.
#[test]
fn senders_are_no_lists() {
    let place = with_program(&[("senders", texts(&["*"]))]);
    let server = place.start();
    assert_eq!(answer(&server, ""), "250 2.1.5 ok");
    assert_eq!(answer(&server, "ceo@lists.example"), "250 2.1.5 ok");
    assert!(answer(&server, NEWS).starts_with("550 5.7.1 "));
    server.stop();
}

#[test]
fn who_may_be_named_as_an_author() {
    let from = texts(&["editor@lists.example", "*@there.example"]);
    let place = with_program(&[("lists", texts(&["*"])), ("from", from)]);
    let server = place.start();
    let mut client = greeted(&server);
    let mut say = |field: &str| client.mail(NEWS, &[UNREACHABLE], &format!("{field}\r\n\r\nx"));
    for field in
        ["From: The editor <Editor@lists.example>", "From: a@there.example, b@there.example"]
    {
        assert!(say(field).starts_with("250"), "{field}");
    }
    let other = "550 5.7.1 From: names an address that you may not write as";
    assert_eq!(say("From: ceo@lists.example"), other);
    assert_eq!(say("From: a@there.example, ceo@lists.example"), other);
    assert_eq!(say("From: \"editor@lists.example\" <ceo@lists.example>"), other);
    let unclear = "550 5.7.1 From: has to be one field with plain addresses that you may write as";
    assert_eq!(say("From: editor@lists.example <ceo@lists.example>"), unclear);
    server.stop();
}

/// What cannot be signed is refused, and its author is told.
#[test]
fn a_message_without_an_author() {
    let place = with_program(&[("lists", texts(&["*"])), ("senders", texts(&["*"]))]);
    let server = place.start();
    let mut client = greeted(&server);
    let refused = "554 5.6.0 mail of this list has exactly one From: field (RFC 5322 section 3.6)";
    assert_eq!(client.mail(NEWS, &[UNREACHABLE], "Subject: x\r\n\r\nx"), refused);
    let two = "From: a@lists.example\r\nfrom: b@lists.example\r\n\r\nx";
    assert_eq!(client.mail(NEWS, &[UNREACHABLE], two), refused);
    assert!(client.mail(NEWS, &[UNREACHABLE], WELL).starts_with("250"));
    assert!(client.mail("a@b", &[UNREACHABLE], "Subject: x\r\n\r\nx").starts_with("250"));
    server.stop();
    assert_eq!(place.stored().len(), 2);
}

#[test]
fn what_goes_out_has_no_blind_copies_and_short_lines() {
    let place = with_program(&[("lists", texts(&["*"]))]);
    let server = place.start();
    let mut client = greeted(&server);
    let long = format!("Bcc: x@y,\r\n z@y\r\nbcc: w@y\r\n{WELL}\r\n{}", "x".repeat(1_000_000));
    assert!(client.mail(NEWS, &[UNREACHABLE], &long).starts_with("250"));
    let token = format!("X-Token: {}\r\n{WELL}", "x".repeat(2000));
    let refused = "554 5.6.0 a header line has over 998 octets and no space to fold it at \
                   (RFC 5322 section 2.1.1)";
    assert_eq!(client.mail(NEWS, &[UNREACHABLE], &token), refused);
    server.stop();
    let [(_, text)] = &place.stored()[..] else { panic!("one") };
    assert!(text.split("\r\n").all(|line| line.len() <= 998));
    assert!(!text.contains("@y"), "blind");
    assert!(text.contains("\r\nDKIM-Signature: "));
}

/// After three wrong passwords the next one has to wait, also in another session.
#[test]
fn passwords_are_not_guessed() {
    let user = table(&[
        ("name", text("ann")),
        ("password", text(&hash_password("right"))),
        ("lists", texts(&[NEWS])),
    ]);
    let mut place = place(&[("user", Value::List(vec![user]))]);
    let listener = [("address", text("127.0.0.1:0")), ("auth", text("loopback"))];
    place.settings.set("listener", Value::List(vec![table(&listener)]));
    let server = place.start();
    let mut client = greeted(&server);
    let wrong = "535 5.7.8 the name or the password is wrong";
    (0..3).for_each(|_| assert_eq!(client.say("AUTH PLAIN AGFubgB3cm9uZw=="), wrong));
    assert_eq!(client.hear(), "421 4.7.0 too many wrong passwords");
    let (mut client, asked) = (greeted(&server), Instant::now());
    assert_eq!(client.say("AUTH PLAIN AGFubgB3cm9uZw=="), wrong);
    // It was a second, of which some had gone by.
    assert!(asked.elapsed() > Duration::from_millis(500), "{:?}", asked.elapsed());
    server.stop();
}

/// A client that gives a password has that user's rights alone.
#[test]
fn users_send_what_they_may() {
    let user = table(&[
        ("name", text("ann")),
        ("password", text(&hash_password("right"))),
        ("lists", texts(&[NEWS])),
    ]);
    let mut place = with_program(&[("senders", texts(&["*"]))]);
    place.settings.set("user", Value::List(vec![user]));
    let listener = [("address", text("127.0.0.1:0")), ("auth", text("loopback"))];
    place.settings.set("listener", Value::List(vec![table(&listener)]));
    let server = place.start();
    let mut client = greeted(&server);
    assert_eq!(client.say("AUTH PLAIN AGFubgByaWdodA=="), "235 2.7.0 welcome");
    client.say("MAIL FROM:<ceo@lists.example>");
    let refused = "550 5.7.1 user ann may not send as <ceo@lists.example>";
    assert_eq!(client.say(&format!("RCPT TO:<{UNREACHABLE}>")), refused);
    client.say("RSET");
    assert!(client.mail(NEWS, &[UNREACHABLE], WELL).starts_with("250"));
    server.stop();
}

#[test]
fn lists_that_are_none() {
    let place = with_program(&[("lists", texts(&["new-bounces@lists.example"]))]);
    let refusal = Serving::read_table(&place.settings).unwrap_err();
    assert_eq!(refusal.path.join("."), "submitter.[0].lists");
    let expected = "the return path of a [[list]] (did you mean news-bounces@lists.example?)";
    assert_eq!(refusal.expected, expected);
}
