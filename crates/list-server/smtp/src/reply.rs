//! Replies of a server (RFC 5321 section 4.2), with enhanced status codes (RFC 2034, RFC 3463).

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup as Group};
use sojourn_core::Span;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A server's reply to one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 200 to 599.
    pub code: u16,
    /// The status at the beginning of its text, when there is one of the code's own class.
    pub enhanced: Option<Enhanced>,
    /// What follows the code, line by line, without the status; [`plain`], so that it can stand in a
    /// log.
    pub lines: Vec<String>,
}

/// An enhanced status code: class 2, 4 or 5, subject, detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enhanced(pub u8, pub u16, pub u16);

/// A text is no status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAStatus;

/// Why bytes are no reply. After one of these nothing that the server says can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadReply {
    /// A line does not begin with a code of three digits, 200 to 599, and a space or hyphen.
    NoCode,
    /// A reply of several lines changes its code on the way.
    Inconsistent,
    /// A line or a reply is longer than is ever useful.
    Endless,
}

/// A reply as it came: its code is known, its text is only looked at where it is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// 200 to 599.
    pub code: u16,
    /// All its lines with their ends, each with the same code.
    text: &'a [u8],
}

/// Puts replies together from bytes, however they are cut. What it holds is bounded.
#[derive(Clone, Debug, Default)]
pub struct ReplyReader {
    /// What has come of a reply whose end has not.
    pending: Vec<u8>,
    /// Whether it was read to its end.
    is_over: bool,
    /// Where in the reply the line begins whose end has not come.
    line: usize,
    before: Before,
}

/// The lines of a reply that have come.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    code: Option<u16>,
    lines: usize,
    /// Without their ends.
    bytes: usize,
}

/// RFC 5321 section 4.5.3.1.5 has 512; servers exceed it.
const LINE_MAX: usize = 4096;
/// Of one reply, all its lines together.
const REPLY_MAX: usize = 32 * 1024;
const LINES_MAX: usize = 512;
/// Digits of a code.
const CODE: usize = 3;

impl Reply {
    /// One of a single line.
    pub fn new(code: u16, status: Enhanced, text: &str) -> Reply {
        Reply { code, enhanced: Some(status), lines: vec![text.to_owned()] }
    }

    /// 2xx: done.
    pub fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// 5xx: never.
    pub fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }

    /// Said of a recipient: there are too many in one transaction. That is 452, or 552 of old (RFC
    /// 5321 section 4.5.3.1.10), or x.5.3 with any code (RFC 3463 section 3.6): OpenSMTPD says 451
    /// 4.5.3.
    pub fn is_too_many_recipients(&self) -> bool {
        matches!(self.code, 452 | 552) || matches!(self.enhanced, Some(Enhanced(_, 5, 3)))
    }

    /// On one line, as logs and bounces show it.
    pub fn line(&self) -> String {
        let text: usize = self.lines.iter().map(|line| line.len() + 1).sum();
        let mut line = String::with_capacity(text + CODE + " 5.999.999".len());
        push_number(self.code, &mut line);
        if let Some(Enhanced(class, subject, detail)) = self.enhanced {
            for (before, part) in [(' ', class.into()), ('.', subject), ('.', detail)] {
                line.push(before);
                push_number(part, &mut line);
            }
        }
        for text in self.lines.iter().filter(|line| !line.is_empty()) {
            line.push(' ');
            line.push_str(text);
        }
        line
    }
}

/// Every delivery has a reply in its log: `fmt` would take ten times as long.
fn push_number(number: u16, text: &mut String) {
    if number > 9 {
        push_number(number / 10, text);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

impl<'a> Said<'a> {
    /// 2xx: done.
    pub fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// 5xx: never.
    pub fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }

    /// Its lines without code and end, octet for octet.
    pub fn texts(&self) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.text.split_inclusive(|&byte| byte == b'\n');
        // After the code comes a hyphen or a space, if anything.
        lines.map(|line| without_end(line).get(CODE + 1..).unwrap_or_default())
    }

    /// With its text, as it can stand in a log.
    pub fn reply(&self) -> Reply {
        let plain = |text| plain(&String::from_utf8_lossy(text)).into_owned();
        finish(self.code, self.texts().map(plain).collect())
    }
}

impl ReplyReader {
    /// Takes from `bytes` up to the end of the next reply; nothing when it needs more.
    ///
    /// Lines end with LF; a CR before it belongs to the end (section 2.3.8 wants both, and servers
    /// exist that forget one).
    pub fn read<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Option<Result<Said<'a>, BadReply>> {
        if self.is_over {
            self.pending.clear();
            self.is_over = false;
        }
        // Most replies come whole, and are read where they lie.
        let (come, mut taken) = (*bytes, 0);
        let ended = loop {
            let end = memchr::memchr(b'\n', &come[taken..]);
            let until = end.map_or(come.len(), |end| taken + end + 1);
            let whole = match self.pending.is_empty() {
                true => &come[..until],
                false => {
                    self.pending.extend_from_slice(&come[taken..until]);
                    &self.pending[..]
                }
            };
            taken = until;
            *bytes = &come[taken..];
            let line = &whole[self.line..];
            if line.len() > LINE_MAX {
                break Err(BadReply::Endless);
            }
            if end.is_none() {
                if self.pending.is_empty() {
                    self.pending.extend_from_slice(come);
                }
                return None;
            }
            match self.before.add(without_end(line)) {
                Ok(None) => self.line = whole.len(),
                Ok(Some(code)) => break Ok(code),
                Err(bad) => break Err(bad),
            }
        };
        (self.line, self.before, self.is_over) = (0, Before::default(), true);
        let text = if self.pending.is_empty() { &come[..taken] } else { &self.pending[..] };
        Some(ended.map(|code| Said { code, text }))
    }
}

