//! Fields for programs, in groups that an empty line separates (RFC 3464 section 2.1).

use sojourn_smtp::Address;
use sojourn_smtp::header::line_length;

/// Octets of one value that are kept: more than any address has, or is kept of a diagnosis.
const VALUE_MAX: usize = 4096;

/// Of each group the values of the fields `names`, in their order: unfolded, the first of each name,
/// empty where there is none.
pub(super) struct Groups<'a, const N: usize> {
    rest: &'a [u8],
    names: [&'static str; N],
}

impl<'a, const N: usize> Groups<'a, N> {
    pub(super) fn new(text: &'a [u8], names: [&'static str; N]) -> Self {
        Groups { rest: text, names }
    }
}

impl<const N: usize> Iterator for Groups<'_, N> {
    type Item = [String; N];

    fn next(&mut self) -> Option<[String; N]> {
        if self.rest.is_empty() {
            return None;
        }
        let mut values = [const { String::new() }; N];
        // The field whose folded lines may follow.
        let mut current = None;
        while !self.rest.is_empty() {
            let (line, rest) = self.rest.split_at(line_length(self.rest));
            self.rest = rest;
            let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
            let line = line.trim_ascii();
            if line.is_empty() {
                break;
            }
            if is_folded {
                if let Some(field) = current {
                    append(&mut values[field], line);
                }
            } else if let Some(colon) = memchr::memchr(b':', line) {
                let name = line[..colon].trim_ascii_end();
                let named = |it: &&str| it.as_bytes().eq_ignore_ascii_case(name);
                let field = self.names.iter().position(named);
                current = field.filter(|&field| values[field].is_empty());
                if let Some(field) = current {
                    append(&mut values[field], line[colon + 1..].trim_ascii_start());
                }
            }
        }
        Some(values)
    }
}

/// Adds a line to a value, up to its limit.
fn append(value: &mut String, line: &[u8]) {
    let room = VALUE_MAX.saturating_sub(value.len() + 1);
    if room > 0 {
        if !value.is_empty() {
            value.push(' ');
        }
        value.push_str(&String::from_utf8_lossy(&line[..line.len().min(room)]));
    }
}

/// `type; value`.
pub(super) fn typed(text: &str) -> (&str, &str) {
    let (kind, value) = text.split_once(';').unwrap_or(("", text));
    (kind.trim(), value.trim())
}

/// The address in a field: `rfc822; user@host`, or without its type; a comment may follow.
pub(super) fn address(text: &str) -> Option<Address> {
    let (kind, value) = typed(text);
    let known = ["", "rfc822", "utf-8"].iter().any(|name| name.eq_ignore_ascii_case(kind));
    if !known {
        return None;
    }
    let parse = |text: &str| {
        let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        bare.unwrap_or(text).parse().ok()
    };
    parse(value).or_else(|| parse(value.split_once(" (")?.0.trim_end()))
}
