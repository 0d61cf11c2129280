//! A message on its way out, piece by piece.

use sojourn_mail::smtp::{Framing, Stuffer};
use std::sync::Arc;

/// What is left of a message, and how it is framed.
#[derive(Debug)]
pub(super) struct Body {
    text: Arc<[u8]>,
    at: usize,
    /// For dots; nothing where the text goes as it is.
    stuffer: Option<Stuffer>,
}

/// How much of a message is in hand at a time.
const PIECE: usize = 16 * 1024;

impl Body {
    pub(super) fn new(text: Arc<[u8]>, framing: Framing) -> Body {
        let stuffer = match framing {
            Framing::Dots => Some(Stuffer::default()),
            Framing::Plain => None,
        };
        Body { text, at: 0, stuffer }
    }

    /// Appends the next piece; whether it was the last.
    pub(super) fn fill(&mut self, out: &mut Vec<u8>) -> bool {
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
            let (mut body, mut out) = (Body::new(text.as_slice().into(), framing), Vec::new());
            let mut pieces = 1;
            while !body.fill(&mut out) {
                pieces += 1;
            }
            (pieces, out)
        };
        assert_eq!(all(Framing::Plain), (5, text.clone()));
        let mut dots = b"..a line\r\n".repeat(9000);
        dots.extend_from_slice(b".\r\n");
        assert_eq!(all(Framing::Dots), (5, dots));
    }
}
