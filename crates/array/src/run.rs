//! One replication of a case: how it is computed, a row for each request, totals; and the accesses that a
//! measurement issues in its place.

use crate::case::{ArrayCase, Engine};
use crate::device::{Op, ServiceModel, WithDevice};
use crate::engine::{self, AccessCounts, Discard, PlanCache, Rebuild, Rebuilt, Scenario, Sink};
use crate::exact::{BUSIEST_OFFERED, Known, OFFERED};
use crate::layout::AccessPlan;
use crate::workload::{self, CLOSED_LOOP, Request};
use sojourn_core::model::Sizes;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{
    BackgroundWork, Bytes, Cancelled, Caution, Column, Doubts, Execution, JobKind, Jobs, Keep,
    Metric, Phrase, Report, Rows, Span, Station, Streams, Time, Vocabulary,
};

/// The meaning of the rows' `ideal_ps`, as reports print it. Runs are compared in their slowdowns where
/// they have one text, so that another text would set older runs apart.
const IDEAL: &str = "ideal: nobody else at the disks, and every head in place: the transfers alone";

/// The words of the array model: what its jobs are called, and what is measured of them.
pub(crate) const VOCABULARY: Vocabulary = Vocabulary {
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
    totals: &[
        share("busiest_disk_utilisation", "busiest disk busy"),
        share("disk_utilisation", "disks busy, mean"),
        Metric { column: "jobs_per_s", name: "IOPS", unit: "", per_unit: 1.0, shown: true },
        Metric {
            column: "bytes_per_s",
            name: "throughput",
            unit: "MB/s",
            per_unit: 1e6,
            shown: true,
        },
        Metric {
            column: "jobs_present",
            name: "requests in the array",
            unit: "",
            per_unit: 1.0,
            shown: true,
        },
    ],
    split: Some("op"),
    background: &[BackgroundWork {
        name: "rebuild",
        done: "rebuilt_bytes",
        of: "rebuild_bytes",
        ended: "rebuild_ended_ps",
    }],
    phrases: &[Phrase {
        parameter: "failed",
        none: "no disk failed",
        one: "disk {} failed",
        several: "disks {} failed",
    }],
    doubts: Doubts {
        cautions: &[Caution { total: PLACES_UNSEEN, from: None, text: "{}{cases}" }],
        stations: &[Station::any("busiest_disk_utilisation"), Station::any(BUSIEST_OFFERED)],
        offered: &[OFFERED],
        closed_loop: Some(CLOSED_LOOP),
        failures: &[],
    },
};

/// The total with the reason why the places of a trace change no service.
const PLACES_UNSEEN: &str = "places_unseen";

/// A total that is a share, shown in per cent.
const fn share(column: &'static str, name: &'static str) -> Metric {
    Metric { column, name, unit: "%", per_unit: 0.01, shown: true }
}

/// The value of the rows' column `kind`.
const KIND: &str = "request";

/// Keeps the rows of the requests after the first `skip`, column by column, so that nothing of a
/// million requests is held twice.
struct RowSink {
    skip: u64,
    block: Bytes,
    jobs: Jobs,
    ops: Vec<u8>,
    blocks: Vec<i64>,
}

/// What is said of each request beside its rows: the number of its tenant, where there are several.
type TenantOf = Vec<u8>;

impl RowSink {
    /// Allocates for `count` requests behind `skip` others, in blocks of this many bytes.
    fn new(skip: u64, count: usize, block: Bytes) -> RowSink {
        let column = || Vec::with_capacity(count);
        let jobs = Jobs { bytes: column(), arrived: column(), finished: column(), ideal: column() };
        RowSink { skip, block, jobs, ops: Vec::with_capacity(count), blocks: column() }
    }

    /// The rows, with the tenants of these names.
    fn rows(self, tenants: Vec<&str>, mut of: TenantOf) -> Rows {
        let mut rows = Rows::of(vec![KIND], vec![0; self.ops.len()], self.jobs);
        rows.push("op", Column::of_names(self.ops, &["read", "write"]));
        rows.push("blocks", Column::Int(self.blocks));
        if !tenants.is_empty() {
            of.drain(..self.skip as usize);
            let names = tenants.iter().map(|&name| name.to_owned().into());
            rows.push("tenant", Column::Name(of, names.collect()));
        }
        rows
    }
}

impl Sink for RowSink {
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
    streams: Streams,
    execution: Execution<'a>,
}

