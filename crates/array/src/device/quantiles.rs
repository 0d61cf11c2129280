//! Distributions of times as tables of quantiles: one look-up and one multiplication a draw.

use sojourn_core::Span;

/// The number of pieces, as its logarithm to base two.
const BITS: u32 = 11;
/// The bits of a chance that say where it is within a piece.
const INSIDE: u32 = u32::BITS - BITS;

/// A distribution of times: 2048 pieces of equal probability, uniform within each. The quantiles at
/// the ends of the pieces are exact.
#[derive(Clone, Debug)]
pub(super) struct Quantiles {
    /// The time at which each piece begins, in picoseconds, and at which the last one ends.
    ends: Box<[u64; (1 << BITS) + 1]>,
}

impl Quantiles {
    /// Tabulates a distribution by its quantile function, which is called with shares rising from 0
    /// to 1.
    pub(super) fn new(mut quantile: impl FnMut(f64) -> f64) -> Quantiles {
        let mut ends = Box::new([0; (1 << BITS) + 1]);
        for (piece, end) in ends.iter_mut().enumerate() {
            *end = quantile(piece as f64 / f64::from(1u32 << BITS)).round() as u64;
        }
        Quantiles { ends }
    }

    /// The mean.
    pub(super) fn mean(&self) -> Span {
        let pieces = self.ends.windows(2).map(|ends| u128::from(ends[0]) + u128::from(ends[1]));
        Span::from_ps((pieces.sum::<u128>() >> (BITS + 1)) as u64)
    }

    /// The longest time.
    pub(super) fn longest(&self) -> f64 {
        self.ends[1 << BITS] as f64
    }

    /// The time at `chance`, a share of 2^32: lesser times have this probability.
    #[inline(always)]
    pub(super) fn at(&self, chance: u32) -> Span {
        let piece = (chance >> INSIDE) as usize;
        let (from, to) = (self.ends[piece], self.ends[piece + 1]);
        let inside = u64::from(chance & ((1 << INSIDE) - 1));
        Span::from_ps(from + (((to - from) * inside) >> INSIDE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_law_is_kept_as_it_is() {
        let law = Quantiles::new(|share| 1e9 + share * 4096e6);
        assert_eq!(law.at(0), Span::from_ps(1_000_000_000));
        assert_eq!(law.at(1 << 31), Span::from_ps(3_048_000_000));
        assert_eq!(law.at(u32::MAX), Span::from_ps(5_095_999_999));
        assert_eq!(law.at((1 << 31) + (1 << 19)), Span::from_ps(3_048_500_000));
    }

    #[test]
    fn times_never_fall_as_chances_rise() {
        let law = Quantiles::new(|share| 1e10 * share.powi(3));
        let mut before = Span::ZERO;
        for chance in (0..u32::MAX).step_by(99_991) {
            assert!(law.at(chance) >= before);
            before = law.at(chance);
        }
    }
}
