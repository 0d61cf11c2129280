//! Where lines and journal entries begin and end in bytes that come in pieces.

use memchr::memchr;

/// A longer line is none of a mail server's.
const LONGEST: usize = 1 << 16;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// A field of a journal entry whose value is bytes: its name, its value.
    Field(&'a [u8], &'a [u8]),
    /// A line or value that is too long, and not kept.
    TooLong,
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expecting {
    /// A line; true where the rest of one that is too long is passed over.
    Line(bool),
    /// The length of a value of bytes, and how much of the name stands at the start of what is held.
    Length { name: usize },
    /// The value and the newline after it.
    Value { name: usize, length: usize },
    /// So many bytes of a value that is too long.
    Beyond(u64),
}

/// Cuts bytes into lines, and into the fields of journald's export format where a field's value is
/// bytes: its name, a newline, the value's length in eight bytes, the lowest first, the value, a
/// newline (systemd, Journal Export Format).
#[derive(Debug)]
pub(crate) struct Framing {
    /// The beginning of something that is not all there yet.
    held: Vec<u8>,
    expecting: Expecting,
}

impl Framing {
    pub(crate) fn new() -> Framing {
        Framing { held: Vec::new(), expecting: Expecting::Line(false) }
    }

    /// Takes more bytes.
    ///
    /// `found` receives what they complete, and returns for a line whether it is the name of a field
    /// whose value follows as bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut found: impl FnMut(Piece<'_>) -> bool) {
        while !bytes.is_empty() {
            bytes = match self.expecting {
                Expecting::Line(passing) => self.line(bytes, passing, &mut found),
                Expecting::Length { name } => self.length(bytes, name, &mut found),
                Expecting::Value { name, length } => self.value(bytes, name, length, &mut found),
                Expecting::Beyond(left) => self.beyond(bytes, left),
            };
        }
    }

    /// Nothing more comes: what is held is the last line, which has no end.
    pub(crate) fn finish(&mut self, mut found: impl FnMut(Piece<'_>) -> bool) {
        let held = std::mem::take(&mut self.held);
        if self.expecting == Expecting::Line(false) && !held.is_empty() {
            found(Piece::Line(&held));
        }
        self.expecting = Expecting::Line(false);
    }

    fn line<'b>(
        &mut self,
        bytes: &'b [u8],
        passing: bool,
        found: &mut impl FnMut(Piece<'_>) -> bool,
    ) -> &'b [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            if !passing && self.held.len() + bytes.len() > LONGEST {
                found(Piece::TooLong);
                self.held.clear();
                self.expecting = Expecting::Line(true);
            } else if !passing {
                self.held.extend_from_slice(bytes);
            }
            return &[];
        };
        let rest = &bytes[end + 1..];
        if passing {
            self.expecting = Expecting::Line(false);
            return rest;
        }
        if self.held.len() + end > LONGEST {
            found(Piece::TooLong);
            self.held.clear();
            return rest;
        }
        if self.held.is_empty() {
            let line = without_return(&bytes[..end]);
            if found(Piece::Line(line)) {
                self.held.extend_from_slice(line);
                self.expecting = Expecting::Length { name: line.len() };
            }
            return rest;
        }
        self.held.extend_from_slice(&bytes[..end]);
        let name = without_return(&self.held).len();
        if found(Piece::Line(&self.held[..name])) {
            self.held.truncate(name);
            self.expecting = Expecting::Length { name };
        } else {
            self.held.clear();
        }
        rest
    }

    fn length<'b>(
        &mut self,
        bytes: &'b [u8],
        name: usize,
        found: &mut impl FnMut(Piece<'_>) -> bool,
    ) -> &'b [u8] {
        let wanted = name + 8 - self.held.len();
        let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
        self.held.extend_from_slice(taken);
        if let Some(length) = self.held[name..].first_chunk::<8>() {
            let length = u64::from_le_bytes(*length);
            self.held.truncate(name);
            self.expecting = match usize::try_from(length) {
                Ok(length) if length <= LONGEST => Expecting::Value { name, length },
                _ => {
                    found(Piece::TooLong);
                    self.held.clear();
                    Expecting::Beyond(length.saturating_add(1))
                }
            };
        }
        rest
    }

    fn value<'b>(
        &mut self,
        bytes: &'b [u8],
        name: usize,
        length: usize,
        found: &mut impl FnMut(Piece<'_>) -> bool,
    ) -> &'b [u8] {
        let wanted = name + length + 1 - self.held.len();
        let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
        self.held.extend_from_slice(taken);
        if taken.len() == wanted {
            found(Piece::Field(&self.held[..name], &self.held[name..name + length]));
            self.held.clear();
            self.expecting = Expecting::Line(false);
        }
        rest
    }

    fn beyond<'b>(&mut self, bytes: &'b [u8], left: u64) -> &'b [u8] {
        let passed = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let left = left - passed as u64;
        self.expecting = if left == 0 { Expecting::Line(false) } else { Expecting::Beyond(left) };
        &bytes[passed..]
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is found when the bytes come in pieces of this size: lines, and fields as `name|value`.
    fn found(bytes: &[u8], size: usize) -> Vec<String> {
        let mut pieces = Vec::new();
        let mut note = |piece: Piece<'_>| {
            pieces.push(match piece {
                Piece::Line(line) => String::from_utf8_lossy(line).into_owned(),
                Piece::Field(name, value) => [name, value].map(String::from_utf8_lossy).join("|"),
                Piece::TooLong => "too long".to_owned(),
            });
            matches!(piece, Piece::Line(b"MESSAGE"))
        };
        let mut framing = Framing::new();
        for piece in bytes.chunks(size) {
            framing.feed(piece, &mut note);
        }
        framing.finish(&mut note);
        pieces
    }

    #[test]
    fn lines_and_fields() {
        let bytes = b"one\r\n\nMESSAGE\n\x03\0\0\0\0\0\0\0a\nb\nlast";
        for size in 1..bytes.len() {
            assert_eq!(found(bytes, size), ["one", "", "MESSAGE", "MESSAGE|a\nb", "last"]);
        }
    }

    #[test]
    fn what_is_too_long_is_passed_over() {
        let line = [vec![b'x'; LONGEST + 1], b"\nnext\n".to_vec()].concat();
        let mut value = b"MESSAGE\n\0\0\x10\0\0\0\0\0".to_vec();
        value.extend(vec![b'x'; 1 << 20]);
        value.extend(b"\nnext\n");
        for size in [1, 1000, 1 << 16, 1 << 22] {
            assert_eq!(found(&line, size), ["too long", "next"]);
            assert_eq!(found(&value, size), ["MESSAGE", "too long", "next"]);
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(0), any::<u8>()], 0..200),
            size in 1usize..50,
        ) {
            prop_assert_eq!(found(&bytes, size), found(&bytes, bytes.len().max(1)));
        }
    }
}
