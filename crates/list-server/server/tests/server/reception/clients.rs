//! Who may send, and what becomes of what they send.

use crate::reception::crowd::few;
use crate::reception::tls::Certificate;
use crate::reception::{Client, Place, connect, table, text};
use sojourn_core::parameters::{Parameters, Value};
use sojourn_list_server::{Serving, hash_password};

/// Somebody at a host that is not there: what is for them stays in the spool.
const UNREACHABLE: &str = "x@[127.0.0.77]";

#[test]
fn what_is_taken_is_in_the_spool() {
    let place = Place::trusting(&[("id", text("news.lists.example"))]);
    let server = place.start();
    let mut client = connect(&server);
    assert_eq!(client.hear(), "220 lists.example ESMTP");
    client.say("EHLO client.example");
    let message = "Subject: x\r\n\r\nÄ\r\n..dot\r\n";
    assert_eq!(
        client.mail("Owner@there.example", &["y@[127.0.0.77]", UNREACHABLE], message),
        "250 2.0.0 taken as 0000000001"
    );
    assert_eq!(
        client.mail("news-bounces@lists.example", &[UNREACHABLE], message),
        "250 2.0.0 taken as 0000000002"
    );
    assert_eq!(client.say("QUIT"), "221 2.0.0 bye");
    assert_eq!(client.hear(), "");
    assert_eq!(server.stop().messages, 2);
    let [(first, one), (second, two)] = &place.stored()[..] else { panic!("two") };
    assert_eq!(first.submission.sender.as_ref().unwrap().as_str(), "Owner@there.example");
    assert_eq!(first.submission.recipients.len(), 2);
    assert!(first.submission.eight_bit && !first.submission.utf8);
    let trace =
        "Received: from client.example ([127.0.0.1])\r\n\tby lists.example with ESMTP;\r\n\t";
    assert!(one.starts_with(trace), "{one}");
    assert!(one.ends_with("\r\nSubject: x\r\n\r\nÄ\r\n.dot\r\n\r\n"), "{one}");
    // A user's message is marked with whom it is for, once each.
    assert_eq!(one.matches("\r\nX-Loop: ").count(), 2, "{one}");
    assert_eq!(second.submission.recipients.len(), 1);
    assert!(two.contains("\r\nList-Id: <news.lists.example>\r\nDate: "), "{two}");
    let told = place.ear.0.lock().unwrap().join("\n");
    assert_eq!(
        told,
        "0000000001: client=[127.0.0.1], from=<Owner@there.example>, size=26, nrcpt=2\n\
         0000000002: client=[127.0.0.1], from=<news-bounces@lists.example>, size=26, nrcpt=1"
    );
}

#[test]
fn thousands_of_recipients_in_one_envelope() {
    let place = Place::trusting(&[]);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    let people: String = (0..5000).map(|i| format!("RCPT TO:<s{i}@[127.0.0.77]>\r\n")).collect();
    client.send(&format!("MAIL FROM:<a@b>\r\n{people}DATA\r\n"));
    assert_eq!(client.hear(), "250 2.1.0 ok");
    assert!((0..5000).all(|_| client.hear() == "250 2.1.5 ok"));
    assert!(client.hear().starts_with("354"));
    assert_eq!(client.say("x\r\n."), "250 2.0.0 taken as 0000000001");
    server.stop();
    assert_eq!(place.stored()[0].0.submission.recipients.len(), 5000);
}

#[test]
fn passwords_under_tls() {
    let certificate = Certificate::make();
    let password = hash_password("right");
    let senders = Value::List(vec![text("a@b")]);
    let user = table(&[("name", text("ann")), ("password", text(&password)), ("senders", senders)]);
    let settings = [("user", Value::List(vec![user])), ("certificate", certificate.setting())];
    let place = Place::new(&settings);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    assert!(client.say("EHLO x").contains("250-STARTTLS"));
    client.say("MAIL FROM:<a@b>");
    assert_eq!(
        client.say(&format!("RCPT TO:<{UNREACHABLE}>")),
        "554 5.7.1 mail is not sent on for you"
    );
    client.say("RSET");
    assert_eq!(client.say("STARTTLS"), "220 2.0.0 go on");

    let mut client = Client::over(certificate.secure(client.into_wire()));
    assert!(client.say("EHLO x").contains("250-AUTH PLAIN LOGIN"));
    let wrong = "535 5.7.8 the name or the password is wrong";
    assert_eq!(client.say("AUTH PLAIN AGFubgB3cm9uZw=="), wrong);
    assert_eq!(client.say("AUTH PLAIN AGFubgByaWdodA=="), "235 2.7.0 welcome");
    assert_eq!(client.mail("a@b", &[UNREACHABLE], "x"), "250 2.0.0 taken as 0000000001");
    server.stop();
    assert!(place.stored()[0].1.contains("with ESMTPSA;"));
    let told = place.ear.0.lock().unwrap().join("\n");
    assert!(
        told.starts_with("wrong password: client=[127.0.0.1], user=ann\n0000000001: "),
        "{told}"
    );
    assert!(told.contains(", user=ann, from=<a@b>") && !told.contains("right"), "{told}");
}

#[test]
fn lmtp() {
    let mut place = Place::trusting(&[]);
    let listener = [("address", text("127.0.0.1:0")), ("protocol", text("lmtp"))];
    place.settings.set("listener", Value::List(vec![table(&listener)]));
    let server = place.start();
    let mut client = connect(&server);
    assert_eq!(client.hear(), "220 lists.example LMTP");
    client.say("LHLO mailman");
    assert_eq!(
        client.mail("a@b", &[UNREACHABLE, "y@[127.0.0.77]"], "x"),
        "250 2.0.0 taken as 0000000001"
    );
    assert_eq!(client.hear(), "250 2.0.0 taken as 0000000001");
    server.stop();
    assert!(place.stored()[0].1.contains("with LMTP;"));
}

