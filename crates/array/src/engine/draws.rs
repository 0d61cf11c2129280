//! Draws made many at a time: the same numbers, at half the cost.

use crate::disk::{Drive, Move};
use sojourn_kernel::Stream;

/// How many are drawn at a time.
const MANY: usize = 64;

/// The places of one disk, in the order in which requests take them.
#[derive(Clone, Debug)]
pub(super) struct Places {
    drawn: [f64; MANY],
    next: usize,
    stream: Stream,
}

/// The moves of one disk's head.
#[derive(Clone, Debug)]
pub(super) struct Moves {
    drawn: [Move; MANY],
    next: usize,
    stream: Stream,
}

impl Places {
    pub(super) fn new(stream: Stream) -> Places {
        Places { drawn: [0.0; MANY], next: MANY, stream }
    }

    #[inline]
    pub(super) fn next(&mut self, drive: &impl Drive) -> f64 {
        if self.next == MANY {
            drive.places(&mut self.stream, &mut self.drawn);
            self.next = 0;
        }
        let place = self.drawn[self.next];
        self.next += 1;
        place
    }
}

impl Moves {
    pub(super) fn new(stream: Stream) -> Moves {
        Moves { drawn: [Move::default(); MANY], next: MANY, stream }
    }

    #[inline]
    pub(super) fn next(&mut self, drive: &impl Drive) -> Move {
        if self.next == MANY {
            drive.moves(&mut self.stream, &mut self.drawn);
            self.next = 0;
        }
        let to = self.drawn[self.next];
        self.next += 1;
        to
    }
}
