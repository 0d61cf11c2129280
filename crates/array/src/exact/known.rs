//! The means and quantiles of sojourn times that formulas give.

use super::distribution::{Distribution, Join, QueueArrivals, distribution};
use super::forks::Unlike;
use super::queue::Queue;
use super::{
    Bulks, Fork, FormulaInput, Law, Load, Loop, exponential, mean_value_analysis, one_server,
    waiting,
};
use crate::Moments;
use crate::device::{Op, ServiceTimes};
use sojourn_core::parameters::Value;

/// The total with the share of all disks' capacity that is offered to them.
pub(crate) const OFFERED: &str = "offered_utilisation";
/// The total with the share of its capacity that is offered to the busiest disk.
pub(crate) const BUSIEST_OFFERED: &str = "busiest_offered_utilisation";

/// The results of the formulas for a case.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The share of the time that each disk is busy; in split-merge that the array is.
    pub utilisation: Option<f64>,
    /// The load of the disks, where that is known without a formula for the queue.
    load: Option<Load>,
    /// The mean sojourn time, exactly, in picoseconds.
    pub exact: Option<f64>,
    /// A lower bound of the mean, in picoseconds.
    pub least: Option<f64>,
    /// An upper bound of the mean, in picoseconds.
    pub most: Option<f64>,
    /// An approximation of the mean, in picoseconds.
    pub about: Option<f64>,
    /// Another approximation of the mean, in picoseconds.
    pub scaled: Option<f64>,
    /// The formulas, or why there are none, for people.
    pub words: &'static str,
    queue: Option<Queue>,
    alone: Vec<(f64, u32, Law)>,
    coming: Option<QueueArrivals>,
}

const LOOP: &str = "mean value analysis: Reiser and Lavenberg 1980";
const PK: &str = "Pollaczek-Khinchine, M^X/G/1";
const SPLIT_MERGE: &str =
    "split-merge: M^X/G/1 whose service is the longest of a request's accesses";
const TWO: &str = "two exponential servers: Flatto and Hahn 1984";
const EXPONENTIAL: &str = "bounds of Baccelli, Makowski and Shwartz 1989, between them Varma and \
                           Makowski 1994, scaled Nelson and Tantawi 1988, exponential services";
const INDEPENDENT: &str = "least: no request waits, or one access alone; most: queues that are \
                           independent, Baccelli, Makowski and Shwartz 1989, Hartley and David 1954";
const ANY: &str = "least: no request waits, or one access alone; most: the longest of any such sojourn \
                   times, Arnold and Groeneveld 1979";
const LEAST: &str = "least: no request waits, or one access alone";

/// The requests of one operation: their share, their fork, the service times of its accesses.
struct Part {
    share: f64,
    fork: Fork,
    service: Moments,
    law: Law,
}

impl Known {
    /// No results, for the reason that `words` gives.
    pub(crate) fn nothing(words: &'static str) -> Known {
        Known { words, ..Known::default() }
    }

    /// These results beside a load.
    pub(crate) fn with_load(self, load: Option<Load>) -> Known {
        Known { load, ..self }
    }

    /// The results of the formulas for a case.
    pub fn of(input: &FormulaInput<'_>) -> Known {
        Known { queue: Queue::of(input), ..Known::by_formulas(input) }
    }

    /// The results for a closed loop.
    fn of_loop(input: &FormulaInput<'_>, closed: Loop) -> Known {
        let nothing =
            Known::nothing("no formula: a closed loop, whose services are not exponential");
        let Loop { depth, think, blocks, reads } = closed;
        let Some(times) = input.times.filter(|times| times.is_exponential()) else {
            return nothing;
        };
        if !input.in_order || input.servers > 1 || input.split_merge || blocks.varies() {
            return Known::nothing(
                "no formula: a closed loop over disks that are no simple queues",
            );
        }
        let ops = [(Op::Read, reads), (Op::Write, 1.0 - reads)];
        let forks = ops.iter().filter(|(_, share)| *share > 0.0);
        let forks: Result<Vec<Fork>, _> =
            forks.map(|(op, _)| Fork::of(input.layout, *op, blocks.mean as u32)).collect();
        match forks.as_deref() {
            Ok([fork, others @ ..]) if fork.accesses == 1 && others.iter().all(|it| it == fork) => {
                let service = times.moments(Op::Read, blocks).mean;
                let think = think + input.overhead;
                let mean = mean_value_analysis(depth, think, fork.disks, service);
                Known { exact: Some(mean + input.overhead), words: LOOP, ..Known::default() }
            }
            _ => Known::nothing("no formula: a closed loop whose requests fork"),
        }
    }