impl WithDevice for Run<'_> {
    type Output = Result<Result<Report, Cancelled>, Refusal>;

    fn with<M: ServiceModel>(self, model: M) -> Self::Output {
        let case = self.case;
        let workload = case.workload_for(&model)?;
        let known = match self.execution.keep {
            Keep::Rows => case.analysis(&model, &workload),
            Keep::Totals => Known::default(),
        };
        let numbers = workload.numbers;
        let scenario = Scenario {
            layout: case.layout.clone(),
            unit: case.stripe.get(),
            model,
            join: case.join,
            overhead: case.controller.overhead,
            parity: case.controller.parity,
            rebuild: case.rebuild_plan()?,
            requests: u64::from(numbers.warmup) + u64::from(numbers.requests),
            streams: self.streams,
        };
        let done = match self.execution.keep {
            Keep::Rows => {
                let sink =
                    RowSink::new(numbers.warmup.into(), numbers.requests as usize, case.block());
                let done = self.simulate(&scenario, &workload, sink)?;
                done.map(|(sink, of, counts)| (sink.rows(workload.tenants(), of), counts))
            }
            Keep::Totals => {
                let done = self.simulate(&scenario, &workload, Discard)?;
                done.map(|(_, _, counts)| (Rows::default(), counts))
            }
        };
        Ok(done.map(|(rows, counts)| Report {
            rows,
            beside: Vec::new(),
            totals: case.totals(&workload, &counts, &known, scenario.rebuild.as_ref()),
        }))
    }
}

impl Run<'_> {
    /// Simulates a workload. Returns the tenant of each request where there are tenants.
    fn simulate<M: ServiceModel, S: Sink>(
        &self,
        scenario: &Scenario<M>,
        workload: &workload::Ready,
        sink: S,
    ) -> Result<Result<(S, TenantOf, AccessCounts), Cancelled>, Refusal> {
        let done = match workload.clients(scenario.streams) {
            Some(clients) => {
                engine::simulate_clients(scenario, clients, sink, self.execution.progress)
            }
            None => {
                let done = self.simulate_open(scenario, workload, sink)?;
                done.map(|(sink, counts)| (sink, Vec::new(), counts))
            }
        };
        if let Ok((_, _, AccessCounts { late: true, .. })) = &done {
            let given = Value::Int(scenario.requests as i64);
            let expected = "requests, with those before them, that are done within 90 days";
            return Err(Refusal::value(&given, expected).under("requests").under("workload"));
        }
        Ok(done)
    }

    /// Simulates open arrivals: by recursion where that gives the rows of the event loop, else by
    /// events.
    fn simulate_open<M: ServiceModel, S: Sink>(
        &self,
        scenario: &Scenario<M>,
        workload: &workload::Ready,
        sink: S,
    ) -> Result<Result<(S, AccessCounts), Cancelled>, Refusal> {
        let of_workload = |refusal: Refusal| refusal.under("workload");
        let requests = workload.requests(scenario.streams);
        let mut requests = requests.map_err(of_workload)?;
        let from = &mut requests;
        let done = match self.case.has_events(workload) {
            true => engine::simulate(scenario, from, sink, self.execution.progress),
            false if scenario.model.servers() > 1 => {
                engine::parallel(scenario, from, sink, self.execution.progress)
            }
            false => engine::recursion(scenario, from, sink, self.execution.progress),
        };
        if done.is_ok() {
            requests.finish().map_err(of_workload)?;
        }
        Ok(done)
    }
}

impl ArrayCase {
    /// Simulates one replication.
    pub fn run(
        &self,
        streams: Streams,
        execution: Execution<'_>,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        self.device(Run { case: self, streams, execution })
    }

    /// The accesses of one replication, one a row, in the order in which the simulator plans them:
    /// those of the run with these streams. Columns: `request` (its number, from 0, those without
    /// rows too), `arrived_ps` and `request_blocks` (of the request), `disk`, `op`, `blocks`, `phase`
    /// (from 0; a later one begins when the one before it is done); and `at`, the first block on the
    /// disk, where that is more than a place as likely as any other: those are drawn on what is
    /// measured, which need not be as large.
    pub fn offered(&self, streams: Streams) -> Result<Rows, Refusal> {
        let (mut numbers, mut arrivals, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut disks, mut ops) = (Vec::new(), Vec::new());
        let (mut blocks, mut phases, mut at) = (Vec::new(), Vec::new(), Vec::new());
        let drawn_there = self.has_even_places();
        self.for_each_plan(streams, |number, request, _, plan| {
            if !plan.waits_for_all() {
                let given = Value::Text(self.layout.name().to_owned());
                let expected = "a layout whose requests wait for all of their accesses, to measure";
                return Err(Refusal::value(&given, expected).under("layout"));
            }
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
            Ok(())
        })?;
        let mut columns = vec![
            ("request", Column::Int(numbers)),
            ("arrived_ps", Column::Ps(arrivals)),
            ("request_blocks", Column::Int(sizes)),
            ("disk", Column::Int(disks)),
            ("op", Column::of_names(ops, &["read", "write"])),
            ("blocks", Column::Int(blocks)),
            ("phase", Column::Int(phases)),
        ];
        if !at.is_empty() {
            columns.push(("at", Column::Int(at)));
        }
        Ok(Rows { columns })
    }

