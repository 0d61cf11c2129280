//! What a subscriber is asked who is said to leave.

use sojourn_mail_engine::bounce::{Origin, origin};
use sojourn_mail_engine::list::leave::Question;
use sojourn_smtp::Address;

#[test]
fn the_question_says_how_to_confirm() {
    let address = |text: &str| text.parse::<Address>().unwrap();
    let (to, from) = (address("ann@x.example"), address("leave@l.example"));
    let confirm = address("leave+t@l.example");
    let question = |link| Question {
        server: "l.example",
        id: "1",
        now: 0,
        list: "news.l.example",
        to: &to,
        from: &from,
        confirm: &confirm,
        link,
    };
    let text = question(Some("https://l.example/t")).write();
    // What answers to it has no token.
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("From: <leave@l.example>\r\nTo: <ann@x.example>\r\n"), "{text}");
    assert!(!head.contains("leave+"), "{text}");
    let write = "write to this address, whatever you say:\r\n\r\nmailto:leave+t@l.example\r\n";
    let page = "To confirm, open this page:\r\n\r\nhttps://l.example/t\r\n\r\nor ";
    assert!(body.contains(&format!("{page}{write}")), "{body}");
    assert!(question(None).write().contains(&format!("To confirm, {write}")));
    for line in text.split_inclusive("\r\n") {
        assert!(line.ends_with("\r\n") && line.len() <= 80, "{line:?}");
    }
    // It is no request itself.
    assert_eq!(origin(text.as_bytes()), Origin::Program);
}
