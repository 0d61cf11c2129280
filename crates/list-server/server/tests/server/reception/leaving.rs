//! Leaving a list, and the mailboxes that every domain has.

use crate::reception::sink::Sink;
use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::Value;
use sojourn_list_server::ListServer;
use sojourn_mail_engine::Stored;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const LIST: &str = "news-bounces@lists.example";
const LEAVE: &str = "news-leave@lists.example";
const ANN: &str = "ann@[127.0.0.77]";

/// A list that can be left by mail and by one click.
fn stage_settings() -> Place {
    let mut place = Place::trusting(&[("leave", text(LEAVE))]);
    let endpoint = [
        ("url", text("https://lists.example/leave")),
        ("address", text("127.0.0.1:0")),
        ("tls", Value::Bool(false)),
    ];
    place.settings.set("unsubscribe", table(&endpoint));
    place
}

/// The same with Ann as its only subscriber.
fn stage() -> (Place, ListServer) {
    let place = stage_settings();
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    client.mail(LIST, &[ANN], "Subject: news\r\n\r\nx");
    (place, server)
}

/// Sends a message that says it is from `from`; the reply.
fn write_to(server: &ListServer, from: &str, to: &str, extra: &str) -> String {
    let mut client = connect(server);
    client.hear();
    client.say("EHLO client.example");
    let message = format!("From: {from}\r\nTo: <{to}>\r\n{extra}\r\nunsubscribe");
    client.mail("someone@elsewhere.example", &[to], &message)
}

/// Whether Ann is refused as one who has left.
fn has_left(server: &ListServer) -> bool {
    let mut client = connect(server);
    client.hear();
    client.say("EHLO client.example");
    client.say(&format!("MAIL FROM:<{LIST}>"));
    let reply = client.say(&format!("RCPT TO:<{ANN}>"));
    let left = reply == "550 5.7.1 the subscriber has unsubscribed";
    assert!(left || reply == "250 2.1.5 ok", "{reply}");
    left
}

/// What of `text` stands between two others.
fn part<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let begin = text.find(before).unwrap_or_else(|| panic!("{text}")) + before.len();
    &text[begin..][..text[begin..].find(after).expect("it ends")]
}

/// The message that asks Ann to confirm, in parts.
struct Question {
    from: String,
    /// The address and the link by which she can.
    confirm: String,
    link: String,
}

