//! No open relay: what strangers have tried on others.

use super::*;

#[test]
fn strangers_reach_who_is_at_home_and_nobody_else() {
    let refused = "554 5.7.1 mail is not sent on for you";
    let no_address = "501 5.1.3 that is no address";
    for (path, answer) in [
        ("<bounces@here.example>", "250 2.1.5 ok"),
        ("<bounces@HERE.example>", "250 2.1.5 ok"),
        ("<Postmaster>", "250 2.1.5 ok"),
        ("<victim@there.example>", refused),
        ("<off@there.example>", refused),
        ("<other@here.example>", refused),
        // Routes, in all the ways in which addresses have had them.
        ("<@here.example:victim@there.example>", "553 5.1.3 source routes are not followed"),
        ("<@here.example,@x:victim@there.example>", "553 5.1.3 source routes are not followed"),
        ("<victim%there.example@here.example>", refused),
        ("<victim%there.example@[127.0.0.1]>", refused),
        ("<there.example!victim@here.example>", refused),
        ("<there.example!victim>", no_address),
        ("<here.example!there.example!victim@here.example>", refused),
        ("<\"victim@there.example\"@here.example>", refused),
        ("<\"victim%there.example\"@here.example>", refused),
        ("<victim@there.example@here.example>", no_address),
        ("<\"victim@there.example\">", no_address),
        ("<victim@[192.0.2.1]>", refused),
        ("<victim@192.0.2.1>", refused),
        ("<victim>", no_address),
        ("<bounces@here.example.>", no_address),
        ("<bounces@here.example\0.there.example>", ""),
        ("bounces@here.example", "501 5.5.2 an address in <> is expected"),
        (
            "<bounces@here.example> <victim@there.example>",
            "501 5.5.4 a parameter is a keyword, or \
            keyword=value, and given once",
        ),
        ("<<victim@there.example>>", "501 5.5.2 an address in <> is expected"),
        ("<bounces@here.example,victim@there.example>", no_address),
    ] {
        let mut it = Talk::greeted(config(), false);
        assert_eq!(it.say("MAIL FROM:<owner@here.example>"), "250 2.1.0 ok");
        let said = it.say(&format!("RCPT TO:{path}"));
        let answer = if answer.is_empty() {
            "500 5.5.2 a line is text in UTF-8 that ends with CRLF"
        } else {
            answer
        };
        assert_eq!(said, answer, "{path}");
    }
}

/// Who is trusted names recipients as their own hosts do: nothing is rewritten.
#[test]
fn local_parts_are_their_hosts_business() {
    let mut it = Talk::greeted(config(), true);
    it.say("MAIL FROM:<>");
    for path in ["a%b@there.example", "a!b@there.example", "\"a@b\"@there.example"] {
        assert_eq!(it.say(&format!("RCPT TO:<{path}>")), "250 2.1.5 ok");
    }
    assert_eq!(it.say("RCPT TO:<off@there.example>"), "550 5.1.1 suspended");
    assert_eq!(it.say("RCPT TO:<x@here.example>"), "550 5.1.1 unknown");
    it.send("DATA\r\n.\r\n");
    let recipients: Vec<_> = it.arrivals[0].recipients.iter().map(|it| it.as_str()).collect();
    assert_eq!(recipients, ["a%b@there.example", "a!b@there.example", "\"a@b\"@there.example"]);
}

#[test]
fn strangers_are_tired_of_soon() {
    let mut it = Talk::greeted(config(), false);
    it.say("MAIL FROM:<>");
    let said: Vec<_> = (0..20).map(|_| it.say("RCPT TO:<victim@there.example>")).collect();
    assert!(said[..19].iter().all(|said| said == "554 5.7.1 mail is not sent on for you"));
    assert_eq!(said[19], "554 5.7.1 mail is not sent on for you|421 4.7.0 too many errors");
    assert!(it.closed);
}

/// A page in a browser can make it send a form to any port of its own machine, which is trusted.
#[test]
fn browsers_are_no_mailers() {
    let mut it = Talk::new(config(), true);
    let said = it.send("POST / HTTP/1.1\r\nHost: here\r\n\r\nEHLO x\r\nMAIL FROM:<a@b>\r\n");
    assert_eq!(said, "421 4.7.0 this is not HTTP");
    assert!(it.closed);
}

/// Ends of lines that servers differ on hide a second message in the first. The text is over at
/// CRLF . CRLF only, and one with a CR or LF alone is refused, or repaired where that is set, for
/// those who are trusted.
#[test]
fn nothing_is_smuggled() {
    const EVIL: &str = "MAIL FROM:<evil@x>\r\nRCPT TO:<victim@y>\r\nDATA\r\nevil\r\n";
    for end in ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r", "\r.\r\n", "\r\n\0.\r\n"] {
        for (repair, trusted) in [(false, true), (true, true), (true, false)] {
            let mut it = Talk::greeted(SessionConfig { repair, ..config() }, trusted);
            it.send("MAIL FROM:<a@b>\r\nRCPT TO:<bounces@here.example>\r\nDATA\r\n");
            let said = it.send(&format!("one{end}{EVIL}.\r\n"));
            let good = repair && trusted || end.contains('\0');
            let taken = "250 2.1.1 taken";
            let refused = "554 5.6.0 a CR or LF stands alone (RFC 5321 section 2.3.8)";
            assert_eq!(said, if good { taken } else { refused }, "{end:?}");
            assert_eq!(it.arrivals.len(), usize::from(good));
            for arrival in &it.arrivals {
                let text = String::from_utf8(arrival.text.to_vec()).unwrap();
                assert!(text.contains(EVIL), "{text:?}");
                let lone = text.replace("\r\n", "");
                assert!(!lone.contains(['\r', '\n']), "{text:?}");
            }
        }
    }
    // Who ends lines with LF doubles the dots behind it.
    let mut it = Talk::greeted(SessionConfig { repair: true, ..config() }, true);
    it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n");
    it.send("one\n..\n...two\n.\n..\r\n.\r\n");
    assert_eq!(it.arrivals[0].text, b"one\r\n.\r\n..two\r\n\r\n.\r\n");
    // A command that ends with LF alone is none.
    let mut it = Talk::greeted(config(), true);
    assert_eq!(
        it.send("NOOP\nNOOP\r\n"),
        "500 5.5.2 a line is text in UTF-8 that ends with CRLF|250 2.0.0 here"
    );
    assert_eq!(it.send("NOOP\rNOOP\r\n"), "500 5.5.2 a line is text in UTF-8 that ends with CRLF");
}

/// The recipient policy is asked about a network's client, and about a user once the password was
/// right.
#[test]
fn the_policy_knows_who_submits() {
    let peer = Peer { address: [127, 0, 0, 1].into(), trusted: true, secured: false };
    let mut it = Talk::with(SessionConfig { auth: AuthUse::Loopback, ..config() }, peer);
    it.say("EHLO x");
    assert_eq!(it.session.submitter(), Submitter::Network(peer.address));
    it.say("AUTH PLAIN AGFubgB3cm9uZw==");
    assert_eq!(it.session.submitter(), Submitter::Network(peer.address));
    it.say("AUTH PLAIN AGFubgByaWdodA==");
    assert_eq!(it.session.submitter(), Submitter::User("ann"));
    it.say("MAIL FROM:<other@there.example>");
    assert_eq!(it.say("RCPT TO:<users@there.example>"), "550 5.1.1 not as ann");
    assert_eq!(Talk::greeted(config(), false).session.submitter(), Submitter::Untrusted);
}
