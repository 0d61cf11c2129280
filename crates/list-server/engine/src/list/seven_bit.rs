//! Texts for hosts that take no octets above 127 (RFC 6152 section 3).
//!
//! Each leaf part with such octets is encoded: in quoted-printable, or in base64 where that is shorter.
//! Multiparts and enclosed messages are opened, as Postfix and sendmail open them. What cannot be
//! encoded stays as it is, as sendmail leaves it, because most of these hosts take it all the same:
//! headers, what another server has signed (`multipart/signed`), other kinds of `message/`, parts that
//! name another encoding than they have, and parts inside more than twenty others.

use crate::bounce::content::{ContentType, word};
use mail_builder::encoders::{Base64Encoder, QuotedPrintableEncoder};
use memchr::memmem;
use sojourn_smtp::header::{all, fields, header, line_length, whole};

/// Multiparts and messages in each other that are opened.
const DEPTH_MAX: usize = 20;
const ENCODING: &str = "Content-Transfer-Encoding";

/// `text`, in canonical form, as a host gets it that takes no octets above 127.
pub fn seven_bit(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 2);
    entity(text, b"text/plain", DEPTH_MAX, &mut out);
    out
}

/// Appends a message or part, which is of `default` type where its header names none.
fn entity(text: &[u8], default: &[u8], depth: usize, out: &mut Vec<u8>) {
    let head = header(text);
    let Some(body) = text[head.len()..].strip_prefix(b"\r\n").filter(|body| !body.is_ascii())
    else {
        return out.extend_from_slice(text);
    };
    let encoding = all(head, ENCODING).next().map(word).unwrap_or_default();
    let content = all(head, "Content-Type").next().map(ContentType::read);
    let (name, boundary) = match content {
        _ if !matches!(&encoding[..], b"" | b"7bit" | b"8bit" | b"binary") => {
            return out.extend_from_slice(text);
        }
        Some(None) => return out.extend_from_slice(text),
        Some(Some(content)) => (content.name, content.boundary),
        None => (default.to_owned(), None),
    };
    match (&name[..], boundary) {
        (b"message/rfc822" | b"message/global", _) if depth > 0 => {
            relabel(head, None, out);
            entity(body, b"text/plain", depth - 1, out);
        }
        (b"multipart/signed", _) => out.extend_from_slice(text),
        (name, Some(boundary)) if name.starts_with(b"multipart/") && depth > 0 => {
            relabel(head, None, out);
            let is_digest = name == b"multipart/digest";
            let default: &[u8] = if is_digest { b"message/rfc822" } else { b"text/plain" };
            parts(body, &boundary, out, |part, out| entity(part, default, depth - 1, out));
        }
        (name, _) if name.starts_with(b"message/") || name.starts_with(b"multipart/") => {
            out.extend_from_slice(text);
        }
        _ => leaf(head, body, out),
    }
}

/// Appends the body of a multipart, whose parts `each` appends.
fn parts(body: &[u8], boundary: &[u8], out: &mut Vec<u8>, each: impl Fn(&[u8], &mut Vec<u8>)) {
    let (mut start, mut at, mut is_part) = (0, 0, false);
    let piece = |piece: &[u8], is_part: bool, out: &mut Vec<u8>| {
        // The line end before a delimiter belongs to that.
        let part = piece.strip_suffix(b"\r\n").unwrap_or(piece);
        if is_part {
            each(part, out)
        } else {
            out.extend_from_slice(part)
        }
        out.extend_from_slice(&piece[part.len()..]);
    };
    while at < body.len() {
        let line = at..at + line_length(&body[at..]);
        at = line.end;
        let rest = body[line.clone()].trim_ascii_end().strip_prefix(b"--");
        let rest = rest.and_then(|it| it.strip_prefix(boundary));
        if let Some(rest @ (b"" | b"--")) = rest {
            piece(&body[start..line.start], is_part, out);
            out.extend_from_slice(&body[line.clone()]);
            (start, is_part) = (line.end, rest.is_empty());
            if !is_part {
                break;
            }
        }
    }
    piece(&body[start..], is_part, out);
}

/// Appends a part of one type, encoded.
fn leaf(head: &[u8], body: &[u8], out: &mut Vec<u8>) {
    let escapes = body.iter().filter(|&&octet| octet >= 127 || octet == b'=').count();
    let mut encoded = Vec::with_capacity(body.len() + body.len() / 2);
    let mut name = "quoted-printable";
    if 6 * escapes <= body.len() {
        QuotedPrintableEncoder::new().preserve_line_breaks().encode_into(body, &mut encoded);
    }
    // A line that is broken must not begin like a delimiter.
    if encoded.is_empty() || memmem::find(&encoded, b"=\r\n--").is_some() {
        name = "base64";
        encoded.clear();
        Base64Encoder::new().wrap_lines().encode_into(body, &mut encoded);
        if !body.ends_with(b"\r\n") {
            encoded.truncate(encoded.len() - b"\r\n".len());
        }
    }
    relabel(head, Some((name, body)), out);
    out.append(&mut encoded);
}

/// Appends a header and the empty line after it. The header loses its encoding; a leaf part's header
/// gets the new encoding, and a content type if it has none.
fn relabel(head: &[u8], leaf: Option<(&str, &[u8])>, out: &mut Vec<u8>) {
    for field in whole(head).filter(|field| fields(field, ENCODING) == 0) {
        out.extend_from_slice(field);
    }
    let mut added = String::new();
    if let Some((encoding, body)) = leaf {
        let is_message = ["From", "Date"].iter().any(|name| fields(head, name) > 0);
        if is_message && fields(head, "MIME-Version") == 0 {
            added += "MIME-Version: 1.0\r\n";
        }
        if fields(head, "Content-Type") == 0 {
            // RFC 1428 section 2.
            let charset = str::from_utf8(body).map_or("unknown-8bit", |_| "utf-8");
            added += &format!("Content-Type: text/plain; charset={charset}\r\n");
        }
        added += &format!("{ENCODING}: {encoding}\r\n");
    }
    out.extend_from_slice(added.as_bytes());
    out.extend_from_slice(b"\r\n");
}
