//! When a line was written: stamps of syslog, of RFC 3339 and of Exim.

use crate::problems::Why;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400;
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
/// Months from one stamp to the next beyond which the year has changed.
const HALF_A_YEAR: i64 = 6;

/// Reads stamps, and knows the year of those that have none.
///
/// The first stamp without a year is of the latest year in which it is not more than a day after
/// `newest`. From then on, a month more than half a year before the last one's is of the next year;
/// one more than half a year after it is a late line of the year before.
#[derive(Clone, Debug)]
pub struct Clock {
    newest: i64,
    /// Year and month (from 0) of the latest stamp.
    last: Option<(i64, i64)>,
}

impl Clock {
    /// For a log whose last line was written at about this time, in microseconds from 1970.
    pub fn new(newest: i64) -> Clock {
        Clock { newest, last: None }
    }

    /// A stamp of syslog, `Nov 22 10:00:00`, `Nov  2 10:00:00` or `Nov 2 10:00:00.5`; what follows
    /// it.
    pub(crate) fn syslog<'a>(&mut self, line: &'a [u8]) -> Result<(i64, &'a [u8]), Why> {
        const WHY: Why = "no stamp like `Nov 22 10:00:00` or `2026-11-22T10:00:00+00:00`";
        let (name, rest) = line.split_at_checked(3).ok_or(WHY)?;
        let month = MONTHS.chunks(3).position(|month| month == name).ok_or(WHY)? as i64;
        let (day, rest) = match rest {
            [b' ', b' ', ones, b' ', rest @ ..] | [b' ', ones, b' ', rest @ ..] => {
                (two(b'0', *ones), rest)
            }
            [b' ', tens, ones, b' ', rest @ ..] => (two(*tens, *ones), rest),
            _ => return Err(WHY),
        };
        let day = day.ok_or(WHY)?;
        let (time, rest) = rest.split_at_checked(8).ok_or(WHY)?;
        let second = time_of_day(time).ok_or(WHY)?;
        let (micros, rest) = fraction(rest);
        let year = self.year_of(month, day, second);
        let date = date(year, month + 1, day).ok_or("a day that its month does not have")?;
        Ok(((date * DAY + second) * SECOND + micros, rest))
    }

    /// Seconds since 1970, `1795341600.5`, as `journalctl --output=short-unix` writes them; what
    /// follows them.
    pub(crate) fn unix<'a>(&mut self, line: &'a [u8]) -> Option<(i64, &'a [u8])> {
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (seconds, rest) = line.split_at(digits);
        let seconds = str::from_utf8(seconds).ok()?.parse::<u32>().ok()?;
        let (micros, rest) = fraction(rest);
        (digits >= 9).then_some((i64::from(seconds) * SECOND + micros, rest))
    }

    fn year_of(&mut self, month: i64, day: i64, second: i64) -> i64 {
        let Some((year, last)) = self.last else {
            let late = |year: &i64| {
                let date = date(*year, month + 1, day);
                date.is_none_or(|date| (date * DAY + second) * SECOND > self.newest + DAY * SECOND)
            };
            let now = year_at(self.newest);
            // the 29th of February is there at least once in eight years
            let year = (now - 8..=now + 1).rev().find(|year| !late(year)).unwrap_or(now);
            self.last = Some((year, month));
            return year;
        };
        if month - last > HALF_A_YEAR {
            return year - 1;
        }
        let year = if last - month > HALF_A_YEAR { year + 1 } else { year };
        self.last = Some((year, month));
        year
    }

    /// What a stamp with a year tells about later ones without.
    fn saw(&mut self, year: i64, month: i64) {
        self.last = Some((year, month - 1));
    }

    /// A stamp of RFC 3339, `2026-11-22T10:00:00.5+01:00`; what follows it.
    ///
    /// `T` is that, or a space (Exim); the offset may be missing or without its colon, as journalctl
    /// writes it, or stand apart, as Exim does. It is passed over: times are as written.
    pub(crate) fn iso<'a>(&mut self, line: &'a [u8]) -> Result<(i64, &'a [u8]), Why> {
        const WHY: Why = "no stamp like `2026-11-22T10:00:00+00:00`";
        let (stamp, rest) = line.split_at_checked(19).ok_or(WHY)?;
        let [century, rest_of_year] = [two(stamp[0], stamp[1]), two(stamp[2], stamp[3])];
        let year = century.ok_or(WHY)? * 100 + rest_of_year.ok_or(WHY)?;
        let month = two(stamp[5], stamp[6]).ok_or(WHY)?;
        let day = two(stamp[8], stamp[9]).ok_or(WHY)?;
        if stamp[4] != b'-' || stamp[7] != b'-' {
            return Err(WHY);
        }
        let second = time_of_day(&stamp[11..]).ok_or(WHY)?;
        let date = date(year, month, day).ok_or("a day that its month does not have")?;
        let (micros, rest) = fraction(rest);
        self.saw(year, month);
        Ok(((date * DAY + second) * SECOND + micros, without_offset(rest)))
    }
}

/// The microseconds of `.25` or `,25`; what follows them.
fn fraction(text: &[u8]) -> (i64, &[u8]) {
    let [b'.' | b',', fraction @ ..] = text else { return (0, text) };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (mut micros, mut unit) = (0, SECOND);
    for &digit in &fraction[..digits] {
        unit /= 10;
        micros += i64::from(digit - b'0') * unit;
    }
    (micros, &fraction[digits..])
}

