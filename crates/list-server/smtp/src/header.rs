//! The header of a message, as far as a server has to know it.

use memchr::memchr;

/// The header of `text`, in canonical form: whole lines, without the empty one that ends it.
pub fn header(text: &[u8]) -> &[u8] {
    if text.starts_with(b"\r\n") {
        return b"";
    }
    let end = memchr::memmem::find(text, b"\r\n\r\n");
    &text[..end.map_or(text.len(), |end| end + 2)]
}

/// The first 64 KiB of `text`: in mail from any client no more is searched for fields.
pub fn beginning(text: &[u8]) -> &[u8] {
    &text[..text.len().min(64 * 1024)]
}

/// The fields of `text` as they are, up to the empty line that ends its header: each with its folds
/// (RFC 5322 section 2.2.3) and its end. A line that is no field is one of them too.
pub fn whole(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if text.is_empty() || text.starts_with(b"\n") || text.starts_with(b"\r\n") {
            return None;
        }
        let mut end = line_length(text);
        while matches!(text.get(end), Some(b' ' | b'\t')) {
            end += line_length(&text[end..]);
        }
        let (field, rest) = text.split_at(end);
        text = rest;
        Some(field)
    })
}

/// The names and values of the fields of `text`, up to the empty line that ends its header; a value
/// has its folds. Lines that are no field are ignored.
pub fn each(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    whole(text).filter_map(|field| {
        let colon = memchr(b':', field)?;
        // RFC 5322 section 4.5: old messages have space before the colon.
        Some((field[..colon].trim_ascii_end(), &field[colon + 1..]))
    })
}

/// The values of the fields of this name.
pub fn all<'a>(text: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    each(text).filter(|(it, _)| it.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
}

/// How many fields of `text` have this name.
pub fn fields(text: &[u8], name: &str) -> usize {
    all(text, name).count()
}

/// Octets of the first line of `text`, its end included.
pub fn line_length(text: &[u8]) -> usize {
    memchr(b'\n', text).map_or(text.len(), |end| end + 1)
}
