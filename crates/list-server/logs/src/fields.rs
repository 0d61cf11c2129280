//! Small things that lines of several mailers have in common.

use crate::event::Dsn;
use memchr::{memchr, memchr_iter, memrchr};

const SECOND: i64 = 1_000_000;

/// What stands before and after the first `mark`; nothing where there is none.
pub(crate) fn cut<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    // marks are of one or two octets and near: setting up a better search costs more than it saves
    let at = memchr_iter(mark[0], text).find(|&at| text[at..].starts_with(mark))?;
    Some((&text[..at], &text[at + mark.len()..]))
}

/// An address in `<>` without them, without a phrase before it and a comment behind it.
pub(crate) fn without_brackets(text: &[u8]) -> &[u8] {
    let text = match cut(text, b" (") {
        Some((address, _)) if text.ends_with(b")") && !address.contains(&b'<') => address,
        _ => text,
    };
    let Some(inner) = text.strip_suffix(b">") else { return text };
    match inner.strip_prefix(b"<") {
        Some(address) => address,
        None => memrchr(b'<', inner).map_or(text, |open| &inner[open + 1..]),
    }
}

/// The queue's name of a message in front of a colon, and what follows.
///
/// Letters and digits, six at least. A digit is among them, or they are digits of base sixteen, so
/// that no word is taken for one.
pub(crate) fn queue_id(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b':', &text[..text.len().min(40)])?;
    let id = &text[..end];
    let plain = id.len() >= 6 && id.iter().all(u8::is_ascii_alphanumeric);
    let is_hex = || id.iter().all(|byte| matches!(byte, b'A'..=b'F'));
    let named = id.iter().any(u8::is_ascii_digit) || is_hex();
    (plain && named).then(|| (id, text[end + 1..].trim_ascii_start()))
}

/// `key=value` before the next `, ` that another key follows; and what is behind that.
///
/// A value may hold commas, with and without a space after them.
pub(crate) fn pair(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (key, value) = text.split_at(memchr(b'=', text)?);
    let value = &value[1..];
    for end in memchr_iter(b',', value) {
        if let Some(rest) = value[end + 1..].strip_prefix(b" ")
            && begins_with_key(rest)
        {
            return Some((key, &value[..end], rest));
        }
    }
    Some((key, value, &[]))
}

fn begins_with_key(text: &[u8]) -> bool {
    let letters = text.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_');
    let length = letters.count();
    length > 0 && text.get(length) == Some(&b'=')
}

/// Seconds with decimals, in microseconds: `0.42`, `61`, `4.2e2` is none.
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    let mut micros = 0;
    // what a digit is worth: nothing yet before the point, and less with each behind it
    let mut unit = None;
    let mut digits = 0;
    for byte in text {
        match (byte, unit) {
            (b'0'..=b'9', None) => micros = micros * 10 + i64::from(byte - b'0') * SECOND,
            (b'0'..=b'9', Some(worth)) => {
                micros += i64::from(byte - b'0') * worth;
                unit = Some(worth / 10);
            }
            (b'.', None) if digits > 0 => {
                unit = Some(SECOND / 10);
                digits = 0;
                continue;
            }
            _ => return None,
        }
        digits += 1;
        if digits > 9 {
            return None;
        }
    }
    (digits > 0).then_some(micros)
}

/// sendmail's `[days+]hh:mm:ss`, in microseconds.
pub(crate) fn days_and_clock(text: &[u8]) -> Option<i64> {
    let (days, clock) = match cut(text, b"+") {
        Some((days, clock)) => (small(days)?, clock),
        None => (0, text),
    };
    let (hours, rest) = cut(clock, b":")?;
    let (minutes, seconds) = cut(rest, b":")?;
    let clock = (small(hours)? * 60 + small(minutes)?) * 60 + small(seconds)?;
    Some((days * 86_400 + clock) * SECOND)
}

/// Exim's `1d2h3m4s`, `0.123s` or `4`, in microseconds.
pub(crate) fn units(text: &[u8]) -> Option<i64> {
    let mut micros = 0i64;
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
        let (figure, unit) = rest.split_at(length);
        let (scale, behind) = match unit {
            [b'w', behind @ ..] => (604_800, behind),
            [b'd', behind @ ..] => (86_400, behind),
            [b'h', behind @ ..] => (3600, behind),
            [b'm', behind @ ..] => (60, behind),
            [b's', behind @ ..] => (1, behind),
            [] => (1, unit),
            _ => return None,
        };
        micros = micros.checked_add(seconds(figure)?.checked_mul(scale)?)?;
        rest = behind;
    }
    (!text.is_empty()).then_some(micros)
}

fn small(text: &[u8]) -> Option<i64> {
    (text.len() <= 6).then(|| crate::syslog_header::number(text).map(i64::from)).flatten()
}

/// A whole number.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

