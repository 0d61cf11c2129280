//! Replies of a server (RFC 5321 section 4.2), with enhanced status codes (RFC 2034, RFC 3463).

use std::fmt;
use std::str::FromStr;

/// A server's reply to one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 200 to 599.
    pub code: u16,
    /// The status at the beginning of its text, when there is one of the code's own class.
    pub enhanced: Option<Enhanced>,
    /// What follows the code, line by line, without the status; control characters and what is not
    /// UTF-8 are replaced, so that it can stand in a log.
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

/// Puts replies together from bytes, however they are cut. What it holds is bounded.
#[derive(Clone, Debug, Default)]
pub struct ReplyReader {
    line: Vec<u8>,
    code: Option<u16>,
    lines: Vec<String>,
    held: usize,
}

/// RFC 5321 section 4.5.3.1.5 has 512; servers exceed it.
const LINE_MAX: usize = 4096;
/// Of one reply, all its lines together.
const REPLY_MAX: usize = 32 * 1024;
const LINES_MAX: usize = 512;

impl Reply {
    /// 2xx: done.
    pub fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// 4xx: not now.
    pub fn is_transient(&self) -> bool {
        self.code / 100 == 4
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
}

impl ReplyReader {
    /// Takes from `bytes` up to the end of the next reply; nothing when it needs more.
    ///
    /// Lines end with LF; a CR before it belongs to the end (section 2.3.8 wants both, and servers
    /// exist that forget one).
    pub fn read(&mut self, bytes: &mut &[u8]) -> Option<Result<Reply, BadReply>> {
        loop {
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            *bytes = rest;
            if self.line.len() + piece.len() > LINE_MAX {
                return Some(Err(BadReply::Endless));
            }
            let ended = match end {
                // Most lines come whole, and need not be put together.
                Some(_) if self.line.is_empty() => self.end_line(piece),
                _ => {
                    self.line.extend_from_slice(piece);
                    end?;
                    let line = std::mem::take(&mut self.line);
                    self.end_line(&line)
                }
            };
            match ended {
                Ok(Some(reply)) => return Some(Ok(reply)),
                Ok(None) => {}
                Err(bad) => return Some(Err(bad)),
            }
        }
    }

    /// Whether part of a reply is held.
    pub fn is_within(&self) -> bool {
        !self.line.is_empty() || self.code.is_some()
    }

    /// A line is complete: the reply, if it was its last.
    fn end_line(&mut self, line: &[u8]) -> Result<Option<Reply>, BadReply> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (code, rest) = split_code(line).ok_or(BadReply::NoCode)?;
        if *self.code.get_or_insert(code) != code {
            return Err(BadReply::Inconsistent);
        }
        let (last, text) = match rest {
            [b'-', text @ ..] => (false, text),
            [b' ', text @ ..] => (true, text),
            [] => (true, rest),
            _ => return Err(BadReply::NoCode),
        };
        self.held += line.len();
        if self.held > REPLY_MAX || self.lines.len() == LINES_MAX {
            return Err(BadReply::Endless);
        }
        if self.lines.is_empty() {
            self.lines.reserve_exact(1);
        }
        self.lines.push(printable(text));
        Ok(last.then(|| {
            (self.code, self.held) = (None, 0);
            finish(code, std::mem::take(&mut self.lines))
        }))
    }
}

fn split_code(line: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = line.split_at_checked(3)?;
    if !matches!(digits[0], b'2'..=b'5') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    Some((code, rest))
}

fn printable(text: &[u8]) -> String {
    if text.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return std::str::from_utf8(text).expect("it is ASCII").to_owned();
    }
    let text = String::from_utf8_lossy(text);
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
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

/// On one line, as logs and bounces show it.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(enhanced) = self.enhanced {
            write!(f, " {enhanced}")?;
        }
        self.lines.iter().filter(|line| !line.is_empty()).try_for_each(|line| write!(f, " {line}"))
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