impl Before {
    /// A line is complete: the reply's code, if it was its last.
    fn add(&mut self, line: &[u8]) -> Result<Option<u16>, BadReply> {
        let (code, rest) = split_code(line).ok_or(BadReply::NoCode)?;
        if *self.code.get_or_insert(code) != code {
            return Err(BadReply::Inconsistent);
        }
        let last = match rest.first() {
            Some(b'-') => false,
            Some(b' ') | None => true,
            Some(_) => return Err(BadReply::NoCode),
        };
        self.bytes += line.len();
        self.lines += 1;
        if self.bytes > REPLY_MAX || self.lines > LINES_MAX {
            return Err(BadReply::Endless);
        }
        Ok(last.then_some(code))
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn split_code(line: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = line.split_at_checked(CODE)?;
    if !matches!(digits[0], b'2'..=b'5') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    Some((code, rest))
}

/// Takes the status off each line; the first line's counts (RFC 2034 section 4 repeats it).
fn finish(code: u16, mut lines: Vec<String>) -> Reply {
    let enhanced = lines.first().and_then(|line| Enhanced::begin(line, code)).map(|(it, _)| it);
    for line in lines.iter_mut().filter(|_| enhanced.is_some()) {
        if let Some((status, rest)) = Enhanced::begin(line, code)
            && Some(status) == enhanced
        {
            line.drain(..line.len() - rest.len());
        }
    }
    Reply { code, enhanced, lines }
}

impl Enhanced {
    /// The status at the beginning of `text`, of the class of `code`, and what follows it.
    fn begin(text: &str, code: u16) -> Option<(Enhanced, &str)> {
        let bytes = text.as_bytes();
        let class = match bytes {
            [class @ (b'2' | b'4' | b'5'), b'.', ..] => class - b'0',
            _ => return None,
        };
        let (subject, dot) = number(bytes, 2)?;
        let (detail, end) = number(bytes, dot + 1).filter(|_| bytes.get(dot) == Some(&b'.'))?;
        let rest = match bytes.get(end) {
            None => "",
            Some(b' ') => &text[end + 1..],
            Some(_) => return None,
        };
        (u16::from(class) == code / 100).then_some((Enhanced(class, subject, detail), rest))
    }
}

/// The number of one to three digits that begins at `from`, and where it ends.
fn number(bytes: &[u8], from: usize) -> Option<(u16, usize)> {
    let digits = bytes.get(from..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = || {
        let digits = &bytes[from..from + digits];
        digits.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'))
    };
    (1..=3).contains(&digits).then(|| (value(), from + digits))
}

/// `class.subject.detail`, with a class of 2, 4 or 5 (RFC 3463 section 2).
impl FromStr for Enhanced {
    type Err = NotAStatus;

    fn from_str(text: &str) -> Result<Enhanced, NotAStatus> {
        let class = text.bytes().next().filter(u8::is_ascii_digit).ok_or(NotAStatus)? - b'0';
        match Enhanced::begin(text, u16::from(class) * 100) {
            Some((status, "")) => Ok(status),
            _ => Err(NotAStatus),
        }
    }
}

impl fmt::Display for Enhanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line())
    }
}

impl fmt::Display for BadReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadReply::NoCode => "an answer that is not SMTP",
            BadReply::Inconsistent => "an answer whose lines have different codes",
            BadReply::Endless => "an answer without end",
        })
    }
}

/// Longer than this is no hint, but a refusal in other words.
const LONGEST: Span = Span::from_s(86_400);

/// The wait that a transient reply names in its text: `try again in 60 seconds`, `retry after 5
/// min`, `greylisted for 300s`. No standard has it; greylisting servers write it for people.
pub fn wait_named(text: &str) -> Option<Span> {
    let text = text.to_ascii_lowercase();
    let mut words =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut before = "";
    let mut word = words.next()?;
    loop {
        let next = words.next();
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = word.split_at(digits);
        let unit = if unit.is_empty() { next.unwrap_or_default() } else { unit };
        if matches!(before, "in" | "for" | "after" | "wait" | "least" | "another")
            && let (Ok(number), Some(unit)) = (number.parse::<u64>(), seconds(unit))
        {
            let wait = Span::from_s(1).saturating_mul(number.saturating_mul(unit));
            return (wait > Span::ZERO && wait <= LONGEST).then_some(wait);
        }
        (before, word) = (word, next?);
    }
}

fn seconds(unit: &str) -> Option<u64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hour" | "hours" => Some(3600),
        _ => None,
    }
}

/// What begins a line, or changes how the rest of one is read: control characters, separators of
/// lines and paragraphs, and characters of formatting, such as those that turn text round.
const DISTURBS: Group = Group::Control
    .union(Group::Format)
    .union(Group::LineSeparator)
    .union(Group::ParagraphSeparator);

/// `text` on one line that is read as it is written: U+FFFD stands for each character that could
/// change that.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.into();
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    let disturbs = |c: char| DISTURBS.contains(categories.get(c));
    text.chars().map(|c| if disturbs(c) { '\u{fffd}' } else { c }).collect()
}
