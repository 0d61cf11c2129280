//! The text of a message on its way in: where it ends, and what it is known by.

use memchr::memmem;
use std::sync::Arc;

/// Headers longer than this are not looked through.
const MOST_HEADER: usize = 64 * 1024;
const END: &[u8] = b"\r\n.\r\n";

/// A text as far as it has come.
#[derive(Debug)]
pub(crate) struct Text {
    /// All of it, or its header.
    kept: Vec<u8>,
    keep_all: bool,
    header_ended: bool,
    /// The last octets that came, as far as the end may begin in them.
    tail: Vec<u8>,
    pub(crate) octets: u64,
}

impl Text {
    pub(crate) fn new(keep_all: bool) -> Text {
        // The reply to DATA ended a line: a dot may follow at once.
        let tail = b"\r\n".to_vec();
        Text { kept: Vec::new(), keep_all, header_ended: false, tail, octets: 0 }
    }

    /// Takes what belongs to the text off `bytes`, after DATA; whether its end has come.
    pub(crate) fn until_dot(&mut self, bytes: &mut &[u8]) -> bool {
        let before = self.tail.len();
        let mut seam = std::mem::take(&mut self.tail);
        seam.extend_from_slice(&bytes[..bytes.len().min(END.len() - 1)]);
        let across = memmem::find(&seam, END).map(|at| at + END.len() - before);
        let end = across.or_else(|| memmem::find(bytes, END).map(|at| at + END.len()));
        let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        *bytes = rest;
        self.push(text);
        if text.len() < END.len() - 1 {
            let cut = seam.len().saturating_sub(END.len() - 1);
            self.tail = seam.split_off(cut);
        } else {
            self.tail = text[text.len() - (END.len() - 1)..].to_vec();
        }
        end.is_some()
    }

    /// Takes up to `most` octets off `bytes`, of a chunk; how many.
    pub(crate) fn chunk(&mut self, bytes: &mut &[u8], most: u64) -> u64 {
        let taken = (bytes.len() as u64).min(most);
        let (text, rest) = bytes.split_at(taken as usize);
        self.push(text);
        *bytes = rest;
        taken
    }

    fn push(&mut self, text: &[u8]) {
        self.octets += text.len() as u64;
        if self.keep_all {
            return self.kept.extend_from_slice(text);
        }
        if self.header_ended {
            return;
        }
        let from = self.kept.len().saturating_sub(3);
        self.kept.extend_from_slice(text);
        if let Some(at) = memmem::find(&self.kept[from..], b"\r\n\r\n") {
            self.kept.truncate(from + at + 2);
            self.header_ended = true;
        } else if self.kept.len() > MOST_HEADER {
            self.header_ended = true;
        }
    }

    /// What Message-ID says; empty where there is none.
    pub(crate) fn message_id(&self) -> Arc<str> {
        const NAME: &[u8] = b"message-id:";
        let end = memmem::find(&self.kept, b"\r\n\r\n").unwrap_or(self.kept.len());
        let mut lines = self.kept[..end].split(|&byte| byte == b'\n');
        let line = lines
            .find(|line| line.len() >= NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME));
        let value = line.map_or(&b""[..], |line| line[NAME.len()..].trim_ascii());
        String::from_utf8_lossy(value).into()
    }

    /// All of it, where that was wanted: as the message was before dots were doubled when it came
    /// after DATA.
    pub(crate) fn whole(self, dotted: bool) -> Option<Vec<u8>> {
        if !self.keep_all {
            return None;
        }
        if !dotted {
            return Some(self.kept);
        }
        let text = self.kept.strip_suffix(b".\r\n").expect("a text ends with a dot");
        let mut whole = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            whole.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
        }
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of `stream` after the text, when it comes in pieces of `size`; and the text.
    fn read(stream: &[u8], size: usize) -> (Vec<u8>, Text) {
        let mut text = Text::new(true);
        let mut pieces = stream.chunks(size);
        for mut piece in pieces.by_ref() {
            if text.until_dot(&mut piece) {
                let rest = [piece, &pieces.collect::<Vec<_>>().concat()].concat();
                return (rest, text);
            }
        }
        panic!("no end with pieces of {size}");
    }

    #[test]
    fn the_end_is_found_however_the_stream_is_cut() {
        let stream = b"Message-ID: <a@b>\r\n\r\n..dot\r\n.\n\r\n\r.\r\nx\r\n.\r\nQUIT\r\n";
        for size in 1..=stream.len() {
            let (rest, text) = read(stream, size);
            assert_eq!(rest, b"QUIT\r\n", "{size}");
            assert_eq!(&*text.message_id(), "<a@b>");
            let whole = text.whole(true).unwrap();
            assert_eq!(whole, b"Message-ID: <a@b>\r\n\r\n.dot\r\n\n\r\n\r.\r\nx\r\n", "{size}");
        }
        for size in 1..4 {
            assert_eq!(read(b".\r\nMAIL", size).0, b"MAIL");
        }
    }

    #[test]
    fn only_the_header_is_kept_where_that_is_enough() {
        let mut text = Text::new(false);
        let mut bytes = &b"From: a\r\nMESSAGE-id:  <1@x> \r\n\r\nMessage-ID: <2@x>\r\n"[..];
        assert_eq!(text.chunk(&mut bytes, 1000), 51);
        assert_eq!((&*text.message_id(), text.octets), ("<1@x>", 51));
        assert_eq!(text.kept.len(), 30);
        assert_eq!(text.whole(false), None);
    }
}
