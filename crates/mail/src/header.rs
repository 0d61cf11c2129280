//! The header of a message, as far as a server has to know it.

/// The header of `text`, in canonical form: whole lines, without the empty one that ends it.
pub fn header(text: &[u8]) -> &[u8] {
    if text.starts_with(b"\r\n") {
        return b"";
    }
    let end = memchr::memmem::find(text, b"\r\n\r\n");
    &text[..end.map_or(text.len(), |end| end + 2)]
}

/// How many fields of `text` have this name.
pub fn fields(text: &[u8], name: &str) -> usize {
    let lines = header(text).split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| is_field(line, name)).count()
}

/// The text of the first field of this name in a header, its lines joined as RFC 5322 section 2.2.3
/// says; nothing where the header has no such field, or its text is not UTF-8.
pub fn field(header: &[u8], name: &str) -> Option<String> {
    let mut lines = header.split_inclusive(|&byte| byte == b'\n');
    let first = lines.find(|line| is_field(line, name))?;
    let is_more = |line: &&[u8]| line.starts_with(b" ") || line.starts_with(b"\t");
    let all = [&[first], &lines.take_while(is_more).collect::<Vec<_>>()[..]].concat().concat();
    let text = std::str::from_utf8(&all).ok()?.split_once(':')?.1;
    Some(text.replace(['\r', '\n'], "").trim().to_owned())
}

/// Whether `line` begins a field of this name.
fn is_field(line: &[u8], name: &str) -> bool {
    line.split_at_checked(name.len()).is_some_and(|(start, rest)| {
        // RFC 5322 section 4.5.3: old messages have space before the colon.
        start.eq_ignore_ascii_case(name.as_bytes())
            && rest.trim_ascii_start().starts_with(b":")
            && !rest.starts_with(b"\r")
    })
}
