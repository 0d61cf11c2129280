//! OpenSMTPD: a line for each recipient of each attempt, with quoted values.
//!
//! Source: OpenSMTPD's mta.c, mda.c, queue.c and smtp_session.c (6.0 to 7.6), and 5.x, which wrote
//! `mta event=delivery`, and before that `relay: Ok for`.

use super::{Mailer, NO_STATUS, Said};
use crate::event::{Attempt, Event, MessageInfo, Outcome, Part};
use crate::fields::{cut, dsn_within, pair, units, whole, without_brackets};
use crate::problems::Why;

pub(super) static OPENSMTPD: Mailer =
    Mailer { name: "opensmtpd", owns, says_removed: false, has_lists: false, read };

/// Octets of an envelope's name that are its message's.
const MESSAGE_ID: usize = 8;

fn owns(program: &[u8]) -> bool {
    program == b"smtpd"
}

/// `9c7e8b2f1f5a1c3d mta delivery evpid=67a0f4d2d1e2f3a4 from=<a@b> to=<c@d> ...`
fn read(text: &[u8]) -> Result<Said<'_>, Why> {
    let of_queue = text.strip_prefix(b"relay: ").or(text.strip_prefix(b"delivery: "));
    if let Some((result, rest)) = of_queue.and_then(|rest| cut(rest, b" for ")) {
        return ended(result, rest);
    }
    let Some((_, rest)) = cut(text, b" ") else { return Ok(None) };
    let is = |kind: &str, what: &str| {
        let rest = rest.strip_prefix(kind.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
        let rest = rest.map(|rest| rest.strip_prefix(b"event=").unwrap_or(rest));
        rest.and_then(|rest| rest.strip_prefix(what.as_bytes()))
    };
    if let Some(rest) = is("mta", "delivery ").or_else(|| is("mda", "delivery ")) {
        return delivery(rest).map(Some);
    }
    Ok(is("smtp", "message ").and_then(message))
}

/// `msgid=67a0f4d2 size=468 nrcpt=1 proto=ESMTP`
fn message(text: &[u8]) -> Said<'_> {
    let mut info = MessageInfo { accepted: true, ..MessageInfo::default() };
    let mut id = None;
    for (key, value) in Pairs(text) {
        match key {
            b"msgid" => id = Some(value),
            b"size" => info.size = whole(value),
            b"nrcpt" => info.recipients = whole(value),
            _ => {}
        }
    }
    id.map(|id| (id, Event::MessageInfo(info)))
}

/// `evpid=67a0f4d2d1e2f3a4 from=<a@b> to=<c@d> rcpt=<-> source="192.0.2.5" relay="192.0.2.1 (mx.d)"
/// delay=1s result="Ok" stat="250 2.0.0 Ok"`
fn delivery(text: &[u8]) -> Result<(&[u8], Event<'_>), Why> {
    let mut attempt = Attempt::new(b"", Outcome::Delivered, Part::Unmarked);
    let (mut envelope, mut result) = (&b""[..], None);
    for (key, value) in Pairs(text) {
        match key {
            b"evpid" => envelope = value,
            b"to" => attempt.recipients = without_brackets(value),
            b"rcpt" if value != b"<->" => attempt.original = Some(without_brackets(value)),
            b"relay" => (attempt.relay, attempt.address) = relay(value),
            b"delay" => attempt.delay = Some(units(value).ok_or("a delay that is no time")?),
            b"result" => result = Some(value),
            b"stat" => attempt.text = value,
            _ => {}
        }
    }
    let id = envelope.get(..MESSAGE_ID).ok_or("an attempt without its envelope")?;
    outcome(result.ok_or(NO_STATUS)?, attempt).map(|event| (id, event))
}