    fn by_formulas(input: &FormulaInput<'_>) -> Known {
        if let Some(closed) = input.closed {
            return Known::of_loop(input, closed);
        }
        let Some(bulks) = input.bulks else {
            return Known::nothing("no formula: arrivals are no Poisson process of known laws");
        };
        let Some(times) = input.times else {
            return Known::nothing("no formula: services depend on those before them");
        };
        if !input.in_order {
            return Known::nothing("no formula: services depend on what waits");
        }
        if input.servers > 1 {
            return Known::nothing("no formula: each disk serves several accesses at once");
        }
        let blocks = bulks.blocks.mean;
        if bulks.blocks.varies() {
            if input.layout.disks() > 1 {
                return Known::nothing("no formula: requests differ in size");
            }
            let of = |op| times.moments(op, bulks.blocks);
            let service = of(Op::Read).or(bulks.reads, of(Op::Write));
            return Known::queue(&bulks, service, input.overhead, PK);
        }
        let mut parts = Vec::new();
        for (op, share) in [(Op::Read, bulks.reads), (Op::Write, 1.0 - bulks.reads)] {
            if share == 0.0 {
                continue;
            }
            match Fork::of(input.layout, op, blocks as u32) {
                Ok(fork) => parts.push(Part {
                    share,
                    fork,
                    service: times.moments(op, Moments::constant(f64::from(fork.blocks))),
                    law: Law::new(times.equally_likely(op, fork.blocks)),
                }),
                Err(Unlike::Phases) => {
                    return Known::nothing("no formula: writes come back to disks that they read");
                }
                Err(Unlike::Needs) => {
                    return Known::nothing("no formula: a request waits for some of its accesses");
                }
                Err(Unlike::Accesses) => {
                    return Known::nothing("no formula: a request's accesses differ in size");
                }
            }
        }
        if parts.iter().any(|part| part.fork.disks != parts[0].fork.disks) {
            return Known::nothing("no formula: disks differ in what they do");
        }
        let known = match input.split_merge {
            true => Known::split_merge(&bulks, &parts, input.overhead),
            false => Known::fork_join(&bulks, &parts, times, input.overhead),
        };
        let coming = Known::coming(&bulks, &parts, input);
        let alone = parts.into_iter().map(|part| (part.share, part.fork.accesses, part.law));
        Known { alone: alone.collect(), coming, ..known }
    }

    /// The arrivals at each queue, where the sizes of bulks are memoryless.
    fn coming(bulks: &Bulks, parts: &[Part], input: &FormulaInput<'_>) -> Option<QueueArrivals> {
        let accesses = parts.iter().map(|part| part.share * f64::from(part.fork.accesses));
        let (share, join) = match (input.split_merge, parts) {
            (true, _) => (1.0, Join::SplitMerge),
            (false, [only]) if only.fork.is_full() => (1.0, Join::Associated),
            _ => (accesses.sum::<f64>() / f64::from(parts[0].fork.disks), Join::Any),
        };
        // The part of a geometric bulk that comes to one of the disks is a geometric bulk, or none.
        let bulk = 1.0 + share * (bulks.batch.mean - 1.0);
        let rate = bulks.rate * bulks.batch.mean * share / bulk;
        bulks.memoryless.then_some(QueueArrivals { rate, bulk, join, overhead: input.overhead })
    }

    /// The distribution of sojourn times, or two that it lies between; takes some milliseconds to
    /// compute.
    pub fn distribution(&self) -> Option<Distribution> {
        distribution(&self.alone, self.coming.as_ref()?)
    }

    /// One queue.
    fn queue(bulks: &Bulks, service: Moments, overhead: f64, words: &'static str) -> Known {
        let exact = one_server(bulks, service).map(|mean| mean + overhead);
        let words = if exact.is_some() { words } else { OVERLOAD };
        Known { utilisation: Some(bulks.utilisation(service)), exact, words, ..Known::default() }
    }

    fn split_merge(bulks: &Bulks, parts: &[Part], overhead: f64) -> Known {
        let longest = parts.iter().map(|part| match part.fork.accesses {
            1 => (part.share, part.service),
            many => (part.share, part.law.largest(many)),
        });
        Known::queue(bulks, mixture(longest), overhead, SPLIT_MERGE)
    }

