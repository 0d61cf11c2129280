//! A message as it is handed over.

use sojourn_list_server::Mail;

#[test]
fn blind_copies_and_long_lines() {
    let long = "y".repeat(1_000_000);
    let given = format!("bcc: a@x\nFrom: b@x\nBcc: c@x,\n\td@x\nResent-BCC : e@x\n\nBcc: {long}");
    let text = Mail::new(None, Vec::new(), given.as_bytes()).text;
    let text = std::str::from_utf8(&text).unwrap();
    assert!(text.starts_with("From: b@x\r\n\r\nBcc: yyy"), "{}", &text[..60]);
    assert!(text.split("\r\n").all(|line| line.len() <= 998));
}
