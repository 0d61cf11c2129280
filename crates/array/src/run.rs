//! What a replication gives: a row a request, and totals.

use crate::ArrayCase;
use crate::device::Heads;
use crate::engine::{self, Figures, Nothing, Rebuilt, Scene, Sink};
use crate::exact::Known;
use crate::workload::{self, Request};
use sojourn_core::files::Open;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{
    Bytes, Cancelled, Column, JobKind, Jobs, Keep, Metric, Progress, Report, Rows, Span, Streams,
    Time, Vocabulary,
};

/// What the rows' `ideal_ps` is, for people.
const IDEAL: &str = "ideal: nobody else at the disks, and every head in place: the transfers alone";

/// What arrays call their jobs, and what is asked of them.
pub const VOCABULARY: Vocabulary = Vocabulary {
    work: &[("request", "requests")],
    percentiles: &[50.0, 90.0, 95.0, 99.0, 99.9],
    lengths: &["workload.requests"],
    kinds: &[JobKind {
        name: KIND,
        label: "request",
        plural: "requests",
        part_of: None,
        metrics: &[Metric::time_in_ms("response time"), Metric::slowdown(false)],
        bins: &[],
        note: "",
    }],
    told: &[&[
        ("rebuild_ended_ps", "the rebuild was over after"),
        ("rebuilt_blocks", "the rebuild was not over by the end of the run; blocks done:"),
    ]],
};

/// What the rows' `kind` is.
const KIND: &str = "request";

/// Keeps of each request after the first `skip` what its row says, column by column: of a million
/// requests nothing is held twice.
struct Kept {
    skip: u64,
    block: Bytes,
    jobs: Jobs,
    ops: Vec<u8>,
    blocks: Vec<i64>,
}

impl Kept {
    /// Room for `count` requests behind `skip` others, of blocks of that size.
    fn new(skip: u64, count: usize, block: Bytes) -> Kept {
        let column = || Vec::with_capacity(count);
        let jobs = Jobs { bytes: column(), arrived: column(), finished: column(), ideal: column() };
        Kept { skip, block, jobs, ops: Vec::with_capacity(count), blocks: column() }
    }

    fn rows(self) -> Rows {
        let mut rows = Rows::of(vec![KIND], vec![0; self.ops.len()], self.jobs);
        rows.push("op", Column::Name(self.ops, vec!["read", "write"]));
        rows.push("blocks", Column::Int(self.blocks));
        rows
    }
}

impl Sink for Kept {
    #[inline]
    fn arrived(&mut self, job: u64, request: &Request, ideal: Span) {
        if job >= self.skip {
            let blocks = i64::from(request.blocks);
            self.jobs.bytes.push(blocks * self.block.0 as i64);
            self.jobs.arrived.push(request.arrived.ps() as i64);
            self.jobs.finished.push(-1);
            self.jobs.ideal.push(ideal.ps() as i64);
            self.ops.push(request.op as u8);
            self.blocks.push(blocks);
        }
    }

    #[inline]
    fn finished(&mut self, job: u64, at: Time) {
        if job >= self.skip {
            self.jobs.finished[(job - self.skip) as usize] = at.ps() as i64;
        }
    }
}

/// A replication.
pub(crate) struct Run<'a> {
    pub(crate) case: &'a ArrayCase,
    pub(crate) workload: &'a workload::Ready,
    pub(crate) rebuild: Option<engine::Rebuild>,
    pub(crate) streams: Streams,
    pub(crate) open: Open<'a>,
    pub(crate) keep: Keep,
    pub(crate) progress: &'a Progress,
}

