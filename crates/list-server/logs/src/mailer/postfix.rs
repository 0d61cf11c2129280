//! Postfix: a line for each recipient of each attempt, lines of the queue manager around them.
//!
//! Source: Postfix's postconf(5), `delay_logging_resolution_limit`, `syslog_name`; its release notes
//! of 2.3 for `delays=` and `dsn=`; and lines of Postfix 3.7.

use super::{Mailer, NO_STATUS, Said};
use crate::event::{Attempt, Event, MessageInfo, Outcome, Part};
use crate::fields::{cut, dsn, pair, queue_id, seconds, whole, without_brackets};
use crate::problems::Why;
use memchr::{memchr, memchr_iter, memrchr};

pub(super) static POSTFIX: Mailer =
    Mailer { name: "postfix", owns, says_removed: true, has_lists: false, read };

/// Daemons that log a message's way.
const DAEMONS: [&[u8]; 13] = [
    b"bounce", b"cleanup", b"discard", b"error", b"lmtp", b"local", b"oqmgr", b"pickup", b"pipe",
    b"qmgr", b"retry", b"smtp", b"virtual",
];

/// `postfix/smtp`, `postfix2/smtp` or `out/smtp` of another instance, `postfix@-.service` of systemd.
fn owns(program: &[u8]) -> bool {
    let of_postfix = matches!(
        program.strip_prefix(b"postfix"),
        Some([] | [b'/' | b'-' | b'@' | b'.' | b'_' | b'0'..=b'9', ..])
    );
    let daemon = || memrchr(b'/', program).map(|slash| &program[slash + 1..]);
    of_postfix
        || !program.starts_with(b"sojourn/") && daemon().is_some_and(|it| DAEMONS.contains(&it))
}

fn read(text: &[u8]) -> Result<Said<'_>, Why> {
    let Some((id, rest)) = queue_id(text) else { return Ok(None) };
    let event = if rest.starts_with(b"to=") {
        Some(attempt(rest)?)
    } else if let Some(message_id) = rest.strip_prefix(b"message-id=") {
        // cleanup's, which is there once, when the message is taken in
        let message_id = Some(without_brackets(message_id));
        Some(Event::MessageInfo(MessageInfo {
            accepted: true,
            message_id,
            ..MessageInfo::default()
        }))
    } else if rest.starts_with(b"from=<") {
        info(rest).map(Event::MessageInfo).or_else(|| expired(rest))
    } else {
        // postsuper -r gives the message another name, under which it goes on
        matches!(rest, b"removed" | b"requeued").then_some(Event::Removed)
    };
    Ok(event.map(|event| (id, event)))
}

/// `from=<a@b>, status=expired, returned to sender`, or `force-expired` (postsuper -e).
fn expired(text: &[u8]) -> Option<Event<'_>> {
    let (_, status) = cut(text, b">, status=")?;
    let word = status.strip_prefix(b"force-").unwrap_or(status);
    word.starts_with(b"expired").then_some(Event::Expired(status))
}

/// The queue manager's line: `from=<a@b>, size=1234, nrcpt=1 (queue active)`.
pub(super) fn info(text: &[u8]) -> Option<MessageInfo<'_>> {
    let mut info = MessageInfo::default();
    let mut rest = text;
    while let Some((key, value, behind)) = pair(rest) {
        match key {
            b"from" => info.sender = Some(without_brackets(value)),
            b"size" => info.size = whole(value),
            b"nrcpt" => {
                info.recipients = whole(cut(value, b" ").map_or(value, |(count, _)| count));
            }
            _ => {}
        }
        rest = behind;
    }
    // another daemon's line begins alike but does not count recipients
    info.recipients.map(|_| info)
}

