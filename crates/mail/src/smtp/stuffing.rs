//! The message on the wire: lines that end with CRLF, and dots that are doubled.

/// Brings a message into the form that SMTP carries: every line ends with CRLF (RFC 5321 section
/// 2.3.8), the last one too. Otherwise the octets stay as given, whatever the length of lines.
///
/// A bare CR or LF is never sent: servers differ on whether it ends a line, and with it on where
/// the message ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Canonical {
    after_cr: bool,
    within_line: bool,
    /// Whether an octet above 127 was seen.
    pub eight_bit: bool,
}

impl Canonical {
    /// Appends the canonical form of the next piece.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for &byte in piece {
            let was_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if was_cr => {}
                b'\r' | b'\n' => {
                    out.extend_from_slice(b"\r\n");
                    self.within_line = false;
                }
                _ => {
                    out.push(byte);
                    self.within_line = true;
                    self.eight_bit |= byte > 127;
                }
            }
        }
    }

    /// Ends the last line.
    pub fn finish(self, out: &mut Vec<u8>) {
        if self.within_line {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Doubles the dot that begins a line (RFC 5321 section 4.5.2) of a message in canonical form.
#[derive(Clone, Copy, Debug)]
pub struct Stuffer {
    line_starts: bool,
}

impl Default for Stuffer {
    fn default() -> Stuffer {
        Stuffer { line_starts: true }
    }
}

impl Stuffer {
    /// Appends the next piece.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for line in piece.split_inclusive(|&byte| byte == b'\n') {
            if self.line_starts && line[0] == b'.' {
                out.push(b'.');
            }
            out.extend_from_slice(line);
            self.line_starts = line.ends_with(b"\n");
        }
    }

    /// Appends the line with a dot alone that ends the message.
    pub fn finish(self, out: &mut Vec<u8>) {
        debug_assert!(self.line_starts, "a canonical message ends with a line's end");
        out.extend_from_slice(b".\r\n");
    }
}
