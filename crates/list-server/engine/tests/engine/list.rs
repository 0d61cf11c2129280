//! What a list's mail says of its list.

use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_mail_engine::list::List;
use sojourn_smtp::Address;

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn uris(uris: &[&str]) -> Value {
    Value::List(uris.iter().map(|uri| text(uri)).collect())
}

fn table(settings: &[(&str, Value)]) -> Table {
    let mut table = Table::default();
    table.set("bounces", text("announce-bounces@lists.example"));
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    table
}

fn full() -> List {
    List::read_table(&table(&[
        ("id", text("announce.lists.example")),
        ("name", text("News, \"fit to print\"")),
        ("help", uris(&["mailto:announce-request@lists.example?subject=help"])),
        (
            "unsubscribe",
            uris(&["https://lists.example/leave/{recipient}", "mailto:leave@lists.example"]),
        ),
        ("one_click", Value::Bool(true)),
        ("post", uris(&["NO"])),
        ("archive", uris(&["https://lists.example/archive"])),
    ]))
    .unwrap()
}

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

#[test]
fn fields() {
    let text = b"Subject: x\r\n\r\n";
    assert_eq!(
        full().shared_fields(text, false),
        "List-Id: \"News, \\\"fit to print\\\"\" <announce.lists.example>\r\n\
         List-Help: <mailto:announce-request@lists.example?subject=help>\r\n\
         List-Post: NO\r\n\
         List-Archive: <https://lists.example/archive>\r\n"
    );
    assert_eq!(
        full().own_fields(text, &address("a+b@x.example"), &[]),
        "List-Unsubscribe: <https://lists.example/leave/a%2Bb%40x.example>,\r\n \
         <mailto:leave@lists.example>\r\n\
         List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
    );
    // What the message has already stays as it is.
    let own = b"LIST-ID: <x.y>\r\nList-unsubscribe: <mailto:x@y>\r\nSubject: List-Post:\r\n\r\nList-Help: x\r\n";
    let added = full().shared_fields(own, false);
    let names: Vec<_> = added.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(names, ["List-Help", "List-Post", "List-Archive"]);
    assert_eq!(full().own_fields(own, &address("a@x"), &[]), "");
    // Nothing set, nothing added.
    let bare = List::read_table(&table(&[])).unwrap();
    assert!(!bare.has_own_fields() && bare.shared_fields(b"", false).is_empty());
    // Where all copies are the same, so is how to leave.
    let leave = [("unsubscribe", uris(&["mailto:leave@lists.example"]))];
    let same = List::read_table(&table(&leave)).unwrap().shared_fields(text, false);
    assert_eq!(same, "List-Unsubscribe: <mailto:leave@lists.example>\r\n");
}

/// Links of a recipient's own come first, and bring one click with them.
#[test]
fn links_of_ones_own() {
    let text = b"Subject: x\r\n\r\n";
    let own = ["https://l.example/t".to_owned(), "mailto:leave+t@l.example".to_owned()];
    let list = List::read_table(&table(&[("leave", self::text("leave@lists.example"))])).unwrap();
    assert_eq!(
        list.own_fields(text, &address("a@x.example"), &own),
        "List-Unsubscribe: <https://l.example/t>,\r\n <mailto:leave+t@l.example>\r\n\
         List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
    );
    assert_eq!(
        list.own_fields(text, &address("a@x.example"), &own[1..]),
        "List-Unsubscribe: <mailto:leave+t@l.example>\r\n"
    );
    assert_eq!(list.shared_fields(text, true), "");
    assert_eq!(
        list.shared_fields(text, false),
        "List-Unsubscribe: <mailto:leave@lists.example>\r\n"
    );
    let post = full().own_fields(text, &address("a@x.example"), &own);
    assert_eq!(post.matches("List-Unsubscribe-Post").count(), 1, "{post}");
}

/// Copies of one transaction are the same, and could not name each recipient.
#[test]
fn a_uri_for_each_recipient_needs_a_transaction_for_each() {
    let leave = uris(&["https://lists.example/leave/{recipient}"]);
    let refusal = List::read_table(&table(&[("unsubscribe", leave), ("verp", Value::Bool(false))]));
    assert_eq!(refusal.unwrap_err().path, ["verp"]);
}

#[test]
fn what_cannot_stand_in_a_header_is_refused() {
    for (key, value, path) in [
        ("bounces", text("no address"), "bounces"),
        ("bounces", text("a@b\r\nBcc: c@d"), "bounces"),
        ("id", text("nodots"), "id"),
        ("id", text("a.b>\r\nBcc: x@y"), "id"),
        ("name", text("x"), "id"),
        ("help", uris(&["mailto:a@b\r\nBcc: c@d"]), "help"),
        ("help", uris(&["mailto:a@b\0"]), "help"),
        ("help", uris(&["javascript:alert(1)"]), "help"),
        ("help", uris(&["https://a/>,<https://b/"]), "help"),
        ("owner", uris(&["NO"]), "owner"),
        ("one_click", Value::Bool(true), "one_click"),
    ] {
        let refusal = List::read_table(&table(&[(key, value)])).expect_err(key);
        assert_eq!(refusal.path, [path]);
    }
    let named = [("id", text("a.b")), ("name", text("x\r\nBcc: y@z"))];
    assert_eq!(List::read_table(&table(&named)).unwrap_err().path, ["name"]);
}

/// With VERP a token follows the name: it has room, or the list is refused with a word on why.
#[test]
fn a_return_path_has_room_for_a_token() {
    let of = |name: usize, verp| {
        let bounces = text(&format!("{}@lists.example", "b".repeat(name)));
        List::read_table(&table(&[("bounces", bounces), ("verp", Value::Bool(verp))]))
    };
    assert!(of(31, true).is_ok() && of(64, false).is_ok());
    let refusal = of(32, true).unwrap_err();
    assert_eq!(refusal.path, ["bounces"]);
    let told = format!("{refusal:?}");
    assert!(told.contains("at most 31 octets before the @"), "{told}");
}
