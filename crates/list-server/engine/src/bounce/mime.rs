//! The part of a message that is a report for programs (RFC 6522), wherever in its structure it is.
//!
//! Strangers write these messages. Each line is looked at once, against the boundaries of the
//! multiparts that are open, and nothing recurses; what exceeds a limit is not understood. Messages
//! in messages are not opened: a report that is forwarded is not about mail from here.

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

/// What a report speaks of, and the text of the part that programs read, decoded.
#[derive(Debug)]
pub(super) enum Report<'a> {
    /// What became of recipients (RFC 3464).
    Delivery(Cow<'a, [u8]>),
    /// What a recipient, or a filter, thinks of a message (RFC 5965).
    Feedback(Cow<'a, [u8]>),
}

/// A multipart whose end has not come.
struct Open {
    boundary: Vec<u8>,
    /// The type of report that it announces. Nothing when it is no report.
    announces: Option<Announced>,
}

/// The `report-type` of a report. A few servers leave it out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announced {
    Delivery,
    Feedback,
    Any,
    /// One that is of no interest.
    Other,
}

/// Where in its part a line is.
enum Place {
    /// In the header that begins here.
    Header(usize),
    /// In the report that begins here.
    Report { kind: Announced, encoding: Vec<u8>, start: usize },
    /// In what is passed over.
    Passed,
}

/// The octets of a message that are looked at.
pub(super) fn bounded(text: &[u8]) -> &[u8] {
    &text[..text.len().min(PARSED_MAX)]
}

/// The first report in `text`. Nothing when there is none, or a limit is exceeded before it.
pub(super) fn report(text: &[u8]) -> Option<Report<'_>> {
    let text = bounded(text);
    let dashes = Finder::new(b"\n--");
    let mut open: Vec<Open> = Vec::new();
    let mut parts = 0;
    let mut place = Place::Header(0);
    let mut at = 0;
    while at < text.len() {
        let end = at + line_length(&text[at..]);
        let line = &text[at..end];
        if let Some((depth, is_last)) = delimiter(&open, line) {
            if let Place::Report { kind, encoding, start } = place {
                return read(kind, &encoding, &text[start..at]);
            }
            open.truncate(if is_last { depth } else { depth + 1 });
            if open.is_empty() {
                return None;
            }
            place = Place::Passed;
            if !is_last {
                parts += 1;
                if parts > PARTS_MAX {
                    return None;
                }
                place = Place::Header(end);
            }
        } else if let Place::Header(start) = place {
            if end - start > HEADER_MAX {
                return None;
            }
            if matches!(line, b"\n" | b"\r\n") {
                place = begin(&mut open, &text[start..at], end)?;
            }
        }
        at = match place {
            Place::Header(_) => end,
            Place::Report { .. } | Place::Passed => {
                // Of other lines only those count that may be delimiters.
                dashes.find(&text[end - 1..]).map_or(text.len(), |before| end + before)
            }
        };
    }
    match place {
        Place::Report { kind, encoding, start } => read(kind, &encoding, &text[start..]),
        Place::Header(_) | Place::Passed => None,
    }
}

/// The open multipart that `line` delimits, innermost first, and whether it is its last delimiter.
fn delimiter(open: &[Open], line: &[u8]) -> Option<(usize, bool)> {
    let line = line.strip_prefix(b"--")?.trim_ascii_end();
    open.iter().enumerate().rev().find_map(|(depth, multipart)| {
        match line.strip_prefix(multipart.boundary.as_slice())? {
            b"" => Some((depth, false)),
            b"--" => Some((depth, true)),
            _ => None,
        }
    })
}

/// Where the first line of a part's body is, which begins at `start`. Nothing when a limit is
/// exceeded.
fn begin(open: &mut Vec<Open>, header: &[u8], start: usize) -> Option<Place> {
    let Some(value) = all(header, "Content-Type").next() else { return Some(Place::Passed) };
    let ContentType { name, boundary, report_type } = ContentType::read(value)?;
    if name.starts_with(b"multipart/") {
        let Some(boundary) = boundary else { return Some(Place::Passed) };
        if open.len() == DEPTH_MAX {
            return None;
        }
        let is_report = name == b"multipart/report";
        let announces = is_report.then_some(match report_type.as_deref() {
            None => Announced::Any,
            Some(b"delivery-status") => Announced::Delivery,
            Some(b"feedback-report") => Announced::Feedback,
            Some(_) => Announced::Other,
        });
        open.push(Open { boundary, announces });
        return Some(Place::Passed);
    }
    let kind = match name.as_slice() {
        b"message/delivery-status" | b"message/global-delivery-status" => Announced::Delivery,
        b"message/feedback-report" => Announced::Feedback,
        _ => return Some(Place::Passed),
    };
    let announced = open.last().and_then(|multipart| multipart.announces);
    if announced != Some(kind) && announced != Some(Announced::Any) {
        return Some(Place::Passed);
    }
    let encoding = all(header, "Content-Transfer-Encoding").next().map(word).unwrap_or_default();
    Some(Place::Report { kind, encoding, start })
}

fn read<'a>(kind: Announced, encoding: &[u8], body: &'a [u8]) -> Option<Report<'a>> {
    let text = decoded(encoding, body)?;
    Some(if kind == Announced::Feedback { Report::Feedback(text) } else { Report::Delivery(text) })
}
