//! Chances, drawn many at a time: shares of 2^32, two from each of a stream's numbers.

use sojourn_core::{Stream, Streams};

/// The number of chances that are drawn at a time.
const MANY: usize = 64;

/// The two chances of a number.
#[inline(always)]
fn halves(bits: u64) -> [u32; 2] {
    [(bits >> u32::BITS) as u32, bits as u32]
}

/// The chances of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Chances {
    drawn: [u32; MANY],
    next: usize,
    stream: Stream,
}

impl Chances {
    pub(super) fn new(stream: Stream) -> Chances {
        Chances { drawn: [0; MANY], next: MANY, stream }
    }

    /// The chances of a disk's transfer times, drawn from as requests arrive.
    pub(crate) fn places(streams: Streams, disk: u64) -> Chances {
        Chances::new(streams.stream("places", disk))
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u32 {
        if self.next >= MANY {
            self.refill();
        }
        let chance = self.drawn[self.next];
        self.next += 1;
        chance
    }

    #[inline(never)]
    fn refill(&mut self) {
        // A copy apart from `self`, so that the generator's state stays in registers.
        let mut stream = self.stream.clone();
        for pair in self.drawn.chunks_exact_mut(2) {
            pair.copy_from_slice(&halves(stream.bits()));
        }
        self.stream = stream;
        self.next = 0;
    }
}

/// The chances of two streams, always one of each.
#[derive(Clone, Debug)]
pub struct Pairs {
    drawn: [[u32; 2]; MANY],
    next: usize,
    streams: [Stream; 2],
}

impl Pairs {
    pub(super) fn of(streams: [Stream; 2]) -> Pairs {
        Pairs { drawn: [[0; 2]; MANY], next: MANY, streams }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> [u32; 2] {
        if self.next >= MANY {
            self.refill();
        }
        let pair = self.drawn[self.next];
        self.next += 1;
        pair
    }

    #[inline(never)]
    fn refill(&mut self) {
        // Both states in registers, and neither generator waits for the other.
        let [mut one, mut other] = self.streams.clone();
        for two in self.drawn.chunks_exact_mut(2) {
            let ([a, b], [c, d]) = (halves(one.bits()), halves(other.bits()));
            (two[0], two[1]) = ([a, c], [b, d]);
        }
        self.streams = [one, other];
        self.next = 0;
    }
}

/// `count` chances at equal distances.
pub(super) fn evenly(count: u32) -> impl Iterator<Item = u32> {
    let share = u64::from(u32::MAX) + 1;
    (0..u64::from(count)).map(move |i| ((2 * i + 1) * share / (2 * u64::from(count))) as u32)
}
