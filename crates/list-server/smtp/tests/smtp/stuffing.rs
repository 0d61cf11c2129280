//! The message on the wire, beside the obvious way to read it back.

use proptest::prelude::*;
use sojourn_properties::cases;
use sojourn_smtp::{Canonical, Stuffer};

fn canonical(text: &[u8], size: usize) -> (Vec<u8>, bool) {
    let (mut canonical, mut out) = (Canonical::default(), Vec::new());
    text.chunks(size).for_each(|piece| canonical.push(piece, &mut out));
    let eight_bit = canonical.eight_bit;
    canonical.finish(&mut out);
    (out, eight_bit)
}

fn stuffed(text: &[u8], size: usize) -> Vec<u8> {
    let (mut stuffer, mut out) = (Stuffer::default(), Vec::new());
    text.chunks(size).for_each(|piece| stuffer.push(piece, &mut out));
    stuffer.finish(&mut out);
    out
}

/// What a server makes of the bytes after DATA: the message, and what is left for commands.
fn read(wire: &[u8]) -> (Vec<u8>, &[u8]) {
    let (mut rest, mut message) = (wire, Vec::new());
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("a line ends") + 2;
        let (line, after) = rest.split_at(end);
        rest = after;
        match line {
            b".\r\n" => return (message, rest),
            [b'.', line @ ..] => message.extend_from_slice(line),
            line => message.extend_from_slice(line),
        }
    }
}

#[test]
fn by_hand() {
    for (given, wire) in [
        ("", ".\r\n"),
        ("a", "a\r\n.\r\n"),
        (".\n..\n", "..\r\n...\r\n.\r\n"),
        ("a\r\n.\r\nRSET\r\n", "a\r\n..\r\nRSET\r\n.\r\n"),
        // A bare CR or LF around a dot is what smuggles a second message past a server.
        ("a\n.\r\nMAIL", "a\r\n..\r\nMAIL\r\n.\r\n"),
        ("a\r.\rMAIL\r", "a\r\n..\r\nMAIL\r\n.\r\n"),
        ("a\r\r\n\n", "a\r\n\r\n\r\n.\r\n"),
    ] {
        let (text, _) = canonical(given.as_bytes(), 1000);
        assert_eq!(String::from_utf8(stuffed(&text, 1000)).unwrap(), wire, "{given:?}");
    }
    assert!(canonical("é".as_bytes(), 1).1 && !canonical(b"e", 1).1);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_server_reads_what_was_given(text in "[ab.\r\né]{0,60}", pieces in (1usize..9, 1usize..9)) {
        let (message, _) = canonical(text.as_bytes(), pieces.0);
        let wire = stuffed(&message, pieces.1);
        let (read, rest) = read(&wire);
        prop_assert_eq!(&read, &message);
        prop_assert!(rest.is_empty());
        let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
        let ends = if text.is_empty() || text.ends_with(['\r', '\n']) { "" } else { "\n" };
        let given = lines(&text) + ends;
        prop_assert_eq!(lines(std::str::from_utf8(&message).unwrap()), given);
        let count = |wanted: u8| message.iter().filter(|&&byte| byte == wanted).count();
        prop_assert_eq!(count(b'\r'), count(b'\n'));
    }
}
