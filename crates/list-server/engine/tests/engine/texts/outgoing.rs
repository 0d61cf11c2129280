//! What a message loses or changes before it is sent.

use sojourn_mail_engine::list::outgoing::{LINE_MAX, without_blind_copies, wrapped};

/// Whether SMTP carries all its lines.
fn is_short(text: &[u8]) -> bool {
    text.split_inclusive(|&it| it == b'\n').all(|it| it.len() <= LINE_MAX + 2)
}

#[test]
fn what_is_short_stays_where_it_is() {
    let text = [b"A: b\r\n\r\n".to_vec(), b"x".repeat(998), b"\r\n".to_vec()].concat();
    let place = text.as_ptr();
    let wrapped = wrapped(text);
    assert!(!wrapped.broken_header && wrapped.text.as_ptr() == place);
    let text = without_blind_copies(wrapped.text);
    assert_eq!(text.as_ptr(), place);
}

#[test]
fn long_lines_of_a_body() {
    let line = "x".repeat(999);
    let of = |body: &str| wrapped(format!("A: b\r\n\r\n{body}\r\ny\r\n").into_bytes());
    let one = of(&line);
    let expected = format!("A: b\r\n\r\n{}\r\n xx\r\ny\r\n", &line[..997]);
    assert_eq!(String::from_utf8(one.text.to_vec()).unwrap(), expected);
    // Cut before a space that is near, and nothing is added.
    let body = format!("{} {}", "x".repeat(950), "y".repeat(200));
    let expected = format!("A: b\r\n\r\n{}\r\n {}\r\ny\r\n", &body[..950], &body[951..]);
    assert_eq!(String::from_utf8(of(&body).text.to_vec()).unwrap(), expected);
    for body in ["x".repeat(1_000_000), "x y".repeat(500_000), " ".repeat(100_000)] {
        let wrapped = of(&body);
        assert!(is_short(&wrapped.text) && !wrapped.broken_header);
        let kept = |text: &str| text.replace([' ', '\r', '\n'], "");
        assert_eq!(
            kept(std::str::from_utf8(&wrapped.text).unwrap()),
            kept(&format!("A: b{body}y"))
        );
    }
}

#[test]
fn characters_stay_whole() {
    for character in ["ä", "€", "😀"] {
        for shift in 0..4 {
            let body = "x".repeat(shift) + &character.repeat(3000);
            let text = wrapped(format!("\r\n{body}\r\n").into_bytes()).text;
            assert!(is_short(&text));
            let text = String::from_utf8(text.to_vec()).expect("no character is cut");
            assert_eq!(text.replace("\r\n ", ""), format!("\r\n{body}\r\n").replace("\r\n ", ""));
        }
    }
    // What is no UTF-8 ends too.
    assert!(is_short(&wrapped([b"\r\n".to_vec(), vec![0x80; 5000]].concat()).text));
}

#[test]
fn long_lines_of_a_header() {
    let words = "word ".repeat(1000);
    let folded = wrapped(format!("Subject: {words}\r\n\r\nx\r\n").into_bytes());
    assert!(is_short(&folded.text) && !folded.broken_header);
    let text = String::from_utf8(folded.text.to_vec()).unwrap();
    // Unfolded it is what it was.
    assert_eq!(text.replace("\r\n ", " "), format!("Subject: {words}\r\n\r\nx\r\n"));
    let token = wrapped(format!("X: {}\r\n\r\nx\r\n", "y".repeat(2000)).into_bytes());
    assert!(is_short(&token.text) && token.broken_header);
    // A text without a header is all body.
    let bare = wrapped(format!("{}\r\n", "x".repeat(2000)).into_bytes());
    assert!(is_short(&bare.text) && !bare.broken_header);
}

#[test]
fn blind_copies_are_taken_out() {
    let text = "From: a@b\r\nBCC: x@y,\r\n z@y\r\nSubject: bcc: n\r\n bcc: m\r\nbcc :\r\n\tw@y\r\n\
        Resent-Bcc: v@y\r\nTo: c@d\r\n\r\nBcc: text\r\n";
    let left = without_blind_copies(text.as_bytes().to_vec());
    assert_eq!(
        std::str::from_utf8(&left).unwrap(),
        "From: a@b\r\nSubject: bcc: n\r\n bcc: m\r\nTo: c@d\r\n\r\nBcc: text\r\n"
    );
    let last = without_blind_copies(b"From: a@b\r\nBcc: x@y\r\n z@y\r\n".to_vec());
    assert_eq!(last, b"From: a@b\r\n");
}
