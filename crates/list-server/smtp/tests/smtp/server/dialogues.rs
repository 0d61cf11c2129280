//! Dialogues by hand. `|` stands between lines.

use super::*;

/// What is said, what is answered.
fn talk(talk: &mut Talk, lines: &[(&str, &str)]) {
    for (line, answer) in lines {
        assert_eq!(talk.say(line), *answer, "{line:?}");
    }
}

const MAIL: (&str, &str) = ("MAIL FROM:<owner@list.example>", "250 2.1.0 ok");
const DATA: (&str, &str) = ("DATA", "354 up to a line with a dot");

#[test]
fn a_message() {
    let mut it = Talk::new(config(), true);
    assert_eq!(it.said, "220 here.example ESMTP\r\n");
    let extensions = "250-here.example|250-PIPELINING|250-SIZE 50000000|250-8BITMIME|\
        250-SMTPUTF8|250-ENHANCEDSTATUSCODES|250-STARTTLS|250 CHUNKING";
    talk(
        &mut it,
        &[
            ("EHLO client.example", extensions),
            ("mail from: <Owner@List.Example> size=12 BODY=8bitmime", "250 2.1.0 ok"),
            ("rcpt to:<a@there.example>", "250 2.1.5 ok"),
            ("RCPT TO:<b@there.example>", "250 2.1.5 ok"),
            ("data", "354 up to a line with a dot"),
            ("Subject: x\r\n\r\n..\r\n...a\r\n.b\r\n", ""),
            (".", "250 2.1.1 taken"),
            ("NOOP ?", "250 2.0.0 here"),
            ("QUIT", "221 2.0.0 bye"),
        ],
    );
    assert!(it.closed);
    let [arrival] = &it.arrivals[..] else { panic!("{:?}", it.arrivals) };
    assert_eq!(arrival.sender.as_ref().unwrap().as_str(), "Owner@list.example");
    let recipients: Vec<_> = arrival.recipients.iter().map(|it| it.as_str()).collect();
    assert_eq!(recipients, ["a@there.example", "b@there.example"]);
    assert_eq!(arrival.text, b"Subject: x\r\n\r\n.\r\n..a\r\nb\r\n\r\n");
}

#[test]
fn a_message_in_one_piece() {
    let mut it = Talk::new(config(), true);
    let all = "EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nRCPT TO:<>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n";
    let said = it.send(all);
    let ends = "250 2.1.0 ok|250 2.1.5 ok|501 5.1.3 that is no address|354 up to a line with a \
        dot|250 2.1.1 taken|221 2.0.0 bye";
    assert!(said.ends_with(ends), "{said}");
    assert_eq!((it.arrivals[0].sender.clone(), &*it.arrivals[0].text), (None, &b"x\r\n"[..]));
}

#[test]
fn chunks() {
    let mut it = Talk::greeted(config(), true);
    talk(&mut it, &[MAIL, ("RCPT TO:<a@b>", "250 2.1.5 ok")]);
    assert_eq!(it.send("BDAT 5\r\n.\r\nAB"), "250 2.0.0 ok");
    assert_eq!(it.say("DATA"), "503 5.5.1 BDAT has begun");
    assert_eq!(it.say("RCPT TO:<c@d>"), "503 5.5.1 after MAIL, before the text");
    let mut it = Talk::greeted(config(), true);
    talk(&mut it, &[MAIL, ("RCPT TO:<a@b>", "250 2.1.5 ok")]);
    assert_eq!(
        it.send("BDAT 5\r\n.\r\nABBDAT 0\r\nBDAT 5 LAST\r\nC\r\nÄNOOP\r\n"),
        "250 2.0.0 ok|250 2.0.0 ok|250 2.1.1 taken|250 2.0.0 here"
    );
    // The last line had no end.
    assert_eq!(it.arrivals[0].text, ".\r\nABC\r\nÄ\r\n".as_bytes());
    // What is refused is passed over, not taken for commands.
    assert_eq!(
        it.send("BDAT 6 LAST\r\nQUIT\r\nNOOP\r\n"),
        "503 5.5.1 MAIL comes first|250 2.0.0 here"
    );
    assert_eq!(it.say("BDAT x"), "501 5.5.4 a size is expected|421 4.7.0 lost count");
    assert!(it.closed);
}

