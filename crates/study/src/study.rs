//! A study: a file, read and checked, and the cases it crosses into.

use crate::document::{self, Document};
use crate::error::SpecError;
use crate::expect::{self, Threshold};
use crate::files::{Files, Need, Resources};
use crate::model::{MODELS, ModelEntry};
use crate::sweep::{self, Axis, MAX_CASES};
use sojourn_core::model::{Model, Sizes, Tell};
use sojourn_core::parameters::{Check, Entry, Parameters, Refusal, Table, Value, defaults};
use sojourn_core::resource::{Call, Tables};
use sojourn_core::units::is_same_quantity;
use sojourn_core::{Cancelled, Execution, Report, Rows, Streams, nested, parameters};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

parameters! {
    /// Parameters of every study. The table `sweep` may contain lists of values for any parameter
    /// of the model.
    pub struct Head: "study" {
        /// Title of the study in results.
        pub title: String = "untitled".to_owned(),
        /// Model: the kind of system to simulate.
        pub model: ModelEntry = MODELS[0],
        /// Seed and replications.
        pub run: Run = defaults(),
        /// Thresholds for results, such as `p99 = "< 5ms"`. `sojourn run` and `sojourn show` end with
        /// exit code 1 unless all of them are met.
        pub expect: Table = Table::default(),
    }
}

parameters! {
    /// Seed and replications of a study.
    pub struct Run: "run" {
        /// Seed of all random streams.
        pub seed: u64 = 1,
        /// Number of runs of each case, each with other random numbers.
        pub replications: NonZeroU32 = NonZeroU32::MIN,
    }
}
nested!(Run);

impl Check for Head {}
impl Check for Run {}

/// A study file, checked whole: every case of it can run.
#[derive(Clone, Debug)]
pub struct Study {
    /// The title.
    pub title: String,
    /// The seed and the number of replications.
    pub run: Run,
    model: ModelEntry,
    /// The thresholds as they were given.
    expect: Table,
    /// The parts of the model as they were given, overrides applied.
    given: Table,
    hints: Vec<String>,
    axes: Vec<Axis>,
    cases: Vec<Case>,
}

/// One point of a study: a pure description, cheap to copy.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its place in the cross product, from 0.
    pub index: usize,
    /// The number of jobs of a replication.
    pub jobs: usize,
    axes: Vec<(String, Value)>,
    entry: ModelEntry,
    model: Arc<dyn Model>,
    seed: u64,
}

/// A case of a sweep that is impossible.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Its place in the cross product, from 0.
    pub index: usize,
    /// The swept parameters under their short names.
    pub axes: Vec<(String, Value)>,
    /// The reason.
    pub error: SpecError,
}

impl Study {
    /// Reads a study. `source` is the file's name, for messages; `overrides` are (path, value) pairs laid over
    /// it, each value TOML or a bare word; `resources` are what it [`needs`](Study::needs).
    ///
    /// Nothing is simulated, but all is checked: every case, every file that one names.
    pub fn parse(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        resources: &Resources,
    ) -> Result<Study, SpecError> {
        let mut document = Document::read(text, source, overrides)?;
        Study::of(&mut document, source, &Files::new(resources))
    }

    /// The needs of a study that were not handed in; arguments as for [`parse`](Study::parse). Ask again after
    /// handing them in: the calls of functions are known once their files are. A study that is refused may
    /// have more.
    pub fn needs(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        resources: &Resources,
    ) -> Vec<Need> {
        Files::missing(resources, |files| {
            let mut document = Document::read(text, source, overrides)?;
            Study::of(&mut document, source, files)
        })
    }

    /// The study that a document holds, which then knows where the sweep sets what.
    pub(crate) fn of(
        document: &mut Document,
        source: &str,
        files: &Files<'_>,
    ) -> Result<Study, SpecError> {
        match Study::as_far_as_possible(document, source, files)? {
            (study, refused) if refused.is_empty() => Ok(study),
            (_, refused) => {
                let errors = refused.into_iter().map(|refused| refused.error);
                Err(SpecError::all(errors).expect("one at least is refused"))
            }
        }
    }

