//! Continuous and whole-number distributions, sampled by inverting their distribution functions, and
//! the gaps of arrival processes.
//!
//! The samplers are our own so that results outlive a library upgrade. Logarithms come from
//! `libm`, which is plain Rust: the platform's own may differ in the last bit, and with it rows.

use super::logarithm::ln;
use crate::{Frequency, Span, Stream};

/// A distribution of a non-negative number: a span in the caller's unit, a size, a count.
pub trait Distribution {
    /// Draws one value. Every draw takes equally many uniforms from the stream.
    fn sample(&self, stream: &mut Stream) -> f64;
    /// The exact mean, E\[X\].
    fn mean(&self) -> f64;
    /// The exact second moment, E\[X²\].
    fn second_moment(&self) -> f64;
}

/// A constant.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub f64);

/// Evenly spread between two values.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    /// The lower end.
    pub low: f64,
    /// The upper end, not below the lower.
    pub high: f64,
}

/// Exponential, memoryless.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    /// The mean, above zero.
    pub mean: f64,
}

/// The exponential of a normal: half of all values lie below the median, and a few far above.
#[derive(Clone, Copy, Debug)]
pub struct LogNormal {
    /// The median, not below zero.
    pub median: f64,
    /// The standard deviation of the logarithm; with 0 it is constant.
    pub spread: f64,
}

/// The number of tries up to and with the first success: 1, 2, 3, ...
#[derive(Clone, Copy, Debug)]
pub struct Geometric {
    /// The mean, at least 1: the success probability is its inverse.
    pub mean: f64,
}

impl Distribution for Constant {
    fn sample(&self, _: &mut Stream) -> f64 {
        self.0
    }

    fn mean(&self) -> f64 {
        self.0
    }

    fn second_moment(&self) -> f64 {
        self.0 * self.0
    }
}

impl Distribution for Uniform {
    fn sample(&self, stream: &mut Stream) -> f64 {
        self.low + stream.uniform() * (self.high - self.low)
    }

    fn mean(&self) -> f64 {
        (self.low + self.high) / 2.0
    }

    fn second_moment(&self) -> f64 {
        (self.low * self.low + self.low * self.high + self.high * self.high) / 3.0
    }
}

impl Exponential {
    /// Fills `values` with what as many calls of [`sample`](Exponential::sample) would give, at half
    /// the cost.
    #[inline]
    pub fn sample_many(&self, stream: &mut Stream, values: &mut [f64]) {
        values.fill_with(|| stream.uniform());
        for value in values {
            *value = -self.mean * ln(*value);
        }
    }
}

impl Distribution for Exponential {
    #[inline]
    fn sample(&self, stream: &mut Stream) -> f64 {
        -self.mean * libm::log(stream.uniform())
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn second_moment(&self) -> f64 {
        2.0 * self.mean * self.mean
    }
}

impl Distribution for LogNormal {
    /// Box and Muller, 1958: one of the two normals that two uniforms give.
    fn sample(&self, stream: &mut Stream) -> f64 {
        let (one, two) = (stream.uniform(), stream.uniform());
        let normal = libm::sqrt(-2.0 * libm::log(one)) * libm::cos(std::f64::consts::TAU * two);
        self.median * libm::exp(self.spread * normal)
    }

    fn mean(&self) -> f64 {
        self.median * libm::exp(self.spread * self.spread / 2.0)
    }

    fn second_moment(&self) -> f64 {
        self.median * self.median * libm::exp(2.0 * self.spread * self.spread)
    }
}

impl Distribution for Geometric {
    fn sample(&self, stream: &mut Stream) -> f64 {
        // P(X > n) = (1 - p)^n; a mean of 1 makes the divisor minus infinity and the quotient 0.
        let tries = libm::log(stream.uniform()) / libm::log1p(-1.0 / self.mean);
        tries.ceil().max(1.0)
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn second_moment(&self) -> f64 {
        self.mean * (2.0 * self.mean - 1.0)
    }
}

/// When arrivals come.
#[derive(Clone, Copy, Debug)]
pub enum Gaps {
    /// Exponential gaps: a Poisson process.
    Poisson(Frequency),
    /// Equal gaps.
    Deterministic(Frequency),
}

impl Gaps {
    /// Draws the next gap, rounded to the nearest picosecond.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Span {
        match self {
            Gaps::Poisson(frequency) => {
                let mean = 1.0 / frequency.per_second();
                Span::from_seconds(Exponential { mean }.sample(stream))
            }
            Gaps::Deterministic(frequency) => Span::from_seconds(1.0 / frequency.per_second()),
        }
    }
}
