//! The models: which systems a study can simulate.

use sojourn_core::Vocabulary;
use sojourn_core::model::{Model, Topic};
use sojourn_core::parameters::{Entry, Parameters, Refusal, Setting, Shape, Table, Value};
use std::fmt;

/// All models. The first is that of a study that names none.
pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry::of::<sojourn_fabric::FabricCase>(),
    ModelEntry::of::<sojourn_array::ArrayCase>(),
    ModelEntry::of::<sojourn_mail_model::MailCase>(),
];

/// A system that studies can be of: the parts that its cases have, and how they are read.
#[derive(Clone, Copy)]
pub(crate) struct ModelEntry {
    pub(crate) name: &'static str,
    pub(crate) entry: fn() -> Entry,
    pub(crate) vocabulary: fn() -> &'static Vocabulary,
    pub(crate) topics: fn() -> Vec<Topic>,
    pub(crate) read: fn(&Table) -> Result<Box<dyn Model>, Refusal>,
}

impl ModelEntry {
    const fn of<C: Parameters + Model>() -> ModelEntry {
        ModelEntry {
            name: C::NAME,
            entry: C::entry,
            vocabulary: C::vocabulary,
            topics: C::topics,
            read: |table| C::read_table(table).map(|case| Box::new(case) as Box<dyn Model>),
        }
    }

    /// The kinds of jobs that the rows of a case can have.
    pub(crate) fn kinds(self, case: &dyn Model) -> Vec<&'static str> {
        let all = || (self.vocabulary)().kinds.iter().map(|kind| kind.name).collect();
        case.kinds().unwrap_or_else(all)
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
