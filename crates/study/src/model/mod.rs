//! The models: which systems a study can simulate.

pub(crate) mod array;
pub(crate) mod fabric;
pub(crate) mod mail;

use crate::capability::{ExactFormulas, LinkDecomposition, OfferedLoad};
use sojourn_array::ArrayCase;
use sojourn_core::files::Open;
use sojourn_core::parameters::{Entry, Field, Parameters, Refusal, Setting, Shape, Table, Value};
use sojourn_core::{Cancelled, Keep, Progress, Report, Streams, Vocabulary};
use sojourn_fabric::FabricCase;
use sojourn_mail_model::MailCase;
use std::fmt;

/// All models. The first is that of a study that names none.
pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry::of::<FabricCase>(&sojourn_fabric::VOCABULARY),
    ModelEntry::of::<ArrayCase>(&sojourn_array::VOCABULARY),
    ModelEntry::of::<MailCase>(&sojourn_mail_model::VOCABULARY),
];

/// A case of a model, as a study sees it.
pub(crate) trait Model: fmt::Debug + Send + Sync {
    /// The names of the files that it reads.
    fn files(&mut self) -> Vec<&mut String>;

    /// The number of jobs of a replication, no more than memory holds. Checks everything and draws
    /// nothing: a case that this accepts can be [`run`](Model::run).
    fn count(&self, open: Open<'_>) -> Result<usize, Refusal>;

    /// Simulates a replication, on up to `threads` threads where the model can.
    fn run(
        &self,
        streams: Streams,
        open: Open<'_>,
        keep: Keep,
        threads: usize,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal>;

    /// The formulas of the model, where it has any.
    fn exact_formulas(&self) -> Option<&dyn ExactFormulas> {
        None
    }

    /// The list of what each station is asked for, where the model has one.
    fn offered_load(&self) -> Option<&dyn OfferedLoad> {
        None
    }

    /// The decomposition into links, where the model has any.
    fn link_decomposition(&self) -> Option<&dyn LinkDecomposition> {
        None
    }

    /// Its parts with every parameter, defaults too.
    fn table(&self) -> Table;
}

/// A system that studies can be of: the parts that its cases have, and how they are read.
#[derive(Clone, Copy)]
pub(crate) struct ModelEntry {
    pub(crate) name: &'static str,
    pub(crate) vocabulary: &'static Vocabulary,
    pub(crate) entry: fn() -> Entry,
    pub(crate) read: fn(&Table) -> Result<Box<dyn Model>, Refusal>,
}

impl ModelEntry {
    const fn of<C: Parameters + Model + 'static>(vocabulary: &'static Vocabulary) -> ModelEntry {
        ModelEntry {
            name: C::NAME,
            vocabulary,
            entry: C::entry,
            read: |table| C::read_table(table).map(|case| Box::new(case) as Box<dyn Model>),
        }
    }

    fn names() -> Vec<&'static str> {
        MODELS.iter().map(|entry| entry.name).collect()
    }
}

/// By its name.
impl Setting for ModelEntry {
    fn expected() -> String {
        ModelEntry::names().iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" or ")
    }

    fn shape() -> Shape {
        Shape::Names(ModelEntry::names())
    }

    fn read(value: &Value) -> Result<ModelEntry, Refusal> {
        let named = |entry: &&ModelEntry| matches!(value, Value::Text(name) if name == entry.name);
        let found = MODELS.iter().find(named).copied();
        found.ok_or_else(|| Refusal::name(value, "model", ModelEntry::names()))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name.to_owned()))
    }
}

impl PartialEq for ModelEntry {
    fn eq(&self, other: &ModelEntry) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for ModelEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Parts of studies that are listed under one name, such as all layouts.
pub(crate) struct Topic {
    /// Its name. Parts that several models list under one name stand together.
    pub(crate) name: &'static str,
    /// The parts.
    pub(crate) parts: Vec<Part>,
}

impl Topic {
    /// A topic of parts that have parameters.
    pub(crate) fn of(name: &'static str, entries: Vec<Entry>) -> Topic {
        Topic { name, parts: entries.into_iter().map(Part::from).collect() }
    }
}

/// Something that a study can name.
pub(crate) struct Part {
    /// Its name in a study.
    pub(crate) name: String,
    /// A description, in one or more sentences.
    pub(crate) summary: String,
    /// Where it was published, for data; empty for other parts.
    pub(crate) source: String,
    /// Its parameters.
    pub(crate) parameters: Vec<Field>,
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
