//! What stands in front of a log line: when, where, which program.

use crate::fields::cut;
use crate::problems::Why;
use crate::stamp::Clock;
use memchr::{memchr, memrchr};

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
    /// Of a line of syslog (RFC 3164, RFC 5424, or with other stamps, as journalctl writes them) or of
    /// Exim's main log.
    pub(crate) fn read(line: &'a [u8], clock: &mut Clock) -> Result<SyslogHeader<'a>, Why> {
        let line = without_priority(line);
        if let [b'1', b' ', rest @ ..] = line {
            return SyslogHeader::of_rfc_5424(rest, clock);
        }
        // `Sat 2026-11-28 07:41:25 UTC` (journalctl --output=short-full)
        let dated = line.get(4..).filter(|_| line[3] == b' ').filter(|rest| is_date(rest));
        let line = dated.unwrap_or(line);
        let (at, rest) = match line {
            [b'0'..=b'9', ..] if is_date(line) => clock.iso(line)?,
            [b'0'..=b'9', ..] => clock.unix(line).ok_or("no stamp like `2026-11-22T10:00:00`")?,
            _ => clock.syslog(line)?,
        };
        if dated.is_some() {
            return SyslogHeader::of_syslog(at, without_zone(rest));
        }
        let may_be_exim = is_date(line) && line[10] == b' ' && !has_tag(rest);
        if may_be_exim {
            Ok(SyslogHeader::of_exim(at, rest))
        } else {
            SyslogHeader::of_syslog(at, rest)
        }
    }

    /// ` host program[process]: text`. FreeBSD, busybox and AIX write the facility before the program
    /// or the host, and a line without a host begins with the program.
    fn of_syslog(at: i64, rest: &'a [u8]) -> Result<SyslogHeader<'a>, Why> {
        const WHY: Why = "no host and program after its stamp";
        let rest = rest.strip_prefix(b" ").ok_or(WHY)?.trim_ascii_start();
        if may_be_stamp(rest) && !rest.starts_with(b"<") {
            return Err("a second stamp after its stamp");
        }
        let rest = match rest {
            [b'<', rest @ ..] => cut(rest, b"> ").map_or(rest, |(_, rest)| rest),
            _ => rest,
        };
        let (host, rest) = match first_word(rest).ok_or(WHY)? {
            (word, _) if word.ends_with(b"]:") => (&b""[..], rest),
            parts => parts,
        };
        let rest = match rest.strip_prefix(b"mail:").and_then(first_word) {
            Some((level, rest)) if level.iter().all(u8::is_ascii_lowercase) => rest,
            _ => rest,
        };
        let rest = match rest.strip_prefix(b"Message forwarded from ") {
            Some(rest) => cut(rest, b": ").map_or(rest, |(_, rest)| rest),
            None => rest,
        };
        let end = memchr(b':', rest).unwrap_or(rest.len());
        let (mut tag, text) = rest.split_at(end);
        // words before a colon, or no colon at all: `last message repeated 2 times`
        if tag.is_empty() {
            return Err(WHY);
        }
        if tag.ends_with(b"]")
            && let Some(space) = memrchr(b' ', tag)
        {
            tag = &tag[space + 1..];
        }
        let text = text.strip_prefix(b":").unwrap_or(text);
        let text = text.strip_prefix(b" ").unwrap_or(text);
        let (program, process) = program_and_process(tag);
        Ok(SyslogHeader { at, host, program, process, text: without_message_id(text) })
    }

    /// `2026-11-22T10:00:00Z host program process message-id [data] text` (RFC 5424), without its
    /// version.
    fn of_rfc_5424(line: &'a [u8], clock: &mut Clock) -> Result<SyslogHeader<'a>, Why> {
        const WHY: Why = "no host, program, process and data after its stamp (RFC 5424)";
        let (at, rest) = clock.iso(line)?;
        let (host, rest) = rest.strip_prefix(b" ").and_then(first_word).ok_or(WHY)?;
        let (program, rest) = first_word(rest).ok_or(WHY)?;
        let (process, rest) = first_word(rest).ok_or(WHY)?;
        let (_, rest) = first_word(rest).ok_or(WHY)?;
        let text = without_data(rest).ok_or(WHY)?;
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        Ok(SyslogHeader { at, host, program, process: number(process).unwrap_or(0), text })
    }

    /// ` [process] text`
    fn of_exim(at: i64, rest: &'a [u8]) -> SyslogHeader<'a> {
        let text = rest.strip_prefix(b" ").unwrap_or(rest);
        let (process, text) = leading_process(text);
        SyslogHeader { at, host: b"", program: b"exim", process: process.unwrap_or(0), text }
    }
}

/// `[123] text`
pub(crate) fn leading_process(text: &[u8]) -> (Option<u32>, &[u8]) {
    if let Some(inner) = text.strip_prefix(b"[")
        && let Some((digits, rest)) = cut(inner, b"]")
        && let Some(number) = number(digits)
    {
        return (Some(number), rest.strip_prefix(b" ").unwrap_or(rest));
    }
    (None, text)
}

/// Whether it begins with a date such as `2026-11-22`.
fn is_date(text: &[u8]) -> bool {
    text.len() > 18 && text[4] == b'-' && text[7] == b'-' && text[0].is_ascii_digit()
}

/// Whether a stamp or a priority may begin here.
pub(crate) fn may_be_stamp(text: &[u8]) -> bool {
    matches!(
        text,
        [b'0'..=b'9', _, _, _, b'-', ..]
            | [b'<', b'0'..=b'9', ..]
            | [b'A'..=b'S', b'a'..=b'z', b'a'..=b'z', b' ', ..]
    )
}

/// The first word, and what follows the space after it.
fn first_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (word, rest) = text.split_at(memchr(b' ', text)?);
    (!word.is_empty()).then(|| (word, &rest[1..]))
}

/// Whether this is ` host program: text` or ` host program[process]: text`.
fn has_tag(rest: &[u8]) -> bool {
    let tag = rest.strip_prefix(b" ").and_then(first_word).and_then(|(host, rest)| {
        let tag = first_word(rest)?.0.strip_suffix(b":")?;
        (!host.starts_with(b"[") && !host.ends_with(b":")).then_some(tag)
    });
    tag.is_some()
}

/// Without ` UTC`, ` CET` or ` +03`.
fn without_zone(rest: &[u8]) -> &[u8] {
    let zone = rest.strip_prefix(b" ").and_then(first_word).map_or(&b""[..], |(word, _)| word);
    let is_zone = match zone {
        [b'+' | b'-', digits @ ..] => digits.iter().all(|it| it.is_ascii_digit() || *it == b':'),
        _ => zone.iter().all(u8::is_ascii_uppercase),
    };
    if is_zone && !zone.is_empty() { &rest[zone.len() + 1..] } else { rest }
}

/// Solaris puts `[ID 801593 mail.info] ` before the text.
fn without_message_id(text: &[u8]) -> &[u8] {
    let rest = text.strip_prefix(b"[ID ").and_then(|rest| cut(rest, b"] "));
    rest.map_or(text, |(_, text)| text)
}

/// What follows `-` or `[id name="value"]...`, in whose values `\]` ends nothing.
fn without_data(text: &[u8]) -> Option<&[u8]> {
    let mut rest = match text {
        [b'-', rest @ ..] => rest,
        [b'[', ..] => text,
        _ => return None,
    };
    while let [b'[', element @ ..] = rest {
        let is_end = |at: &usize| element[*at] == b']' && (*at == 0 || element[at - 1] != b'\\');
        rest = &element[(0..element.len()).find(is_end)? + 1..];
    }
    Some(rest.strip_prefix(b" ").unwrap_or(rest))
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
            ("2026-11-22 10:00:00 mx postfix/smtp[12]: A: to", "mx", "postfix/smtp", 12, "A: to"),
            ("2026-11-22 10:00:00.5 mx postfix/smtp[1]: A", "mx", "postfix/smtp", 1, "A"),
            ("2026-11-22 10:00:00 +0100 [7] 1abc => x", "", "exim", 7, "1abc => x"),
            ("Sun 2026-11-22 10:00:00 UTC mx exim[1]: A", "mx", "exim", 1, "A"),
            ("Sun 2026-11-22 10:00:00 +03 mx exim[1]: A", "mx", "exim", 1, "A"),
            (
                "Sun 2026-11-22 10:00:00 CET mx postfix@-.service[9]: A",
                "mx",
                "postfix@-.service",
                9,
                "A",
            ),
            ("1795341600.123456 mx postfix/smtp[1]: A", "mx", "postfix/smtp", 1, "A"),
            ("Nov 22 10:00:00.123456 mx postfix/smtp[1]: A", "mx", "postfix/smtp", 1, "A"),
            ("Nov 2 10:00:00 mx postfix/smtp[1]: A", "mx", "postfix/smtp", 1, "A"),
            (
                "Nov 22 10:00:00 mx sendmail[1]: [ID 801593 mail.info] A: to",
                "mx",
                "sendmail",
                1,
                "A: to",
            ),
            ("Nov 22 10:00:00 <mail.info> mx sendmail[1]: A: to", "mx", "sendmail", 1, "A: to"),
            ("Nov 22 10:00:00 mx mail.info sendmail[1]: A: to", "mx", "sendmail", 1, "A: to"),
            ("Nov 22 10:00:00 mx mail:info sendmail[1]: A: to", "mx", "sendmail", 1, "A: to"),
            (
                "Nov 22 10:00:00 mx Message forwarded from b: sendmail[1]: A",
                "mx",
                "sendmail",
                1,
                "A",
            ),
            ("Nov 22 10:00:00 postfix/smtp[1]: A: to", "", "postfix/smtp", 1, "A: to"),
            (
                "<22>1 2026-11-22T10:00:00.5Z mx postfix/smtp 12 - - A: to",
                "mx",
                "postfix/smtp",
                12,
                "A: to",
            ),
            ("1 2026-11-22T10:00:00Z mx p - ID [a b=\"\\]\"][c] \u{feff}A", "mx", "p", 0, "A"),
            ("<22>1 2026-11-22T10:00:00Z mx p 1 - -", "mx", "p", 1, ""),
        ] {
            let expected = (host.into(), program.into(), process, text.into());
            assert_eq!(parts(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_has_none() {
        for line in [
            "",
            "hello",
            "Nov 22 10:00:00",
            "Nov 22 10:00:00 mx",
            "Nov 22 10:00:00 mx : x",
            "<22>1 - mx p 1 - - A",
            "<22>1 2026-11-22T10:00:00Z mx p 1 - [a",
            "2026 x",
            "179 x",
        ] {
            assert_eq!(parts(line), None, "{line}");
        }
    }
}
