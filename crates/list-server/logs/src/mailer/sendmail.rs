//! sendmail: a line for each attempt, with all recipients that went together.
//!
//! Source: *Sendmail Installation and Operation Guide* (op.me), "The System Log", of 8.17; and the
//! line of section "The 'Fast Fix'" in the paper, of 8.8.

use super::{Mailer, NO_STATUS, Said};
use crate::event::{Attempt, Event, MessageInfo, Outcome, Part};
use crate::fields::{cut, days_and_clock, dsn, pair, queue_id, whole, without_brackets};
use crate::problems::Why;
use memchr::memrchr;

pub(super) static SENDMAIL: Mailer =
    Mailer { name: "sendmail", owns, says_removed: false, has_lists: true, read };

/// `sendmail`, and what Debian's and others' call its daemons: `sm-mta`, `sm-msp-queue`, `sm-que`.
fn owns(program: &[u8]) -> bool {
    program.starts_with(b"sendmail") || program.starts_with(b"sm-")
}

fn read(text: &[u8]) -> Result<Said<'_>, Why> {
    let Some((id, rest)) = queue_id(text) else { return Ok(None) };
    let event = if let Some(list) = rest.strip_prefix(b"to=") {
        // of a line that would be too long, all but the last recipients come in lines before it
        match list.strip_suffix(b" [more]") {
            Some(list) => Some(Event::More(list)),
            None => Some(attempt(rest)?),
        }
    } else if rest.starts_with(b"from=") {
        Some(Event::MessageInfo(info(rest)))
    } else {
        expired(rest)
    };
    Ok(event.map(|event| (id, event)))
}

/// `59QA0y1234: return to sender: Cannot send message for 5 days`, under the name of the bounce.
fn expired(text: &[u8]) -> Option<Event<'_>> {
    let (_, rest) = queue_id(text)?;
    let (_, reason) = cut(rest, b": ")?;
    reason.starts_with(b"Cannot send message").then_some(Event::Expired(reason))
}

/// `from=<a@b>, size=1234, class=0, nrcpts=2, msgid=<1@b>, proto=ESMTP, relay=...`
fn info(text: &[u8]) -> MessageInfo<'_> {
    let mut info = MessageInfo { accepted: true, ..MessageInfo::default() };
    let mut rest = text;
    while let Some((key, value, behind)) = pair(rest) {
        match key {
            b"from" => info.sender = Some(without_brackets(value)),
            b"size" => info.size = whole(value),
            b"nrcpts" => info.recipients = whole(value),
            b"msgid" => info.message_id = Some(without_brackets(value)),
            _ => {}
        }
        rest = behind;
    }
    info
}

/// `to=a@b,c@b, delay=00:00:07, xdelay=00:00:06, mailer=smtp, relay=mx. [192.0.2.1], dsn=2.0.0,
/// stat=Sent (Ok)`
fn attempt(text: &[u8]) -> Result<Event<'_>, Why> {
    const NO_CLOCK: Why = "a delay that is not like 1+02:03:04";
    let mut attempt = Attempt::new(b"", Outcome::Delivered, Part::First);
    let mut rest = text;
    let mut has_mailer = false;
    while let Some((key, value, behind)) = pair(rest) {
        match key {
            b"to" => attempt.recipients = value,
            b"mailer" => has_mailer = true,
            b"delay" => attempt.delay = Some(days_and_clock(value).ok_or(NO_CLOCK)?),
            b"xdelay" => attempt.took = Some(days_and_clock(value).ok_or(NO_CLOCK)?),
            b"relay" => (attempt.relay, attempt.address) = relay(value),
            b"dsn" => attempt.dsn = dsn(value),
            // the last one, and whatever is in it
            b"stat" => return Ok(stat(&rest[b"stat=".len()..], attempt, has_mailer)),
            _ => {}
        }
        rest = behind;
    }
    Err(NO_STATUS)
}

fn stat<'a>(value: &'a [u8], mut attempt: Attempt<'a>, has_mailer: bool) -> Event<'a> {
    attempt.text = value;
    attempt.outcome = if value.starts_with(b"Sent") {
        Outcome::Delivered
    } else if value.starts_with(b"queued") || value.starts_with(b"quarantined") {
        // put by for later, and not tried
        return Event::NoDelivery;
    } else if !has_mailer && attempt.dsn.is_none() && !value.starts_with(b"Deferred") {
        // a milter refused the message while it came in
        return Event::NoDelivery;
    } else if value.starts_with(b"Deferred") || attempt.dsn.is_some_and(|dsn| dsn.0 == 4) {
        Outcome::Deferred
    } else {
        Outcome::Bounced
    };
    Event::Attempt(attempt)
}