#[test]
fn order_matters() {
    let mut it = Talk::new(config(), true);
    talk(
        &mut it,
        &[
            ("MAIL FROM:<>", "503 5.5.1 say who you are first"),
            ("LHLO x", "500 5.5.1 the command is not known"),
            ("EHLO", "501 5.5.4 a name is expected"),
            ("EHLO a(b", "501 5.5.4 a name is expected"),
            ("HELO client", "250 here.example"),
            ("RCPT TO:<a@b>", "503 5.5.1 after MAIL, before the text"),
            ("DATA", "503 5.5.1 MAIL comes first"),
            MAIL,
            ("MAIL FROM:<x@y>", "503 5.5.1 a message is under way"),
            ("DATA", "503 5.5.1 there is no recipient"),
            ("RSET", "250 2.0.0 forgotten"),
            ("RCPT TO:<a@b>", "503 5.5.1 after MAIL, before the text"),
            ("DATA now", "501 5.5.4 the command stands alone"),
            ("EXPN list", "500 5.5.1 the command is not known"),
            ("VRFY root", "252 2.0.0 RCPT will tell"),
            ("HELP", "214 2.0.0 see RFC 5321"),
        ],
    );
}

#[test]
fn parameters() {
    let mut it = Talk::greeted(config(), true);
    talk(
        &mut it,
        &[
            ("MAIL FROM:<a@b> SIZE=50000001", "552 5.3.4 the message is too large"),
            ("MAIL FROM:<a@b> SIZE=99999999999999999999", "552 5.3.4 the message is too large"),
            ("MAIL FROM:<a@b> SIZE=+1", "501 5.5.4 the parameter has another value"),
            ("MAIL FROM:<a@b> BODY=BINARYMIME", "501 5.5.4 the parameter has another value"),
            ("MAIL FROM:<a@b> RET=FULL", "555 5.5.4 a parameter is not known"),
            ("MAIL FROM:<é@b>", "553 5.6.7 the address needs SMTPUTF8"),
            ("MAIL FROM:<postmaster>", "501 5.1.7 that is no address"),
            ("MAIL FROM:<a@b>", "250 2.1.0 ok"),
            ("RCPT TO:<é@b>", "553 5.6.7 the address needs SMTPUTF8"),
            ("RCPT TO:<a@b> NOTIFY=NEVER", "555 5.5.4 a parameter is not known"),
            ("RSET", "250 2.0.0 forgotten"),
            ("MAIL FROM:<é@b> SMTPUTF8 AUTH=<>", "250 2.1.0 ok"),
            ("RCPT TO:<ü@b>", "250 2.1.5 ok"),
        ],
    );
}

#[test]
fn lmtp_answers_for_each_recipient() {
    let mut it = Talk::new(lmtp(), true);
    assert_eq!(it.said, "220 here.example LMTP\r\n");
    assert_eq!(it.say("EHLO x"), "500 5.5.1 the command is not known");
    it.say("LHLO x");
    talk(
        &mut it,
        &[
            MAIL,
            ("RCPT TO:<a@b>", "250 2.1.5 ok"),
            ("RCPT TO:<bad>", "501 5.1.3 that is no address"),
            ("RCPT TO:<c@d>", "250 2.1.5 ok"),
            DATA,
            (".", "250 2.1.1 taken|250 2.1.1 taken"),
            MAIL,
            ("RCPT TO:<a@b>", "250 2.1.5 ok"),
            ("RCPT TO:<c@d>", "250 2.1.5 ok"),
        ],
    );
    assert_eq!(it.send("BDAT 2\r\n\r\n"), "250 2.0.0 ok");
    let bare = "554 5.6.0 a CR or LF stands alone (RFC 5321 section 2.3.8)";
    assert_eq!(it.send("BDAT 1 LAST\r\n\n"), format!("{bare}|{bare}"));
    assert_eq!(it.arrivals[0].text, b"");
}

