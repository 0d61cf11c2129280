//! What every model stands on: integer [time], [quantities](units) with their units, the event
//! [calendar], [named random streams and distributions](random), [size tables](size_table),
//! [parameters](mod@parameters) that document themselves, the [rows](Rows) and [report](Report) of a
//! run, the [vocabulary](Vocabulary) of a model, what a [model] is to a study, the [files](resource) that a study
//! names, and [lines and tables](files) or [trees](tree) in them.
//!
//! Nothing here reads a clock, a socket or the operating system's randomness.

pub mod calendar;
pub mod file_kind;
pub mod files;
pub mod model;
pub mod parameters;
pub mod random;
pub mod resource;
mod run;
pub mod size_table;
pub mod time;
pub mod tree;
pub mod units;
mod vocabulary;

pub use calendar::Calendar;
pub use random::{
    Ahead, BadRow, Constant, Distribution, Empirical, Exponential, Gaps, Geometric, Light,
    LogNormal, Reading, Stream, Streams, Uniform,
};
pub use run::{
    Cancelled, CodeFailed, Column, Execution, Job, Jobs, Keep, Progress, Report, Rows, SERIES,
};
pub use size_table::{SizeTable, TableError, Unit, WORKLOADS, Workload};
pub use time::{Span, Time};
pub use units::{Bytes, Frequency, Rate};
pub use vocabulary::{
    BackgroundWork, Caution, Doubts, JobKind, Metric, Phrase, SizeBin, Station, Vocabulary,
};
