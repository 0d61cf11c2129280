//! What a study names that only Python can read or run: Parquet files with flows, functions that draw flows,
//! classes that control congestion or manage queues.
//!
//! This crate has neither Python nor Parquet. The crate `python` installs an [`Interpreter`] when it is
//! imported, and without one such a study is refused.

mod class;
mod controller;
mod kept;
mod queue;

pub(crate) use class::surround;
pub use class::{About, ClassParameters, CodeFile, Loaded, Named, PythonClass};
pub use controller::{Begin, Controller, ControllerClass, Hooks};
pub(crate) use kept::HASH_SHOWN;
pub use kept::KeptFile;
pub use queue::{Decision, PortDecisions, QueueClass, QueueHooks, QueuedPacket};

use sojourn_core::parameters::{Refusal, Table};
use std::sync::{Arc, OnceLock};

/// Python, as far as a fabric needs it. Its errors are sentences for the author of the study.
pub trait Interpreter: Send + Sync {
    /// The SHA-256 of a file, in hexadecimal digits.
    fn sha256(&self, file: &str) -> Result<String, String>;

    /// The flows in a Parquet file. Refuses one that does not have this SHA-256, where one is given.
    fn flows(&self, file: &str, sha256: Option<&str>) -> Result<FlowColumns, String>;

    /// The flows that a function draws.
    fn draw(&self, call: &Call<'_>) -> Result<FlowColumns, String>;

    /// Writes the flows that a function draws into a folder as the table `key`, if that is not there yet.
    fn draw_into(&self, call: &Call<'_>, folder: &str, key: &str) -> Result<(), String>;

    /// The Parquet file in a folder into which the table `key` was drawn; its name has the begin of its hash.
    fn drawn(&self, folder: &str, key: &str) -> Result<String, String>;

    /// Copies a file that has this SHA-256 to `into`, if that is not there yet.
    fn copy(&self, file: &str, sha256: Option<&str>, into: &str) -> Result<(), String>;

    /// Loads a class that controls congestion, with the parameters that a study sets. Refusals are
    /// seen from the table of `named`.
    fn controller(&self, named: &Named<'_>) -> Result<Arc<dyn ControllerClass>, Refusal>;

    /// Loads a class that manages queues, as [`controller`](Interpreter::controller) does.
    fn queue(&self, named: &Named<'_>) -> Result<Arc<dyn QueueClass>, Refusal>;
}

/// A call of a function that draws flows.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The file that has the function.
    pub file: &'a str,
    /// The SHA-256 that it must have, where one is known.
    pub sha256: Option<&'a str>,
    /// The function's name.
    pub function: &'a str,
    /// Arguments by name.
    pub set: &'a Table,
    /// The speed of each host's link, in bits a second.
    pub rates: &'a [u64],
    /// The seed of its random numbers.
    pub seed: [u64; 4],
}

/// A table of flows, column by column, all of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowColumns {
    /// The names of the columns.
    pub names: Vec<String>,
    /// What stands in each.
    pub columns: Vec<FlowColumn>,
    /// How many rows there are.
    pub rows: usize,
}

/// A column of a table of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowColumn {
    /// Whole numbers, and where they are missing, if any are.
    Whole(Vec<i64>, Option<Vec<bool>>),
    /// Numbers; one that is missing is not a number.
    Number(Vec<f64>),
    /// Texts behind each other, and where each begins, with the end of the last. A missing one is empty.
    Text(String, Vec<usize>),
}

static INTERPRETER: OnceLock<Box<dyn Interpreter>> = OnceLock::new();

/// Sets what runs Python from now on; the first one stays.
pub fn install(interpreter: Box<dyn Interpreter>) {
    drop(INTERPRETER.set(interpreter));
}

/// What runs Python.
pub(crate) fn interpreter() -> Result<&'static dyn Interpreter, String> {
    let found = INTERPRETER.get().map(|interpreter| &**interpreter);
    found.ok_or_else(|| "no Python is there to read it".to_owned())
}
