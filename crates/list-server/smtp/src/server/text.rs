//! The memory that the text of a message has while it comes in.

use memmap2::{MmapMut, MmapOptions};
use std::fmt;
use std::ops::Deref;

/// The text of a message, with free memory above it for the fields that servers add there.
///
/// A text is in memory once, however it grows and whatever is put above it. A small one is an
/// ordinary vector; a larger one has separate pages from the system, which become memory when
/// they are written, and are given back the moment it is dropped: an allocator would keep them for
/// later, or hold two copies while one grows.
pub struct Text(Store);

enum Store {
    Small(Vec<u8>),
    Large(Pages),
}

/// Pages of which `from..to` is the text.
struct Pages {
    map: MmapMut,
    from: usize,
    to: usize,
}

/// Above so many octets a text has separate pages.
const SMALL: usize = 128 * 1024;
/// Address space above a large text, which costs nothing before it is used.
const ABOVE: usize = 256 * 1024;
/// The system's unit of memory, for what is counted.
const PAGE: usize = 4096;

impl Default for Text {
    /// An empty text.
    fn default() -> Text {
        Text(Store::Small(Vec::new()))
    }
}

impl Text {
    /// Appends `piece`; `most` is how large the text may become. False where the system has no
    /// memory for it.
    pub(super) fn push(&mut self, piece: &[u8], most: usize) -> bool {
        let end = self.len() + piece.len();
        if let Store::Small(text) = &mut self.0 {
            if end <= SMALL {
                text.extend_from_slice(piece);
                return true;
            }
            let Some(pages) = Pages::of(&[text], most.max(end)) else { return false };
            self.0 = Store::Large(pages);
        }
        let Store::Large(pages) = &mut self.0 else { unreachable!("it has pages now") };
        match pages.map.get_mut(pages.to..pages.to + piece.len()) {
            Some(room) => room.copy_from_slice(piece),
            None => match Pages::of(&[pages.text(), piece], most.max(end)) {
                Some(more) => {
                    *pages = more;
                    return true;
                }
                None => return false,
            },
        }
        pages.to += piece.len();
        true
    }

    /// Appends `piece` to a text that may become somewhat larger than `most`.
    pub fn append(&mut self, piece: &[u8], most: usize) {
        if !self.push(piece, most) {
            // The system has no further pages: an allocator may have some left.
            self.0 = Store::Small([&**self, piece].concat());
        }
    }

    /// Puts `head` above the text; false where the system has no memory for it.
    pub fn put_above(&mut self, head: &[u8]) -> bool {
        match &mut self.0 {
            Store::Small(text) => drop(text.splice(0..0, head.iter().copied())),
            Store::Large(pages) => match pages.from.checked_sub(head.len()) {
                Some(from) => {
                    pages.map[from..pages.from].copy_from_slice(head);
                    pages.from = from;
                }
                None => match Pages::of(&[head, pages.text()], pages.text().len() + head.len()) {
                    Some(more) => *pages = more,
                    None => return false,
                },
            },
        }
        true
    }

    /// Octets of memory that it occupies.
    pub fn occupied(&self) -> usize {
        match &self.0 {
            Store::Small(text) => text.capacity(),
            Store::Large(Pages { from, to, .. }) => to.next_multiple_of(PAGE) - from / PAGE * PAGE,
        }
    }
}

impl Pages {
    /// Pages with these parts, one after the other, and space for a text of `most` octets.
    fn of(parts: &[&[u8]], most: usize) -> Option<Pages> {
        // What ends a last line that has no end may come on top.
        let room = ABOVE + most.next_multiple_of(PAGE) + PAGE;
        let mut map = MmapOptions::new().len(room).no_reserve_swap().map_anon().ok()?;
        // Huge pages would be more memory than what is counted.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::NoHugePage);
        let mut to = ABOVE;
        for part in parts {
            map[to..to + part.len()].copy_from_slice(part);
            to += part.len();
        }
        Some(Pages { map, from: ABOVE, to })
    }

    fn text(&self) -> &[u8] {
        &self.map[self.from..self.to]
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Store::Small(text) => text,
            Store::Large(pages) => pages.text(),
        }
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Text {
    fn from(text: Vec<u8>) -> Text {
        Text(Store::Small(text))
    }
}

impl Clone for Text {
    fn clone(&self) -> Text {
        self.to_vec().into()
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Text {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As vectors have it, whatever the sizes.
    #[test]
    fn texts_grow_at_both_ends() {
        for (pieces, size, head) in [(3, 10, 7), (9, 20_000, 500), (40, 30_000, 3 * ABOVE / 4)] {
            let (mut text, mut expected) = (Text::default(), Vec::new());
            for n in 0..pieces {
                let piece = vec![n as u8; size];
                // Sometimes more comes than was said.
                assert!(text.push(&piece, 500_000));
                expected.extend(piece);
                assert!(text == expected);
            }
            for n in 0..2 {
                let head = vec![100 + n; head];
                assert!(text.put_above(&head));
                expected.splice(0..0, head);
                assert!(text == expected && text.clone() == expected);
            }
            assert!((expected.len()..3 * expected.len()).contains(&text.occupied()));
        }
    }

    #[test]
    fn memory_is_counted_by_the_page() {
        let mut text = Text::default();
        for _ in 0..10 {
            assert!(text.push(&[b'x'; 100_000], 50_000_000));
        }
        assert!(
            (1_000_000..1_000_000 + 2 * PAGE).contains(&text.occupied()),
            "{}",
            text.occupied()
        );
    }
}
