//! What a message has to lose or to change before it may be sent, and signed.

use memchr::{memchr, memrchr2};
use sojourn_smtp::header::{fields, header, whole};
use sojourn_smtp::server::Text;

/// Octets of a line, without its end (RFC 5321 section 4.5.3.1.6, RFC 5322 section 2.1.1).
pub const LINE_MAX: usize = 998;
/// A line of the body is cut at white space where there is some among so many of its last octets.
const NEAR: usize = 100;

/// A text in lines of at most [`LINE_MAX`] octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// The text.
    pub text: Text,
    /// Whether a line of the header had to be cut where it has no white space, which changes it.
    pub broken_header: bool,
}

/// Whether [`without_blind_copies`] or [`wrapped`] makes another text of this one, of a 256th more
/// octets at most.
pub fn is_changed(text: &[u8]) -> bool {
    !is_short(text) || has_blind_copies(text)
}

/// Cuts lines that are longer than SMTP carries, in a text in canonical form; one without such
/// lines is given back as it came.
///
/// A line is cut before white space. In the header that is folding, and changes nothing (RFC 5322
/// section 2.2.3). Where there is none, CRLF and a space are put in, as Postfix does
/// (`smtp_line_length_limit`), never within a character of UTF-8.
pub fn wrapped(text: impl Into<Text>) -> Wrapped {
    let text = text.into();
    if is_short(&text) {
        return Wrapped { text, broken_header: false };
    }
    let (mut out, most) = (Text::default(), text.len() + text.len() / 256);
    let (mut in_header, mut broken_header) = (true, false);
    for line in lines(&text) {
        in_header &= is_of_header(line);
        let mut rest = line;
        while content(rest).len() > LINE_MAX {
            let near = if in_header { LINE_MAX } else { NEAR };
            let (end, space) = cut(rest, near);
            broken_header |= in_header && !space;
            out.append(&rest[..end], most);
            out.append(if space { b"\r\n" } else { b"\r\n " }, most);
            rest = &rest[end..];
        }
        out.append(rest, most);
    }
    Wrapped { text: out, broken_header }
}

/// The fields that name hidden recipients of a message (RFC 5322 sections 3.6.3 and 3.6.6).
const BLIND: [&str; 2] = ["Bcc", "Resent-Bcc"];

/// A text in canonical form without `Bcc:` and `Resent-Bcc:`; one that has none is given back as it
/// came.
pub fn without_blind_copies(text: impl Into<Text>) -> Text {
    let text = text.into();
    if !has_blind_copies(&text) {
        return text;
    }
    let end = header(&text).len();
    let (mut out, most) = (Text::default(), text.len());
    for field in whole(&text[..end]) {
        if BLIND.iter().all(|name| fields(field, name) == 0) {
            out.append(field, most);
        }
    }
    out.append(&text[end..], most);
    out
}

fn is_short(text: &[u8]) -> bool {
    lines(text).all(|line| content(line).len() <= LINE_MAX)
}

fn has_blind_copies(text: &[u8]) -> bool {
    BLIND.iter().any(|name| fields(text, name) > 0)
}

/// Lines with their ends.
fn lines(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let end = memchr(b'\n', text).map_or(text.len(), |end| end + 1);
        let (line, rest) = text.split_at(end);
        text = rest;
        (!line.is_empty()).then_some(line)
    })
}

fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n").unwrap_or(line)
}

/// Whether a line can be one of a header: a field's first one, or one that goes on with it.
fn is_of_header(line: &[u8]) -> bool {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return true;
    }
    let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    // A name that is longer than a line may be is none.
    let start = &line[..line.len().min(LINE_MAX)];
    memchr(b':', start).is_some_and(|colon| is_name(start[..colon].trim_ascii_end()))
}

/// Where a long line is cut, and whether there is white space that the rest begins with. It is not
/// cut within the white space that it begins with: what is before would be an empty line to some.
fn cut(line: &[u8], near: usize) -> (usize, bool) {
    let within = &line[..line.len().min(LINE_MAX + 1)];
    let indent = within.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let from = (LINE_MAX + 1 - near).max(indent + 1);
    if let Some(place) = within.get(from..).and_then(|end| memrchr2(b' ', b'\t', end)) {
        return (from + place, true);
    }
    // A character has four octets at most; what is no UTF-8 is cut anywhere.
    let is_start = |place: &usize| line[*place] & 0xC0 != 0x80;
    let last = LINE_MAX - 1;
    ((last - 3..=last).rev().find(is_start).unwrap_or(last), false)
}
