//! A set of sequence numbers above a moving base: what has arrived out of order.

use std::collections::VecDeque;

/// Sequence numbers from a base on, as bits. Two words lie in the set itself, for the usual few
/// packets; the others are taken only when a hole stays open for longer.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// The number of the first word, of 64 sequence numbers each.
    first: u32,
    near: [u64; 2],
    far: VecDeque<u64>,
    len: u32,
}

impl Scoreboard {
    /// Numbers in the set.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn word(&self, word: u32) -> u64 {
        match word.wrapping_sub(self.first) {
            i @ 0..2 => self.near[i as usize],
            i => self.far.get(i as usize - 2).copied().unwrap_or(0),
        }
    }

    /// Adds `sequence`, which is not below the base; false when it was there already.
    #[inline]
    pub(super) fn insert(&mut self, sequence: u32) -> bool {
        let bit = 1 << (sequence % 64);
        let word = match sequence / 64 - self.first {
            i @ 0..2 => &mut self.near[i as usize],
            i => {
                let i = i as usize - 2;
                if i >= self.far.len() {
                    self.far.resize(i + 1, 0);
                }
                &mut self.far[i]
            }
        };
        let new = *word & bit == 0;
        *word |= bit;
        self.len += u32::from(new);
        new
    }

    /// Moves the base up to `base` and forgets numbers below it.
    #[inline]
    pub(super) fn advance(&mut self, base: u32) {
        if self.len == 0 && self.far.is_empty() {
            self.first = base / 64;
            return;
        }
        while self.first < base / 64 {
            self.len -= self.near[0].count_ones();
            self.near = [self.near[1], self.far.pop_front().unwrap_or(0)];
            self.first += 1;
        }
        let below = (1u64 << (base % 64)) - 1;
        self.len -= (self.near[0] & below).count_ones();
        self.near[0] &= !below;
    }

    /// The first number from `from` on that is not in it; `from` is not below the base.
    #[inline]
    pub(super) fn first_missing(&self, from: u32) -> u32 {
        if self.len == 0 {
            return from;
        }
        let mut word = from / 64;
        let mut missing = !self.word(word) & (u64::MAX << (from % 64));
        while missing == 0 {
            word += 1;
            missing = !self.word(word);
        }
        word * 64 + missing.trailing_zeros()
    }

    /// Whether `sequence`, which is not below the base, is in it.
    #[inline]
    pub(super) fn contains(&self, sequence: u32) -> bool {
        self.word(sequence / 64) >> (sequence % 64) & 1 == 1
    }

    /// Which of the 64 numbers from `from` on are in it, the first in the lowest bit; `from` is not
    /// below the base.
    #[inline]
    pub(super) fn bits(&self, from: u32) -> u64 {
        let (word, shift) = (from / 64, from % 64);
        let high = self.word(word + 1).checked_shl(64 - shift).unwrap_or(0);
        self.word(word) >> shift | high
    }

    /// The `nth` highest number in it, the highest being the first. All are below `end`, and there
    /// are as many.
    pub(super) fn nth_highest(&self, end: u32, nth: u32) -> u32 {
        let (mut word, mut left) = ((end - 1) / 64, nth);
        while self.word(word).count_ones() < left {
            left -= self.word(word).count_ones();
            word -= 1;
        }
        let mut bits = self.word(word);
        for _ in 1..left {
            bits &= !(1 << bits.ilog2());
        }
        word * 64 + bits.ilog2()
    }

    /// Numbers of `from..to` in the set; `from` is not below the base.
    pub(super) fn count(&self, from: u32, to: u32) -> u32 {
        if from >= to {
            return 0;
        }
        (from / 64..=(to - 1) / 64)
            .map(|word| {
                let mut bits = self.word(word);
                if word == from / 64 {
                    bits &= u64::MAX << (from % 64);
                }
                if word == (to - 1) / 64 {
                    bits &= u64::MAX >> (63 - (to - 1) % 64);
                }
                bits.count_ones()
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a sorted set, through any mixture of insertions and advances.
        #[test]
        fn behaves_like_a_set(steps in prop::collection::vec((any::<bool>(), 0u32..400), 1..200)) {
            let (mut board, mut set, mut base) = (Scoreboard::default(), BTreeSet::new(), 0);
            for (advance, by) in steps {
                if advance {
                    base += by / 8;
                    board.advance(base);
                    set.retain(|&s| s >= base);
                } else {
                    prop_assert_eq!(board.insert(base + by), set.insert(base + by));
                }
                prop_assert_eq!(board.len() as usize, set.len());
                for from in [base, base + by, base + 64] {
                    let missing = (from..).find(|s| !set.contains(s)).unwrap();
                    prop_assert_eq!(board.first_missing(from), missing);
                    let counted = set.range(from..from + by).count() as u32;
                    prop_assert_eq!(board.count(from, from + by), counted);
                    prop_assert_eq!(board.contains(from), set.contains(&from));
                    let bits = (0..64).filter(|bit| board.bits(from) >> bit & 1 == 1);
                    let expected = set.range(from..from + 64).map(|number| number - from);
                    prop_assert!(bits.eq(expected));
                }
                for (nth, &number) in (1..).zip(set.iter().rev()) {
                    prop_assert_eq!(board.nth_highest(set.last().unwrap() + 1, nth), number);
                }
            }
        }
    }
}
