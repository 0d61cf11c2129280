//! One case of an array study: its parts, how it runs, and the rows it gives.

use crate::analysis::{Known, Law, Setting as AnalysisOf};
use crate::disk::{self, Disk, Drive, Op};
use crate::engine::{self, Figures, Join, Nothing, Record, Records, Scene, Sink};
use crate::layout::Layout;
use crate::scheduling::{Fcfs, Scheduling};
use crate::workload::{self, Workload};
use sojourn_kernel::parameters::{Check, Refusal, Setting, Value, defaults};
use sojourn_kernel::{Bytes, Span, Streams, choices, nested, parameters};
use sojourn_queueing::{Cancelled, Column, Job, Keep, Progress, Report, Rows};

parameters! {
    /// A disk array: requests over disks, access by access.
    pub struct ArrayCase: "array" {
        /// The disks, all alike.
        pub disk: Disk,
        /// How requests are spread over them.
        pub layout: Layout,
        /// Which requests arrive.
        pub workload: Workload,
        /// In which order each disk serves.
        pub scheduling: Scheduling = Scheduling::Fcfs(defaults::<Fcfs>()),
        /// How the accesses of different requests mix.
        pub join: Join = Join::ForkJoin,
        /// Bytes in a block: the stripe unit, and what the size of requests counts.
        pub block: Bytes = Bytes(128 << 10),
        /// What the controller adds.
        pub controller: Controller = defaults(),
        /// How it is computed; the rows are the same.
        pub engine: Engine = Engine::Quickest,
    }
}

choices! {
    /// How a case is computed.
    pub enum Engine: "engine" {
        /// Disk by disk where no end of an access leads to another, else event by event.
        Quickest = "quickest",
        /// Event by event.
        Events = "events",
    }
}

parameters! {
    /// The controller's own time, a constant for each phase; the paper's model has none.
    pub struct Controller: "controller" {
        /// Before each phase.
        pub overhead: Span = Span::ZERO,
        /// Before a later phase in addition, to compute parity.
        pub parity: Span = Span::ZERO,
    }
}
nested!(Controller);

/// A block is no larger: 1 GiB.
const LARGEST_BLOCK: Bytes = Bytes(1 << 30);
/// No controller takes longer.
const LONGEST_DELAY: Span = Span::from_s(1);

impl Check for ArrayCase {
    fn check(&self) -> Result<(), Refusal> {
        if !(1..=LARGEST_BLOCK.0).contains(&self.block.0) {
            let given = self.block.write().expect("a size");
            return Err(Refusal::value(&given, "a size from \"1B\" to \"1GiB\"").under("block"));
        }
        Ok(())
    }
}

impl Check for Controller {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in [("overhead", self.overhead), ("parity", self.parity)] {
            if span > LONGEST_DELAY {
                let given = span.write().expect("a time");
                return Err(Refusal::value(&given, format!("at most {LONGEST_DELAY}")).under(key));
            }
        }
        Ok(())
    }
}

/// What the rows' `ideal_ps` is, for people.
const IDEAL: &str = "ideal: nobody else at the disks, and every head in place: the transfers alone";

impl ArrayCase {
    /// The names of the files that it reads.
    pub fn files(&mut self) -> Vec<&mut String> {
        let mut files = self.disk.files();
        files.extend(self.workload.files());
        files
    }

    /// How many requests will have rows in each replication. Reads and checks every file that the
    /// case names, through `read`, and draws nothing: what this takes, [`run`](ArrayCase::run) takes.
    pub fn count(&self, read: &dyn Fn(&str) -> Result<String, String>) -> Result<usize, Refusal> {
        let (_, workload) = self.ready(read)?;
        Ok(workload.numbers.requests as usize)
    }

    /// Simulates one replication.
    pub fn run(
        &self,
        streams: Streams,
        read: &dyn Fn(&str) -> Result<String, String>,
        keep: Keep,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        let (drive, workload) = self.ready(read)?;
        Ok(match drive {
            disk::Ready::Platters(drive) => self.report(drive, &workload, streams, keep, progress),
            disk::Ready::Measured(drive) => self.report(drive, &workload, streams, keep, progress),
        })
    }