    fn fork_join(bulks: &Bulks, parts: &[Part], times: &dyn ServiceTimes, overhead: f64) -> Known {
        // The arrivals at each disk: of each part as often as it has accesses there.
        let accesses = |part: &Part| part.share * f64::from(part.fork.accesses);
        let all: f64 = parts.iter().map(accesses).sum();
        let disks = parts[0].fork.disks;
        let at_disk = bulks.thinned(all / f64::from(disks));
        let service = mixture(parts.iter().map(|part| (accesses(part) / all, part.service)));
        let cube = parts.iter().map(|part| accesses(part) / all * part.law.of_largest(1, 3)).sum();
        if parts.iter().all(|part| part.fork.accesses == 1) {
            return Known::queue(&at_disk, service, overhead, PK);
        }
        let utilisation = Some(at_disk.utilisation(service));
        let Some(mean) = one_server(&at_disk, service) else {
            return Known { utilisation, ..Known::nothing(OVERLOAD) };
        };
        let wait = mean - service.mean;
        let single = bulks.batch == Moments::constant(1.0);
        let full = parts.iter().all(|part| part.fork.is_full());
        if times.is_exponential() && single && full && parts.len() == 1 {
            return Known::exponential(disks, service.mean, utilisation, overhead);
        }
        let least = |part: &Part| {
            let longest = part.law.of_largest(part.fork.accesses, 1);
            longest.max(wait + part.service.mean)
        };
        let waits = waiting(at_disk.rate * at_disk.batch.mean, service, cube).filter(|_| single);
        let most = |waits: Moments| {
            let of = |part: &Part| {
                let Moments { mean, square } = waits.plus(part.service);
                let many = f64::from(part.fork.accesses);
                let factor = match full {
                    true => (many - 1.0) / (2.0 * many - 1.0).sqrt(),
                    false => (many - 1.0).sqrt(),
                };
                mean + factor * (square - mean * mean).sqrt()
            };
            parts.iter().map(|part| part.share * of(part)).sum::<f64>() + overhead
        };
        Known {
            utilisation,
            least: Some(parts.iter().map(|part| part.share * least(part)).sum::<f64>() + overhead),
            most: waits.map(most),
            words: match (single, full) {
                (false, _) => LEAST,
                (true, true) => INDEPENDENT,
                (true, false) => ANY,
            },
            ..Known::default()
        }
    }

    fn exponential(servers: u32, mean: f64, utilisation: Option<f64>, overhead: f64) -> Known {
        let load = utilisation.expect("a queue with a mean has a utilisation");
        let said = |times: f64| Some(times * mean + overhead);
        if servers == 2 {
            let exact = said(exponential::two_servers(load));
            return Known { utilisation, exact, words: TWO, ..Known::default() };
        }
        let (least, most) = exponential::bounds(servers, load);
        Known {
            utilisation,
            least: said(least),
            most: said(most),
            about: said(exponential::varma_makowski(servers, load)),
            scaled: exponential::nelson_tantawi(servers, load).and_then(said),
            words: EXPONENTIAL,
            ..Known::default()
        }
    }

    /// The totals of a run that these are; none of a default.
    pub fn totals(&self) -> impl Iterator<Item = (String, Value)> {
        let numbers = [
            (OFFERED, self.utilisation.or(self.load.map(|load| load.mean))),
            (BUSIEST_OFFERED, self.load.map(|load| load.busiest)),
            ("exact_mean_sojourn_ps", self.exact),
            ("least_mean_sojourn_ps", self.least),
            ("most_mean_sojourn_ps", self.most),
            ("about_mean_sojourn_ps", self.about),
            ("scaled_mean_sojourn_ps", self.scaled),
        ];
        let words = Some(self.words).filter(|words| !words.is_empty());
        numbers
            .into_iter()
            .filter_map(|(name, number)| Some((name.to_owned(), Value::Float(number?))))
            .chain(self.queue.iter().flat_map(Queue::totals))
            .chain(words.map(|words| ("analysis".to_owned(), Value::Text(words.to_owned()))))
    }

    /// A time that sojourn times exceed with a probability of at least 1 - `share` at any load: the
    /// quantile of requests that meet no other. None where the distribution of service times is not
    /// known.
    pub fn quantile_alone(&self, share: f64) -> Option<f64> {
        let within = |time: f64| {
            let of = |(part, many, law): &(f64, u32, Law)| part * law.within(*many, time);
            self.alone.iter().map(of).sum::<f64>()
        };
        let quantile = |(_, many, law): &(f64, u32, Law)| law.quantile_of_largest(*many, share);
        let quantiles: Vec<f64> = self.alone.iter().map(quantile).collect();
        let mut low = quantiles.iter().copied().reduce(f64::min)?;
        let mut high = quantiles.into_iter().fold(low, f64::max);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if within(middle) < share {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}

const OVERLOAD: &str = "no steady state: more comes than is served";

fn mixture(parts: impl Iterator<Item = (f64, Moments)>) -> Moments {
    parts.fold(Moments { mean: 0.0, square: 0.0 }, |sum, (share, part)| Moments {
        mean: sum.mean + share * part.mean,
        square: sum.square + share * part.square,
    })
}
