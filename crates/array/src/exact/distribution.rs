//! Distributions of sojourn times without simulating them.

use super::Law;
use super::lattice::Lattice;

/// How requests come to queues, and how those at one moment belong together.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueArrivals {
    /// Bulks a picosecond at each queue, as a Poisson process.
    pub(super) rate: f64,
    /// The mean of their sizes, which are geometric, from 1 on; 1 for single requests.
    pub(super) bulk: f64,
    pub(super) join: Join,
    /// What is added to every sojourn time, in picoseconds.
    pub(super) overhead: f64,
}

/// How the accesses of a request depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// Sojourn times at different disks are associated: long ones go together.
    Associated,
    /// In any way.
    Any,
    /// They are served together, and nothing else with them.
    SplitMerge,
}

/// Between which two distribution functions sojourn times are; equal where they are known.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Times in picoseconds, rising.
    pub times_ps: Vec<f64>,
    /// At each, what the share of requests that are done by then is at least.
    pub least: Vec<f64>,
    /// And at most.
    pub most: Vec<f64>,
    /// By which formulas.
    pub words: &'static str,
}

const EXACT: &str = "exactly: Pollaczek and Khinchine's transform as a geometric sum, Panjer 1981";
const ASSOCIATED: &str = "least: queues that are independent, Baccelli, Makowski and Shwartz 1989; \
                          most: one access alone, or nobody waits";
const ANY: &str = "least: whatever depends on what, Frechet 1951; most: one access alone, or nobody \
                   waits";

/// How many steps a mean service is divided into.
const STEPS: f64 = 100.0;

/// Of requests of several kinds, each with its share, its accesses and their law. Nothing where more
/// comes than is served.
pub(super) fn distribution(
    parts: &[(f64, u32, Law)],
    coming: &QueueArrivals,
) -> Option<Distribution> {
    let together = coming.join == Join::SplitMerge;
    let mean: f64 = parts.iter().map(|(share, _, law)| share * law.of_largest(1, 1)).sum();
    let step = mean / STEPS;
    let service = |(_, many, law): &(f64, u32, Law)| {
        let one = Lattice::of(law, step);
        if together { one.largest(*many) } else { one }
    };
    let services: Vec<Lattice> = parts.iter().map(service).collect();
    let weights = parts.iter().map(|(share, many, _)| match together {
        true => *share,
        false => share * f64::from(*many),
    });
    let all: f64 = weights.clone().sum();
    let service = Lattice::one_of(weights.map(|weight| weight / all).zip(&services));
    let load = coming.rate * coming.bulk * service.mean() * step;
    if load >= 1.0 {
        return None;
    }
    // Those of its bulk that come before, and what of other bulks is before them.
    let before = service.summed(1.0 - 1.0 / coming.bulk);
    let wait = service.plus(&before).residual().summed(load).plus(&before);
    let at_one: Vec<Vec<f64>> = services.iter().map(|own| wait.plus(own).upto()).collect();
    let places = at_one.iter().map(Vec::len).max()?;
    let (mut least, mut most) = (vec![0.0; places], vec![0.0; places]);
    for (((share, many, _), service), at_one) in parts.iter().zip(&services).zip(at_one) {
        let accesses = if together { 1 } else { *many as i32 };
        let alone = service.upto();
        let done = at_one[at_one.len() - 1];
        for place in 0..places {
            let one = at_one.get(place).copied().unwrap_or(done);
            let low = match coming.join {
                Join::Any => (1.0 - f64::from(accesses) * (1.0 - one)).max(0.0),
                Join::Associated | Join::SplitMerge => one.powi(accesses),
            };
            least[place] += share * low;
            let alone = alone.get(place).copied().unwrap_or(1.0);
            most[place] += share * one.min(alone.powi(accesses));
        }
    }
    let is_exact = together || parts.iter().all(|(_, many, _)| *many == 1);
    let words = match coming.join {
        _ if is_exact => EXACT,
        Join::Associated => ASSOCIATED,
        _ => ANY,
    };
    // What was rounded to a place lies up to half a step beyond it.
    let time = |place: usize| (place as f64 + 0.5) * step + coming.overhead;
    Some(Distribution { times_ps: (0..least.len()).map(time).collect(), least, most, words })
}