impl Run<'_> {
    pub(crate) fn report<H: Heads>(
        &self,
        heads: H,
        known: &Known,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        let Run { case, workload, rebuild, .. } = self;
        let numbers = workload.numbers;
        let scene = Scene {
            layout: case.layout.clone(),
            unit: case.stripe.get(),
            heads,
            join: case.join,
            overhead: case.controller.overhead,
            parity: case.controller.parity,
            rebuild: rebuild.clone(),
            requests: u64::from(numbers.warmup) + u64::from(numbers.requests),
            streams: self.streams,
        };
        let done = match self.keep {
            Keep::Rows => {
                let sink = Kept::new(numbers.warmup.into(), numbers.requests as usize, case.block);
                let done = self.simulate(&scene, sink)?;
                done.map(|(sink, figures)| (sink.rows(), figures))
            }
            Keep::Totals => self.simulate(&scene, Nothing)?.map(|(_, it)| (Rows::default(), it)),
        };
        Ok(done.map(|(rows, figures)| Report {
            rows,
            series: Rows::default(),
            figures: case.figures(workload, &figures, known),
        }))
    }

    /// By the recursion where it gives the rows of the event loop.
    fn simulate<H: Heads, S: Sink>(
        &self,
        scene: &Scene<H>,
        sink: S,
    ) -> Result<Result<(S, Figures), Cancelled>, Refusal> {
        let of_workload = |refusal: Refusal| refusal.under("workload");
        let requests = self.workload.requests(scene.streams, self.open);
        let mut requests = requests.map_err(of_workload)?;
        let from = &mut requests;
        let done = match self.case.has_events(self.workload) {
            true => engine::simulate(scene, from, sink, self.progress),
            false if scene.heads.servers() > 1 => {
                engine::parallel(scene, from, sink, self.progress)
            }
            false => engine::recursion(scene, from, sink, self.progress),
        };
        if let Ok((_, figures)) = &done {
            requests.finish().map_err(of_workload)?;
            if figures.late {
                let given = Value::Int(scene.requests as i64);
                let expected = "requests, with those before them, that are done within 90 days";
                return Err(of_workload(Refusal::value(&given, expected).under("requests")));
            }
        }
        Ok(done)
    }
}

impl ArrayCase {
    /// How far a rebuild came; its end only if that was before the last request's.
    fn rebuilt(&self, rebuilt: &Rebuilt) -> Vec<(String, Value)> {
        if self.rebuild.is_none() {
            return Vec::new();
        }
        let counts = [
            ("rebuilt_blocks", Some(rebuilt.blocks)),
            ("rebuild_accesses", Some(rebuilt.accesses)),
            ("rebuild_ended_ps", rebuilt.ended.map(|ended| ended.ps())),
        ];
        let known = counts.iter().filter_map(|(name, count)| Some((*name, (*count)?)));
        known.map(|(name, count)| (name.to_owned(), Value::Int(count as i64))).collect()
    }

    fn figures(
        &self,
        workload: &workload::Ready,
        figures: &Figures,
        known: &Known,
    ) -> Vec<(String, Value)> {
        let numbers = workload.numbers;
        let all = u64::from(numbers.warmup) + u64::from(numbers.requests);
        let accesses = figures.accesses();
        let events = if self.has_events(workload) { all + accesses } else { 0 };
        let counts = [
            ("events", events),
            ("requests", all),
            ("requests_without_rows", numbers.warmup.into()),
            ("accesses", accesses),
            ("positionings_by_seek", figures.seeks),
            ("positionings_by_rotation", figures.rotations),
            ("positionings_not_needed", figures.follow_ons),
            ("unfinished", 0),
            ("simulated_ps", figures.ended.ps()),
        ];
        let busy: f64 = figures.busy.iter().map(|busy| busy.seconds()).sum();
        let most = figures.busy.iter().map(|busy| busy.seconds()).fold(0.0, f64::max);
        let ended = figures.ended.seconds();
        let shares = [
            ("disk_utilisation", busy / (ended * figures.busy.len() as f64)),
            ("busiest_disk_utilisation", most / ended),
        ];
        counts
            .iter()
            .map(|&(name, count)| (name.to_owned(), Value::Int(count as i64)))
            .chain(shares.iter().map(|&(name, share)| (name.to_owned(), Value::Float(share))))
            .chain(known.figures())
            .chain(self.rebuilt(&figures.rebuilt))
            .chain(workload.notes.iter().cloned())
            .chain([("ideal".to_owned(), Value::Text(IDEAL.to_owned()))])
            .collect()
    }
}
