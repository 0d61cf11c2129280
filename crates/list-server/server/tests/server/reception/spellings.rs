//! Several spellings of one mailbox.

use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::Value;

const LIST: &str = "news-bounces@lists.example";
const MESSAGE: &str = "From: x@lists.example\r\n\r\nx\r\n";

/// Each recipient of a message is answered, and each mailbox gets one copy, as it was first spelled.
#[test]
fn each_mailbox_gets_one_copy() {
    for (protocol, replies) in [("smtp", 1), ("lmtp", 5)] {
        let mut place = Place::trusting(&[]);
        let listener = table(&[("address", text("127.0.0.1:0")), ("protocol", text(protocol))]);
        place.settings.set("listener", Value::List(vec![listener]));
        let server = place.start();
        for list in [LIST, "author@there.example"] {
            let mut client = connect(&server);
            client.hear();
            client.say(if protocol == "lmtp" { "LHLO x" } else { "EHLO x" });
            let spellings = [
                "Ide1@D.example",
                "ide1@d.EXAMPLE",
                "\"ide1\"@d.example",
                "\"i\\de1\"@d.example",
                "Ide2@d.example",
            ];
            client.begin(list, &spellings);
            assert!(client.say("DATA").starts_with("354"));
            client.send(&format!("{MESSAGE}.\r\n"));
            for _ in 0..replies {
                assert!(client.hear().starts_with("250 2.0.0 taken as "));
            }
        }
        server.stop();
        for (stored, _) in place.stored() {
            let recipients = stored.submission.recipients.iter().map(ToString::to_string);
            assert_eq!(recipients.collect::<Vec<_>>(), ["Ide1@d.example", "Ide2@d.example"]);
            assert!(matches!(stored.submission.subscribers.len(), 0 | 2));
        }
    }
}

/// Who has left is not mailed under another spelling, and neither is who is suspended.
#[test]
fn who_has_left_has_left_in_every_spelling() {
    let place = Place::trusting(&[]);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    let people = ["ide1@d.example", "x@xn--bcher-kva.example"];
    assert!(client.mail(LIST, &people, MESSAGE).starts_with("250"));
    let mut book = place.book();
    for left in ["\"IDE1\"@d.example", "x@bücher.example"] {
        assert!(book.leave(&LIST.parse().unwrap(), &left.parse().unwrap(), 1).unwrap());
    }
    client.say(&format!("MAIL FROM:<{LIST}> SMTPUTF8"));
    for spelling in [
        "ide1@d.example",
        "\"ide1\"@D.example",
        "X@XN--bcher-kva.example",
        "x@Bücher.example",
        "x@bu\u{308}cher.example",
    ] {
        let reply = client.say(&format!("RCPT TO:<{spelling}>"));
        assert_eq!(reply, "550 5.7.1 the subscriber has unsubscribed", "{spelling}");
    }
    server.stop();
}