    /// Like [`of`](Study::of), but returns the cases that are impossible beside those that are
    /// possible, at least one: settings of a sweep may exclude each other. Refuses the study where a
    /// name or a key is unknown.
    pub(crate) fn as_far_as_possible(
        document: &mut Document,
        source: &str,
        files: &Files<'_>,
    ) -> Result<(Study, Vec<Refused>), SpecError> {
        if document.root.is_empty() {
            let nothing = "nothing in it, expected a study: `sojourn list tables` has its parts";
            return Err(SpecError::at(source, nothing));
        }
        let mut hints = Vec::new();
        let mut errors = Vec::new();
        let (head, wrong) = read_head(document);
        errors.extend(wrong);
        let Some(Head { title, model: entry, run, expect }) = head else {
            return Err(errors.pop().expect("what is wrong with a head that is not read"));
        };
        let mut axes = sweep::take(document, &names((entry.entry)())).unwrap_or_else(|error| {
            errors.push(error);
            Vec::new()
        });
        // What is missing may be in a sweep that could not be read.
        let without_sweep = !errors.is_empty() && axes.is_empty();
        let refuse = |refusal: Refusal| document.refused(refusal);
        let (_, given) = split(&document.root);
        let points = sweep::cross(&axes);
        let first = Streams::new(run.seed, 0);
        let mut read = Vec::with_capacity(points.len());
        for point in &points {
            let case = sweep::tree(&given, &axes, point)
                .and_then(|tree| read_case(entry, tree, files, first, &mut hints));
            let case = case.map_err(|refusal| {
                let refusals = refusal.each();
                let in_all = refusals.iter().any(|it| !it.names.is_empty() || it.unknown_key);
                let told = refusals.into_iter().filter(|it| !(without_sweep && it.is_missing()));
                let error = SpecError::all(told.map(refuse));
                if in_all {
                    errors.extend(error.clone());
                }
                error
            });
            read.push(case);
        }
        // The kinds of jobs are known where all cases are.
        let kinds = read.iter().flatten().flat_map(|(model, _)| entry.kinds(&**model));
        let kinds: BTreeSet<&str> = kinds.collect();
        let known = errors.is_empty() && read.iter().all(Result::is_ok);
        let has = |kind: &str| !known || kinds.contains(kind);
        errors.extend(expect::read(&expect, entry, has).err().map(refuse));
        if !errors.is_empty() || read.iter().all(Result::is_err) {
            let of_cases = read.into_iter().filter_map(Result::err).flatten();
            return Err(SpecError::all(errors.into_iter().chain(of_cases)).expect("an error"));
        }
        let bounded = within_bounds(read.len(), &run);
        let models = read.iter().flatten().map(|(model, _)| &**model);
        let effective = all_have_effect(models)
            .map_err(|refusal| refusal.map(&|refusal| as_written(&given, refusal)));
        Refusal::both(bounded, effective).map_err(refuse)?;
        sweep::settle(&mut axes, |case| read[case].as_ref().ok().map(|(model, _)| model.table()))?;
        let (mut cases, mut refused) = (Vec::with_capacity(read.len()), Vec::new());
        for (index, (point, read)) in points.iter().zip(read).enumerate() {
            let column =
                |(axis, &place): (&Axis, &usize)| (axis.name.clone(), axis.label(place).clone());
            let axes = axes.iter().zip(point).map(column).collect();
            match read {
                Ok((model, jobs)) => {
                    let model = model.into();
                    cases.push(Case { index, jobs, axes, entry, model, seed: run.seed });
                }
                Err(error) => {
                    let error = error.expect("a case is refused for a reason").first();
                    refused.push(Refused { index, axes, error });
                }
            }
        }
        Ok((Study { title, run, model: entry, expect, hints, given, axes, cases }, refused))
    }

    /// Model: the kind of system to simulate.
    pub fn model(&self) -> &'static str {
        self.model.name
    }

    /// Hints for its author, though it can be run as it is, each in a line.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The cross product of the sweep, last axis fastest.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The swept parameters, and how many values each has; the last one changes fastest.
    pub(crate) fn swept(&self) -> impl DoubleEndedIterator<Item = (&[String], usize)> {
        self.axes.iter().map(|axis| (axis.path.as_slice(), axis.len()))
    }

    /// The study as TOML with overrides applied and defaults written out: a study that gives the
    /// same cases. Only in a part of which several axes together decide what it is, nothing is
    /// written out that was not given.
    pub fn resolved(&self) -> String {
        document::write(&self.tree())
    }

    /// The resolved study as a tree.
    pub(crate) fn tree(&self) -> Table {
        let mut root = Table::default();
        root.set("title", Value::Text(self.title.clone()));
        root.set("model", Value::Text(self.model.name.to_owned()));
        for (part, resolved) in self.cases[0].model.table().iter() {
            if sweep::in_full(&self.axes, part) {
                root.set(part, resolved.clone());
            } else if let Some(given) = self.given.get(part) {
                root.set(part, sweep::normal(given, resolved));
            }
        }
        for table in self.axes.iter().filter_map(|axis| axis.of_file()) {
            sweep::forget_file(&mut root, table);
        }
        root.set("run", Value::Table(self.run.write_table()));
        if !self.expect.is_empty() {
            root.set(expect::KEY, Value::Table(self.expect.clone()));
        }
        let mut swept = Table::default();
        for axis in &self.axes {
            let in_full = sweep::in_full(&self.axes, &axis.path[0]);
            swept.set(&axis.path.join("."), axis.write(in_full));
        }
        if !swept.is_empty() {
            root.set("sweep", Value::Table(swept));
        }
        root
    }
}