/// The one that was sent; to be called when the server has stopped.
fn question(place: &Place) -> Question {
    let asks = |it: &(Stored, String)| it.1.contains("Subject: Do you want to unsubscribe?");
    let asked: Vec<_> = place.stored().into_iter().filter(asks).collect();
    let [(stored, text)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(stored.submission.recipients, [ANN.parse().unwrap()]);
    assert_eq!(stored.submission.sender, None);
    let from = part(text, "From: <", ">").to_owned();
    let confirm = part(text, "mailto:", "\r\n").to_owned();
    let link = part(text, "https://lists.example", "\r\n").to_owned();
    assert!(link.starts_with("/leave/news-bounces@lists.example/"), "{link}");
    Question { from, confirm, link }
}

fn post(server: &ListServer, path: &str) -> String {
    let mut stream = TcpStream::connect(server.unsubscribe.unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let body = "List-Unsubscribe=One-Click";
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: lists.example\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A request without a token is confirmed first, if it is a subscriber's, and each subscriber is
/// asked once a day.
#[test]
fn a_request_by_mail_is_confirmed() {
    let (place, server) = stage();
    for (from, extra) in [
        ("stranger@[127.0.0.77]", ""),
        (ANN, "Auto-Submitted: auto-replied\r\n"),
        ("\"Ann\" <ann@[127.0.0.77]>", ""),
        (ANN, ""),
    ] {
        assert_eq!(write_to(&server, from, LEAVE, extra), "250 2.0.0 taken");
    }
    assert!(!has_left(&server));
    server.stop();
    let Question { from, confirm, .. } = question(&place);
    let server = place.start();
    // A program that answers, and does not say that it is one, confirms nothing.
    assert_eq!(write_to(&server, ANN, &from, "Subject: Away\r\n"), "250 2.0.0 taken");
    assert!(!has_left(&server));
    let (name, token) = confirm.split_once('+').unwrap();
    let other = if token.starts_with('a') { "b" } else { "a" };
    let forged = format!("{name}+{other}{}", &token[1..]);
    assert_eq!(write_to(&server, ANN, &forged, ""), "250 2.0.0 taken");
    assert!(!has_left(&server));
    // The token is enough, from another address and in other letters.
    let upper = confirm.to_ascii_uppercase();
    assert_eq!(write_to(&server, "me@other.example", &upper, ""), "250 2.0.0 taken");
    assert!(has_left(&server));
    server.stop();
    let told = place.ear.0.lock().unwrap().join("\n");
    let left = "left: list=<news-bounces@lists.example>, to=<ann@[127.0.0.77]>";
    assert_eq!(told.matches(left).count(), 1, "{told}");
}

/// A link unsubscribes by a POST, as often as it is sent (RFC 8058).
#[test]
fn one_click_unsubscribes() {
    let (place, server) = stage();
    write_to(&server, ANN, LEAVE, "");
    server.stop();
    let Question { link, .. } = question(&place);
    let server = place.start();
    assert!(post(&server, &link[..link.len() - 1]).starts_with("HTTP/1.1 404 "));
    assert!(post(&server, &link.replace("news-", "olds-")).starts_with("HTTP/1.1 404 "));
    assert!(!has_left(&server));
    for _ in 0..2 {
        assert!(post(&server, &link).starts_with("HTTP/1.1 200 "));
        assert!(has_left(&server));
    }
    // A list manager's operator may take it back.
    assert_eq!(place.book().left().unwrap().len(), 1);
    assert!(place.book().resume(&[(LIST.parse().unwrap(), ANN.parse().unwrap())]).unwrap() == 1);
    assert!(!has_left(&server));
    server.stop();
}

/// The link and the address in a copy are the recipient's own: they unsubscribe that one, whoever
/// else is in the envelope.
#[test]
fn each_copy_has_links_of_its_own() {
    let sink = Sink::open();
    let mut place = stage_settings();
    place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    client.mail(LIST, &[ANN, "bob@[127.0.0.77]"], "Subject: news\r\n\r\nx");
    let copies = sink.copies(2);
    let link = |who: &str| {
        let copy = &copies[who].text;
        assert!(
            copy.contains("\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"),
            "{copy}"
        );
        let field = part(copy, "List-Unsubscribe: <https://lists.example", ">\r\n");
        let (link, leave) = field.split_once(">,\r\n <mailto:").expect(field);
        assert!(leave.starts_with("news-leave%2B") && leave.ends_with("@lists.example"), "{leave}");
        (link.to_owned(), leave.replace("%2B", "+"))
    };
    let (ann, bob) = (link(ANN), link("bob@[127.0.0.77]"));
    assert!(ann.0 != bob.0 && ann.1 != bob.1);
    assert!(post(&server, &bob.0).starts_with("HTTP/1.1 200 "));
    assert!(!has_left(&server));
    // The return path's token is for bounces alone.
    let (_, bounce) = copies[ANN].path.split_once(['+', '@']).unwrap();
    let forged =
        ann.0.replace(ann.0.rsplit('/').next().unwrap(), bounce.split('@').next().unwrap());
    assert!(post(&server, &forged).starts_with("HTTP/1.1 404 "));
    assert_eq!(write_to(&server, "any@other.example", &ann.1, ""), "250 2.0.0 taken");
    assert!(has_left(&server));
    server.stop();
    assert_eq!(place.book().left().unwrap().len(), 2);
}

/// Every domain of a list has a postmaster and a mailbox for abuse (RFC 5321 section 4.5.1, RFC
/// 2142 section 2).
#[test]
fn roles_are_read() {
    let (place, server) = stage();
    for role in ["postmaster@lists.example", "Abuse@lists.example", "POSTMASTER"] {
        let reply = write_to(&server, "x@y.example", role, "");
        assert!(reply.starts_with("250 2.0.0 taken"), "{role}: {reply}");
    }
    server.stop();
    let admin = "admin@[127.0.0.77]".parse().unwrap();
    let is_admins = |it: &&(Stored, String)| it.0.submission.recipients[0] == admin;
    assert_eq!(place.stored().iter().filter(is_admins).count(), 3);
}
