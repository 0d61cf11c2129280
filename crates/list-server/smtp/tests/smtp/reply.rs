//! Replies, however they are cut, and bytes that are none.

use proptest::prelude::*;
use sojourn_core::Span;
use sojourn_properties::cases;
use sojourn_smtp::{BadReply, Enhanced, Reply, ReplyReader, wait_named};

/// All replies in `bytes`, handed over in pieces of `size`, up to the first that is bad.
fn read(bytes: &[u8], size: usize) -> Vec<Result<Reply, BadReply>> {
    let (mut reader, mut replies) = (ReplyReader::default(), Vec::new());
    for mut piece in bytes.chunks(size) {
        while !piece.is_empty() {
            replies.extend(reader.read(&mut piece).map(|it| it.map(|said| said.reply())));
            if let Some(Err(_)) = replies.last() {
                return replies;
            }
        }
    }
    replies
}

fn one(text: &str) -> Result<Reply, BadReply> {
    let mut replies = read(text.as_bytes(), 4096);
    assert_eq!(replies.len(), 1, "{text:?}");
    replies.remove(0)
}

#[test]
fn replies_by_hand() {
    let reply = one("250 2.1.5 fine\r\n").unwrap();
    let status = Some(Enhanced(2, 1, 5));
    assert_eq!(reply, Reply { code: 250, enhanced: status, lines: vec!["fine".into()] });
    assert_eq!(reply.to_string(), "250 2.1.5 fine");

    let reply = one("550-5.7.1 go\r\n550-5.7.1 away\r\n550 5.7.1\r\n").unwrap();
    assert_eq!(reply.lines, ["go", "away", ""]);
    assert_eq!(reply.to_string(), "550 5.7.1 go away");

    assert_eq!(one("354\r\n").unwrap().lines, [""]);
    assert_eq!(one("220 a line that ends with LF\n").unwrap().code, 220);
    // A status of another class is text; so is what only looks like one.
    assert_eq!(one("250 5.1.1 odd\r\n").unwrap().enhanced, None);
    assert_eq!(one("250 2.1.5.9 odd\r\n").unwrap().lines, ["2.1.5.9 odd"]);
    assert_eq!(one("250 2.1 odd\r\n").unwrap().lines, ["2.1 odd"]);
    assert_eq!(one("250 +2.1.1 odd\r\n").unwrap().enhanced, None);
    // What could forge a line of a log is made harmless.
    assert_eq!(one("250 a\rb\0c\x1b[0m\r\n").unwrap().lines, ["a\u{fffd}b\u{fffd}c\u{fffd}[0m"]);
}

#[test]
fn what_is_no_reply() {
    for (text, why) in [
        ("hello\r\n", BadReply::NoCode),
        ("\r\n", BadReply::NoCode),
        ("25\r\n", BadReply::NoCode),
        ("2x0 ok\r\n", BadReply::NoCode),
        ("150 ok\r\n", BadReply::NoCode),
        ("650 ok\r\n", BadReply::NoCode),
        ("250_ok\r\n", BadReply::NoCode),
        ("2500 ok\r\n", BadReply::NoCode),
        ("250-ok\r\n251 ok\r\n", BadReply::Inconsistent),
    ] {
        assert_eq!(one(text), Err(why), "{text:?}");
    }
}

/// A server cannot make the reader hold more than a bounded number of bytes.
#[test]
fn what_never_ends() {
    assert_eq!(read(&[b'x'; 5000], 100), [Err(BadReply::Endless)]);
    assert_eq!(read(&"250-on and on\r\n".repeat(3000).into_bytes(), 100), [Err(BadReply::Endless)]);
    assert_eq!(read(&"250-\r\n".repeat(3000).into_bytes(), 7), [Err(BadReply::Endless)]);
}

prop_compose! {
    fn reply()(
        code in 200u16..600,
        enhanced in any::<Option<(u16, u16)>>(),
        lines in prop::collection::vec("[ -~]{0,60}", 1..6),
    ) -> Reply {
        let class = (code / 100) as u8;
        let enhanced = enhanced
            .filter(|_| matches!(class, 2 | 4 | 5))
            .map(|(subject, detail)| Enhanced(class, subject % 1000, detail % 1000));
        // Without a status of its own a line must not begin with what looks like one.
        let lines = lines.into_iter().map(|line| format!("a{line}")).collect();
        Reply { code, enhanced, lines }
    }
}

fn written(reply: &Reply) -> String {
    let status = reply.enhanced.map_or(String::new(), |it| format!("{it} "));
    let last = reply.lines.len() - 1;
    let line = |(i, line): (usize, &String)| {
        let hyphen = if i == last { ' ' } else { '-' };
        format!("{}{hyphen}{status}{line}\r\n", reply.code)
    };
    reply.lines.iter().enumerate().map(line).collect()
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn replies_survive_any_cut(
        replies in prop::collection::vec(reply(), 1..5),
        size in 1usize..80,
    ) {
        let text: String = replies.iter().map(written).collect();
        let replies: Vec<_> = replies.into_iter().map(Ok).collect();
        prop_assert_eq!(read(text.as_bytes(), size), replies);
    }

    #[test]
    fn any_bytes_are_read_alike_in_any_pieces(bytes in any::<Vec<u8>>(), size in 1usize..20) {
        prop_assert_eq!(read(&bytes, size), read(&bytes, 4096));
    }

    #[test]
    fn near_misses_are_read_alike_in_any_pieces(
        text in "([2-6][0-9]{2}[- _]?[0-9.]{0,6}[a-z\r]{0,3}\r?\n){0,6}",
        size in 1usize..9,
    ) {
        let bytes = text.as_bytes();
        prop_assert_eq!(read(bytes, size), read(bytes, 4096));
    }
}

#[test]
fn a_wait_is_found_where_one_is_named() {
    for (text, seconds) in [
        ("Greylisted, please try again in 60 seconds", Some(60)),
        ("greylisting in action, retry after 5 minutes.", Some(300)),
        ("You must wait 1 hour", Some(3600)),
        ("Greylisted for 300s", Some(300)),
        ("try again later", None),
        ("in 0 seconds", None),
        ("error in 42 modules", None),
        ("come back in 99999999999999999999 seconds", None),
        ("in 18446744073709551615 hours", None),
        ("over quota by 60 seconds", None),
        ("", None),
    ] {
        assert_eq!(wait_named(text), seconds.map(Span::from_s), "{text}");
    }
}