/// `to=<a@b>, relay=host[address]:25, delay=1.2, delays=0.1/0/0.5/0.6, dsn=2.0.0, status=sent (250
/// Ok)`
pub(super) fn attempt(text: &[u8]) -> Result<Event<'_>, Why> {
    // the addresses come first, and may hold anything
    let (recipient, mut rest) = address(&text[3..]).ok_or("no end of its address")?;
    let mut attempt = Attempt::new(recipient, Outcome::Delivered, Part::Unmarked);
    if let Some(original) = rest.strip_prefix(b"orig_to=") {
        let (original, behind) = address(original).ok_or("no end of its original address")?;
        attempt.original = Some(original);
        rest = behind;
    }
    loop {
        let equals = memchr(b'=', rest).ok_or(NO_STATUS)?;
        let (key, value) = (&rest[..equals], &rest[equals + 1..]);
        if key == b"status" {
            return status(value, attempt);
        }
        let (value, behind) = cut(value, b", ").ok_or(NO_STATUS)?;
        match key {
            b"relay" => (attempt.relay, attempt.address) = relay(value),
            b"delay" => attempt.delay = Some(seconds(value).ok_or("a delay that is no number")?),
            b"delays" => attempt.parts = Some(delays(value).ok_or("delays that are not four")?),
            b"xdelay" => attempt.took = Some(seconds(value).ok_or("an xdelay that is no number")?),
            b"dsn" => attempt.dsn = dsn(value),
            _ => {}
        }
        rest = behind;
    }
}

/// `<a@b>, ` or `a@b, `, and what follows. The address may hold anything, also `>, `.
fn address(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let Some(inner) = text.strip_prefix(b"<") else { return cut(text, b", ") };
    let behind = |end: usize| inner[end + 1..].strip_prefix(b", ");
    let is_end = |end: &usize| {
        behind(*end).is_some_and(|it| it.starts_with(b"relay=") || it.starts_with(b"orig_to=<"))
    };
    let end = memchr_iter(b'>', inner).find(is_end).or_else(|| memchr(b'>', inner))?;
    Some((&inner[..end], behind(end).unwrap_or_default()))
}

fn status<'a>(value: &'a [u8], mut attempt: Attempt<'a>) -> Result<Event<'a>, Why> {
    let (word, text) = cut(value, b" ").unwrap_or((value, b""));
    attempt.outcome = match word {
        b"sent" => Outcome::Delivered,
        b"deferred" | b"SOFTBOUNCE" => Outcome::Deferred,
        b"bounced" | b"expired" => Outcome::Bounced,
        b"deleted" => {
            attempt.outcome = Outcome::Bounced;
            return Ok(Event::Deleted(attempt));
        }
        // probes of addresses are no deliveries
        _ if word.starts_with(b"deliverable") || word.starts_with(b"undeliverable") => {
            return Ok(Event::NoDelivery);
        }
        _ => return Err("a status that is none of sent, deferred, bounced, expired"),
    };
    let text = text.strip_prefix(b"(").unwrap_or(text);
    attempt.text = text.strip_suffix(b")").unwrap_or(text);
    if attempt.took.is_none() {
        attempt.took = attempt.parts.map(|[_, _, connecting, sending]| connecting + sending);
    }
    Ok(Event::Attempt(attempt))
}

/// `mx.x.example[192.0.2.1]:25`, `local`, `none`.
fn relay(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if value == b"none" {
        return (None, b"");
    }
    let Some(open) = memchr(b'[', value) else { return (Some(value), b"") };
    let close = memrchr(b']', value).filter(|close| *close > open).unwrap_or(value.len());
    (Some(&value[..open]), &value[open + 1..close])
}