#[test]
fn a_server_that_stops_lets_a_message_end() {
    let place = Place::trusting(&[]);
    let server = place.start();
    let (mut idle, mut sending) = (connect(&server), connect(&server));
    for client in [&mut idle, &mut sending] {
        client.hear();
        client.say("EHLO x");
    }
    sending.say("MAIL FROM:<a@b>");
    sending.say(&format!("RCPT TO:<{UNREACHABLE}>"));
    sending.say("DATA");
    let stopping = std::thread::spawn(move || server.stop());
    assert_eq!(idle.hear(), "421 4.3.2 the server stops");
    assert_eq!(idle.hear(), "");
    assert_eq!(sending.say("x\r\n."), "250 2.0.0 taken as 0000000001");
    assert_eq!(sending.hear(), "421 4.3.2 the server stops");
    stopping.join().unwrap();
    assert_eq!(place.stored().len(), 1);
}

#[test]
fn a_message_that_does_not_come_is_not_waited_for() {
    let mut place = Place::trusting(&[]);
    let trusted = Value::List(vec![text("127.0.0.1")]);
    place.settings.set("reception", table(&[("trusted", trusted), ("grace", text("10ms"))]));
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    client.say("MAIL FROM:<a@b>");
    client.say(&format!("RCPT TO:<{UNREACHABLE}>"));
    client.say("DATA");
    client.send("half a mess");
    let stopping = std::thread::spawn(move || server.stop());
    assert_eq!(client.hear(), "421 4.3.2 the server stops");
    stopping.join().unwrap();
    assert!(place.stored().is_empty());
}

#[test]
fn places_and_memory_are_limited() {
    let mut place = Place::trusting(&[]);
    let trusted = Value::List(vec![text("127.0.0.1")]);
    let bounds = table(&[("message", text("500KB"))]);
    let mut rules = vec![("trusted", trusted), ("memory", text("1MB")), ("bounds", bounds)];
    rules.extend(few(4, 1));
    place.settings.set("reception", table(&rules));
    let server = place.start();
    let mut clients = [connect(&server), connect(&server), connect(&server)];
    for client in &mut clients {
        client.hear();
        client.say("EHLO x");
        client.say("MAIL FROM:<a@b>");
    }
    let mut other = connect(&server);
    assert_eq!(other.hear(), "421 4.7.0 too many sessions, try again later");
    let chunk = format!("BDAT 400000\r\n{}", "x".repeat(400_000));
    let answers = clients.each_mut().map(|client| {
        client.say(&format!("RCPT TO:<{UNREACHABLE}>"));
        client.send(&chunk);
        client.hear()
    });
    let full = "452 4.3.1 too many messages at once, try again later";
    assert_eq!(answers, ["250 2.0.0 ok", "250 2.0.0 ok", full]);
    assert_eq!(clients[0].say("RSET"), "250 2.0.0 forgotten");
    assert_eq!(clients[2].mail("a@b", &[UNREACHABLE], "x"), "250 2.0.0 taken as 0000000001");
    server.stop();
}

#[test]
fn settings_that_do_not_go_together() {
    let place = Place::trusting(&[]);
    let refused = |key: &str, value: Option<Value>| {
        let mut settings = place.settings.clone();
        match value {
            Some(value) => settings.set(key, value),
            None => drop(settings.remove(key)),
        }
        Serving::read_table(&settings).expect_err(key).path.join(".")
    };
    assert_eq!(refused("listener", None), "listener");
    assert_eq!(refused("listener", Some(Value::List(vec![]))), "listener");
    let implicit = [("address", text("127.0.0.1:0")), ("implicit_tls", Value::Bool(true))];
    assert_eq!(refused("listener", Some(Value::List(vec![table(&implicit)]))), "certificate");
    assert_eq!(refused("reception", None), "reception.trusted");
    // Limits of which one is within the other.
    let limits = [("strangers", 200), ("strangers", 19), ("neighbours", 51), ("neighbours", 9)];
    let keys = ["strangers", "neighbours", "neighbours", "stranger"];
    for ((key, limit), named) in limits.into_iter().zip(keys) {
        let trusted = Value::List(vec![text("127.0.0.1")]);
        let rules = table(&[("trusted", trusted), (key, Value::Int(limit))]);
        assert_eq!(
            refused("reception", Some(rules)),
            format!("reception.{named}"),
            "{key} {limit}"
        );
    }
    // An address for complaints is of a list's domain, and nothing else's.
    for given in ["fbl@x.example", "news-bounces@lists.example", "Abuse@lists.example"] {
        let trusted = Value::List(vec![text("127.0.0.1")]);
        let rules = [("trusted", trusted), ("complaints", text(given))];
        assert_eq!(refused("reception", Some(table(&rules))), "reception.complaints", "{given}");
    }
    let plain = table(&[("name", text("ann")), ("password", text("secret"))]);
    assert_eq!(refused("user", Some(Value::List(vec![plain]))), "user.[0].password");
    let lists = |names: [&str; 2]| {
        Value::List(names.map(|name| table(&[("bounces", text(name))])).to_vec())
    };
    for names in [["a@x", "A@x"], ["a@x", "a+b@x"], ["a+b=c@x", "a@x"]] {
        let place = refused("list", Some(lists(names)));
        assert!(["list.[0].bounces", "list.[1].bounces"].contains(&&*place), "{names:?} {place}");
    }
    let dkim = [("domain", text("x\r\ny")), ("selector", text("s")), ("key", text("k"))];
    assert_eq!(refused("dkim", Some(Value::List(vec![table(&dkim)]))), "dkim.[0].domain");
}
