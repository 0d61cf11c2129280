//! Arrival processes: the gaps between arrivals and how many arrive at once.

use crate::{Distribution, Exponential, Geometric};
use sojourn_kernel::{Frequency, Span, Stream};

/// What arrives next: `batch` jobs at once, `gap` after those before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time since the arrival before.
    pub gap: Span,
    /// How many jobs arrive together, at least 1.
    pub batch: u64,
}

/// When arrivals come.
#[derive(Clone, Copy, Debug)]
pub enum Gaps {
    /// Exponential gaps: a Poisson process.
    Poisson(Frequency),
    /// Equal gaps.
    Deterministic(Frequency),
}

/// How many jobs each arrival brings.
#[derive(Clone, Copy, Debug)]
pub enum Batches {
    /// One job.
    Single,
    /// A geometric number of jobs (1, 2, ...) with this mean, at least 1.
    Geometric(f64),
}

/// An endless sequence of arrivals; the [`Frequency`] counts arrivals, not jobs.
#[derive(Clone, Debug)]
pub struct Arrivals {
    gaps: Gaps,
    batches: Batches,
    stream: Stream,
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

impl Batches {
    /// Draws the size of the next batch.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match *self {
            Batches::Single => 1,
            Batches::Geometric(mean) => Geometric { mean }.sample(stream) as u64,
        }
    }
}

impl Arrivals {
    /// The arrivals that `stream` draws.
    pub const fn new(gaps: Gaps, batches: Batches, stream: Stream) -> Arrivals {
        Arrivals { gaps, batches, stream }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let gap = self.gaps.draw(&mut self.stream);
        let batch = self.batches.draw(&mut self.stream);
        Some(Arrival { gap, batch })
    }
}
