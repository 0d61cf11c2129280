//! What a session may take of memory and time.

use super::*;
use sojourn_core::units::Bytes;
use sojourn_smtp::server::{Bounds, Stage, Stress};
use std::num::NonZeroU32;

fn small() -> SessionConfig {
    let bounds = Bounds { message: Bytes(1000), ..config().bounds };
    SessionConfig { bounds, ..config() }
}

fn begun(config: SessionConfig) -> Talk {
    let mut it = Talk::greeted(config, true);
    it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n");
    it
}

#[test]
fn a_large_message_is_refused_and_not_kept() {
    let mut it = begun(small());
    it.say("DATA");
    for _ in 0..1000 {
        assert_eq!(it.say(&"x".repeat(998)), "");
        assert!(it.session.occupied() < 4096, "{}", it.session.occupied());
    }
    assert_eq!(it.say("."), "552 5.3.4 the message is too large");
    // Exactly as large as it may be.
    it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n");
    assert_eq!(it.say(&format!("{}\r\n.", "x".repeat(998))), "250 2.1.1 taken");
    assert_eq!(it.arrivals[0].text.len(), 1000);
    // In chunks.
    it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n");
    assert_eq!(it.say("BDAT 1003\r\n{}",).as_str(), "");
    assert_eq!(it.send(&"x".repeat(999)), "552 5.3.4 the message is too large");
    assert_eq!(it.send("BDAT 2 LAST\r\n\r\n"), "503 5.5.1 MAIL comes first");
}

#[test]
fn a_line_without_end_is_not_kept() {
    let mut it = Talk::greeted(config(), true);
    let most = "NOOP ".to_owned() + &"x".repeat(12_288 - 7);
    assert_eq!(it.say(&most), "250 2.0.0 here");
    assert_eq!(it.send(&"x".repeat(12_288)), "");
    // The session ends at the limit, not with the line's end.
    let ends = "500 5.5.6 the line is too long|421 4.7.0 the session ends";
    assert_eq!((it.send("x").as_str(), it.closed), (ends, true));
    assert_eq!((it.send("x\r\nNOOP\r\n").as_str(), it.session.occupied()), ("", 0));
    // The same where a password is awaited.
    let peer = Peer { address: [192, 0, 2, 7].into(), trusted: false, secured: true };
    let mut it = Talk::with(config(), peer);
    it.send("EHLO x\r\nAUTH PLAIN\r\n");
    assert_eq!((it.send(&"x".repeat(12_289)).as_str(), it.closed), (ends, true));
    // In a message lines may be as long as they are.
    let mut it = Talk::greeted(config(), true);
    it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n");
    assert_eq!(it.say(&format!("{}\r\n.", "x".repeat(1_000_000))), "250 2.1.1 taken");
}

#[test]
fn thousands_of_recipients() {
    let mut config = config();
    config.bounds.recipients = NonZeroU32::new(20_000).unwrap();
    let mut it = Talk::greeted(config, true);
    it.say("MAIL FROM:<a@b>");
    for i in 0..20_000 {
        assert_eq!(it.say(&format!("RCPT TO:<subscriber-{i}@there.example>")), "250 2.1.5 ok");
    }
    assert_eq!(it.say("RCPT TO:<x@y>"), "452 4.5.3 too many recipients in one message");
    assert_eq!(it.send("DATA\r\nx\r\n.\r\n"), "354 up to a line with a dot|250 2.1.1 taken");
    assert_eq!(it.arrivals[0].recipients.len(), 20_000);
    // A stranger has a hundred.
    let mut it = Talk::greeted(super::config(), false);
    it.say("MAIL FROM:<>");
    for _ in 0..100 {
        assert_eq!(it.say("RCPT TO:<bounces@here.example>"), "250 2.1.5 ok");
    }
    assert_eq!(it.say("RCPT TO:<x@y>"), "452 4.5.3 too many recipients in one message");
    assert!(!it.closed);
}

/// A stranger who goes on after the hundredth recipient, or where there is no memory, is at fault.
#[test]
fn a_stranger_names_no_recipients_without_end() {
    for full in [false, true] {
        let mut it = Talk::greeted(super::config(), false);
        it.say("MAIL FROM:<>");
        (0..100).for_each(|_| drop(it.say("RCPT TO:<bounces@here.example>")));
        if full {
            it.session.shed();
        }
        let said: Vec<_> = (0..20).map(|_| it.say("RCPT TO:<bounces@here.example>")).collect();
        assert!(said[..19].iter().all(|said| said.starts_with("452 ") && !said.contains('|')));
        assert!(said[19].ends_with("|421 4.7.0 too many errors") && it.closed, "{}", said[19]);
    }
}