/// `mx.x.example. [192.0.2.1]`
fn relay(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let (name, address) = match (memrchr(b'[', value), memrchr(b']', value)) {
        (Some(open), Some(close)) if open < close => {
            (value[..open].trim_ascii_end(), &value[open + 1..close])
        }
        _ => (value, &b""[..]),
    };
    let name = name.strip_suffix(b".").unwrap_or(name);
    (Some(if name.is_empty() { address } else { name }), address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Dsn;

    const SECOND: i64 = 1_000_000;

    #[test]
    fn the_line_of_the_paper() {
        let line = "KAA24336: to=peter.j.scott@jpl.nasa.gov, ctladdr=kolstad (101/0), \
            delay=00:00:07, xdelay=00:00:06, mailer=smtp, relay=mailhub.jpl.nasa.gov. \
            [137.78.18.34], stat=Sent (Message received and queued)";
        assert_eq!(
            SENDMAIL.attempted(line),
            Attempt {
                recipients: b"peter.j.scott@jpl.nasa.gov",
                relay: Some(b"mailhub.jpl.nasa.gov"),
                address: b"137.78.18.34",
                delay: Some(7 * SECOND),
                took: Some(6 * SECOND),
                text: b"Sent (Message received and queued)",
                ..Attempt::new(b"", Outcome::Delivered, Part::First)
            }
        );
    }

    #[test]
    fn attempts_of_other_kinds() {
        let late = SENDMAIL.attempted(
            "59QA0x1234: to=<a@x>,<b@x>, delay=1+02:03:04, xdelay=00:05:00, mailer=esmtp, \
             pri=120031, relay=mx.x. [192.0.2.1], dsn=4.0.0, \
             stat=Deferred: Connection timed out with mx.x., stat=odd",
        );
        assert_eq!(late.recipients, b"<a@x>,<b@x>");
        assert_eq!((late.delay, late.outcome), (Some(93_784 * SECOND), Outcome::Deferred));
        assert_eq!(late.text, b"Deferred: Connection timed out with mx.x., stat=odd");
        let unknown = SENDMAIL.attempted(
            "59QA0x1234: to=<a@x>, delay=00:00:01, relay=mx.x. [192.0.2.1], dsn=5.1.1, \
             stat=User unknown",
        );
        assert_eq!((unknown.outcome, unknown.dsn), (Outcome::Bounced, Some(Dsn(5, 1, 1))));
        let local =
            SENDMAIL.attempted("KAA24336: to=kolstad, delay=00:00:00, mailer=local, stat=Sent");
        assert_eq!((local.relay, local.took), (None, None));
        let soft =
            SENDMAIL.attempted("KAA24336: to=<a@x>, delay=00:00:00, dsn=4.5.0, stat=I/O error");
        assert_eq!(soft.outcome, Outcome::Deferred);
        let literal =
            SENDMAIL.attempted("KAA24336: to=<a@x>, relay=[127.0.0.1] [127.0.0.1], stat=Sent");
        assert_eq!(literal.relay, Some(&b"[127.0.0.1]"[..]));
    }

    #[test]
    fn what_is_about_messages() {
        let line = "59QA0x1234: from=<a@x>, size=42, class=0, nrcpts=2, msgid=<1@x>, \
            bodytype=8BITMIME, proto=ESMTP, daemon=MTA, relay=h [192.0.2.1]";
        let info = MessageInfo {
            accepted: true,
            sender: Some(b"a@x"),
            message_id: Some(b"1@x"),
            size: Some(42),
            recipients: Some(2),
        };
        assert_eq!(SENDMAIL.event(line), Ok(Some(Event::MessageInfo(info))));
        let more = "59QA0x1234: to=<a@x>,<b@x> [more]";
        assert_eq!(SENDMAIL.event(more), Ok(Some(Event::More(b"<a@x>,<b@x>"))));
    }

    #[test]
    fn what_ends_without_an_attempt() {
        for label in ["return to sender", "sender notify", "DSN"] {
            let line = format!("59QA0x1234: 59QA0y1234: {label}: Cannot send message for 5 days");
            let reason = &b"Cannot send message for 5 days"[..];
            assert_eq!(SENDMAIL.event(&line), Ok(Some(Event::Expired(reason))));
        }
        let queued = "59QA0x1234: to=<a@x>, delay=00:00:00, mailer=esmtp, pri=30031, stat=queued";
        assert_eq!(SENDMAIL.event(queued), Ok(Some(Event::NoDelivery)));
        let kept = "59QA0x1234: to=<a@x>, delay=00:00:00, mailer=esmtp, stat=quarantined";
        assert_eq!(SENDMAIL.event(kept), Ok(Some(Event::NoDelivery)));
        let refused =
            "59QA0x1234: to=<a@x>, delay=00:00:00, pri=30747, stat=Mail Rejected: too many";
        assert_eq!(SENDMAIL.event(refused), Ok(Some(Event::NoDelivery)));
    }

    #[test]
    fn what_is_of_no_interest() {
        SENDMAIL.ignores(&[
            "59QA0x1234: 59QA0y1234: DSN: User unknown",
            "59QA0x1234: 59QA0y1234: sender notify: Warning: could not send message for past 4 hours",
            "59QA0x1234: clone 59QA0y1234, owner=owner-list",
            "59QA0x1234: STARTTLS=client, relay=mx.x., version=TLSv1.3",
            "starting daemon (8.17.1.9): SMTP+queueing@00:10:00",
        ]);
    }

    #[test]
    fn what_is_damaged() {
        SENDMAIL.refuses(&[
            "KAA24336: to=<a@x>",
            "KAA24336: to=<a@x>, delay=00:00:07, xdelay=00:0",
            "KAA24336: to=<a@x>, delay=7, stat=Sent",
        ]);
    }
}