/// The queue's line: `relay: Expire for 67a0f4d2d1e2f3a4: from=<a@b>, to=<c@d>, rcpt=<->, delay=4d,
/// stat=Envelope expired`; and each attempt's before 5.4, with `relay=192.0.2.1 (mx.d)` too.
fn ended<'a>(result: &'a [u8], text: &'a [u8]) -> Result<Said<'a>, Why> {
    let (envelope, mut rest) = cut(text, b": ").ok_or("an envelope without what came of it")?;
    let mut attempt = Attempt::new(b"", Outcome::Delivered, Part::Unmarked);
    while let Some((key, value, behind)) = pair(rest) {
        match key {
            b"to" => attempt.recipients = without_brackets(value),
            b"rcpt" if value != b"<->" => attempt.original = Some(without_brackets(value)),
            b"relay" => (attempt.relay, attempt.address) = relay(value),
            b"delay" => attempt.delay = Some(units(value).ok_or("a delay that is no time")?),
            b"stat" => {
                attempt.text = &rest[b"stat=".len()..];
                break;
            }
            _ => {}
        }
        rest = behind;
    }
    let id = envelope.get(..MESSAGE_ID).ok_or("an attempt without its envelope")?;
    outcome(result, attempt).map(|event| Some((id, event)))
}

fn outcome<'a>(result: &[u8], mut attempt: Attempt<'a>) -> Result<Event<'a>, Why> {
    if result == b"Expire" {
        // no host was tried
        attempt.part = Part::More;
    }
    attempt.outcome = match result {
        b"Ok" => Outcome::Delivered,
        b"TempFail" => Outcome::Deferred,
        b"PermFail" | b"Expire" => Outcome::Bounced,
        b"Remove" => {
            attempt.outcome = Outcome::Bounced;
            return Ok(Event::Deleted(attempt));
        }
        _ => return Err("a result that is none of Ok, TempFail, PermFail, Expire, Remove"),
    };
    attempt.dsn = dsn_within(attempt.text);
    Ok(Event::Attempt(attempt))
}

/// `192.0.2.1 (mx.d)`
fn relay(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let (address, name) = cut(value, b" (").unwrap_or((value, b""));
    let name = name.strip_suffix(b")").unwrap_or(name);
    (Some(if name.is_empty() { address } else { name }), address)
}