/// A status that is all of a text, `4.4.1` (RFC 3463).
pub(crate) fn dsn(text: &[u8]) -> Option<Dsn> {
    let (&[class @ (b'2' | b'4' | b'5'), b'.'], rest) = text.split_first_chunk::<2>()? else {
        return None;
    };
    let (subject, detail) = cut(rest, b".")?;
    let part =
        |text: &[u8]| (text.len() <= 3).then(|| crate::syslog_header::number(text)).flatten();
    Some(Dsn(class - b'0', part(subject)? as u16, part(detail)? as u16))
}

/// The first status within a text: `250 2.0.0 Ok`. An address such as 4.4.4.4 is none.
pub(crate) fn dsn_within(text: &[u8]) -> Option<Dsn> {
    let part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let mut rest = text;
    while let Some(dot) = memchr(b'.', rest) {
        let begin = rest[..dot].iter().rposition(|byte| !part(byte)).map_or(0, |at| at + 1);
        let end = dot + rest[dot..].iter().take_while(|byte| part(byte)).count();
        let word = &rest[begin..end];
        if let Some(found) = dsn(word.strip_suffix(b".").unwrap_or(word)) {
            return Some(found);
        }
        rest = &rest[end..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(seconds(b"0.42"), Some(420_000));
        assert_eq!(seconds(b"61"), Some(61_000_000));
        assert_eq!(seconds(b"1.23456789"), Some(1_234_567));
        for no in ["", ".", "1.", "-1", "1e3", "12345678901"] {
            assert_eq!(seconds(no.as_bytes()), None, "{no}");
        }
        assert_eq!(days_and_clock(b"00:00:07"), Some(7_000_000));
        assert_eq!(days_and_clock(b"4+02:16:02"), Some((4 * 86_400 + 8162) * SECOND));
        for no in ["", "7", "00:07", "x+00:00:01", "00:00:", "00:00:00:00"] {
            assert_eq!(days_and_clock(no.as_bytes()), None, "{no}");
        }
        assert_eq!(units(b"1d2h3m4s"), Some((86_400 + 7200 + 184) * SECOND));
        assert_eq!(units(b"0.123s"), Some(123_000));
        assert_eq!(units(b"4"), Some(4 * SECOND));
        for no in ["", "s", "4x", "m4"] {
            assert_eq!(units(no.as_bytes()), None, "{no}");
        }
    }

    #[test]
    fn statuses() {
        assert_eq!(dsn(b"4.4.1"), Some(Dsn(4, 4, 1)));
        for no in ["", "4", "4.4", "3.0.0", "4.4.1.1", "4.4444.1", "4..1"] {
            assert_eq!(dsn(no.as_bytes()), None, "{no}");
        }
        assert_eq!(dsn_within(b"450 4.7.1 later"), Some(Dsn(4, 7, 1)));
        assert_eq!(dsn_within(b"host 5.5.5.5 said 550 5.1.1: no. 4.0.0"), Some(Dsn(5, 1, 1)));
        assert_eq!(dsn_within(b"550 no such user at v1.2.3.example"), None);
    }

    #[test]
    fn pairs_end_where_a_key_follows() {
        let text = b"to=<\"a, b\"@x>, ctladdr=me (1/2), stat=Sent (a, b=c)";
        let (key, value, rest) = pair(text).unwrap();
        assert_eq!((key, value), (&b"to"[..], &b"<\"a, b\"@x>"[..]));
        let (key, value, rest) = pair(rest).unwrap();
        assert_eq!((key, value), (&b"ctladdr"[..], &b"me (1/2)"[..]));
        assert_eq!(rest, b"stat=Sent (a, b=c)");
    }

    #[test]
    fn addresses() {
        for (text, address) in [
            ("<a@x>", "a@x"),
            ("a@x", "a@x"),
            ("Ann Bee <ann@near.example>", "ann@near.example"),
            ("\"Bee, Ann <x>\" <ann@x>", "ann@x"),
            ("<\"a<b\"@x>", "\"a<b\"@x"),
            ("ann@x (Ann Bee)", "ann@x"),
            ("ann>", "ann>"),
            ("", ""),
        ] {
            assert_eq!(without_brackets(text.as_bytes()), address.as_bytes(), "{text}");
        }
    }

    #[test]
    fn queue_ids() {
        assert_eq!(queue_id(b"KAA24336: to=x"), Some((&b"KAA24336"[..], &b"to=x"[..])));
        assert_eq!(queue_id(b"3qYhzQ2Yhnz1xVS: to"), Some((&b"3qYhzQ2Yhnz1xVS"[..], &b"to"[..])));
        assert_eq!(queue_id(b"FBADEACCDE: to"), Some((&b"FBADEACCDE"[..], &b"to"[..])));
        for no in ["warning: x", "NOQUEUE: x", "statistics: x", "connect from x", "A1: x", ""] {
            assert_eq!(queue_id(no.as_bytes()), None, "{no}");
        }
    }
}