#[test]
fn passwords() {
    let plain = "AUTH PLAIN AGFubgByaWdodA=="; // NUL ann NUL right
    let mut it = Talk::greeted(config(), false);
    assert_eq!(it.say(plain), "538 5.7.11 a password needs TLS");
    assert_eq!(it.say("STARTTLS"), "220 2.0.0 go on");
    // All that was said in plain text is forgotten.
    assert_eq!(it.say("MAIL FROM:<>"), "503 5.5.1 say who you are first");
    let extensions = it.say("EHLO client.example");
    assert!(extensions.contains("250-AUTH PLAIN LOGIN") && !extensions.contains("STARTTLS"));
    talk(
        &mut it,
        &[
            ("STARTTLS", "502 5.5.1 STARTTLS is not offered"),
            MAIL,
            ("RCPT TO:<a@b>", "530 5.7.0 a password is needed"),
            (plain, "503 5.5.1 once, after EHLO and before MAIL"),
            ("RSET", "250 2.0.0 forgotten"),
            ("AUTH CRAM-MD5", "504 5.5.4 PLAIN and LOGIN are known"),
            ("AUTH PLAIN", "334 "),
            ("*", "501 5.7.0 cancelled"),
            ("AUTH PLAIN =", "501 5.5.2 no answer to that challenge"),
            ("AUTH PLAIN !", "501 5.5.2 no answer to that challenge"),
            ("AUTH PLAIN AGFubg==AHJpZ2h0", "501 5.5.2 no answer to that challenge"),
            // bob NUL ann NUL right: acting for another.
            ("AUTH PLAIN Ym9iAGFubgByaWdodA==", "501 5.5.2 no answer to that challenge"),
            ("AUTH PLAIN AGFubgB3cm9uZw==", "535 5.7.8 the name or the password is wrong"),
            ("AUTH LOGIN", "334 VXNlcm5hbWU6"),
            ("YW5u", "334 UGFzc3dvcmQ6"),
            ("cmlnaHQ=", "235 2.7.0 welcome"),
            (plain, "503 5.5.1 once, after EHLO and before MAIL"),
            MAIL,
            ("RCPT TO:<a@b>", "250 2.1.5 ok"),
            DATA,
            (".", "250 2.1.1 taken"),
        ],
    );
    assert_eq!(it.session.user(), Some("ann"));
    assert_eq!(it.session.trace(false).protocol, "ESMTPSA");

    let mut it = Talk::greeted(config(), false);
    it.say("STARTTLS");
    it.say("EHLO x");
    it.say("AUTH LOGIN eA==");
    it.say("eA==");
    it.say("AUTH LOGIN eA==");
    it.say("eA==");
    it.say("AUTH LOGIN eA==");
    let last = "535 5.7.8 the name or the password is wrong|421 4.7.0 too many wrong passwords";
    assert_eq!(it.say("eA=="), last);
    assert!(it.closed);
}

#[test]
fn passwords_in_plain_text_from_loopback_only() {
    for (address, auth, offered) in [
        ([127, 0, 0, 1], AuthUse::Loopback, true),
        ([127, 0, 0, 1], AuthUse::Tls, false),
        ([127, 0, 0, 1], AuthUse::Never, false),
        ([192, 0, 2, 1], AuthUse::Loopback, false),
    ] {
        let peer = Peer { address: address.into(), trusted: false, secured: false };
        let mut it = Talk::with(SessionConfig { auth, ..config() }, peer);
        assert_eq!(it.say("EHLO x").contains("AUTH"), offered, "{address:?}, {auth:?}");
    }
}

/// Commands slipped in behind STARTTLS in plain text are not obeyed under TLS.
#[test]
fn nothing_is_injected_before_tls() {
    let mut it = Talk::greeted(config(), true);
    let said = it.send("STARTTLS\r\nEHLO evil\r\nMAIL FROM:<a@b>\r\n");
    assert_eq!(said, "220 2.0.0 go on");
    assert_eq!(it.say("MAIL FROM:<a@b>"), "503 5.5.1 say who you are first");
}

#[test]
fn the_line_above_the_message() {
    let mut it = Talk::greeted(config(), true);
    talk(&mut it, &[MAIL]);
    let trace = it.session.trace(true);
    assert_eq!(
        trace.received("here.example", "Sun, 22 Nov 2026 07:00:00 +0000"),
        "Received: from client.example ([192.0.2.7])\r\n\tby here.example with UTF8SMTP;\r\n\t\
            Sun, 22 Nov 2026 07:00:00 +0000\r\n"
    );
}
