//! Mean and mean square, and how they add up.

/// Mean and mean square of a random number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The mean of the square.
    pub square: f64,
}

impl Moments {
    /// The moments of a constant.
    pub const fn constant(value: f64) -> Moments {
        Moments { mean: value, square: value * value }
    }

    /// Whether the number varies at all.
    pub fn varies(self) -> bool {
        self.square - self.mean * self.mean > 1e-9
    }

    /// The moments of a sum of independent numbers.
    pub fn plus(self, other: Moments) -> Moments {
        Moments {
            mean: self.mean + other.mean,
            square: self.square + 2.0 * self.mean * other.mean + other.square,
        }
    }

    /// The moments of a product of independent numbers.
    pub fn times(self, other: Moments) -> Moments {
        Moments { mean: self.mean * other.mean, square: self.square * other.square }
    }

    /// The moments of a mixture: `self` with probability `share`, else `other`.
    pub fn or(self, share: f64, other: Moments) -> Moments {
        let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
        Moments { mean: mix(self.mean, other.mean), square: mix(self.square, other.square) }
    }
}
