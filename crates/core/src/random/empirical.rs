//! Empirical distributions: a table of (value, P(X <= value)) and a rule for what lies between
//! its rows.

use crate::{Distribution, Stream, choices};

choices! {
    /// What a table says about values between its rows. The mean of one table differs by up to a
    /// factor of two between the readings, so whatever sets a load uses the reading that draws.
    pub enum Reading: "reading" {
        /// A straight line between rows: values are spread evenly (ns-2, HPCC, PIAS, YAPS).
        Linear = "linear",
        /// All mass of an interval sits at its upper row (Homa's simulator).
        Step = "step",
    }
}

/// Why a list of rows is not a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Which row, from 0.
    pub index: usize,
    /// What was expected there.
    pub expected: &'static str,
}

/// A distribution read off a table, ready for sampling in constant expected time.
#[derive(Clone, Debug)]
pub struct Empirical {
    pieces: Box<[Piece]>,
    /// Entry k of n (a power of two) is the first piece that reaches the probability k / n.
    guide: Box<[u32]>,
}

/// Mass `top - bottom` spread evenly over `low..high`, or on the point `high` when they are equal.
#[derive(Clone, Copy, Debug)]
struct Piece {
    top: f64,
    bottom: f64,
    low: f64,
    high: f64,
}

impl Piece {
    fn mass(&self) -> f64 {
        self.top - self.bottom
    }

    fn quantile(&self, p: f64) -> f64 {
        let part = (p - self.bottom) / (self.top - self.bottom);
        (self.low + part * (self.high - self.low)).clamp(self.low, self.high)
    }

    /// The part of this piece at or below `value`; nothing when there is none.
    fn up_to(&self, value: f64) -> Option<Piece> {
        if value >= self.high {
            return Some(*self);
        }
        if value <= self.low {
            return None;
        }
        let part = (value - self.low) / (self.high - self.low);
        let top = self.bottom + part * self.mass();
        Some(Piece { top, high: value, ..*self })
    }

    fn mean(&self) -> f64 {
        (self.low + self.high) / 2.0
    }

    /// Mean of a power of the value: an integral over the piece.
    fn moment(&self, power: i32) -> f64 {
        if self.low == self.high {
            return self.high.powi(power);
        }
        let upto = |end: f64| end.powi(power + 1) / f64::from(power + 1);
        (upto(self.high) - upto(self.low)) / (self.high - self.low)
    }

    /// Mean of the value rounded up to a whole number.
    fn mean_of_ceiling(&self) -> f64 {
        if self.low == self.high {
            return self.high.ceil();
        }
        // The integral of ceil(x) - x from 0 to t: a half for each whole unit, then the rest.
        let lift = |t: f64| {
            let rest = t - t.floor();
            (t.floor() + rest * (2.0 - rest)) / 2.0
        };
        self.mean() + (lift(self.high) - lift(self.low)) / (self.high - self.low)
    }
}

impl Empirical {
    /// The distribution whose rows are `(value, P(X <= value))`, read as `reading` says.
    ///
    /// Values are finite and not negative, values and probabilities never fall from row to row,
    /// and the last probability is 1. A first row with a probability above zero is a point mass
    /// under either reading.
    pub fn new(rows: &[(f64, f64)], reading: Reading) -> Result<Empirical, BadRow> {
        let mut pieces = Vec::with_capacity(rows.len());
        let mut before = (rows.first().map_or(0.0, |row| row.0), 0.0);
        for (index, &(value, top)) in rows.iter().enumerate() {
            let bad = |expected| Err(BadRow { index, expected });
            if !(value.is_finite() && value >= 0.0) {
                return bad("a value of zero or more");
            }
            if !(0.0..=1.0).contains(&top) {
                return bad("a probability from 0 to 1");
            }
            if value < before.0 {
                return bad("a value not below that of the row before");
            }
            if top < before.1 {
                return bad("a probability not below that of the row before");
            }
            if top > before.1 {
                let low = match reading {
                    Reading::Linear => before.0,
                    Reading::Step => value,
                };
                pieces.push(Piece { top, bottom: before.1, low, high: value });
            }
            before = (value, top);
        }
        if before.1 != 1.0 {
            let index = rows.len().saturating_sub(1);
            return Err(BadRow { index, expected: "a last row whose probability is 1" });
        }
        let guide = guide(&pieces);
        Ok(Empirical { pieces: pieces.into(), guide })
    }

    /// The smallest value `x` with P(X <= x) >= `p`, for `p` above 0 and at most 1.
    #[inline]
    pub fn quantile(&self, p: f64) -> f64 {
        debug_assert!(p > 0.0 && p <= 1.0, "a probability above 0 and at most 1, not {p}");
        // The length is a power of two, so the product is exact and its floor never too far on.
        let slot = (p * self.guide.len() as f64) as usize;
        let mut index = self.guide[slot.min(self.guide.len() - 1)] as usize;
        while self.pieces[index].top < p {
            index += 1;
        }
        self.pieces[index].quantile(p)
    }

    /// P(X <= `value`).
    pub fn cdf(&self, value: f64) -> f64 {
        self.parts(value).map(|piece| piece.mass()).sum()
    }

    /// The share of the mean that values at or below `value` carry ("the share of bytes").
    pub fn share(&self, value: f64) -> f64 {
        let below: f64 = self.parts(value).map(|piece| piece.mass() * piece.mean()).sum();
        below / self.mean()
    }

    /// The exact mean of the value rounded up to a whole number.
    pub fn mean_of_ceiling(&self) -> f64 {
        let terms = self.pieces.iter().map(|piece| piece.mass() * piece.mean_of_ceiling());
        terms.sum()
    }

    /// The exact mean of a power of the value.
    pub fn moment(&self, power: i32) -> f64 {
        self.pieces.iter().map(|piece| piece.mass() * piece.moment(power)).sum()
    }

    /// The distribution of `factor` times the value, `factor` above zero.
    pub fn scaled(&self, factor: f64) -> Empirical {
        let scale =
            |piece: &Piece| Piece { low: piece.low * factor, high: piece.high * factor, ..*piece };
        Empirical { pieces: self.pieces.iter().map(scale).collect(), guide: self.guide.clone() }
    }

    /// The largest value.
    pub fn max(&self) -> f64 {
        self.pieces[self.pieces.len() - 1].high
    }

    fn parts(&self, value: f64) -> impl Iterator<Item = Piece> + '_ {
        self.pieces.iter().filter_map(move |piece| piece.up_to(value))
    }
}

impl Distribution for Empirical {
    #[inline]
    fn sample(&self, stream: &mut Stream) -> f64 {
        self.quantile(stream.uniform())
    }

    fn mean(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.mass() * piece.mean()).sum()
    }

    fn second_moment(&self) -> f64 {
        let square = |p: &Piece| (p.low * p.low + p.low * p.high + p.high * p.high) / 3.0;
        self.pieces.iter().map(|piece| piece.mass() * square(piece)).sum()
    }
}

fn guide(pieces: &[Piece]) -> Box<[u32]> {
    let slots = (4 * pieces.len()).next_power_of_two();
    let mut first = 0;
    (0..slots)
        .map(|slot| {
            while pieces[first].top < slot as f64 / slots as f64 {
                first += 1;
            }
            first as u32
        })
        .collect()
}
