//! What is known exactly of some arrays: beside the simulation, a check that users see.

/// Mean and mean square of what is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The mean of the square.
    pub square: f64,
}

impl Moments {
    /// Those of what never varies.
    pub const fn constant(value: f64) -> Moments {
        Moments { mean: value, square: value * value }
    }

    /// Those of a sum of independent draws.
    pub fn plus(self, other: Moments) -> Moments {
        Moments {
            mean: self.mean + other.mean,
            square: self.square + 2.0 * self.mean * other.mean + other.square,
        }
    }

    /// Those of a product of independent draws.
    pub fn times(self, other: Moments) -> Moments {
        Moments { mean: self.mean * other.mean, square: self.square * other.square }
    }

    /// Those of one or the other by chance, `self` with probability `share`.
    pub fn or(self, share: f64, other: Moments) -> Moments {
        let mix = |a: f64, b: f64| share * a + (1.0 - share) * b;
        Moments { mean: mix(self.mean, other.mean), square: mix(self.square, other.square) }
    }
}

/// Bulks of requests, as a Poisson process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bulks {
    /// Bulks a picosecond.
    pub rate: f64,
    /// How many requests each has.
    pub batch: Moments,
    /// How many blocks each request has.
    pub blocks: Moments,
    /// Share of requests that read.
    pub reads: f64,
}

/// The mean sojourn time at one server that serves in order of arrival: Pollaczek and Khinchine's
/// for single arrivals, M^X/G/1 for bulks (Chaudhry and Templeton, *A First Course in Bulk Queues*,
/// 1983). Nothing where the server cannot keep up.
pub fn one_server(bulks: &Bulks, service: Moments) -> Option<f64> {
    let Bulks { rate, batch, .. } = *bulks;
    let idle = 1.0 - rate * batch.mean * service.mean;
    let others = rate * batch.mean * service.square / 2.0;
    let own = service.mean * (batch.square - batch.mean) / (2.0 * batch.mean);
    (idle > 0.0).then(|| service.mean + (others + own) / idle)
}