/// The thresholds of a study that was checked before, such as that of a run directory.
///
/// # Errors
///
/// The text is no study, or its thresholds are none.
pub fn thresholds(text: &str, source: &str) -> Result<Vec<Threshold>, SpecError> {
    let document = Document::parse(text, source)?;
    if document.root.get(expect::KEY).is_none() {
        return Ok(Vec::new());
    }
    let refuse = |refusal| document.refused(refusal);
    let head = Head::read_table(&split(&document.root).0).map_err(refuse)?;
    expect::read(&head.expect, head.model, |_| true).map_err(refuse)
}

/// The keys of a struct of parameters.
fn names(entry: Entry) -> Vec<&'static str> {
    entry.parameters.iter().map(|field| field.name).collect()
}

/// The study's own settings, and what is wrong with them: where anything is, they are those with which the model can
/// be read, if it is known.
fn read_head(document: &Document) -> (Option<Head>, Option<SpecError>) {
    let (head, _) = split(&document.root);
    match Head::read_table(&head) {
        Ok(head) => (Some(head), None),
        Err(refusal) => {
            let mut model = Table::default();
            head.get("model").into_iter().for_each(|name| model.set("model", name.clone()));
            (Head::read_table(&model).ok(), Some(document.refused(refusal)))
        }
    }
}

/// The study's own settings, and those of its model.
fn split(root: &Table) -> (Table, Table) {
    let own = names(Head::entry());
    let (mut head, mut model) = (Table::default(), Table::default());
    for (key, value) in root.iter() {
        let part = if own.contains(&key) { &mut head } else { &mut model };
        part.set(key, value.clone());
    }
    (head, model)
}

/// The model's part of a case, and how many jobs its `first` replication has. Adds to `hints` what is not there
/// yet.
fn read_case(
    entry: ModelEntry,
    mut root: Table,
    files: &Files<'_>,
    first: Streams,
    hints: &mut Vec<String>,
) -> Result<(Box<dyn Model>, usize), Refusal> {
    let new = RefCell::new(Vec::new());
    let read = read_model(entry, &mut root, files, first, &|hint| new.borrow_mut().push(hint));
    for hint in new.into_inner() {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    read.map_err(|refusal| refusal.map(&|refusal| as_written(&root, refusal)))
}

/// A refusal with its value as the study has it, `2400h`, where it has the same quantity, `8640000s`.
fn as_written(root: &Table, mut refusal: Refusal) -> Refusal {
    if let (Some(Value::Text(given)), Some(Value::Text(written))) =
        (&refusal.given, value_at(root, &refusal.path))
        && is_same_quantity(given, written)
    {
        refusal.given = Some(Value::Text(written.clone()));
    }
    refusal
}

fn value_at<'a>(root: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    match (root.get(first)?, rest) {
        (value, []) => Some(value),
        (Value::Table(table), rest) => value_at(table, rest),
        _ => None,
    }
}

fn read_model(
    entry: ModelEntry,
    root: &mut Table,
    files: &Files<'_>,
    first: Streams,
    tell: Tell<'_>,
) -> Result<(Box<dyn Model>, usize), Refusal> {
    let unread = files.put(entry.entry, root);
    let with_own = |mut refusal: Refusal| {
        if refusal.unknown_key && refusal.path.len() == 1 {
            let own = names(Head::entry()).into_iter().chain(["sweep"]);
            refusal.names.extend(own.map(str::to_owned));
        }
        refusal
    };
    // A part that reads its file at once misses one that could not be handed in: why not says more.
    let hidden: Vec<Refusal> = unread.clone().into_iter().flat_map(Refusal::each).collect();
    let is_hidden = |own: &Refusal| hidden.iter().any(|unread| unread.path == own.path);
    let read = (entry.read)(root);
    let mut model = match (read, unread) {
        (Ok(model), None) => model,
        (read, unread) => {
            let own = read.err().into_iter().flat_map(Refusal::each);
            let own = own.filter(|own| !is_hidden(own)).map(with_own);
            return Err(Refusal::all(own.chain(unread)).expect("one of two is refused"));
        }
    };
    model.settle()?;
    if files.is_survey() {
        model.calls(first)?.into_iter().for_each(|call| files.survey(call));
        return Ok((model, 1));
    }
    let jobs = model.count(first, &|key| files.resources.table(key), tell)?;
    Ok((model, jobs))
}

