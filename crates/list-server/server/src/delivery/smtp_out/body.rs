//! A message on its way out, piece by piece.

use super::Copy;
use bytes::Bytes;
use sojourn_smtp::Stuffer;
use sojourn_smtp::client::Framing;

/// What is left of a message, and how it is framed.
#[derive(Debug)]
pub(super) struct Body {
    /// What goes before the first piece.
    head: Vec<u8>,
    text: Bytes,
    at: usize,
    /// For dots; nothing where the text goes as it is.
    stuffer: Option<Stuffer>,
}

/// How much of a message is in hand at a time.
const PIECE: usize = 16 * 1024;

impl Body {
    pub(super) fn new(Copy { head, text, framing }: Copy) -> Body {
        match framing {
            Framing::Dots => {
                let (mut stuffer, mut stuffed) = (Stuffer::default(), Vec::new());
                stuffer.push(&head, &mut stuffed);
                Body { head: stuffed, text, at: 0, stuffer: Some(stuffer) }
            }
            Framing::Chunk => {
                let command = format!("BDAT {} LAST\r\n", head.len() + text.len());
                let head = [command.into_bytes(), head].concat();
                Body { head, text, at: 0, stuffer: None }
            }
        }
    }

    /// Appends the next piece; whether it was the last.
    pub(super) fn fill(&mut self, out: &mut Vec<u8>) -> bool {
        out.append(&mut self.head);
        let end = self.text.len().min(self.at + PIECE);
        let piece = &self.text[self.at..end];
        self.at = end;
        let last = end == self.text.len();
        match &mut self.stuffer {
            None => out.extend_from_slice(piece),
            Some(stuffer) => {
                stuffer.push(piece, out);
                if last {
                    stuffer.finish(out);
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_whole() {
        let text: Vec<u8> = b".a line\r\n".repeat(9000);
        let all = |framing| {
            let copy = Copy { head: b".head\r\n".into(), text: text.clone().into(), framing };
            let (mut body, mut out) = (Body::new(copy), Vec::new());
            let mut pieces = 1;
            while !body.fill(&mut out) {
                pieces += 1;
            }
            (pieces, out)
        };
        let chunk = [b"BDAT 81007 LAST\r\n.head\r\n", &text[..]].concat();
        assert_eq!(all(Framing::Chunk), (5, chunk));
        let mut dots = [b"..head\r\n".to_vec(), b"..a line\r\n".repeat(9000)].concat();
        dots.extend_from_slice(b".\r\n");
        assert_eq!(all(Framing::Dots), (5, dots));
    }
}
