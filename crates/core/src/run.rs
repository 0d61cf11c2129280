//! A run of any model, seen from outside: how far it is, how to stop it, and the rows and totals it
//! gives. All models have the columns of [`Rows::of`], and each appends columns for its jobs.

use crate::parameters::Value;
use crate::{Span, Time};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a run, which other threads may read while it goes on, and through which they stop
/// it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Jobs finished so far.
    pub finished: AtomicU64,
    /// Simulated time so far, in picoseconds.
    pub simulated_ps: AtomicU64,
    /// Processor time of the other threads of the run, in nanoseconds.
    pub helped_ns: AtomicU64,
    /// Whether the run went on without these threads for a time, since other programs had the
    /// processors.
    pub went_alone: AtomicBool,
    /// Set to stop the run.
    pub cancelled: AtomicBool,
    /// Why code that came with the study ended the run; the first reason of several.
    pub failure: OnceLock<CodeFailed>,
}

impl Progress {
    /// Whether the run has to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Stops the run, as code that came with the study cannot go on. Keeps the first of several
    /// reasons.
    pub fn fail(&self, why: &CodeFailed) {
        self.failure.get_or_init(|| why.clone());
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// The run was stopped through [`Progress::cancelled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Code that came with the study raised an exception, or returned what cannot be used: the reason in a line,
/// for people, and behind it the traceback where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFailed(pub String);

impl CodeFailed {
    /// The same, with `more` behind the reason.
    pub fn during(&self, more: impl Display) -> CodeFailed {
        let (reason, traceback) = self.0.split_at(self.0.find('\n').unwrap_or(self.0.len()));
        CodeFailed(format!("{reason} ({more}){traceback}"))
    }
}

impl Display for CodeFailed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which results of a run are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// A row a job.
    Rows,
    /// Totals alone; where a model can, memory then does not grow with the number of jobs.
    Totals,
}

/// How a replication is run. Nothing here changes a value of its results.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// Which results are kept.
    pub keep: Keep,
    /// The most threads of the run, at least 1. A model that can use only one ignores it.
    pub threads: usize,
    /// Where the run says how far it is, and where it is stopped.
    pub progress: &'a Progress,
}

impl<'a> Execution<'a> {
    /// On one thread, with rows.
    pub fn new(progress: &'a Progress) -> Execution<'a> {
        Execution { keep: Keep::Rows, threads: 1, progress }
    }
}

/// The rows and totals of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// One row a job, or none if only totals are kept.
    pub rows: Rows,
    /// Tables beside the rows, by their names: those that a case has.
    pub beside: Vec<(&'static str, Rows)>,
    /// Totals by name, with units, and what the ideal is.
    pub totals: Vec<(String, Value)>,
}

/// States of stations at certain times, where a case asks for them.
pub const SERIES: &str = "series";

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers, none below zero; -1 where there is none.
    Int(Vec<i64>),
    /// Times in picoseconds; -1 where there is none.
    Ps(Vec<i64>),
    /// Numbers; NaN where there is none.
    Float(Vec<f64>),
    /// One of a few names: a code a row, and the names.
    Name(Vec<u8>, Vec<Cow<'static, str>>),
}

impl Column {
    /// A column of these names: a code a row.
    pub fn of_names(codes: Vec<u8>, names: &[&'static str]) -> Column {
        Column::Name(codes, names.iter().map(|&name| name.into()).collect())
    }
}

/// Columns of equal length, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Name, with its unit, and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// One job, as all models report it.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Its size.
    pub bytes: u64,
    /// When it arrived.
    pub arrived: Time,
    /// When its last task was done; [`Time::NEVER`] if that was not by the end.
    pub finished: Time,
    /// The least possible sojourn time; [`Span::MAX`] for a job without one.
    pub ideal: Span,
}

/// The columns of jobs that all models report; -1 where there is no value.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    /// Their sizes.
    pub bytes: Vec<i64>,
    /// When they arrived, in picoseconds.
    pub arrived: Vec<i64>,
    /// When their last tasks were done, in picoseconds.
    pub finished: Vec<i64>,
    /// Their least possible sojourn times, in picoseconds.
    pub ideal: Vec<i64>,
}

impl FromIterator<Job> for Jobs {
    fn from_iter<I: IntoIterator<Item = Job>>(all: I) -> Jobs {
        let mut jobs = Jobs::default();
        for job in all {
            jobs.bytes.push(job.bytes as i64);
            jobs.arrived.push(job.arrived.ps() as i64);
            jobs.finished.push(match job.finished {
                Time::NEVER => -1,
                finished => finished.ps() as i64,
            });
            jobs.ideal.push(match job.ideal {
                Span::MAX => -1,
                ideal => ideal.ps() as i64,
            });
        }
        jobs
    }
}

impl Rows {
    /// The common columns: `job`, `kind`, `size_bytes`, `arrived_ps`, `finished_ps`, `sojourn_ps`,
    /// `ideal_ps`, `slowdown`. A job that did not finish has no finish, sojourn or slowdown.
    pub fn of(kinds: Vec<&'static str>, codes: Vec<u8>, jobs: Jobs) -> Rows {
        let Jobs { bytes, arrived, finished, ideal } = jobs;
        let sojourn = finished.iter().zip(&arrived).map(|(&finished, arrived)| match finished {
            -1 => -1,
            finished => finished - arrived,
        });
        let sojourn: Vec<i64> = sojourn.collect();
        let slowdown = sojourn.iter().zip(&ideal).map(|pair| match pair {
            (-1, _) | (_, -1) => f64::NAN,
            (&sojourn, &ideal) => sojourn as f64 / ideal as f64,
        });
        let slowdown = slowdown.collect();
        Rows {
            columns: vec![
                ("job", Column::Int((0..arrived.len() as i64).collect())),
                ("kind", Column::of_names(codes, &kinds)),
                ("size_bytes", Column::Int(bytes)),
                ("arrived_ps", Column::Ps(arrived)),
                ("finished_ps", Column::Ps(finished)),
                ("sojourn_ps", Column::Ps(sojourn)),
                ("ideal_ps", Column::Ps(ideal)),
                ("slowdown", Column::Float(slowdown)),
            ],
        }
    }

    /// Appends a column that this model has and others need not.
    pub fn push(&mut self, name: &'static str, column: Column) {
        self.columns.push((name, column));
    }

    /// The whole numbers or picoseconds of the column `name`, which has them.
    pub fn ints(&self, name: &str) -> &[i64] {
        match self.column(name) {
            Column::Int(values) | Column::Ps(values) => values,
            other => panic!("{name} has no whole numbers: {other:?}"),
        }
    }

    /// The code of each row in the column `name`, which has names, and these names.
    pub fn names(&self, name: &str) -> (&[u8], &[Cow<'static, str>]) {
        match self.column(name) {
            Column::Name(codes, names) => (codes, names),
            other => panic!("{name} has no names: {other:?}"),
        }
    }

    /// The numbers of the column `name`, which has them.
    pub fn floats(&self, name: &str) -> &[f64] {
        match self.column(name) {
            Column::Float(values) => values,
            other => panic!("{name} has no numbers: {other:?}"),
        }
    }

    fn column(&self, name: &str) -> &Column {
        let found = self.columns.iter().find(|(column, _)| *column == name);
        &found.unwrap_or_else(|| panic!("no column {name}")).1
    }
}
