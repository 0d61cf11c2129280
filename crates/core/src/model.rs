//! What a model is to a study: the trait [`Model`], which each case of a model implements; what only
//! some models can do beside simulating; and the topics under which a model's parts are listed.

use crate::parameters::{Entry, Field, Refusal, Table, Value};
use crate::resource::{Call, Tables};
use crate::{Cancelled, Execution, Report, Rows, Streams, Vocabulary};
use std::any::Any;
use std::fmt;

/// A case of a model, as a study sees it. The struct of parameters that implements it gives the
/// model its name.
pub trait Model: Any + fmt::Debug + Send + Sync {
    /// The model's words for its jobs, and for what is measured of them.
    fn vocabulary() -> &'static Vocabulary
    where
        Self: Sized;

    /// The parts that a study of the model can name, by topic; those of one topic in several models
    /// are listed together.
    fn topics() -> Vec<Topic>
    where
        Self: Sized;

    /// The kinds of jobs that its rows can have; by default all of the vocabulary.
    fn kinds(&self) -> Option<Vec<&'static str>> {
        None
    }

    /// Settles what a study leaves to its files. Called once, before anything else.
    fn settle(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    /// The calls that draw the tables of a replication.
    fn calls(&self, _: Streams) -> Result<Vec<Call>, Refusal> {
        Ok(Vec::new())
    }

    /// Its settings that have no effect beside the others, each as a refusal. A study is refused if all of
    /// its cases that have the setting have it in vain: in a sweep some may.
    fn without_effect(&self) -> Vec<Refusal> {
        Vec::new()
    }

    /// The number of jobs of a replication, of which `first` are the streams; no more than memory holds. Checks
    /// everything and draws nothing: a case that this accepts can be [`run`](Model::run). Gives `tell` what the
    /// author of the study has to know about how its files were read.
    fn count(&self, first: Streams, tables: Tables<'_>, tell: Tell<'_>) -> Result<usize, Refusal>;

    /// Simulates a replication, whose drawn tables are in `tables`.
    fn run(
        &self,
        streams: Streams,
        tables: Tables<'_>,
        execution: Execution<'_>,
    ) -> Result<Result<Report, Cancelled>, Refusal>;

    /// The formulas of the model, where it has any.
    fn exact_formulas(&self) -> Option<&dyn ExactFormulas> {
        None
    }

    /// The list of what each station is asked for, where the model has one.
    fn offered_load(&self) -> Option<&dyn OfferedLoad> {
        None
    }

    /// Its parts with every parameter, defaults too.
    fn table(&self) -> Table;
}

/// Takes a note for the author of a study that can be run, in a line.
pub type Tell<'a> = &'a dyn Fn(String);

/// Formulas for sojourn times: bounds beside a simulation, and what a planner rules out by.
pub trait ExactFormulas {
    /// The mean sojourn time, exactly or between bounds, and for each of `percentiles`, in per cent,
    /// what it is not below: totals by name, as a run has them.
    fn known(&self, percentiles: &[f64]) -> Result<Vec<(String, Value)>, Refusal>;

    /// The distribution of sojourn times, or two that it lies between: columns `sojourn_ps`, in
    /// picoseconds, and the shares `least` and `most` of jobs that are done by then; and the
    /// formulas, for people. None where no formula applies.
    fn distribution(&self) -> Result<Option<(Rows, &'static str)>, Refusal>;
}

/// A list of what each station is asked for: what `sojourn measure` issues to a real one.
pub trait OfferedLoad {
    /// The list of one replication, a row for each thing asked for.
    fn offered(&self, streams: Streams) -> Result<Rows, Refusal>;

    /// The smallest and the largest thing asked for of each kind in one replication, in the units of
    /// the list. Memory does not grow with the list.
    fn sizes(&self, streams: Streams) -> Result<Sizes, Refusal>;
}

/// The smallest and the largest of several kinds of things, by kind.
pub type Sizes = Vec<(&'static str, [i64; 2])>;

/// Parts of studies that are listed under one name, such as all layouts.
#[derive(Clone, Debug)]
pub struct Topic {
    /// Its name. Parts that several models list under one name stand together.
    pub name: &'static str,
    /// The parts.
    pub parts: Vec<Part>,
}

impl Topic {
    /// A topic of parts that have parameters.
    pub fn of(name: &'static str, entries: Vec<Entry>) -> Topic {
        Topic { name, parts: entries.into_iter().map(Part::from).collect() }
    }
}

/// Something that a study can name.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name in a study.
    pub name: String,
    /// A description, in one or more sentences.
    pub summary: String,
    /// Where it was published, for data; empty for other parts.
    pub source: String,
    /// Its parameters.
    pub parameters: Vec<Field>,
}

impl From<Entry> for Part {
    fn from(entry: Entry) -> Part {
        let Entry { name, summary, parameters, .. } = entry;
        Part {
            name: name.to_owned(),
            summary: summary.to_owned(),
            source: String::new(),
            parameters,
        }
    }
}
