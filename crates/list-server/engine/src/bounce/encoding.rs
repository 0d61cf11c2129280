//! Content-Transfer-Encodings (RFC 2045 section 6). What is decoded is never longer than what came.

use data_encoding::BASE64_MIME_PERMISSIVE;
use std::borrow::Cow;

/// `body` as it was before `encoding`, which is in lower case, was applied. Nothing when the encoding
/// is unknown.
pub(super) fn decoded<'a>(encoding: &[u8], body: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    match encoding {
        b"" | b"7bit" | b"8bit" | b"binary" => Some(body.into()),
        b"base64" => base64(body).map(Cow::Owned),
        b"quoted-printable" => Some(quoted_printable(body).into()),
        _ => None,
    }
}

/// Line ends and all else that is not in the alphabet is ignored (RFC 2045 section 6.8). A text may be cut in
/// the middle of an octet.
fn base64(body: &[u8]) -> Option<Vec<u8>> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut digits: Vec<u8> =
        body.iter().copied().take_while(|&byte| byte != b'=').filter(is_digit).collect();
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    digits.resize(digits.len().next_multiple_of(4), b'=');
    BASE64_MIME_PERMISSIVE.decode(&digits).ok()
}

/// What is no escape stays as it is (RFC 2045 section 6.7).
fn quoted_printable(body: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(place) = memchr::memchr(b'=', rest) {
        text.extend_from_slice(&rest[..place]);
        let escape = &rest[place..];
        let length = match escape {
            [_, b'\n', ..] => 2,
            [_, b'\r', b'\n', ..] => 3,
            [_, high, low, ..] => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => {
                    text.push(high << 4 | low);
                    3
                }
                _ => {
                    text.push(b'=');
                    1
                }
            },
            _ => {
                text.push(b'=');
                1
            }
        };
        rest = &escape[length..];
    }
    text.extend_from_slice(rest);
    text
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings() {
        let read = |encoding: &str, body: &str| {
            let decoded = decoded(encoding.as_bytes(), body.as_bytes());
            decoded.map(|text| String::from_utf8(text.into_owned()).unwrap())
        };
        for (encoding, body, text) in [
            ("", "a=41", "a=41"),
            ("base64", "QWN0a\r\nW9uOg==\r\n", "Action:"),
            ("base64", "QWN0aW9uO", "Action"),
            ("base64", "", ""),
            ("quoted-printable", "a=3D=c3=A9=\r\nb=\nc", "a=ébc"),
            ("quoted-printable", "a=", "a="),
            ("quoted-printable", "a=4", "a=4"),
            ("quoted-printable", "=zz==41", "=zz=A"),
        ] {
            assert_eq!(read(encoding, body).as_deref(), Some(text), "{body}");
        }
        assert_eq!(read("x-uuencode", "x"), None);
    }
}
