//! The models: which systems a study can simulate.

use sojourn_array::ArrayCase;
use sojourn_array::analysis::Distribution;
use sojourn_core::files::{Open, text};
use sojourn_core::parameters::{Entry, Parameters, Refusal, Setting, Shape, Table, Value};
use sojourn_core::{Cancelled, Column, Keep, Progress, Report, Rows, Streams, Vocabulary};
use sojourn_fabric::FabricCase;
use sojourn_mail_model::MailCase;
use std::fmt;

/// All models. The first is that of a study that names none.
pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry::of::<FabricCase>(&sojourn_fabric::VOCABULARY),
    ModelEntry::of::<ArrayCase>(&sojourn_array::VOCABULARY),
    ModelEntry::of::<MailCase>(&sojourn_mail_model::VOCABULARY),
];

/// Numbers and words by name.
pub(crate) type Figures = Vec<(String, Value)>;

/// A case of a model, as a study sees it.
pub(crate) trait Model: fmt::Debug + Send + Sync {
    /// The names of the files that it reads.
    fn files(&mut self) -> Vec<&mut String>;

    /// How many jobs a replication has, no more than memory holds. Everything is checked, nothing drawn: what this takes,
    /// [`run`](Model::run) takes.
    fn count(&self, open: Open<'_>) -> Result<usize, Refusal>;

    /// Simulates a replication, on so many threads where a model can.
    fn run(
        &self,
        streams: Streams,
        open: Open<'_>,
        keep: Keep,
        threads: usize,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal>;

    /// What a replication asks of each station, for measuring; nothing where a model has no such
    /// list.
    fn offered(&self, _: Streams, _: Open<'_>) -> Option<Result<Rows, Refusal>> {
        None
    }

    /// What is known of the mean sojourn time without simulating it, as figures, and of each
    /// percentile what it is not below; nothing where a model has no formulas.
    fn known(&self, _: Open<'_>, _: &[f64]) -> Result<Figures, Refusal> {
        Ok(Figures::default())
    }

    /// How sojourn times are distributed without simulating them, as columns `sojourn_ps`, and the
    /// shares `least` and `most` that are done by then; and by which formulas.
    fn distribution(&self, _: Open<'_>) -> Result<Option<(Rows, &'static str)>, Refusal> {
        Ok(None)
    }

    /// The case as one of a fabric, which can be taken apart.
    fn as_fabric(&self) -> Option<&FabricCase> {
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

impl Model for FabricCase {
    fn files(&mut self) -> Vec<&mut String> {
        self.files().collect()
    }

    fn count(&self, open: Open<'_>) -> Result<usize, Refusal> {
        self.count(&|name| text(open, name))
    }

    fn run(
        &self,
        streams: Streams,
        open: Open<'_>,
        keep: Keep,
        threads: usize,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        Ok(self.ready(streams, &|name| text(open, name))?.run(keep, threads, progress))
    }

    fn as_fabric(&self) -> Option<&FabricCase> {
        Some(self)
    }

    fn table(&self) -> Table {
        self.write_table()
    }
}

impl Model for ArrayCase {
    fn files(&mut self) -> Vec<&mut String> {
        self.files()
    }

    fn count(&self, open: Open<'_>) -> Result<usize, Refusal> {
        self.count(open)
    }

    fn run(
        &self,
        streams: Streams,
        open: Open<'_>,
        keep: Keep,
        _: usize,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        self.run(streams, open, keep, progress)
    }

    fn offered(&self, streams: Streams, open: Open<'_>) -> Option<Result<Rows, Refusal>> {
        Some(self.offered(streams, open))
    }

    fn known(&self, open: Open<'_>, percentiles: &[f64]) -> Result<Figures, Refusal> {
        let known = self.known(open)?;
        let least = |percentile: &f64| {
            let least = known.quantile_alone(percentile / 100.0)?;
            Some((format!("least_p{percentile}_sojourn_ps"), Value::Float(least)))
        };
        let counts = [
            ("disks", self.layout.disks() as i64),
            ("data_disks", self.layout.data_disks() as i64),
        ];
        let counts = counts.map(|(name, count)| (name.to_owned(), Value::Int(count)));
        let least = percentiles.iter().filter_map(least);
        Ok(counts.into_iter().chain(known.figures()).chain(least).collect())
    }

    fn distribution(&self, open: Open<'_>) -> Result<Option<(Rows, &'static str)>, Refusal> {
        let found = self.distribution(open)?;
        Ok(found.map(|Distribution { times_ps, least, most, words }| {
            let columns = [("sojourn_ps", times_ps), ("least", least), ("most", most)];
            let columns = columns.map(|(name, values)| (name, Column::Float(values)));
            (Rows { columns: columns.into() }, words)
        }))
    }

    fn table(&self) -> Table {
        self.write_table()
    }
}

impl Model for MailCase {
    fn files(&mut self) -> Vec<&mut String> {
        self.files()
    }

    fn count(&self, open: Open<'_>) -> Result<usize, Refusal> {
        self.count(&|name| text(open, name))
    }

    fn run(
        &self,
        streams: Streams,
        open: Open<'_>,
        keep: Keep,
        _: usize,
        progress: &Progress,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        self.run(streams, &|name| text(open, name), keep, progress)
    }

    fn table(&self) -> Table {
        self.write_table()
    }
}
