//! One replication of a case: how it is computed, a row for each request, totals; and the accesses that a
//! measurement issues in its place.

use crate::case::{ArrayCase, Engine};
use crate::device::hdd::{Anywhere, Arms, Positioning};
use crate::device::scheduling::Scheduling;
use crate::device::{Heads, Op, with_ready};
use crate::engine::{self, Figures, Nothing, Plans, Rebuilt, Scene, Sink};
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
struct Run<'a> {
    case: &'a ArrayCase,
    workload: &'a workload::Ready,
    rebuild: Option<engine::Rebuild>,
    streams: Streams,
    open: Open<'a>,
    keep: Keep,
    progress: &'a Progress,
}

impl Run<'_> {
    fn report<H: Heads>(
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
    /// Simulates one replication.
    pub fn run(
        &self,
        streams: Streams,
        open: Open<'_>,
        keep: Keep,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        let (drive, workload) = self.ready(open)?;
        let scheduling = self.scheduling.clone();
        let rebuild = self.mending()?;
        let run = Run { case: self, workload: &workload, rebuild, streams, open, keep, progress };
        let known = match keep {
            Keep::Rows => self.analysis_of(&drive, &workload),
            Keep::Totals => Known::default(),
        };
        match (drive, &self.positioning) {
            (_, Positioning::Mechanical(params)) => {
                let geometry = self.disk.geometry(self.block.0)?;
                run.report(Arms { geometry, scheduling, spindles: params.spindles }, &known)
            }
            (ready, _) => {
                with_ready!(ready, |drive| run.report(Anywhere { drive, scheduling }, &known))
            }
        }
    }

    /// The accesses of one replication, one a row, in the order in which the simulator plans them:
    /// the same requests at the same times on the same disks. Columns: `request` (its number, from
    /// 0, those without rows too), `arrived_ps` and `request_blocks` (of the request), `disk`, `op`,
    /// `blocks`, `phase` (from 0; a later one begins when the one before it is done); and `at`, the
    /// first block on the disk, where that is more than a place as likely as any other: those are
    /// drawn on what is measured, which need not be as large.
    pub fn offered(&self, streams: Streams, open: Open<'_>) -> Result<Rows, Refusal> {
        let (_, workload) = self.ready(open)?;
        let all = u64::from(workload.numbers.warmup) + u64::from(workload.numbers.requests);
        let mut plans = Plans::new(&self.layout, &self.layout, self.stripe.get(), streams);
        let (mut numbers, mut arrivals, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut disks, mut ops) = (Vec::new(), Vec::new());
        let (mut blocks, mut phases, mut at) = (Vec::new(), Vec::new(), Vec::new());
        let drawn_there = self.has_even_places();
        let of_workload = |refusal: Refusal| refusal.under("workload");
        let mut requests = workload.requests(streams, open).map_err(of_workload)?;
        for (number, request) in (0..all as i64).zip(&mut requests) {
            let plan = plans.of(&request, false);
            let plan = plans.plan(plan);
            for phase in 0..plan.phases() {
                for access in plan.phase(phase) {
                    numbers.push(number);
                    arrivals.push(request.arrived.ps() as i64);
                    sizes.push(request.blocks.into());
                    disks.push(access.disk.into());
                    ops.push(access.op as u8);
                    blocks.push(access.blocks.into());
                    phases.push(phase as i64);
                    at.extend(request.at.filter(|_| !drawn_there).map(|_| access.at as i64));
                }
            }
        }
        requests.finish().map_err(of_workload)?;
        let mut columns = vec![
            ("request", Column::Int(numbers)),
            ("arrived_ps", Column::Ps(arrivals)),
            ("request_blocks", Column::Int(sizes)),
            ("disk", Column::Int(disks)),
            ("op", Column::Name(ops, vec!["read", "write"])),
            ("blocks", Column::Int(blocks)),
            ("phase", Column::Int(phases)),
        ];
        if !at.is_empty() {
            columns.push(("at", Column::Int(at)));
        }
        Ok(Rows { columns })
    }

    /// Whether it is computed event by event: where asked for, and where the end of an access has
    /// consequences beside for those behind it in order.
    fn has_events(&self, workload: &workload::Ready) -> bool {
        self.engine == Engine::Events || !self.is_forward(workload)
    }

    /// Whether the end of an access has no consequences but for those behind it in order.
    fn is_forward(&self, workload: &workload::Ready) -> bool {
        let ops = [Op::Read, Op::Write].into_iter().zip(workload.ops);
        let mut ops = ops.filter_map(|(op, there)| there.then_some(op));
        self.rebuild.is_none()
            && matches!(self.scheduling, Scheduling::Fcfs(_))
            && ops.all(|op| self.layout.one_phase(op))
    }

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