/// How often a server added its line is looked for where servers add lines, and not in 50 MB.
#[test]
fn circles_are_looked_for_on_top() {
    let mut it = begun(config());
    let below = format!("{}{}", "a:b\r\n".repeat(210_000), "Received: x\r\n".repeat(101));
    assert!(it.send(&format!("DATA\r\n{below}\r\n.\r\n")).ends_with("|250 2.1.1 taken"));
}

/// Who has yet to log in at a port for submission has little time, which becomes less under stress,
/// and gives way whatever it says.
#[test]
fn who_has_yet_to_log_in() {
    const LATE: &str = "421 4.4.2 this takes too long";
    let s = Span::from_s;
    let at = |trusted| {
        let config = SessionConfig { submission: true, ..super::config() };
        let peer = Peer { address: [192, 0, 2, 7].into(), trusted, secured: true };
        let mut it = Talk::with(config, peer);
        it.say("EHLO x");
        it
    };
    for (stress, seconds) in [(Stress::NONE, 300), (Stress::of(10, 10), 10)] {
        for logs_in in [false, true] {
            let mut it = at(false);
            it.session.set_stress(stress);
            assert_eq!(it.wait(s(seconds / 2)), "");
            if logs_in {
                assert!(it.say("AUTH PLAIN AGFubgByaWdodA==").starts_with("235 "));
            }
            it.say("MAIL FROM:<>");
            assert_eq!(it.session.stage().0, if logs_in { Stage::Busy } else { Stage::Idle });
            it.say("RCPT TO:<bounces@here.example>");
            it.say("DATA");
            assert_eq!(it.session.stage().0, if logs_in { Stage::Busy } else { Stage::Idle });
            it.send("x\r\n");
            let expected = if logs_in { "" } else { LATE };
            assert_eq!(it.wait(s(seconds - seconds / 2 - 1)), "");
            it.hear(b"x");
            assert_eq!(it.wait(s(1)), expected);
        }
    }
    let mut it = at(true);
    it.say("MAIL FROM:<>");
    assert_eq!(it.session.stage().0, Stage::Busy);
}

/// An unauthenticated client's text counts from its last octet; a session before its text gives way.
#[test]
fn what_gives_way() {
    let s = |seconds| Time::ZERO + Span::from_s(seconds);
    let mut it = Talk::greeted(super::config(), false);
    assert_eq!(it.session.stage().0, Stage::Idle);
    it.say("MAIL FROM:<>");
    it.say("RCPT TO:<bounces@here.example>");
    assert_eq!(it.session.stage(), (Stage::Begun, Time::ZERO));
    it.wait(Span::from_s(5));
    it.say("DATA");
    assert_eq!(it.session.stage(), (Stage::Text, s(5)));
    it.wait(Span::from_s(1));
    assert_eq!(it.session.stage(), (Stage::Text, s(5)));
    it.send("x");
    assert_eq!(it.session.stage(), (Stage::Text, s(6)));
    it.say("\r\n.");
    assert_eq!(it.session.stage().0, Stage::Idle);
    it.say("MAIL FROM:<>");
    it.say("RCPT TO:<bounces@here.example>");
    it.send("BDAT 5\r\nab");
    assert_eq!(it.session.stage(), (Stage::Text, s(6)));
    it.wait(Span::from_s(1));
    it.send("cde");
    assert_eq!(it.session.stage(), (Stage::Text, s(7)));
    // An empty chunk is nothing of a text, and a detour.
    it.wait(Span::from_s(1));
    let detours = super::config().bounds.detours.get();
    for _ in 0..detours {
        assert_eq!(it.say("BDAT 0"), "250 2.0.0 ok");
    }
    assert_eq!(it.session.stage(), (Stage::Text, s(7)));
    assert!(it.say("BDAT 0").starts_with("421 4.7.0 this leads nowhere"));
}

