//! Seek times, and the distance of two random places.

use crate::Moments;
use sojourn_core::Span;

/// Seek time: `a + b sqrt(y)` over a share y of the stroke, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    pub(super) a: f64,
    pub(super) b: f64,
}

impl Curve {
    /// The curve through (1 cylinder, `track`) and (`stroke` cylinders, `full`): reference [14] of
    /// the paper, readings row 2.
    pub(super) fn new(stroke: f64, track: Span, full: Span) -> Curve {
        let stroke = stroke.sqrt();
        let rise = if stroke > 1.0 { (full - track).ps() as f64 / (stroke - 1.0) } else { 0.0 };
        Curve { a: track.ps() as f64 - rise, b: rise * stroke }
    }
}

/// The distribution of the distance between two random sectors, as a share of the stroke. Cylinders,
/// as a share y of the stroke from the outermost on, have the density 2 (1 - q y) / (1 + r), where r
/// is the densest sector's time over the least dense one's and q = 1 - r. So the distance d has the
/// density c0 + c1 d + c3 d³.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distance {
    c0: f64,
    c1: f64,
    c3: f64,
}

impl Distance {
    /// The distribution for a `ratio` r.
    pub(super) fn new(ratio: f64) -> Distance {
        let q = 1.0 - ratio;
        let all = 2.0 / (1.0 - q / 2.0).powi(2);
        Distance {
            c0: all * (1.0 - q + q * q / 3.0),
            c1: all * (q - 1.0 - q * q / 2.0),
            c3: all * q * q / 6.0,
        }
    }

    /// The probability that the root of the distance is at most `x`.
    pub(super) fn upto(&self, x: f64) -> f64 {
        let x = x.clamp(0.0, 1.0);
        let square = x * x;
        square * (self.c0 + square * (self.c1 / 2.0 + square * square * self.c3 / 4.0))
    }

    /// The integral of [`upto`](Distance::upto) from 0 to `x`.
    pub(super) fn summed(&self, x: f64) -> f64 {
        let inside = x.clamp(0.0, 1.0);
        let square = inside * inside;
        let sum = inside
            * square
            * (self.c0 / 3.0 + square * (self.c1 / 10.0 + square * square * self.c3 / 36.0));
        sum + (x - 1.0).max(0.0)
    }

    /// Mean and mean square of the root of the distance.
    pub(super) fn root(&self) -> Moments {
        Moments {
            mean: 2.0 * (self.c0 / 3.0 + self.c1 / 5.0 + self.c3 / 9.0),
            square: self.c0 / 2.0 + self.c1 / 3.0 + self.c3 / 5.0,
        }
    }
}
