//! Replications of queues, and the interval that their means give.

use crate::common::serve;
use sojourn_kernel::{Frequency, Span, Stream, Streams, Time};
use sojourn_queueing::{
    Arrivals, Batches, Distribution, Exponential, Gaps, Joins, Line, Order, Station, Task,
};

const SEED: u64 = 1;
const REPLICATIONS: u64 = 30;
const JOBS: usize = 100_000;
/// The 99.5 % point of Student's t with 29 degrees of freedom.
const STUDENT: f64 = 2.756;

/// A class of jobs: its share of the arrivals and how its service is drawn.
pub(crate) struct Class<'a> {
    pub(crate) share: f64,
    pub(crate) service: &'a dyn Distribution,
}

/// One station, the jobs that come to it, and the order they are served in.
pub(crate) struct Queue<'a> {
    pub(crate) gaps: Gaps,
    pub(crate) batches: Batches,
    pub(crate) classes: Vec<Class<'a>>,
    pub(crate) servers: usize,
    pub(crate) order: Order,
}

impl Queue<'_> {
    /// Asserts that each class has its `exact` mean sojourn, as [`assert_means`] does.
    pub(crate) fn assert_means(&self, what: &str, exact: &[f64], precision: f64) {
        assert_means(what, exact, precision, |streams| self.mean_sojourns(streams));
    }

    fn mean_sojourns(&self, streams: Streams) -> Vec<f64> {
        let mut kinds = streams.stream("kinds", 0);
        let mut works = streams.stream("works", 0);
        let arrivals = times(self.gaps, self.batches, streams).enumerate().map(|(index, at)| {
            let class = self.class(kinds.uniform());
            let work = units(self.classes[class].service.sample(&mut works));
            (at, 0, Task { job: (index, at), class: class as u32, work })
        });
        let mut means = vec![Mean::default(); self.classes.len()];
        let station = Station::new(self.servers, Line::new(self.order));
        serve(&mut [station], arrivals.take(JOBS), |now, _, done| {
            if let Some(Task { job: (index, at), class, .. }) = done {
                means[class as usize].add(index, now - at);
            }
        });
        means.iter().map(Mean::value).collect()
    }

    fn class(&self, mut uniform: f64) -> usize {
        let last = self.classes.len() - 1;
        let chosen = self.classes.iter().position(|class| {
            uniform -= class.share;
            uniform < 0.0
        });
        chosen.unwrap_or(last)
    }
}

/// The mean sojourn of jobs that fork into one task for each of `stations` stations with
/// exponential services of mean 1, and are done when all have joined.
pub(crate) fn fork_join_mean_sojourn(rate: Frequency, stations: usize, streams: Streams) -> f64 {
    let service = Exponential { mean: 1.0 };
    let mut works: Vec<Stream> = (0..stations).map(|i| streams.stream("works", i as u64)).collect();
    let mut mean = Mean::default();
    // Forked on arrival: the driver only looks one arrival ahead.
    let joins = std::cell::RefCell::new(Joins::new());
    let tasks = times(Gaps::Poisson(rate), Batches::Single, streams)
        .enumerate()
        .take(JOBS)
        .flat_map(|(index, at)| {
            let fork = joins.borrow_mut().fork((index, at), stations as u32);
            let task = |stream| Task { job: fork, class: 0, work: units(service.sample(stream)) };
            let tasks: Vec<_> = works.iter_mut().map(task).enumerate().collect();
            tasks.into_iter().map(move |(station, task)| (at, station, task))
        });
    let line = || Station::new(1, Line::new(Order::Arrival));
    let mut stations: Vec<_> = (0..stations).map(|_| line()).collect();
    serve(&mut stations, tasks, |now, _, done| {
        let joined = done.and_then(|task| joins.borrow_mut().join(task.job));
        if let Some((index, at)) = joined {
            mean.add(index, now - at);
        }
    });
    assert!(joins.borrow().is_empty());
    mean.value()
}

/// The times of arrivals, one for each job.
fn times(gaps: Gaps, batches: Batches, streams: Streams) -> impl Iterator<Item = Time> {
    let mut now = Time::ZERO;
    Arrivals::new(gaps, batches, streams.stream("arrivals", 0)).flat_map(move |arrival| {
        now += arrival.gap;
        (0..arrival.batch).map(move |_| now)
    })
}

fn units(value: f64) -> Span {
    Span::from_seconds(value * 1e-6)
}

/// A mean over all jobs but the first tenth, which see the system fill, and the last, which see it
/// empty.
#[derive(Clone, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, index: usize, sojourn: Span) {
        if (JOBS / 10..JOBS - JOBS / 10).contains(&index) {
            self.sum += sojourn.seconds() * 1e6;
            self.count += 1.0;
        }
    }

    fn value(&self) -> f64 {
        self.sum / self.count
    }
}

/// Asserts, for each of the means that a replication gives, that their 99 % interval holds the
/// `exact` one, and that its half width is at most `precision` of that.
pub(crate) fn assert_means(
    what: &str,
    exact: &[f64],
    precision: f64,
    mut run: impl FnMut(Streams) -> Vec<f64>,
) {
    let runs: Vec<Vec<f64>> =
        (0..REPLICATIONS).map(|replication| run(Streams::new(SEED, replication))).collect();
    let n = REPLICATIONS as f64;
    for (class, &exact) in exact.iter().enumerate() {
        let means = || runs.iter().map(|run| run[class]);
        let mean = means().sum::<f64>() / n;
        let variance = means().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half = STUDENT * (variance / n).sqrt();
        let said = format!("{what}, class {class}: {mean:.4} +- {half:.4}, exact {exact:.4}");
        println!("{said}");
        assert!(half <= precision * exact, "too wide: {said}");
        assert!((mean - exact).abs() <= half, "missed: {said}");
    }
}
