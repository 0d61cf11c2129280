//! A study: a file, read and checked, and the cases it crosses into.

use crate::document::{self, Document, OWN_KEYS};
use crate::error::SpecError;
use crate::sweep::{self, Axis, Coordinates};
use sojourn_fabric::engine::{Cancelled, Progress};
use sojourn_fabric::{FabricCase, Report};
use sojourn_kernel::parameters::{Check, Field, Parameters, Refusal, Setting, Table, Value};
use sojourn_kernel::{Streams, nested, parameters};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

parameters! {
    /// How a study runs.
    pub struct Run: "run" {
        /// What every random stream derives from.
        pub seed: u64 = 1,
        /// How often each case runs, each time with streams of its own.
        pub replications: NonZeroU32 = NonZeroU32::MIN,
    }
}
nested!(Run);

impl Check for Run {}

/// A study file, checked whole: every case of it can run.
#[derive(Clone, Debug)]
pub struct Study {
    /// What it is called.
    pub title: String,
    /// How it runs.
    pub run: Run,
    axes: Vec<Axis>,
    cases: Vec<Case>,
}

/// One point of a study: a pure description, cheap to copy.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its place in the cross product, from 0.
    pub index: usize,
    /// How many jobs it simulates.
    pub jobs: usize,
    coordinates: Coordinates,
    fabric: Arc<FabricCase>,
    seed: u64,
}

impl Study {
    /// Reads a study. `source` is the file's name, for messages and for the paths in it;
    /// `overrides` are (path, value) pairs laid over it, each value TOML or a bare word.
    ///
    /// Nothing is simulated, but all is checked: every case, every file that one names.
    pub fn parse(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
    ) -> Result<Study, SpecError> {
        let mut document = Document::parse(text, source)?;
        for (path, value) in overrides {
            document.set(path, value)?;
        }
        let axes = sweep::take(&mut document)?;
        let refuse = |refusal: Refusal| {
            let overridden =
                document.overrides.iter().any(|over| refusal.path.starts_with(&over.path));
            let axis = axes.iter().max_by_key(|axis| axis.covers(&refusal.path));
            let place = match axis {
                Some(axis) if axis.covers(&refusal.path).is_some() && !overridden => {
                    axis.place(&document)
                }
                _ => document.place(&refusal.path),
            };
            SpecError::refused(place, &refusal)
        };
        let title = own::<String>(&document, "title", "untitled".to_owned()).map_err(refuse)?;
        let run = own(&document, "run", defaults_of_run()).map_err(refuse)?;
        let base = PathBuf::from(source).parent().map(PathBuf::from).unwrap_or_default();
        let mut cases = Vec::new();
        for (coordinates, root) in sweep::cross(&document, &axes) {
            let mut fabric = read_case(&root).map_err(refuse)?;
            if let Some(file) = fabric.workload.file() {
                *file = located(&base, file);
            }
            let jobs = fabric.count(&read).map_err(refuse)?;
            cases.push(Case {
                index: cases.len(),
                jobs,
                coordinates,
                fabric: Arc::new(fabric),
                seed: run.seed,
            });
        }
        Ok(Study { title, run, axes, cases })
    }

    /// Which system it simulates.
    pub fn room(&self) -> &'static str {
        <FabricCase as Parameters>::NAME
    }

    /// The cross product of the sweep, last axis fastest.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The study as TOML with overrides applied and every default written out: a study that gives
    /// the same cases. What is swept stands with its first value in its part, and with all of them,
    /// in full, in the sweep.
    pub fn resolved(&self) -> String {
        let mut root = Table::default();
        root.set("title", Value::Text(self.title.clone()));
        for (key, value) in self.cases[0].fabric.write_table().iter() {
            root.set(key, value.clone());
        }
        root.set("run", Value::Table(self.run.write_table()));
        let mut swept = Table::default();
        let mut stride = self.cases.len();
        for axis in &self.axes {
            stride /= axis.len();
            axis.write(&mut swept, |place| self.cases[place * stride].fabric.write_table());
        }
        if !swept.is_empty() {
            root.set("sweep", Value::Table(swept));
        }
        document::write(&root)
    }
}

fn defaults_of_run() -> Run {
    sojourn_kernel::parameters::defaults()
}

/// One of the study's own settings.
fn own<T: Setting>(document: &Document, key: &str, default: T) -> Result<T, Refusal> {
    match document.root.get(key) {
        Some(value) => T::read(value).map_err(|refusal| refusal.under(key)),
        None => Ok(default),
    }
}

/// The room's part of a case.
fn read_case(root: &Table) -> Result<FabricCase, Refusal> {
    let mut room = root.clone();
    for key in OWN_KEYS {
        room.remove(key);
    }
    FabricCase::read_table(&room).map_err(|mut refusal| {
        if refusal.unknown_key && refusal.path.len() == 1 {
            refusal.names.extend(OWN_KEYS);
        }
        refusal
    })
}

/// Where a file that a study in `base` names lies, from anywhere.
fn located(base: &Path, name: &str) -> String {
    let path = base.join(name);
    std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()
}

/// Reads a file that a study names.
fn read(name: &str) -> Result<String, String> {
    let bytes = std::fs::read(name).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

impl Case {
    /// The swept parameters under their short names.
    pub fn axes(&self) -> &[(String, Value)] {
        &self.coordinates
    }

    /// Every parameter under its dotted path.
    pub fn parameters(&self) -> Vec<(String, Value)> {
        let mut flat = Vec::new();
        flatten(&self.fabric.write_table(), "", &mut flat);
        flat
    }

    /// Simulates one replication, counted from 0. The same number gives the same rows.
    pub fn run(
        &self,
        replication: u32,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, SpecError> {
        let streams = Streams::new(self.seed, replication.into());
        let ready = self
            .fabric
            .ready(streams, &read)
            .map_err(|refusal| SpecError::refused(format!("case {}", self.index), &refusal))?;
        Ok(ready.run(progress))
    }
}

fn flatten(table: &Table, prefix: &str, flat: &mut Vec<(String, Value)>) {
    for (key, value) in table.iter() {
        let path = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => flatten(inner, &path, flat),
            plain => flat.push((path, plain.clone())),
        }
    }
}

/// The study's own keys, documented.
pub(crate) fn own_fields() -> Vec<Field> {
    Run::entry().parameters
}