#[test]
fn circles() {
    let mut it = begun(config());
    let line = "Received: from x\r\n\tby y; now\r\n";
    let message = |lines| format!("DATA\r\n{}\r\nReceived: no header\r\n.\r\n", line.repeat(lines));
    assert_eq!(
        it.send(&message(101)).split('|').nth(1).unwrap(),
        "554 5.4.6 the message goes round in circles"
    );
    it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n");
    assert_eq!(it.send(&message(100)).split('|').nth(1).unwrap(), "250 2.1.1 taken");
}

#[test]
fn a_message_is_given_up_for_memory() {
    let mut it = begun(config());
    it.send(&format!("DATA\r\n{}", "x".repeat(10_000)));
    assert!(it.session.occupied() > 10_000);
    it.session.shed();
    assert!(it.session.occupied() < 1000);
    assert_eq!(
        it.say(&format!("{}\r\n.", "x".repeat(10_000))),
        "452 4.3.1 too many messages at once, try again later"
    );
    assert_eq!(it.say("NOOP"), "250 2.0.0 here");
}

#[test]
fn recipients_are_given_up_for_memory() {
    let mut it = begun(config());
    assert_eq!(it.say("RCPT TO:<e@f>"), "250 2.1.5 ok");
    it.session.shed();
    let full = "452 4.3.1 too many messages at once, try again later";
    assert_eq!(it.say("RCPT TO:<g@h>"), full);
    // Those who have a place keep it.
    assert_eq!(it.send("DATA\r\nx\r\n.\r\n"), "354 up to a line with a dot|250 2.1.1 taken");
    assert_eq!(it.arrivals[0].recipients.len(), 2);
    it.say("MAIL FROM:<a@b>");
    assert_eq!(it.say("RCPT TO:<g@h>"), "250 2.1.5 ok");
}

#[test]
fn commands_that_lead_nowhere() {
    let mut it = begun(config());
    let nowhere = ["NOOP", "EHLO x", "RSET", "VRFY x", "HELP"];
    for round in 0..2 {
        // One EHLO was said before.
        for i in usize::from(round == 0)..100 {
            it.say(nowhere[i % nowhere.len()]);
            assert!(!it.closed);
        }
        if round == 0 {
            it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nx\r\n.\r\n");
        }
    }
    assert_eq!((it.say("NOOP").as_str(), it.closed), ("421 4.7.0 this leads nowhere", true));
}

/// AUTH leads to no message, and who gives it up is at fault.
#[test]
fn logins_that_lead_nowhere() {
    let peer = Peer { address: [192, 0, 2, 7].into(), trusted: false, secured: true };
    let mut it = Talk::with(config(), peer);
    it.say("EHLO x");
    for _ in 0..19 {
        assert_eq!(it.send("AUTH PLAIN\r\n*\r\n"), "334 |501 5.7.0 cancelled");
    }
    let ended = "501 5.7.0 cancelled|421 4.7.0 too many errors";
    assert_eq!(
        (it.send("AUTH PLAIN\r\n*\r\n").as_str(), it.closed),
        (&*format!("334 |{ended}"), true)
    );
    // Each AUTH counts as such: with as many NOOP before, fewer are left.
    let mut it = Talk::with(config(), peer);
    it.say("EHLO x");
    (0..98).for_each(|_| drop(it.say("NOOP")));
    assert_eq!(it.send("AUTH PLAIN\r\n*\r\n"), "334 |501 5.7.0 cancelled");
    assert_eq!((it.say("AUTH PLAIN").as_str(), it.closed), ("421 4.7.0 this leads nowhere", true));
}

#[test]
fn slow_clients() {
    const LATE: &str = "421 4.4.2 this takes too long";
    let s = Span::from_s;
    // A command, letter by letter: what counts is when it is whole.
    let mut it = Talk::greeted(config(), true);
    for _ in 0..29 {
        assert_eq!(it.wait(s(10)), "");
        it.hear(b"X");
    }
    assert_eq!((it.wait(s(10)).as_str(), it.closed), (LATE, true));
    // A text that stops, and one that does not stop.
    let mut it = begun(config());
    it.say("DATA");
    assert_eq!(it.wait(s(179)), "");
    it.hear(b"x");
    assert_eq!(it.wait(s(179)), "");
    assert_eq!(it.wait(s(1)), LATE);
    let mut it = begun(config());
    it.say("DATA");
    for _ in 0..3599 {
        assert_eq!(it.wait(s(1)), "");
        it.hear(b"x");
    }
    assert_eq!(it.wait(s(1)), LATE);
    // A session that is busy with nothing.
    let mut it = Talk::greeted(config(), true);
    for _ in 0..72 {
        assert_eq!(it.wait(s(299)), "");
        it.say("NOOP");
    }
    assert_eq!(it.wait(s(6 * 3600 - 72 * 299 - 1)), "");
    assert_eq!(it.wait(s(1)), LATE);
    // While its driver writes, a session waits without limit: the driver has limits of its own.
    let mut it = begun(config());
    it.prompt = false;
    it.send("DATA\r\n.\r\n");
    assert!(it.session.is_busy());
    assert_eq!(it.wait(s(100_000)), "");
}

