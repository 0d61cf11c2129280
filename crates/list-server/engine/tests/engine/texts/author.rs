//! Whom a message names as its authors.

use sojourn_mail_engine::list::author::authors;
use sojourn_smtp::Address;

fn of(field: &str) -> Option<String> {
    let found = authors(format!("To: x@y\r\n{field}\r\n\r\nFrom: body@x\r\n").as_bytes())?;
    Some(found.iter().map(Address::as_str).collect::<Vec<_>>().join(" "))
}

#[test]
fn who_is_named() {
    for (field, expected) in [
        ("From: a@x", "a@x"),
        ("FROM : A B <a@X>", "a@x"),
        ("from:\"a, <b@y> \\\"\" <a@x> (c <d@z>, (e)\\))", "a@x"),
        ("From: a@x,\r\n\t=?utf-8?q?=3Cc=40z=3E?= <b@y>", "a@x b@y"),
        ("From: \"q q\"@x", "\"q q\"@x"),
        ("From: Ä <a@x>", "a@x"),
    ] {
        assert_eq!(of(field).as_deref(), Some(expected), "{field}");
    }
    for field in [
        "Subject: x",
        "From:",
        "From: a@x\r\nFrom: b@x",
        "From: a@x\r\nX: y\r\nfrom : b@x",
        "From: <a@x> <b@y>",
        "From: <a@x> b@y",
        "From: a@x <",
        "From: g: a@x;",
        "From: <@r:a@x>",
        "From: \"a@x",
        "From: (a@x",
        "From: a@x, ",
        "From: a b",
        "From: b@y <a@x>",
    ] {
        assert_eq!(of(field), None, "{field}");
    }
    assert_eq!(of(&format!("From: {}a@x", " \r\n".repeat(5000))), None);
}
