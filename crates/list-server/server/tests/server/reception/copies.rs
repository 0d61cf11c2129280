//! Copies of a list's message: each recipient's own text, at a host that takes them.

use crate::reception::sink::Sink;
use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::Value;

const BACK: &str = "news-bounces@lists.example";

/// Two recipients in one envelope: each copy names its recipient in the URI to leave, and its
/// signature covers that.
#[test]
fn each_recipient_can_leave_by_one_click() {
    for extensions in [
        "250 hi\r\n",
        "250-hi\r\n250 PIPELINING\r\n",
        "250-hi\r\n250-PIPELINING\r\n250 CHUNKING\r\n",
    ] {
        let sink = Sink::with(extensions);
        let leave = Value::List(vec![text("https://lists.example/leave/{recipient}")]);
        let mut place =
            Place::trusting(&[("unsubscribe", leave), ("one_click", Value::Bool(true))]);
        place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
        let key = format!("{}/tests/keys/ed25519.pem", env!("CARGO_MANIFEST_DIR"));
        let dkim =
            [("domain", text("lists.example")), ("selector", text("s")), ("key", text(&key))];
        place.settings.set("dkim", Value::List(vec![table(&dkim)]));
        let server = place.start();
        let mut client = connect(&server);
        client.hear();
        client.say("EHLO client.example");
        let people = ["ann@[127.0.0.77]", "bob@[127.0.0.77]"];
        let message = "From: news@lists.example\r\nSubject: x\r\n\r\n..dot\r\n";
        assert!(client.mail(BACK, &people, message).starts_with("250"));
        let copies = sink.copies(2);
        for (copy, name) in copies.values().zip(["ann", "bob"]) {
            assert!(copy.path.starts_with("news-bounces+"), "{}", copy.path);
            let (head, body) = copy.text.split_once("\r\n\r\n").unwrap();
            let uri = format!("\r\nList-Unsubscribe: <https://lists.example/leave/{name}%40");
            assert!(head.contains(&uri), "{head}");
            let post = "\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n";
            assert!(head.contains(post), "{head}");
            assert!(head.starts_with("DKIM-Signature: "), "{head}");
            let dots = if extensions.contains("CHUNKING") { ".dot\r\n" } else { "..dot\r\n" };
            assert!(body.starts_with(dots), "{body}");
        }
        server.stop();
    }
}