    pub(crate) fn ready(
        &self,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(disk::Ready, workload::Ready), Refusal> {
        let block = self.block.0;
        let drive = self.disk.ready(&disk::Stage { block, read });
        let workload = self.workload.ready(&workload::Stage { block, read });
        Ok((
            drive.map_err(|refusal| refusal.under("disk"))?,
            workload.map_err(|refusal| refusal.under("workload"))?,
        ))
    }

    fn report<D: Drive>(
        &self,
        drive: D,
        workload: &workload::Ready,
        streams: Streams,
        keep: Keep,
        progress: &Progress,
    ) -> Result<Report, Cancelled> {
        let numbers = workload.numbers;
        let scene = Scene {
            layout: self.layout.clone(),
            drive,
            scheduling: self.scheduling.clone(),
            join: self.join,
            overhead: self.controller.overhead,
            parity: self.controller.parity,
            requests: u64::from(numbers.warmup) + u64::from(numbers.requests),
            streams,
        };
        match keep {
            Keep::Rows => {
                let sink = Records::new(numbers.warmup.into(), numbers.requests as usize);
                let (sink, figures) = self.simulate(&scene, workload, sink, progress)?;
                let rows = self.rows(&sink.records);
                let known = self.analysis(&scene.drive, workload);
                Ok(Report { rows, figures: self.figures(workload, &figures, &known) })
            }
            Keep::Totals => {
                let (_, figures) = self.simulate(&scene, workload, Nothing, progress)?;
                let figures = self.figures(workload, &figures, &Known::default());
                Ok(Report { rows: Rows::default(), figures })
            }
        }
    }

    /// By the recursion where it gives the rows of the event loop.
    fn simulate<D: Drive, S: Sink>(
        &self,
        scene: &Scene<D>,
        workload: &workload::Ready,
        sink: S,
        progress: &Progress,
    ) -> Result<(S, Figures), Cancelled> {
        let requests = workload.requests(scene.streams);
        match self.has_events(workload) {
            true => engine::simulate(scene, requests, sink, progress),
            false => engine::recursion(scene, requests, sink, progress),
        }
    }

    /// Whether it is computed event by event: where asked for, and where the end of an access has
    /// consequences beside for those behind it in order.
    fn has_events(&self, workload: &workload::Ready) -> bool {
        let ops = [Op::Read, Op::Write].into_iter().zip(workload.ops);
        let mut ops = ops.filter_map(|(op, there)| there.then_some(op));
        self.engine == Engine::Events
            || !matches!(self.scheduling, Scheduling::Fcfs(_))
            || !ops.all(|op| self.layout.one_phase(op))
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

    /// What is known without simulating it.
    pub fn known(&self, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Known, Refusal> {
        let (drive, workload) = self.ready(read)?;
        Ok(match drive {
            disk::Ready::Platters(drive) => self.analysis(&drive, &workload),
            disk::Ready::Measured(drive) => self.analysis(&drive, &workload),
        })
    }

    fn analysis<D: Drive>(&self, drive: &D, workload: &workload::Ready) -> Known {
        Known::of(&AnalysisOf {
            layout: &self.layout,
            bulks: workload.bulks(),
            in_order: matches!(self.scheduling, Scheduling::Fcfs(_)),
            independent: true,
            split_merge: self.join == Join::SplitMerge,
            overhead: self.controller.overhead.ps() as f64,
            service: &|op, blocks| drive.service(op, blocks),
            law: &|op, blocks| Law::of_access(drive, op, blocks),
            exponential: false,
        })
    }

    fn figures(
        &self,
        workload: &workload::Ready,
        figures: &Figures,
        known: &Known,
    ) -> Vec<(String, Value)> {
        let numbers = workload.numbers;
        let all = u64::from(numbers.warmup) + u64::from(numbers.requests);
        let events = if self.has_events(workload) { all + figures.accesses } else { 0 };
        let counts = [
            ("events", events),
            ("requests", all),
            ("requests_without_rows", numbers.warmup.into()),
            ("accesses", figures.accesses),
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
            .chain([("ideal".to_owned(), Value::Text(IDEAL.to_owned()))])
            .collect()
    }
}
