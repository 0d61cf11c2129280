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
        self.each(piece, |piece| out.extend_from_slice(piece));
    }

    /// Gives the canonical form of the next piece to `out`, run by run.
    pub(super) fn each(&mut self, mut piece: &[u8], mut out: impl FnMut(&[u8])) {
        while let Some(&first) = piece.first() {
            let was_cr = std::mem::replace(&mut self.after_cr, first == b'\r');
            let run = match first {
                b'\n' if was_cr => 1,
                b'\r' | b'\n' => {
                    out(b"\r\n");
                    self.within_line = false;
                    1
                }
                _ => {
                    let end = memchr::memchr2(b'\r', b'\n', piece).unwrap_or(piece.len());
                    out(&piece[..end]);
                    self.within_line = true;
                    self.eight_bit |= !piece[..end].is_ascii();
                    end
                }
            };
            piece = &piece[run..];
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

/// Takes the doubled dots out of what follows DATA, up to the line with a dot alone.
///
/// Only CRLF ends a line, and only CRLF `.` CRLF the message (RFC 5321 section 2.3.8). A CR or LF
/// alone is text: who takes it for a line's end finds the end of the message in another place than
/// its sender, and commands in what the sender took for text. A dot behind an LF alone is taken out
/// like others: who ends lines so has doubled it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unstuffer {
    at: At,
    /// Whether a CR or LF stood alone.
    pub bare: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Start,
    /// After a dot that begins a line, and after the CR that may follow it.
    Dot,
    DotCr,
    Within,
    Cr,
    /// After an LF alone.
    Lf,
}

impl Unstuffer {
    /// Takes from `bytes` up to the end of the message, and gives its text to `out` piece by piece;
    /// whether the end was there.
    pub fn read(&mut self, bytes: &mut &[u8], mut out: impl FnMut(&[u8])) -> bool {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.at == At::Within && !matches!(byte, b'\r' | b'\n') {
                let end = memchr::memchr2(b'\r', b'\n', bytes);
                let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                out(text);
                *bytes = rest;
                continue;
            }
            *bytes = rest;
            if self.step(byte, &mut out) {
                return true;
            }
        }
        false
    }

    /// Takes one octet; whether it ended the message. A CR is kept back until the next octet says
    /// what it was.
    fn step(&mut self, byte: u8, out: &mut impl FnMut(&[u8])) -> bool {
        self.at = match (self.at, byte) {
            (At::DotCr, b'\n') => return true,
            (At::Cr, b'\n') => {
                out(b"\r\n");
                At::Start
            }
            (At::Start, b'.') => At::Dot,
            (At::Dot, b'\r') => At::DotCr,
            (At::Lf, b'.') => At::Within,
            (at, byte) => {
                let bare_cr = matches!(at, At::Cr | At::DotCr);
                if bare_cr {
                    out(b"\r");
                }
                self.bare |= bare_cr || byte == b'\n';
                if byte != b'\r' {
                    out(&[byte]);
                }
                match byte {
                    b'\r' => At::Cr,
                    b'\n' => At::Lf,
                    _ => At::Within,
                }
            }
        };
        false
    }
}
