//! What a replication gives: a row a request, and totals.

use crate::ArrayCase;
use crate::analysis::Known;
use crate::engine::{self, Figures, Nothing, Rebuilt, Record, Records, Scene, Sink};
use crate::positioning::Heads;
use crate::workload;
use sojourn_kernel::Streams;
use sojourn_kernel::files::Open;
use sojourn_kernel::parameters::{Refusal, Value};
use sojourn_queueing::{Cancelled, Column, Job, Keep, Progress, Report, Rows};

/// What the rows' `ideal_ps` is, for people.
const IDEAL: &str = "ideal: nobody else at the disks, and every head in place: the transfers alone";

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
                let sink = Records::new(numbers.warmup.into(), numbers.requests as usize);
                let done = self.simulate(&scene, sink)?;
                done.map(|(sink, figures)| (case.rows(&sink.records), figures))
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
            _ if scene.heads.servers() > 1 => engine::parallel(scene, from, sink, self.progress),
            true => engine::simulate(scene, from, sink, self.progress),
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

    fn rows(&self, records: &[Record]) -> Rows {
        let job = |record: &Record| Job {
            bytes: u64::from(record.request.blocks) * self.block.0,
            arrived: record.request.arrived,
            finished: record.finished,
            ideal: record.ideal,
        };
        let jobs: Vec<Job> = records.iter().map(job).collect();
        let mut rows = Rows::of(vec!["request"], vec![0; jobs.len()], &jobs);
        let ops = records.iter().map(|record| record.request.op as u8).collect();
        rows.push("op", Column::Name(ops, vec!["read", "write"]));
        let blocks = records.iter().map(|record| record.request.blocks.into()).collect();
        rows.push("blocks", Column::Int(blocks));
        rows
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
