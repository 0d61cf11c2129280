//! What this server writes to people.

use sojourn_mail_engine::bounce::{Origin, origin};
use sojourn_mail_engine::list::letter::Letter;
use sojourn_smtp::Address;

#[test]
fn the_question_says_how_to_confirm() {
    let address = |text: &str| text.parse::<Address>().unwrap();
    let (to, from) = (address("ann@x.example"), address("leave@l.example"));
    let confirm = address("leave+t@l.example");
    let letter = Letter { server: "l.example", id: "1", now: 0, from: &from, to: &to };
    let question = |link| letter.asks_to_leave("news.l.example", &confirm, link);
    let text = question(Some("https://l.example/t"));
    // What answers to it has no token.
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("From: <leave@l.example>\r\nTo: <ann@x.example>\r\n"), "{text}");
    assert!(!head.contains("leave+"), "{text}");
    let write = "write to this address, whatever you say:\r\n\r\nmailto:leave+t@l.example\r\n";
    let page = "To confirm, open this page:\r\n\r\nhttps://l.example/t\r\n\r\nor ";
    assert!(body.contains(&format!("{page}{write}")), "{body}");
    assert!(question(None).contains(&format!("To confirm, {write}")));
    for line in text.split_inclusive("\r\n") {
        assert!(line.ends_with("\r\n") && line.len() <= 80, "{line:?}");
    }
    // It is no request itself.
    assert_eq!(origin(text.as_bytes()), Origin::Program);
}

#[test]
fn a_probe_says_why_and_is_no_request() {
    let address = |text: &str| text.parse::<Address>().unwrap();
    let (to, from) = (address("ann@x.example"), address("bounces@l.example"));
    let letter = Letter { server: "l.example", id: "1", now: 0, from: &from, to: &to };
    let text = letter.probes("news.l.example", "550 5.1.1 no such user");
    assert!(
        text.contains("\r\nnews.l.example\r\n") && text.contains("\r\n550 5.1.1 no such user\r\n")
    );
    assert_eq!(origin(text.as_bytes()), Origin::Program);
}
