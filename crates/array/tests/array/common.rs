//! What the tests share.

use sojourn_array::ArrayCase;
use sojourn_array::device::ServiceModel;
use sojourn_array::device::hdd::scheduling::Scheduling;
use sojourn_array::device::hdd::{Arms, DataSheet, IndependentService, Platters, St3500630Ns};
use sojourn_array::engine::{self, AccessCounts, Join, Scenario, Sink};
use sojourn_array::layout::Layout;
use sojourn_array::workload::Request;
use sojourn_core::parameters::{Parameters, Setting, Table, Value, defaults};
use sojourn_core::resource::{Content, Octets, Resource};
use sojourn_core::{Execution, Progress, Report, Rows, Span, Stream, Streams, Time};
use std::sync::Arc;

/// A block of 256 sectors.
pub(crate) const BLOCK: u64 = 128 << 10;

/// The paper's disk.
pub(crate) fn paper_disk() -> Platters {
    Platters::new(&defaults::<St3500630Ns>().sheet(), BLOCK)
}

/// Draws of chances as the engine makes them: two from each number.
pub(crate) struct Chances(Stream, Option<u32>);

impl Chances {
    pub(crate) fn new(stream: Stream) -> Chances {
        Chances(stream, None)
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.1.take().unwrap_or_else(|| {
            let bits = self.0.bits();
            self.1 = Some(bits as u32);
            (bits >> 32) as u32
        })
    }
}

/// A variant by its name and settings.
pub(crate) fn variant<S: Setting>(kind: &str, settings: &[(&str, Value)]) -> S {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    for (key, value) in settings {
        table.set(key, value.clone());
    }
    S::read(&Value::Table(table)).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

pub(crate) fn scheduling(name: &str) -> Scheduling {
    variant(name, &[])
}

pub(crate) fn layout(kind: &str, disks: i64) -> Layout {
    variant(kind, &[("disks", Value::Int(disks))])
}

/// RAID 5 as the paper has it: writes start at the first disk.
pub(crate) fn paper_raid5(disks: i64) -> Layout {
    variant("raid5", &[("disks", Value::Int(disks)), ("write_start", text("first-disk"))])
}

/// The paper's disks under `layout`, fork-join, first come, first served.
pub(crate) fn scenario(layout: Layout, requests: usize, seed: u64) -> Scenario<IndependentService> {
    Scenario {
        layout,
        unit: 1,
        model: IndependentService {
            drive: paper_disk(),
            arms: Arms::default(),
            scheduling: scheduling("fcfs"),
        },
        join: Join::ForkJoin,
        overhead: Span::ZERO,
        parity: Span::ZERO,
        rebuild: None,
        requests: requests as u64,
        streams: Streams::new(seed, 0),
    }
}

/// What is kept of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The request.
    pub(crate) request: Request,
    /// When it was done; [`Time::NEVER`] before.
    pub(crate) finished: Time,
    /// How long it takes at least.
    pub(crate) ideal: Span,
}

/// Keeps a record of each request.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    /// The records, by number.
    pub(crate) records: Vec<Record>,
}

impl Records {
    pub(crate) fn new(count: usize) -> Records {
        Records { records: Vec::with_capacity(count) }
    }
}

impl Sink for Records {
    fn arrived(&mut self, _: u64, request: &Request, ideal: Span) {
        self.records.push(Record { request: *request, finished: Time::NEVER, ideal });
    }

    fn finished(&mut self, job: u64, at: Time) {
        self.records[job as usize].finished = at;
    }
}

/// The records of the event loop.
pub(crate) fn simulate<M: ServiceModel>(
    scenario: &Scenario<M>,
    requests: &[Request],
) -> (Vec<Record>, AccessCounts) {
    let sink = Records::new(requests.len());
    let run = engine::simulate(scenario, requests.iter().copied(), sink, &Progress::default());
    let (sink, figures) = run.expect("not cancelled");
    (sink.records, figures)
}

/// The rows of [`report`].
pub(crate) fn rows(parts: &[(&str, Value)], seed: u64) -> Rows {
    report(parts, seed).rows
}

/// A run of a case of the paper's disks, its other parts as TOML would have them.
pub(crate) fn report(parts: &[(&str, Value)], seed: u64) -> Report {
    let mut table = Table::default();
    table.set("disk", Value::Text("ST3500630NS".to_owned()));
    for (part, value) in parts {
        table.set(part, value.clone());
    }
    let case = ArrayCase::read_table(&table).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let run = case.run(Streams::new(seed, 0), Execution::new(&Progress::default()));
    run.expect("it can run").expect("not cancelled")
}

/// A file of this text.
pub(crate) fn file(text: &str) -> Value {
    Value::File(Arc::new(Resource::text("file", text)))
}

/// A file of bytes.
pub(crate) fn bytes_of(bytes: &[u8]) -> Value {
    octets(Arc::new(Arc::<[u8]>::from(bytes)))
}

/// A file of octets.
pub(crate) fn octets(octets: Arc<dyn Octets>) -> Value {
    let content = Content::Octets(octets);
    Value::File(Arc::new(Resource { content, ..Resource::text("file", "") }))
}

/// A table of settings.
pub(crate) fn table(settings: &[(&str, Value)]) -> Value {
    let mut table = Table::default();
    for (key, value) in settings {
        table.set(key, value.clone());
    }
    Value::Table(table)
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Sojourn times in milliseconds.
pub(crate) fn sojourns(rows: &Rows) -> Vec<f64> {
    rows.ints("sojourn_ps").iter().map(|&ps| ps as f64 / 1e9).collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half of a 99.9 % interval of the mean of dependent values, from the means of 40 batches.
pub(crate) fn half_width(values: &[f64]) -> f64 {
    const BATCHES: usize = 40;
    let means: Vec<f64> = values.chunks_exact(values.len() / BATCHES).map(mean).collect();
    let middle = mean(&means);
    let square = means.iter().map(|mean| (mean - middle).powi(2)).sum::<f64>();
    let deviation = (square / (means.len() - 1) as f64).sqrt();
    // Student's quantile for 39 degrees of freedom.
    3.56 * deviation / (means.len() as f64).sqrt()
}