/// `key=value`, `key="value"` and `key=<value>`, with spaces between. The last one, `stat`, is the
/// host's own words, whatever is in them.
struct Pairs<'a>(&'a [u8]);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, rest) = cut(self.0.trim_ascii_start(), b"=")?;
        let (value, rest) = match rest {
            _ if key == b"stat" => (rest, &b""[..]),
            [b'"', quoted @ ..] => cut(quoted, b"\"").unwrap_or((quoted, b"")),
            [b'<', ..] => {
                let end = cut(rest, b"> ").map_or(rest.len(), |(value, _)| value.len() + 1);
                rest.split_at(end)
            }
            _ => cut(rest, b" ").unwrap_or((rest, b"")),
        };
        let is_quoted = value.len() > 1 && value.starts_with(b"\"") && value.ends_with(b"\"");
        self.0 = rest;
        Some((key, if is_quoted { &value[1..value.len() - 1] } else { value }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Dsn;

    #[test]
    fn attempts() {
        let line = "9c7e8b2f1f5a1c3d mta delivery evpid=67a0f4d2d1e2f3a4 from=<a@x> to=<b@y> \
            rcpt=<-> source=\"192.0.2.5\" relay=\"192.0.2.1 (mx.y)\" delay=1m2s result=\"Ok\" \
            stat=\"250 2.0.0 Ok: \\\"queued\\\"\"";
        let attempt = Attempt {
            relay: Some(b"mx.y"),
            address: b"192.0.2.1",
            delay: Some(62_000_000),
            dsn: Some(Dsn(2, 0, 0)),
            text: b"250 2.0.0 Ok: \\\"queued\\\"",
            ..Attempt::new(b"b@y", Outcome::Delivered, Part::Unmarked)
        };
        assert_eq!(OPENSMTPD.attempted(line), attempt);
        let older = "0000000000000000 mta event=delivery evpid=67a0f4d2d1e2f3a4 from=<a@x> to=<b@y> \
            rcpt=<c@y> source=\"-\" relay=\"mx.y\" delay=2h3s result=TempFail stat=\"Network error\"";
        let older = OPENSMTPD.attempted(older);
        assert_eq!((older.outcome, older.original), (Outcome::Deferred, Some(&b"c@y"[..])));
        let local = "1 mda delivery evpid=67a0f4d2d1e2f3a4 from=<a@x> to=<b@y> rcpt=<b@y> user=b \
            delay=0s result=PermFail stat=Error (\"user unknown\")";
        let local = OPENSMTPD.attempted(local);
        assert_eq!(
            (local.outcome, local.text),
            (Outcome::Bounced, &b"Error (\"user unknown\")"[..])
        );
    }

    #[test]
    fn words_of_a_host_change_nothing() {
        let line = "1 mta delivery evpid=67a0f4d2d1e2f3a4 from=<\"a b\"@x> to=<\"c d\"@y> rcpt=<-> \
            source=\"-\" relay=\"192.0.2.1 (mx.y)\" delay=1s result=\"TempFail\" \
            stat=\"450 \"later\" to=<e@z> result=\"Ok\" evpid=0000000000000000\"";
        let attempt = OPENSMTPD.attempted(line);
        assert_eq!((attempt.recipients, attempt.outcome), (&b"\"c d\"@y"[..], Outcome::Deferred));
        assert!(attempt.text.ends_with(b"evpid=0000000000000000"));
    }

    #[test]
    fn lines_of_the_queue() {
        let expired = "relay: Expire for 67a0f4d2d1e2f3a4: from=<a@x>, to=<b@y>, rcpt=<c@y>, \
            delay=4d1s, stat=Envelope expired";
        let attempt = OPENSMTPD.attempted(expired);
        assert_eq!((attempt.outcome, attempt.recipients), (Outcome::Bounced, &b"b@y"[..]));
        assert_eq!((attempt.original, attempt.text), (Some(&b"c@y"[..]), &b"Envelope expired"[..]));
        let old = "relay: TempFail for 66251a4092099e2d: session=00000016486029f7, from=<a@x>, \
            to=<b@y>, rcpt=<->, source=192.0.2.5, relay=192.0.2.1 (mx.y), delay=12s, \
            stat=451 Temporary failure, please try again later";
        let old = OPENSMTPD.attempted(old);
        assert_eq!((old.outcome, old.relay), (Outcome::Deferred, Some(&b"mx.y"[..])));
        assert_eq!(old.text, b"451 Temporary failure, please try again later");
        let removed = "delivery: Remove for 67a0f4d2d1e2f3a4: from=<a@x>, to=<b@y>, rcpt=<->, \
            delay=4s, stat=Removed by administrator";
        assert!(matches!(OPENSMTPD.event(removed), Ok(Some(Event::Deleted(_)))));
    }

    #[test]
    fn what_is_about_messages() {
        let line = "9c7e8b2f1f5a1c3d smtp message msgid=67a0f4d2 size=468 nrcpt=2 proto=ESMTP";
        let info = MessageInfo {
            accepted: true,
            size: Some(468),
            recipients: Some(2),
            ..MessageInfo::default()
        };
        assert_eq!(OPENSMTPD.event(line), Ok(Some(Event::MessageInfo(info))));
    }

    #[test]
    fn what_is_of_no_interest() {
        OPENSMTPD.ignores(&[
            "9c7e8b2f1f5a1c3d smtp connected address=192.0.2.1 host=x",
            "9c7e8b2f1f5a1c3d smtp envelope evpid=67a0f4d2d1e2f3a4 from=<a@x> to=<b@y>",
            "9c7e8b2f1f5a1c3d mta connecting address=smtp://192.0.2.1:25 host=mx.y",
            "info: OpenSMTPD 7.6 starting",
            "",
        ]);
    }

    #[test]
    fn what_is_damaged() {
        OPENSMTPD.refuses(&[
            "1 mta delivery evpid=67a0f4d2d1e2f3a4 to=<b@y> delay=1s",
            "1 mta delivery evpid=67a0 to=<b@y> delay=1s result=\"Ok\"",
            "1 mta delivery evpid=67a0f4d2d1e2f3a4 to=<b@y> delay=x result=\"Ok\"",
            "1 mta delivery evpid=67a0f4d2d1e2f3a4 to=<b@y> delay=1s result=\"Maybe\"",
        ]);
    }
}