    /// The smallest and the largest of the reads and of the writes of one replication, in blocks, among
    /// the accesses that its requests make; a rebuild apart.
    pub fn access_sizes(&self, streams: Streams) -> Result<Sizes, Refusal> {
        let mut sizes = [None; 2];
        let mut kept = 0;
        self.for_each_plan(streams, |_, _, plan_number, plan| {
            // Plans that are kept have rising numbers, and are the same each time.
            if plan_number == 0 || plan_number > kept {
                kept = kept.max(plan_number);
                for access in plan.accesses() {
                    let blocks = i64::from(access.blocks);
                    let [least, most] = sizes[access.op as usize].get_or_insert([blocks; 2]);
                    (*least, *most) = (blocks.min(*least), blocks.max(*most));
                }
            }
            Ok(())
        })?;
        Ok(["read", "write"]
            .into_iter()
            .zip(sizes)
            .filter_map(|(op, it)| Some((op, it?)))
            .collect())
    }

    /// Plans the requests of one replication in order. `each` gets a request's number, the request,
    /// and its plan with the plan's number, which is 0 for a plan that is not kept.
    fn for_each_plan(
        &self,
        streams: Streams,
        mut each: impl FnMut(i64, &Request, usize, &AccessPlan) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let workload = self.workload()?;
        let all = i64::from(workload.numbers.warmup) + i64::from(workload.numbers.requests);
        let mut plans = PlanCache::new(&self.layout, &self.layout, self.stripe.get(), streams);
        let of_workload = |refusal: Refusal| refusal.under("workload");
        let mut requests = workload.requests(streams).map_err(of_workload)?;
        for (number, request) in (0..all).zip(&mut requests) {
            let plan = plans.of(&request, false);
            each(number, &request, plan, plans.plan(plan))?;
        }
        requests.finish().map_err(of_workload)
    }

    /// Whether the case is computed event by event: where the study asks for it, and where the end of
    /// an access affects others than those behind it in the queue.
    fn has_events(&self, workload: &workload::Ready) -> bool {
        self.engine == Engine::Events || !self.is_forward(workload)
    }

    /// Whether the end of an access affects only those behind it in the queue of its disk.
    fn is_forward(&self, workload: &workload::Ready) -> bool {
        let ops = [Op::Read, Op::Write].into_iter().zip(workload.ops);
        let mut ops = ops.filter_map(|(op, there)| there.then_some(op));
        self.rebuild.is_none()
            && !workload.has_clients()
            && self.scheduling.is_in_order()
            && self.disk.arms() == 1
            && !self.layout.drops_late()
            && ops.all(|op| self.layout.one_phase(op))
    }

    /// The totals of a rebuild, bytes and blocks of each failed disk; its end only if that was before
    /// the last request's.
    fn rebuilt(&self, rebuild: Option<&Rebuild>, rebuilt: &Rebuilt) -> Vec<(String, Value)> {
        let Some(rebuild) = rebuild else {
            return Vec::new();
        };
        let counts = [
            ("rebuilt_blocks", Some(rebuilt.blocks)),
            ("rebuilt_bytes", Some(rebuilt.blocks * self.block().0)),
            ("rebuild_bytes", Some(rebuild.blocks * self.block().0)),
            ("rebuild_accesses", Some(rebuilt.accesses)),
            ("rebuild_ended_ps", rebuilt.ended.map(|ended| ended.ps())),
        ];
        let known = counts.iter().filter_map(|(name, count)| Some((*name, (*count)?)));
        known.map(|(name, count)| (name.to_owned(), Value::Int(count as i64))).collect()
    }

    fn totals(
        &self,
        workload: &workload::Ready,
        counts: &AccessCounts,
        known: &Known,
        rebuild: Option<&Rebuild>,
    ) -> Vec<(String, Value)> {
        let numbers = workload.numbers;
        let all = u64::from(numbers.warmup) + u64::from(numbers.requests);
        let accesses = counts.accesses();
        let events = if self.has_events(workload) { all + accesses } else { 0 };
        let whole = [
            ("events", events),
            ("requests", all),
            ("requests_without_rows", numbers.warmup.into()),
            ("accesses", accesses),
            ("positionings_by_seek", counts.full_positionings),
            ("positionings_by_rotation", counts.partial_positionings),
            ("positionings_not_needed", counts.no_positionings),
            ("unfinished", 0),
            ("simulated_ps", counts.ended.ps()),
        ];
        let busy: f64 = counts.busy.iter().map(|busy| busy.seconds()).sum();
        let most = counts.busy.iter().map(|busy| busy.seconds()).fold(0.0, f64::max);
        let ended = counts.ended.seconds();
        let shares = [
            ("disk_utilisation", busy / (ended * counts.busy.len() as f64)),
            ("busiest_disk_utilisation", most / ended),
        ];
        whole
            .iter()
            .map(|&(name, count)| (name.to_owned(), Value::Int(count as i64)))
            .chain(shares.iter().map(|&(name, share)| (name.to_owned(), Value::Float(share))))
            .chain(known.totals())
            .chain(
                self.layout
                    .drops_late()
                    .then(|| ("accesses_dropped".to_owned(), Value::Int(counts.dropped as i64))),
            )
            .chain(self.rebuilt(rebuild, &counts.rebuilt))
            .chain(workload.notes.iter().cloned())
            .chain(self.unseen_trace().map(|why| (PLACES_UNSEEN.to_owned(), Value::Text(why))))
            .chain([("ideal".to_owned(), Value::Text(IDEAL.to_owned()))])
            .collect()
    }
}
