//! The text of a message as it comes in, by DATA or in chunks.

use super::text::Text;
use crate::smtp::stuffing::{Canonical, Unstuffer};

/// Text so far. What it holds is bounded.
#[derive(Debug)]
pub(super) struct Intake {
    text: Text,
    most: usize,
    fate: Fate,
    unstuffer: Unstuffer,
    /// What brings line ends into order; without it, a text with a CR or LF that stands alone is
    /// refused.
    repair: Option<Canonical>,
    /// Chunks are looked at for bare CR and LF as they come.
    after_cr: bool,
    bare: bool,
}

/// Whether the text can still be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Good,
    TooLarge,
    /// The server needs its memory for others.
    Shed,
}

/// Why a text is not taken: a reply.
const TOO_LARGE: &str = "552 5.3.4 the message is too large";
const SHED: &str = "452 4.3.1 too many messages at once, try again later";
const BARE: &str = "554 5.6.0 a CR or LF stands alone (RFC 5321 section 2.3.8)";

impl Intake {
    pub(super) fn new(most: u64, repair: bool) -> Intake {
        Intake {
            text: Text::new(),
            most: usize::try_from(most).unwrap_or(usize::MAX),
            fate: Fate::Good,
            unstuffer: Unstuffer::default(),
            repair: repair.then(Canonical::default),
            after_cr: false,
            bare: false,
        }
    }

    /// Octets occupied.
    pub(super) fn occupied(&self) -> usize {
        self.text.occupied()
    }

    /// Octets of the text that have come and are kept.
    pub(super) fn octets(&self) -> usize {
        self.text.len()
    }

    /// The memory is needed for others: the rest of the text is passed over.
    pub(super) fn shed(&mut self) {
        self.lose(Fate::Shed);
    }

    /// The reply that says why the text cannot be taken any more.
    pub(super) fn lost(&self) -> Option<&'static str> {
        match self.fate {
            Fate::Good => None,
            Fate::TooLarge => Some(TOO_LARGE),
            Fate::Shed => Some(SHED),
        }
    }

    /// What follows DATA; whether the end was there.
    pub(super) fn stuffed(&mut self, bytes: &mut &[u8]) -> bool {
        let mut unstuffer = self.unstuffer;
        let ended = unstuffer.read(bytes, |piece| self.keep(piece));
        self.unstuffer = unstuffer;
        ended
    }

    /// A piece of a chunk.
    pub(super) fn chunk(&mut self, piece: &[u8]) {
        for &byte in piece {
            let was_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            self.bare |= was_cr != (byte == b'\n');
        }
        self.keep(piece);
    }

    /// The text, every line of it ended; or the reply that says why not.
    pub(super) fn finish(mut self) -> Result<Text, &'static str> {
        let bare = self.bare || self.unstuffer.bare || self.after_cr;
        if self.fate == Fate::Good && bare && self.repair.is_none() {
            return Err(BARE);
        }
        let ends = self.text.is_empty() || self.text.ends_with(b"\r\n");
        if !ends && !self.text.push(b"\r\n", self.most) {
            self.lose(Fate::Shed);
        }
        self.lost().map_or(Ok(self.text), Err)
    }

    fn keep(&mut self, piece: &[u8]) {
        match self.repair.take() {
            None => self.append(piece),
            Some(mut canonical) => {
                canonical.each(piece, |piece| self.append(piece));
                self.repair = Some(canonical);
            }
        }
    }

    fn append(&mut self, piece: &[u8]) {
        if self.fate != Fate::Good {
            return;
        }
        if self.text.len() + piece.len() > self.most {
            return self.lose(Fate::TooLarge);
        }
        if !self.text.push(piece, self.most) {
            self.lose(Fate::Shed);
        }
    }

    fn lose(&mut self, fate: Fate) {
        if self.fate == Fate::Good {
            self.fate = fate;
        }
        self.text = Text::new();
    }
}