/// Refuses each setting that has no effect in any of the cases that have it.
fn all_have_effect<'a>(cases: impl Iterator<Item = &'a dyn Model>) -> Result<(), Refusal> {
    let cases: Vec<_> = cases.map(|model| (model, model.without_effect())).collect();
    if cases.iter().all(|(_, refusals)| refusals.is_empty()) {
        return Ok(());
    }
    let in_vain: Vec<_> =
        cases.into_iter().map(|(model, refusals)| (model.table(), refusals)).collect();
    let mut seen: Vec<(&[String], Option<&Value>)> = Vec::new();
    let mut refused = Vec::new();
    for (table, refusals) in &in_vain {
        for refusal in refusals {
            let value = value_at(table, &refusal.path);
            if seen.contains(&(&refusal.path, value)) {
                continue;
            }
            seen.push((&refusal.path, value));
            let mut others =
                in_vain.iter().filter(|(table, _)| value_at(table, &refusal.path) == value);
            if others.all(|(_, those)| those.iter().any(|other| other.path == refusal.path)) {
                refused.push(refusal.clone());
            }
        }
    }
    Refusal::all(refused).map_or(Ok(()), Err)
}

/// Refuses more than [`MAX_CASES`] runs in all.
fn within_bounds(cases: usize, run: &Run) -> Result<(), Refusal> {
    let most = MAX_CASES / cases;
    if run.replications.get() as usize <= most {
        return Ok(());
    }
    let given = Value::Int(run.replications.get().into());
    let expected = format!("at most {most}: {MAX_CASES} runs in all");
    Err(Refusal::value(&given, expected).under("replications").under("run"))
}

impl Case {
    /// The swept parameters under their short names.
    pub fn axes(&self) -> &[(String, Value)] {
        &self.axes
    }

    /// The kinds of jobs that its rows can have.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.entry.kinds(&*self.model)
    }

    /// The part of its model that is called `name`, with every parameter.
    pub(crate) fn part(&self, name: &str) -> Option<Value> {
        self.model.table().get(name).cloned()
    }

    /// Every parameter under its dotted path.
    pub fn parameters(&self) -> Vec<(String, Value)> {
        document::flat(&self.model.table())
    }

    /// Simulates one replication, counted from 0, whose tables are in `tables`. The rows of a replication are
    /// equal on any number of threads.
    pub fn run(
        &self,
        replication: u32,
        tables: Tables<'_>,
        execution: Execution<'_>,
    ) -> Result<Result<Report, Cancelled>, SpecError> {
        self.model
            .run(self.streams(replication), tables, execution)
            .map_err(|refusal| self.refused(&refusal))
    }

    /// The calls that draw the tables of a replication.
    pub fn calls(&self, replication: u32) -> Result<Vec<Call>, SpecError> {
        self.model.calls(self.streams(replication)).map_err(|refusal| self.refused(&refusal))
    }

    /// The accesses that one replication makes to the disks of an array, one a row, as the simulator
    /// plans them; no rows where the model has none.
    pub fn offered(&self, replication: u32) -> Result<Rows, SpecError> {
        let Some(load) = self.model.offered_load() else { return Ok(Rows::default()) };
        load.offered(self.streams(replication)).map_err(|refusal| self.refused(&refusal))
    }

    /// The smallest and the largest of these accesses, in blocks, for reads and for writes; none where
    /// the model has no accesses.
    pub fn access_sizes(&self, replication: u32) -> Result<Sizes, SpecError> {
        let Some(load) = self.model.offered_load() else { return Ok(Sizes::new()) };
        load.sizes(self.streams(replication)).map_err(|refusal| self.refused(&refusal))
    }

    /// What formulas say of the mean sojourn time, as totals of a run; and a lower bound for each of
    /// `percentiles`, in per cent, at any load. Empty where the model has no formulas.
    pub fn known(&self, percentiles: &[f64]) -> Result<Vec<(String, Value)>, SpecError> {
        let Some(formulas) = self.model.exact_formulas() else { return Ok(Vec::new()) };
        formulas.known(percentiles).map_err(|refusal| self.refused(&refusal))
    }

    /// The distribution of sojourn times by formulas, and which these are: columns `sojourn_ps`, in
    /// picoseconds, and bounds `least` and `most` for the share that is done by then. None where no
    /// formula applies.
    pub fn distribution(&self) -> Result<Option<(Rows, &'static str)>, SpecError> {
        let Some(formulas) = self.model.exact_formulas() else { return Ok(None) };
        formulas.distribution().map_err(|refusal| self.refused(&refusal))
    }

    /// The case of the model, where that is `M`.
    pub(crate) fn of_model<M: Model>(&self) -> Option<&M> {
        let model: &dyn Any = &*self.model;
        model.downcast_ref()
    }

    /// The random streams of a replication, counted from 0.
    pub(crate) fn streams(&self, replication: u32) -> Streams {
        Streams::new(self.seed, replication.into())
    }

    /// A refusal that came while the case ran.
    pub(crate) fn refused(&self, refusal: &Refusal) -> SpecError {
        SpecError::refused(format!("case {}", self.index), refusal)
    }
}
