//! Why Exim bounced a message, deferred it, or put it off.

use super::{Words, details, whom};
use crate::event::{Attempt, Event, Outcome, Part};
use crate::fields::{cut, dsn_within, whole};
use crate::problems::Why;
use memchr::memmem::find;
use memchr::memrchr;

/// `a@b R=router T=transport H=host [192.0.2.1]: SMTP error ...: 550 no such user DT=0s`
pub(super) fn failed(text: &[u8]) -> Result<Attempt<'_>, Why> {
    let mut quoted = false;
    let is_end = |at: &usize| {
        quoted ^= text[*at] == b'"';
        !quoted && text[*at..].starts_with(b": ")
    };
    let end = (0..text.len()).find(is_end).ok_or("a failure without its reason")?;
    let (head, reason) = (&text[..end], &text[end + 2..]);
    let mut head = Words(head);
    let mut attempt = whom(&mut head, Outcome::Bounced, Part::Unmarked)?;
    details(head, &mut attempt)?;
    attempt.text = without_times(reason, &mut attempt)?;
    host_within(&mut attempt);
    attempt.dsn = dsn_within(attempt.text);
    Ok(attempt)
}

/// `a@b R=router T=transport defer (-44) H=host [192.0.2.1] DT=0s: SMTP error ...`, and with the
/// system's words for errors above 0 `defer (110): Connection timed out H=host [192.0.2.1] DT=30s:
/// SMTP timeout ...`.
pub(super) fn deferred(text: &[u8]) -> Result<Event<'_>, Why> {
    const WHY: Why = "a deferral without `defer (`";
    let (head, reason) = cut(text, b" defer (").ok_or(WHY)?;
    let (error, reason) = cut(reason, b")").ok_or(WHY)?;
    let mut head = Words(head);
    let mut attempt = whom(&mut head, Outcome::Deferred, Part::Unmarked)?;
    details(head, &mut attempt)?;
    let is_of_system = whole(error).is_some_and(|error| error > 0);
    let (of_system, reason) = match reason.strip_prefix(b": ") {
        Some(words) if is_of_system => {
            let host = cut(words, b" H=").map_or(words.len(), |(words, _)| words.len());
            let text = cut(words, b": ").map_or(words.len(), |(words, _)| words.len());
            words.split_at(host.min(text))
        }
        _ => (&b""[..], reason),
    };
    let (host, reason) = cut(reason, b": ").unwrap_or((reason, b""));
    details(Words(host), &mut attempt)?;
    let of_system = without_times(of_system, &mut attempt)?;
    let reason = without_times(reason, &mut attempt)?;
    attempt.text = if reason.is_empty() { of_system } else { reason };
    host_within(&mut attempt);
    attempt.dsn = dsn_within(attempt.text);
    Ok(if is_untried(&attempt) { Event::PutOff(attempt) } else { Event::Attempt(attempt) })
}

/// Whether Exim only waits. Its numbers for that differ: version 4.95 moved them by one.
fn is_untried(attempt: &Attempt<'_>) -> bool {
    const WORDS: [&str; 8] = [
        "Retry time not yet reached",
        "reusing SMTP connection skips previous routing defer",
        "domain is held",
        "domain is in queue_domains",
        "remote deliveries suppressed",
        "SMTP delivery explicitly queued",
        "first-pass only routing",
        "concurrency limit reached for transport",
    ];
    let reason = attempt.text;
    attempt.relay.is_none()
        && (find(reason, b"retry time not reached").is_some()
            || WORDS.iter().any(|words| reason.starts_with(words.as_bytes())))
}

/// Before 4.85 the host stood among the words: `SMTP error ...: host mx.x [192.0.2.1]: 550 no`.
fn host_within(attempt: &mut Attempt<'_>) {
    if attempt.relay.is_none()
        && let Some((_, rest)) = cut(attempt.text, b": host ")
        && let Some((name, rest)) = cut(rest, b" [")
        && let Some((address, _)) = cut(rest, b"]: ")
    {
        (attempt.relay, attempt.address) = (Some(name), address);
    }
}

/// A reason without the times behind it, which the attempt takes.
fn without_times<'a>(reason: &'a [u8], attempt: &mut Attempt<'a>) -> Result<&'a [u8], Why> {
    let mut reason = reason;
    while let Some(space) = memrchr(b' ', reason)
        && let word @ ([b'Q', b'T', b'=', ..] | [b'D', b'T', b'=', ..]) = &reason[space + 1..]
    {
        details(Words(word), attempt)?;
        reason = &reason[..space];
    }
    Ok(reason)
}

#[cfg(test)]
mod tests {
    use super::super::{EXIM, tests::ID};
    use super::*;

    #[test]
    fn what_is_put_off() {
        for reason in [
            "(-51) DT=0s: retry time not reached",
            "(-53): retry time not reached for any host for 'x'",
            "(-54): retry time not reached for any host",
            "(-54): some host address lookups failed and retry time not reached for other hosts",
            "(-53): Retry time not yet reached",
            "(-23): domain is held",
            "(0): SMTP delivery explicitly queued",
            "(-57): concurrency limit reached for transport",
        ] {
            let line = format!("{ID} == a@x R=r T=t defer {reason}");
            let Ok(Some(Event::PutOff(early))) = EXIM.event(&line) else { panic!("{reason}") };
            assert!(reason.ends_with(str::from_utf8(early.text).unwrap()), "{reason}");
        }
        // what had that number in other versions is an attempt
        let tainted = format!("{ID} == a@x R=r T=t defer (-51): Tainted '/x' not permitted");
        assert_eq!(EXIM.attempted(&tainted).text, b"Tainted '/x' not permitted");
    }

    #[test]
    fn the_host_of_a_deferral() {
        let named = format!(
            "{ID} ** a@x R=r T=t H=mx.x [192.0.2.1] X=TLS1.2:256 DN=\"/O=x: y\" : SMTP error: 550 no"
        );
        assert_eq!(EXIM.attempted(&named).text, b"SMTP error: 550 no");
        let old = format!("{ID} ** a@x R=r T=t: SMTP error: host mx.x [192.0.2.1]: 550 no");
        let old = EXIM.attempted(&old);
        assert_eq!((old.relay, old.address), (Some(&b"mx.x"[..]), &b"192.0.2.1"[..]));
        for (reason, relay, text) in [
            ("(111): Connection refused", None, "Connection refused"),
            ("(111): Connection refused H=mx.x [192.0.2.1]", Some("mx.x"), "Connection refused"),
            (
                "(110): Connection timed out H=mx.x [192.0.2.1]:25 DT=2m: SMTP timeout after DATA",
                Some("mx.x"),
                "SMTP timeout after DATA",
            ),
            (
                "(110): Connection timed out: SMTP timeout after DATA",
                None,
                "SMTP timeout after DATA",
            ),
            ("(-18) H=mx.x [192.0.2.1]: Remote host closed", Some("mx.x"), "Remote host closed"),
        ] {
            let line = format!("{ID} == a@x R=r T=t defer {reason}");
            let attempt = EXIM.attempted(&line);
            assert_eq!(attempt.relay, relay.map(str::as_bytes), "{reason}");
            assert_eq!(attempt.text, text.as_bytes(), "{reason}");
        }
    }
}
