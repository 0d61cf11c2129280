//! Texts for hosts that take no octets above 127: what they decode to is what they were.

use mail_parser::{Message, MessageParser, PartType};
use proptest::prelude::*;
use sojourn_mail_engine::list::seven_bit::seven_bit;
use sojourn_properties::cases;

fn converted(text: &str) -> String {
    String::from_utf8(seven_bit(text.as_bytes())).unwrap()
}

#[test]
fn one_part() {
    for (text, expected) in [
        // Nothing to do.
        ("From: a@b\r\n\r\n=\r\n", "From: a@b\r\n\r\n=\r\n"),
        (
            "From: a@b\r\nMIME-Version: 1.0\r\nContent-Type: text/plain;\r\n charset=utf-8\r\n\
             Content-Transfer-Encoding: 8bit\r\nSubject: x\r\n\r\nGrüße von allen = \r\n-- \r\nThe list\r\n",
            "From: a@b\r\nMIME-Version: 1.0\r\nContent-Type: text/plain;\r\n charset=utf-8\r\n\
             Subject: x\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
             Gr=C3=BC=C3=9Fe von allen =3D=20\r\n--=20\r\nThe list\r\n",
        ),
        // Without a word on what it is, and in base64 where that is shorter.
        (
            "From: a@b\r\n\r\nпривет\r\n",
            "From: a@b\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n0L/RgNC40LLQtdGCDQo=\r\n",
        ),
        // A header stays, and so does what says that it is encoded.
        ("Subject: é\r\n\r\nx\r\n", "Subject: é\r\n\r\nx\r\n"),
        (
            "From: a@b\r\nContent-Transfer-Encoding: base64\r\n\r\né\r\n",
            "From: a@b\r\nContent-Transfer-Encoding: base64\r\n\r\né\r\n",
        ),
    ] {
        assert_eq!(converted(text), expected, "{text}");
    }
    let latin = seven_bit(b"From: a@b\r\n\r\nGr\xfc\xdfe from us all\r\n");
    let latin = String::from_utf8(latin).unwrap();
    assert!(latin.contains("\r\nContent-Type: text/plain; charset=unknown-8bit\r\n"), "{latin}");
    assert!(latin.ends_with("\r\n\r\nGr=FC=DFe from us all\r\n"), "{latin}");
}

#[test]
fn parts_of_parts() {
    let text = "From: a@b\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: 8bit\r\n\
        Content-Type: multipart/mixed; boundary=\"o o\"\r\n\r\nPreamble\r\n\
        --o o\r\n\r\nonly ASCII =\r\n\
        --o o\r\nContent-Type: text/html\r\n\r\n<p>some words, and é\r\n\
        --o o\r\nContent-Type: message/rfc822\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\
        From: c@d\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nanother long text, é\r\n\
        --o o\r\nContent-Type: multipart/digest; boundary=d\r\n\r\n\
        --d\r\n\r\nFrom: e@f\r\n\r\nof which one é is all\r\n--d--\r\n\
        --o o--  \r\nEpilogue\r\n";
    let expected = "From: a@b\r\nMIME-Version: 1.0\r\n\
        Content-Type: multipart/mixed; boundary=\"o o\"\r\n\r\nPreamble\r\n\
        --o o\r\n\r\nonly ASCII =\r\n\
        --o o\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
        <p>some words, and =C3=A9\r\n\
        --o o\r\nContent-Type: message/rfc822\r\n\r\n\
        From: c@d\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nanother long text, =C3=A9\r\n\
        --o o\r\nContent-Type: multipart/digest; boundary=d\r\n\r\n\
        --d\r\n\r\nFrom: e@f\r\nMIME-Version: 1.0\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nof which one =C3=A9 is all\r\n--d--\r\n\
        --o o--  \r\nEpilogue\r\n";
    assert_eq!(converted(text), expected);
    // What another server has signed, and what may not be encoded.
    for (name, parameter) in [
        ("multipart/signed", "; boundary=o"),
        ("message/partial", ""),
        ("message/delivery-status", ""),
        ("multipart/mixed", ""),
    ] {
        let text = format!(
            "From: a@b\r\nContent-Type: {name}{parameter}\r\n\r\n--o\r\n\r\nsome words, and é\r\n--o--\r\n"
        );
        assert_eq!(converted(&text), text);
    }
}