fn delays(value: &[u8]) -> Option<[i64; 4]> {
    let mut parts = value.split(|byte| *byte == b'/').map(seconds);
    let four = [parts.next()??, parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(four)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Dsn;

    #[test]
    fn an_attempt() {
        let line = "4F2A13C0D1: to=<a@x.example>, orig_to=<b@y.example>, \
            relay=mx.x.example[192.0.2.1]:25, conn_use=3, delay=61, delays=60/0.04/0.12/0.84, \
            dsn=2.0.0, status=sent (250 2.0.0 Ok: queued as ABC, really)";
        assert_eq!(
            POSTFIX.attempted(line),
            Attempt {
                recipients: b"a@x.example",
                original: Some(b"b@y.example"),
                relay: Some(b"mx.x.example"),
                address: b"192.0.2.1",
                delay: Some(61_000_000),
                parts: Some([60_000_000, 40_000, 120_000, 840_000]),
                took: Some(960_000),
                dsn: Some(Dsn(2, 0, 0)),
                outcome: Outcome::Delivered,
                text: b"250 2.0.0 Ok: queued as ABC, really",
                part: Part::Unmarked,
            }
        );
    }

    #[test]
    fn addresses_without_brackets() {
        let line = "2A22C263F6: to=user@x.example, orig_to=root@localhost, relay=local, delay=0.07, \
            dsn=2.0.0, status=sent (delivered to command: procmail -a \"$EXTENSION\")";
        let attempt = POSTFIX.attempted(line);
        assert_eq!(attempt.recipients, b"user@x.example");
        assert_eq!(
            (attempt.original, attempt.relay),
            (Some(&b"root@localhost"[..]), Some(&b"local"[..]))
        );
    }

    #[test]
    fn attempts_of_other_kinds() {
        let none = POSTFIX.attempted(
            "4F2A13C0D1: to=<a@x>, relay=none, delay=30, delays=0.01/0/30/0, dsn=4.4.1, \
             status=deferred (connect to x[2001:db8::1]:25: Connection timed out)",
        );
        assert_eq!((none.relay, none.outcome), (None, Outcome::Deferred));
        let six = POSTFIX.attempted(
            "4F2A13C0D1: to=<a@x>, relay=x[2001:db8::1]:25, delay=30, dsn=5.1.1, status=bounced (no)",
        );
        assert_eq!((six.address, six.took), (&b"2001:db8::1"[..], None));
        assert_eq!(six.outcome, Outcome::Bounced);
        let local = POSTFIX.attempted(
            "4F2A13C0D1: to=<\"a>b, c\"@x>, relay=local, delay=0.1, xdelay=0.05, dsn=2.0.0, \
             status=sent (delivered to mailbox)",
        );
        assert_eq!(local.recipients, b"\"a>b, c\"@x");
        assert_eq!((local.relay, local.took), (Some(&b"local"[..]), Some(50_000)));
    }

    #[test]
    fn what_is_about_messages() {
        let from = "4F2A13C0D1: from=<a@x>, size=1234, nrcpt=2 (queue active)";
        let info = MessageInfo {
            sender: Some(b"a@x"),
            size: Some(1234),
            recipients: Some(2),
            ..MessageInfo::default()
        };
        assert_eq!(POSTFIX.event(from), Ok(Some(Event::MessageInfo(info))));
        let id = "4F2A13C0D1: message-id=<1@x>";
        let info =
            MessageInfo { accepted: true, message_id: Some(b"1@x"), ..MessageInfo::default() };
        assert_eq!(POSTFIX.event(id), Ok(Some(Event::MessageInfo(info))));
        for word in ["removed", "requeued"] {
            let line = format!("4F2A13C0D1: {word}");
            assert_eq!(POSTFIX.event(&line), Ok(Some(Event::Removed)), "{word}");
        }
    }

    #[test]
    fn what_is_of_no_interest() {
        POSTFIX.ignores(&[
            "4F2A13C0D1: client=unknown[192.0.2.1]",
            "4F2A13C0D1: sender non-delivery notification: 5A2A13C0D1",
            "connect from unknown[192.0.2.1]",
            "NOQUEUE: reject: RCPT from x: 554 5.7.1",
            "warning: x",
            "",
        ]);
    }

    #[test]
    fn what_ends_without_an_attempt() {
        for (status, text) in [("expired", "expired, x"), ("force-expired", "force-expired, x")] {
            let line = format!("4F2A13C0D1: from=<a@x>, status={status}, x");
            assert_eq!(POSTFIX.event(&line), Ok(Some(Event::Expired(text.as_bytes()))));
        }
        for status in ["deliverable", "undeliverable", "undeliverable-but-not-cached"] {
            let line = format!("4F2A13C0D1: to=<a@x>, relay=none, delay=1, status={status} (x)");
            assert_eq!(POSTFIX.event(&line), Ok(Some(Event::NoDelivery)));
        }
        let deleted = "4F2A13C0D1: to=<a@x>, relay=none, delay=1, status=deleted (x)";
        assert!(matches!(POSTFIX.event(deleted), Ok(Some(Event::Deleted(_)))));
    }

    #[test]
    fn what_is_damaged() {
        POSTFIX.refuses(&[
            "4F2A13C0D1: to=<a@x",
            "4F2A13C0D1: to=<a@x>",
            "4F2A13C0D1: to=<a@x>, orig_to=<b",
            "4F2A13C0D1: to=<a@x>, relay=x[1.2.3.4]:25, delay=1, dsn=2.0.0",
            "4F2A13C0D1: to=<a@x>, delay=1x, status=sent",
            "4F2A13C0D1: to=<a@x>, delays=1/2/3, status=sent",
            "4F2A13C0D1: to=<a@x>, status=seny",
        ]);
    }
}
