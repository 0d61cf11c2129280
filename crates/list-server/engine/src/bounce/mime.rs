//! The parts of a message that say why it came back (RFC 6522), wherever in its structure they are.
//!
//! Strangers write these messages. Each line is looked at once, against the boundaries of the
//! multiparts that are open, and nothing recurses; what is behind an exceeded limit is not read.
//! Messages in messages are separate parts and are not opened here.

use super::content::{ContentType, word};
use super::encoding::decoded;
use memchr::memmem::Finder;
use sojourn_smtp::header::{all, line_length};
use std::borrow::Cow;

/// Octets of a message that are looked at. A report that is cut there is read as far as it goes.
pub const PARSED_MAX: usize = 1_000_000;
/// Multiparts in each other.
const DEPTH_MAX: usize = 20;
/// Parts of all multiparts together.
const PARTS_MAX: usize = 100;
/// Octets of the header of a part, and of the message.
const HEADER_MAX: usize = 64 * 1024;

/// What a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What became of recipients (RFC 3464).
    Delivery,
    /// What a recipient, or a filter, thinks of a message (RFC 5965).
    Feedback,
    /// Words for people.
    Text,
    /// Words for people, as HTML.
    Html,
    /// The message that came back, or its header.
    Original,
}

/// A part that is no multipart.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) kind: Kind,
    encoding: Vec<u8>,
    pub(super) body: &'a [u8],
}

impl<'a> Part<'a> {
    /// Whether programs read it.
    pub(super) fn is_report(&self) -> bool {
        matches!(self.kind, Kind::Delivery | Kind::Feedback)
    }

    /// The first `most` octets of its text as they came, decoded. Nothing when the encoding is unknown.
    pub(super) fn text(&self, most: usize) -> Option<Cow<'a, [u8]>> {
        decoded(&self.encoding, &self.body[..self.body.len().min(most)])
    }
}

/// Where in its part a line is.
enum Place<'a> {
    /// In the header that begins here.
    Header(usize),
    /// In the body that begins here, whose part has no body yet.
    Body(usize, Part<'a>),
    /// In what is not read.
    Skipped,
}

/// The parts of `text` that are of interest, as far as no limit is exceeded.
pub(super) fn parts(text: &[u8]) -> Vec<Part<'_>> {
    let text = &text[..text.len().min(PARSED_MAX)];
    let dashes = Finder::new(b"\n--");
    let (mut open, mut found): (Vec<Vec<u8>>, Vec<Part<'_>>) = (Vec::new(), Vec::new());
    let mut delimiters = 0;
    let mut place = Place::Header(0);
    let mut at = 0;
    while at < text.len() {
        let end = at + line_length(&text[at..]);
        let line = &text[at..end];
        if let Some((depth, is_last)) = delimiter(&open, line) {
            if let Place::Body(start, part) = place {
                found.push(Part { body: &text[start..at], ..part });
            }
            open.truncate(if is_last { depth } else { depth + 1 });
            delimiters += usize::from(!is_last);
            if open.is_empty() || delimiters > PARTS_MAX {
                return found;
            }
            place = if is_last { Place::Skipped } else { Place::Header(end) };
        } else if let Place::Header(start) = place {
            if end - start > HEADER_MAX {
                return found;
            }
            if matches!(line, b"\n" | b"\r\n") {
                let Some(next) = begin(&mut open, &text[start..at], end) else { return found };
                place = next;
            }
        }
        at = match place {
            Place::Header(_) => end,
            // Of other lines only those count that may be delimiters.
            Place::Body(..) | Place::Skipped => {
                dashes.find(&text[end - 1..]).map_or(text.len(), |before| end + before)
            }
        };
    }
    if let Place::Body(start, part) = place {
        found.push(Part { body: &text[start..], ..part });
    }
    found
}

/// All of a message below its header, where nothing in it is a part as its header says.
pub(super) fn whole(text: &[u8]) -> Part<'_> {
    let text = &text[..text.len().min(PARSED_MAX)];
    let ends = [&b"\n\r\n"[..], b"\n\n"].map(|it| memchr::memmem::find(text, it));
    let start = ends.into_iter().flatten().min().unwrap_or(text.len());
    Part { kind: Kind::Text, encoding: Vec::new(), body: &text[start..] }
}

/// The open multipart that `line` delimits, innermost first, and whether it is its last delimiter.
fn delimiter(open: &[Vec<u8>], line: &[u8]) -> Option<(usize, bool)> {
    let line = line.strip_prefix(b"--")?.trim_ascii_end();
    open.iter().enumerate().rev().find_map(|(depth, boundary)| {
        match line.strip_prefix(boundary.as_slice())? {
            b"" => Some((depth, false)),
            b"--" => Some((depth, true)),
            _ => None,
        }
    })
}

/// Where the first line of a part's body is, which begins at `start`. Nothing when a limit is
/// exceeded.
fn begin<'a>(open: &mut Vec<Vec<u8>>, header: &[u8], start: usize) -> Option<Place<'a>> {
    let content = match all(header, "Content-Type").next() {
        Some(value) => ContentType::read(value)?,
        None => ContentType { name: b"text/plain".into(), boundary: None, report_type: None },
    };
    if content.name.starts_with(b"multipart/")
        && let Some(boundary) = content.boundary
    {
        if open.len() == DEPTH_MAX {
            return None;
        }
        open.push(boundary);
        return Some(Place::Skipped);
    }
    let kind = match content.name.as_slice() {
        b"message/delivery-status" | b"message/global-delivery-status" => Kind::Delivery,
        b"message/feedback-report" => Kind::Feedback,
        b"message/rfc822" | b"message/global" => Kind::Original,
        b"text/rfc822-headers" | b"message/rfc822-headers" | b"message/global-headers" => {
            Kind::Original
        }
        b"text/html" => Kind::Html,
        name if name.starts_with(b"text/") || !name.contains(&b'/') => Kind::Text,
        // A multipart whose boundary is missing.
        name if name.starts_with(b"multipart/") => Kind::Text,
        _ => return Some(Place::Skipped),
    };
    let encoding = all(header, "Content-Transfer-Encoding").next().map(word).unwrap_or_default();
    Some(Place::Body(start, Part { kind, encoding, body: b"" }))
}
