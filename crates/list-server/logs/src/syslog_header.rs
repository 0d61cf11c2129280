//! What stands in front of a log line: when, where, which program.

use crate::problems::Why;
use crate::stamp::Clock;
use memchr::memchr;

/// A line of a log, its heading understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyslogHeader<'a> {
    /// When, in microseconds.
    pub(crate) at: i64,
    /// The machine that wrote it; empty in a log of Exim's own.
    pub(crate) host: &'a [u8],
    /// The program's name; `exim` for a line of Exim's own log.
    pub(crate) program: &'a [u8],
    /// Its process; 0 where the line does not say.
    pub(crate) process: u32,
    /// What it wrote.
    pub(crate) text: &'a [u8],
}

impl<'a> SyslogHeader<'a> {
    /// Of a line of syslog (RFC 3164, or with stamps of RFC 3339) or of Exim's main log.
    pub(crate) fn read(line: &'a [u8], clock: &mut Clock) -> Result<SyslogHeader<'a>, Why> {
        let line = without_priority(line);
        if line.first().is_some_and(u8::is_ascii_digit) {
            let (at, rest) = clock.iso(line)?;
            let exim = line.get(10) == Some(&b' ');
            return if exim {
                Ok(SyslogHeader::of_exim(at, rest))
            } else {
                SyslogHeader::of_syslog(at, rest)
            };
        }
        let (at, rest) = clock.syslog(line)?;
        SyslogHeader::of_syslog(at, rest)
    }

    /// ` host program[process]: text`
    fn of_syslog(at: i64, rest: &'a [u8]) -> Result<SyslogHeader<'a>, Why> {
        const WHY: Why = "no host and program after its stamp";
        let rest = rest.strip_prefix(b" ").ok_or(WHY)?;
        let (host, rest) = rest.split_at(memchr(b' ', rest).ok_or(WHY)?);
        let rest = &rest[1..];
        let end = memchr(b':', rest).unwrap_or(rest.len());
        let (tag, text) = rest.split_at(end);
        // words before a colon, or no colon at all: `last message repeated 2 times`
        if host.is_empty() || tag.is_empty() {
            return Err(WHY);
        }
        let text = text.strip_prefix(b":").unwrap_or(text);
        let (program, process) = program_and_process(tag);
        Ok(SyslogHeader {
            at,
            host,
            program,
            process,
            text: text.strip_prefix(b" ").unwrap_or(text),
        })
    }

    /// ` [process] text`
    fn of_exim(at: i64, rest: &'a [u8]) -> SyslogHeader<'a> {
        let mut text = rest.strip_prefix(b" ").unwrap_or(rest);
        let mut process = 0;
        if let Some(inner) = text.strip_prefix(b"[")
            && let Some(end) = memchr(b']', inner)
            && let Some(number) = number(&inner[..end])
        {
            process = number;
            text = &inner[end + 1..];
            text = text.strip_prefix(b" ").unwrap_or(text);
        }
        SyslogHeader { at, host: b"", program: b"exim", process, text }
    }
}

/// `<22>` in front of what came over the network.
fn without_priority(line: &[u8]) -> &[u8] {
    match line {
        [b'<', a, b'>', rest @ ..] if a.is_ascii_digit() => rest,
        [b'<', a, b, b'>', rest @ ..] if a.is_ascii_digit() && b.is_ascii_digit() => rest,
        [b'<', a, b, c, b'>', rest @ ..]
            if a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit() =>
        {
            rest
        }
        _ => line,
    }
}

/// `postfix/smtp[123]`
fn program_and_process(tag: &[u8]) -> (&[u8], u32) {
    let Some(inner) = tag.strip_suffix(b"]") else { return (tag, 0) };
    let Some(open) = memchr(b'[', inner) else { return (tag, 0) };
    (&tag[..open], number(&inner[open + 1..]).unwrap_or(0))
}

/// A decimal number.
pub(crate) fn number(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u32, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> Option<(String, String, u32, String)> {
        let header = SyslogHeader::read(line.as_bytes(), &mut Clock::new(0)).ok()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Some((text(header.host), text(header.program), header.process, text(header.text)))
    }

    #[test]
    fn headings_of_each_kind() {
        for (line, host, program, process, text) in [
            ("Nov 22 10:00:00 mx postfix/smtp[12]: A: to", "mx", "postfix/smtp", 12, "A: to"),
            ("<22>Nov  2 10:00:00 mx sm-mta[9]: A: to", "mx", "sm-mta", 9, "A: to"),
            ("2026-11-22T10:00:00+00:00 mx exim: text", "mx", "exim", 0, "text"),
            ("2026-11-22 10:00:00 [77] 1abc => x", "", "exim", 77, "1abc => x"),
            ("2026-11-22 10:00:00 Start queue run", "", "exim", 0, "Start queue run"),
            (
                "Nov 22 10:00:00 mx last message repeated 2 times",
                "mx",
                "last message repeated 2 times",
                0,
                "",
            ),
        ] {
            let expected = (host.into(), program.into(), process, text.into());
            assert_eq!(parts(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_has_none() {
        for line in ["", "hello", "Nov 22 10:00:00", "Nov 22 10:00:00 mx", "Nov 22 10:00:00 mx : x"]
        {
            assert_eq!(parts(line), None, "{line}");
        }
    }
}
