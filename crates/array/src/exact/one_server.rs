//! One server that serves in order of arrival.

use crate::Moments;

/// Bulks of requests, as a Poisson process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bulks {
    /// Bulks a picosecond.
    pub rate: f64,
    /// The moments of the number of requests of a bulk.
    pub batch: Moments,
    /// Whether sizes of bulks are geometric from 1 on, as those of single requests are.
    pub memoryless: bool,
    /// The moments of the number of blocks of a request.
    pub blocks: Moments,
    /// Share of requests that read.
    pub reads: f64,
}

impl Bulks {
    /// The bulks that come to a disk which has an access of a request with probability `share`,
    /// independently for each request. Bulks may then be empty.
    pub fn thinned(&self, share: f64) -> Bulks {
        let Moments { mean, square } = self.batch;
        let batch =
            Moments { mean: share * mean, square: share * share * (square - mean) + share * mean };
        Bulks { batch, ..*self }
    }

    /// The share of the time that a server is busy with them.
    pub fn utilisation(&self, service: Moments) -> f64 {
        self.rate * self.batch.mean * service.mean
    }
}

/// The mean sojourn time at one server that serves in order of arrival: Pollaczek and Khinchine's
/// for single arrivals, M^X/G/1 for bulks (Chaudhry and Templeton, *A First Course in Bulk Queues*,
/// 1983). None where the server cannot keep up.
pub fn one_server(bulks: &Bulks, service: Moments) -> Option<f64> {
    let Bulks { rate, batch, .. } = *bulks;
    let idle = 1.0 - bulks.utilisation(service);
    let others = rate * batch.mean * service.square / 2.0;
    let own = service.mean * (batch.square - batch.mean) / (2.0 * batch.mean);
    (idle > 0.0).then(|| service.mean + (others + own) / idle)
}

/// Mean and mean square of the waiting time in M/G/1, single arrivals at `rate` a picosecond whose
/// services have the moments `service` and the mean cube `cube` (Takács, *A single-server queue with
/// Poisson input*, Operations Research 10, 1962). None where the server cannot keep up.
pub fn waiting(rate: f64, service: Moments, cube: f64) -> Option<Moments> {
    let idle = 1.0 - rate * service.mean;
    let mean = rate * service.square / (2.0 * idle);
    let square = 2.0 * mean * mean + rate * cube / (3.0 * idle);
    (idle > 0.0).then_some(Moments { mean, square })
}