#[test]
fn a_server_that_stops() {
    const STOPS: &str = "421 4.3.2 the server stops\r\n";
    let stop = |it: &mut Talk| {
        it.said.clear();
        let mut out = Vec::new();
        it.session.stop(&mut out);
        it.obey(out);
        it.said.clone()
    };
    let mut it = Talk::greeted(config(), true);
    assert_eq!((stop(&mut it).as_str(), it.closed), (STOPS, true));
    // A message that is coming may come.
    let mut it = begun(config());
    it.say("DATA");
    assert_eq!(stop(&mut it), "");
    assert_eq!(
        it.send("x\r\n.\r\nMAIL FROM:<a@b>\r\n"),
        "250 2.1.1 taken|421 4.3.2 the server stops"
    );
    assert!(it.closed);
    // One that is being written is answered for.
    let mut it = begun(config());
    it.prompt = false;
    it.send("DATA\r\n.\r\n");
    assert_eq!(stop(&mut it), "");
    let mut out = Vec::new();
    it.session.taken(it.now, &reply(452, "disk full"), &mut out);
    it.obey(out);
    assert_eq!(it.said, format!("452 4.1.1 disk full\r\n{STOPS}"));
    // One that does not come is not waited for.
    let mut it = begun(config());
    it.say("DATA");
    let mut out = Vec::new();
    it.session.abandon(&mut out);
    it.said.clear();
    it.obey(out);
    assert_eq!((it.said.as_str(), it.closed), (STOPS, true));
}

/// As connections become scarce, those who are connected already have less time as well.
#[test]
fn stress() {
    const LATE: &str = "421 4.4.2 this takes too long";
    let s = Span::from_s;
    let full = Stress::of(10, 10);
    let mut it = Talk::greeted(config(), true);
    assert_eq!(it.wait(s(11)), "");
    it.session.set_stress(full);
    assert_eq!(it.wait(s(0)), LATE);
    // Commands in time do not help without a message.
    let mut it = Talk::greeted(config(), true);
    it.session.set_stress(full);
    it.send("MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n");
    for _ in 0..6 {
        assert_eq!(it.wait(s(9)), "");
        it.say("RCPT TO:<c@d>");
    }
    assert_eq!(it.wait(s(6)), LATE);
    // A text has the time that it needs at 500 octets a second.
    let mut it = begun(config());
    it.session.set_stress(full);
    it.say("DATA");
    for _ in 0..20 {
        it.hear(&[b'x'; 5000]);
        assert_eq!(it.wait(s(9)), "");
    }
    assert_eq!(it.wait(s(10)), LATE);
    let mut it = begun(config());
    it.session.set_stress(full);
    it.say("DATA");
    for _ in 0..6 {
        it.hear(b"x");
        assert_eq!(it.wait(s(9)), "");
    }
    it.hear(b"x");
    assert_eq!(it.wait(s(6)), LATE);
    // One error is enough.
    let mut it = Talk::greeted(config(), true);
    it.session.set_stress(full);
    assert_eq!(it.say("X").split('|').nth(1).unwrap(), "421 4.7.0 too many errors");
    // What it is of use for.
    let mut it = Talk::greeted(config(), true);
    assert_eq!(it.session.stage(), (Stage::Idle, Time::ZERO));
    assert_eq!(it.say("MAIL FROM:<a@b>"), "250 2.1.0 ok");
    assert_eq!(it.session.stage().0, Stage::Busy);
    it.wait(s(5));
    it.send("RCPT TO:<c@d>\r\nDATA\r\n.\r\n");
    assert_eq!(it.session.stage(), (Stage::Idle, Time::ZERO + s(5)));
}