/// Without `Z` and without an offset such as `+01:00`, which Exim puts behind a space.
fn without_offset(rest: &[u8]) -> &[u8] {
    let offset = match rest {
        [b' ', offset @ ..] if offset.starts_with(b"+") || offset.starts_with(b"-") => offset,
        _ => rest,
    };
    match offset {
        [b'Z' | b'z', rest @ ..] => rest,
        [b'+' | b'-', a, b, b':', c, d, rest @ ..] | [b'+' | b'-', a, b, c, d, rest @ ..]
            if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()) =>
        {
            rest
        }
        _ => rest,
    }
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
    digits.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

/// Seconds of `10:00:00`.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let &[a, b, b':', c, d, b':', e, f] = text else { return None };
    let (hour, minute, second) = (two(a, b)?, two(c, d)?, two(e, f)?);
    // a leap second is written as the 60th
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Days from 1970 to a date of the Gregorian calendar; nothing where there is no such day.
fn date(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // years from March on, so that the leap day is the last one
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leaps + (month * 153 + 2) / 5 + day - 1 - 719_468)
}

/// The year at a time in microseconds.
fn year_at(at: i64) -> i64 {
    let days = at.div_euclid(DAY * SECOND);
    let guess = 1970 + days.div_euclid(366);
    (guess..)
        .take_while(|&year| date(year, 1, 1).is_some_and(|first| first <= days))
        .last()
        .unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOV_2026: i64 = 1_795_341_600 * SECOND; // 2026-11-22T10:00:00

    fn syslog(clock: &mut Clock, stamp: &str) -> i64 {
        clock.syslog(stamp.as_bytes()).unwrap().0 / SECOND
    }

    #[test]
    fn stamps_of_each_kind() {
        let mut clock = Clock::new(NOV_2026);
        assert_eq!(clock.syslog(b"Nov 22 10:00:00 host"), Ok((NOV_2026, &b" host"[..])));
        let second = NOV_2026 - 20 * DAY * SECOND;
        for stamp in ["Nov 2 10:00:00", "Nov  2 10:00:00", "Nov 02 10:00:00", "Nov 2 10:00:00.000"]
        {
            assert_eq!(clock.syslog(stamp.as_bytes()), Ok((second, &b""[..])), "{stamp}");
        }
        let unix = clock.unix(b"1795341600.25 host");
        assert_eq!(unix, Some((NOV_2026 + 250_000, &b" host"[..])));
        for (stamp, micros, rest) in [
            ("2026-11-22T10:00:00Z host", 0, " host"),
            ("2026-11-22T10:00:00.123456+01:00 host", 123_456, " host"),
            ("2026-11-22T10:00:00,5-0930 host", 500_000, " host"),
            ("2026-11-22T10:00:00 host", 0, " host"),
            ("2026-11-22 10:00:00.250 +0100 1abc", 250_000, " 1abc"),
            ("2026-11-22 10:00:00 1abc", 0, " 1abc"),
        ] {
            let read = clock.iso(stamp.as_bytes());
            assert_eq!(read, Ok((NOV_2026 + micros, rest.as_bytes())), "{stamp}");
        }
    }

    #[test]
    fn what_is_no_stamp() {
        let mut clock = Clock::new(NOV_2026);
        for stamp in [
            "",
            "Nov",
            "Nov 31 10:00:00 ",
            "Nov 22 24:00:00 ",
            "nov 22 10:00:00 ",
            "Nov 2x 10:00:00",
        ] {
            assert!(clock.syslog(stamp.as_bytes()).is_err(), "{stamp}");
        }
        for stamp in
            ["2026-11-2", "2026-13-22T10:00:00", "2026-02-29T10:00:00", "2026-11-22T10:61:00"]
        {
            assert!(clock.iso(stamp.as_bytes()).is_err(), "{stamp}");
        }
    }

    #[test]
    fn the_year_turns() {
        let january_5 = date(2027, 1, 5).unwrap() * DAY;
        let mut clock = Clock::new(january_5 * SECOND);
        let day = |year, month, day| date(year, month, day).unwrap() * DAY;
        assert_eq!(syslog(&mut clock, "Dec 31 23:59:59"), day(2026, 12, 31) + DAY - 1);
        assert_eq!(syslog(&mut clock, "Jan  1 00:00:00"), day(2027, 1, 1));
        // a late line of the year before changes nothing
        assert_eq!(syslog(&mut clock, "Dec 31 23:59:59"), day(2026, 12, 31) + DAY - 1);
        assert_eq!(syslog(&mut clock, "Jan  1 00:00:02"), day(2027, 1, 1) + 2);
    }

    #[test]
    fn a_log_may_be_a_day_ahead_of_its_file() {
        let mut clock = Clock::new(date(2026, 12, 31).unwrap() * DAY * SECOND);
        assert_eq!(syslog(&mut clock, "Jan  1 00:00:00"), date(2027, 1, 1).unwrap() * DAY);
    }

    #[test]
    fn leap_days_have_leap_years() {
        let mut clock = Clock::new(NOV_2026);
        assert_eq!(syslog(&mut clock, "Feb 29 00:00:00"), date(2024, 2, 29).unwrap() * DAY);
        assert_eq!(date(1900, 2, 29), None);
        assert_eq!(date(2000, 2, 29).map(|it| it + 1), date(2000, 3, 1));
    }

    #[test]
    fn days_follow_each_other() {
        let mut next = date(1969, 1, 1).unwrap();
        for year in 1969..2101 {
            for month in 1..=12 {
                for day in 1..=31 {
                    let Some(found) = date(year, month, day) else { continue };
                    assert_eq!(found, next);
                    next += 1;
                }
            }
        }
        assert_eq!(date(1970, 1, 1), Some(0));
        assert_eq!(year_at(-1), 1969);
        assert_eq!(year_at(NOV_2026), 2026);
    }
}
