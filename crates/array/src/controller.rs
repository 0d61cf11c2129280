//! What an array's controller does beside passing accesses on.

use crate::workload::MAX_BLOCKS;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, nested, parameters};
use std::num::NonZeroU32;

parameters! {
    /// The controller's own time, a constant for each phase; the paper's model has none.
    pub struct Controller: "controller" {
        /// Before each phase.
        pub overhead: Span = Span::ZERO,
        /// Before a later phase in addition, to compute parity.
        pub parity: Span = Span::ZERO,
    }
}
nested!(Controller);

parameters! {
    /// Spares take the places of failed disks, and what these held is read from the others and
    /// written, from the first block to the last, chunk by chunk. Its accesses are served where no
    /// access of a request waits. Where it is done, requests meet a whole array; one without an
    /// address is there with the probability that so much is done. With independent positioning
    /// each of its accesses takes a seek and a rotation.
    pub struct Rebuild: "rebuild" {
        /// How many blocks are read at a time, and then written.
        pub chunk: NonZeroU32 = NonZeroU32::new(8).expect("some"),
        /// The time between a chunk's end and the next one's beginning: how gentle it is.
        pub gap: Span = Span::ZERO,
        /// How much of each failed disk is rebuilt; by default all of it.
        pub size: Option<Bytes> = None,
    }
}
nested!(Rebuild);

/// Nothing that the controller waits for takes longer.
const LONGEST_DELAY: Span = Span::from_s(1);

impl Check for Rebuild {
    fn check(&self) -> Result<(), Refusal> {
        if self.gap > LONGEST_DELAY {
            return Err(Refusal::of(&self.gap, format!("at most {LONGEST_DELAY}")).under("gap"));
        }
        if self.chunk.get() > MAX_BLOCKS {
            let expected = format!("a whole number from 1 to {MAX_BLOCKS}");
            return Err(Refusal::of(&self.chunk, expected).under("chunk"));
        }
        Ok(())
    }
}

impl Check for Controller {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in [("overhead", self.overhead), ("parity", self.parity)] {
            if span > LONGEST_DELAY {
                return Err(Refusal::of(&span, format!("at most {LONGEST_DELAY}")).under(key));
            }
        }
        Ok(())
    }
}

impl Rebuild {
    /// How many blocks of `block` bytes are rebuilt of a disk that holds `of_disk`.
    pub(crate) fn blocks(&self, block: u64, of_disk: u64) -> Result<u64, Refusal> {
        let blocks = self.size.map_or(of_disk, |size| size.0.div_ceil(block));
        if (1..=of_disk).contains(&blocks) {
            return Ok(blocks);
        }
        let expected = format!("a size above zero and of at most {}", Bytes(of_disk * block));
        Err(Refusal::of(&self.size, expected).under("size"))
    }
}
