//! Command lines out of bytes, however they are cut.

/// Puts lines together. What it holds is bounded.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    /// Whether the line has become too long, and the rest of it is passed over.
    endless: bool,
}

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadLine {
    /// Longer than any command.
    TooLong,
    /// It has a CR, LF or NUL in it, another control character, or is not UTF-8.
    NotText,
}

/// A response to AUTH may be so long (RFC 4954 section 4); a command has to be taken with 512
/// octets (RFC 5321 section 4.5.3.1.4) and what extensions add.
const LINE_MAX: usize = 12_288;

impl Lines {
    /// Takes from `bytes` up to the end of the next line, and returns the line without its end;
    /// nothing when it needs more.
    ///
    /// Lines end with CRLF. One that ends with LF alone, or has a CR inside, is not looked at: its
    /// sender and this server may differ on where the commands are.
    pub(super) fn read(&mut self, bytes: &mut &[u8]) -> Option<Result<String, BadLine>> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        *bytes = rest;
        self.endless |= self.line.len() + piece.len() > LINE_MAX;
        if self.endless {
            self.line.clear();
        } else {
            self.line.extend_from_slice(piece);
        }
        end?;
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.endless) {
            return Some(Err(BadLine::TooLong));
        }
        let text = line.strip_suffix(b"\r\n").and_then(|line| std::str::from_utf8(line).ok());
        let plain = text.filter(|text| !text.contains(|c: char| c.is_control() && c != '\t'));
        Some(plain.map(str::to_owned).ok_or(BadLine::NotText))
    }

    /// Forgets what it holds.
    pub(super) fn clear(&mut self) {
        *self = Lines::default();
    }
}