/// Thousands of parts in each other take no longer than as many lines, and the deepest stay.
#[test]
fn deep_parts_stay_as_they_are() {
    let open = |n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n");
    let text: String = (0..5000).map(open).collect::<String>() + "\r\nsome words, and é\r\n";
    assert!(converted(&text).ends_with("\r\nsome words, and é\r\n"));
    let text: String = (0..20).map(open).collect::<String>() + "\r\nsome words, and é\r\n";
    assert!(converted(&text).ends_with("\r\nsome words, and =C3=A9\r\n"));
    let message = "Content-Type: message/rfc822\r\n\r\n".repeat(5000) + "\r\né\r\n";
    assert_eq!(converted(&message), message);
}

/// A line that is broken could end its multipart.
#[test]
fn no_line_becomes_a_delimiter() {
    let line = "x".repeat(75) + "--o";
    let text = format!(
        "From: a@b\r\nContent-Type: multipart/mixed; boundary=o\r\n\r\n--o\r\n\r\n{line}\r\né\r\n--o--\r\n"
    );
    let converted = converted(&text);
    assert_eq!(converted.lines().filter(|line| *line == "--o").count(), 1, "{converted}");
    assert_eq!(leaves(&converted), [format!("{line}\r\né").into_bytes()]);
}

/// The contents of all leaf parts, decoded by another program.
fn leaves(text: &str) -> Vec<Vec<u8>> {
    fn add(message: &Message<'_>, all: &mut Vec<Vec<u8>>) {
        for part in &message.parts {
            match &part.body {
                PartType::Multipart(_) => {}
                PartType::Message(message) => add(message, all),
                _ => all.push(part.contents().to_vec()),
            }
        }
    }
    let mut all = Vec::new();
    add(&MessageParser::default().parse(text.as_bytes()).unwrap(), &mut all);
    all
}

/// A part and what is in it; boundaries differ by `number`.
fn part() -> impl Strategy<Value = String> {
    let line = "[ -~]{0,80}|[ -~éüß=\t]{0,90}|[а-я ]{0,40}|--[b-]{0,4}|x{70,80}--b";
    let encodings =
        ["", "Content-Transfer-Encoding: 8bit\r\n", "Content-TRANSFER-encoding:\r\n 7bit\r\n"];
    let types =
        ["", "Content-Type: text/html; charset=utf-8\r\n", "Content-Type: application/x-y\r\n"];
    let leaf = (
        proptest::collection::vec(line, 0..6),
        prop::sample::select(encodings.to_vec()),
        prop::sample::select(types.to_vec()),
    )
        .prop_map(|(lines, encoding, of_type)| {
            format!("{of_type}{encoding}\r\n{}", lines.join("\r\n"))
        });
    leaf.prop_recursive(4, 20, 4, |part| {
        // The other program panics on a message within a message within a multipart.
        let message = part.clone().prop_map(|part| {
            if part.starts_with("Content-Type: message/") {
                return part;
            }
            format!("Content-Type: message/rfc822\r\n\r\nFrom: c@d\r\nMIME-Version: 1.0\r\n{part}")
        });
        let parts = (proptest::collection::vec(part, 1..4), 0..1_000_000u32);
        let multipart = parts.prop_map(|(parts, number)| {
            let parts = parts.iter().map(|part| format!("--=_{number}\r\n{part}\r\n"));
            let parts: String = parts.collect();
            format!(
                "Content-Type: multipart/mixed; boundary=\"=_{number}\"\r\n\r\n{parts}--=_{number}--\r\n"
            )
        });
        prop_oneof![message, multipart]
    })
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn what_is_encoded_decodes_to_what_it_was(part in part()) {
        let text = format!("From: a@b\r\nMIME-Version: 1.0\r\n{part}\r\n");
        let converted = converted(&text);
        prop_assert!(converted.is_ascii(), "{}", converted);
        prop_assert!(converted.ends_with("\r\n") && !converted.contains("\r\r"));
        prop_assert_eq!(leaves(&converted), leaves(&text), "{}", converted);
        prop_assert_eq!(seven_bit(converted.as_bytes()), converted.as_bytes());
    }

    #[test]
    fn whatever_comes_is_bounded(
        text in "((From|Content-Type|Content-Transfer-Encoding): ?[ -~é]{0,9}(multipart/[ms]|8bit|message/rfc822)?(; boundary=b)?\r\n|\r\n|--b-{0,3}\r\n|[é\0-\x7f]{0,5}\r?\n?){0,9}"
    ) {
        let most = 4 * text.len() + 200 * (1 + text.lines().count());
        prop_assert!(seven_bit(text.as_bytes()).len() <= most);
    }
}
