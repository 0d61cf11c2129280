//! What a message gets that its submitter left out.

use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::Value;

const LIST: &str = "news-bounces@lists.example";

/// Mail that is submitted has a date and an identity, once; what comes from others stays as it is.
#[test]
fn submitted_mail_is_completed() {
    let place = Place::trusting(&[]);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    let dated = "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\nmessage-id : <x@y>\r\n";
    for from in ["author@there.example", LIST] {
        for fields in ["", dated] {
            let message = format!("From: x@there.example\r\n{fields}Subject: x\r\n\r\nx\r\n");
            assert!(client.mail(from, &["a@[127.0.0.77]"], &message).starts_with("250"));
        }
    }
    server.stop();
    let texts: Vec<String> = place.stored().into_iter().map(|(_, text)| text).collect();
    let mut identities = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        let named = |name: &str| {
            let lines = text.lines().filter(|line| line.to_lowercase().starts_with(name));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (date, identity) = (named("date"), named("message-id"));
        assert_eq!((date.len(), identity.len()), (1, 1), "{text}");
        let is_completed = place % 2 == 0;
        assert_eq!(date[0].contains(" 1970 "), !is_completed, "{text}");
        if is_completed {
            assert!(identity[0].ends_with("@lists.example>"), "{text}");
            identities.extend(identity);
        }
    }
    assert_eq!(identities.len(), 2);
    assert_ne!(identities[0], identities[1]);
}

/// A stranger's message for the postmaster passes as it came.
#[test]
fn mail_of_strangers_is_not_completed() {
    let mut place = Place::trusting(&[]);
    let others = Value::List(vec![text("192.0.2.0/24")]);
    place.settings.set("reception", table(&[("trusted", others)]));
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    let message = "From: x@there.example\r\n\r\nx\r\n";
    let reply = client.mail("x@there.example", &["postmaster@lists.example"], message);
    assert!(reply.starts_with("250"), "{reply}");
    server.stop();
    let (_, text) = &place.stored()[0];
    assert!(!text.contains("Date:") && !text.contains("Message-ID:"), "{text}");
}
