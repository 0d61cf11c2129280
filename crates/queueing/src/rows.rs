//! The rows of results: one a job, the same in every room, with the room's own columns behind.

use sojourn_kernel::{Span, Time};

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
    Name(Vec<u8>, Vec<&'static str>),
}

/// Columns of equal length, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Name, with its unit, and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// One job, as all rooms see it.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Its size.
    pub bytes: u64,
    /// When it arrived.
    pub arrived: Time,
    /// When its last task had joined; [`Time::NEVER`] if that was not by the end.
    pub finished: Time,
    /// The least possible sojourn time; [`Span::MAX`] for a job without one.
    pub ideal: Span,
}

impl Rows {
    /// The common columns: `job`, `kind`, `size_bytes`, `arrived_ps`, `finished_ps`, `sojourn_ps`,
    /// `ideal_ps`, `slowdown`. A job that did not finish has no finish, sojourn or slowdown.
    pub fn of(kinds: Vec<&'static str>, codes: Vec<u8>, jobs: &[Job]) -> Rows {
        let ints = |value: &dyn Fn(&Job) -> i64| jobs.iter().map(value).collect();
        let done = |job: &Job| job.finished != Time::NEVER;
        let sojourn = |job: &Job| (job.finished - job.arrived).ps();
        let slowdown = |job: &Job| match done(job) {
            true => sojourn(job) as f64 / job.ideal.ps() as f64,
            false => f64::NAN,
        };
        Rows {
            columns: vec![
                ("job", Column::Int((0..jobs.len() as i64).collect())),
                ("kind", Column::Name(codes, kinds)),
                ("size_bytes", Column::Int(ints(&|job| job.bytes as i64))),
                ("arrived_ps", Column::Ps(ints(&|job| job.arrived.ps() as i64))),
                (
                    "finished_ps",
                    Column::Ps(ints(&|job| {
                        if done(job) { job.finished.ps() as i64 } else { -1 }
                    })),
                ),
                (
                    "sojourn_ps",
                    Column::Ps(ints(&|job| {
                        if done(job) { sojourn(job) as i64 } else { -1 }
                    })),
                ),
                (
                    "ideal_ps",
                    Column::Ps(ints(&|job| match job.ideal {
                        Span::MAX => -1,
                        ideal => ideal.ps() as i64,
                    })),
                ),
                ("slowdown", Column::Float(jobs.iter().map(slowdown).collect())),
            ],
        }
    }

    /// Appends a column of the room's own.
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
