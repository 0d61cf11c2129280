//! Logs that cannot be read: which they are, and why not.

use crate::fields::{cut, queue_id};
use crate::problems::Why;
use memchr::memmem::find;
use memchr::{memchr, memchr_iter};

const QMAIL: Why = "a line of qmail, which names message and recipient in different lines: \
    it is not read";
const HARAKA: Why = "a line of Haraka, whose deliveries name no recipient: it is not read";
const EXCHANGE: Why = "Exchange's message tracking, which has no attempts: it is not read";
const MAILMAN: Why = "Mailman's smtp log, which names no recipient: \
    read the log of the server that Mailman hands mail to";
const SINCE_START: Why = "a stamp since the machine's start, which has no date: \
    write the log with journalctl --output=short-iso";
const NO_STAMP: Why = "a line without a stamp: write the log with journalctl --output=short-iso";

/// Why a line cannot be read that is of a mailer, or of a form, that is known and not read.
pub(crate) fn of(line: &[u8]) -> Option<Why> {
    let has = |mark: &str| find(line, mark.as_bytes()).is_some();
    let is_tai = line.starts_with(b"@40000000");
    if is_tai || has("starting delivery ") || has(" delivery ") && has(": success: ") {
        return Some(QMAIL);
    }
    if has("] [outbound] ") {
        return Some(HARAKA);
    }
    if line.starts_with(b"#Software: Microsoft Exchange") || line.starts_with(b"#Log-type: Message")
    {
        return Some(EXCHANGE);
    }
    if has(" smtp to ") && has(" recips, completed in ") {
        return Some(MAILMAN);
    }
    if let Some(rest) = line.strip_prefix(b"[")
        && let Some((stamp, _)) = cut(rest, b"] ")
        && stamp.contains(&b'.')
        && stamp.iter().all(|byte| b" .0123456789<>+s".contains(byte))
    {
        return Some(SINCE_START);
    }
    let is_bare = looks_like_delivery(line) && queue_id(line).is_some();
    is_bare.then_some(NO_STAMP)
}

/// Whether a line seems to say what came of a delivery: `to=` and `status=` or `stat=`, or ` => `.
pub(crate) fn looks_like_delivery(line: &[u8]) -> bool {
    let (mut has_recipient, mut has_status, mut has_arrow) = (false, false, false);
    for at in memchr_iter(b'=', line) {
        let before = &line[..at];
        has_recipient |= before.ends_with(b"to");
        has_status |= before.ends_with(b"stat") || before.ends_with(b"status");
        has_arrow |= before.ends_with(b" ") && line[at + 1..].starts_with(b"> ");
    }
    has_recipient && has_status || has_arrow && memchr(b'@', line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_read() {
        for (line, why) in [
            ("@400000004f1b7c6b0d3e4a5c starting delivery 5: msg 12 to remote a@x", QMAIL),
            ("Nov 22 10:00:00 mx qmail: 1.5 delivery 5: success: 192.0.2.1_accepted/", QMAIL),
            (
                "2026-11-22T10:00:00Z [INFO] [A1.1.1] [outbound] delivered file=x domain=y \
                 host=mx.y ip=192.0.2.1 response=\"250\" delay=0.5 rcpts=1/0/0",
                HARAKA,
            ),
            ("#Software: Microsoft Exchange Server", EXCHANGE),
            (
                "Nov 22 10:00:00 2026 (123) <1@x> smtp to list for 300 recips, completed in 2.3 s",
                MAILMAN,
            ),
            ("[   12.345678] mx postfix/smtp[1]: 4F2A13C0D1: removed", SINCE_START),
            ("[12.345678 <    0.000100 >] mx postfix/smtp[1]: x", SINCE_START),
            ("4F2A13C0D1: to=<a@x>, relay=none, delay=1, status=sent (x)", NO_STAMP),
        ] {
            assert_eq!(of(line.as_bytes()), Some(why), "{line}");
        }
    }

    #[test]
    fn lines_of_no_known_kind() {
        for line in ["", "hello", "[Sun Nov 22] x", "Nov 22 10:00:00 mx sshd[1]: x"] {
            assert_eq!(of(line.as_bytes()), None, "{line}");
        }
    }
}
