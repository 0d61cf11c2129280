//! Flows from a table: a Parquet file, which Python reads.

use super::list::{self, Cell, Cells, Columns, Place};
use super::{Draw, Drawn, WorkloadContext};
use crate::python::{FlowColumn, FlowColumns, interpreter};
use sojourn_core::parameters::{Check, Refusal, Setting, Shape, Value};
use sojourn_core::{Streams, parameters};

parameters! {
    /// Flows from a table: a Parquet file with the columns of a CSV file of flows (`workload.kind =
    /// "csv"`). From Python, `sojourn.run(study, flows=...)` takes a table of pandas, Arrow or NumPy. A run
    /// keeps the table in its directory, under `flows`, and its study names it by its SHA-256.
    pub struct Table: "table" {
        /// The file, seen from the study's own place.
        pub file: TableFile,
        /// The SHA-256 that the file has to have.
        pub sha256: Option<String>,
    }
}

impl Check for Table {}

/// The name of a file with a table of flows, which a run keeps under another one.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFile {
    /// Where it is.
    pub path: String,
    /// Its name seen from a run directory, once the file is known.
    kept: Option<String>,
}

/// By its name in a run directory, where that is known.
impl Setting for TableFile {
    fn expected() -> String {
        String::expected()
    }

    fn shape() -> Shape {
        String::shape()
    }

    fn read(value: &Value) -> Result<TableFile, Refusal> {
        String::read(value).map(|path| TableFile { path, kept: None })
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.kept.as_ref().unwrap_or(&self.path).clone()))
    }
}

/// The folder of tables in a run directory.
pub(super) const FOLDER: &str = "flows";

impl Draw for Table {
    fn number(&self) -> &'static str {
        "file"
    }

    fn count(&self, context: &WorkloadContext<'_>) -> Result<usize, Refusal> {
        self.read(context).map(|drawn| drawn.flows.len() + drawn.graph.jobs().len())
    }

    fn has_classes(&self, _: &WorkloadContext<'_>) -> Result<bool, Refusal> {
        Ok(self.columns()?.names.iter().any(|name| name == "class"))
    }

    fn check_known_arrivals(
        &self,
        context: &WorkloadContext<'_>,
        purpose: &str,
    ) -> Result<(), Refusal> {
        match self.read(context)?.graph.waiting() {
            0 => Ok(()),
            _ => Err(self.refused(format!("flows none of which waits for another, {purpose}"))),
        }
    }

    fn draw(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<Drawn, Refusal> {
        self.read(context)
    }

    fn is_steady(&self) -> bool {
        true
    }

    fn files(&mut self) -> Vec<&mut String> {
        vec![&mut self.file.path]
    }

    fn load(&mut self, _: &[u64], _: Streams) -> Result<(), Refusal> {
        let read = interpreter().and_then(|python| python.sha256(&self.file.path));
        let found = read.map_err(|why| self.refused(format!("a file to read: {why}")))?;
        self.file.kept = Some(format!("{FOLDER}/{}.parquet", &found[..SHOWN]));
        self.sha256.get_or_insert(found);
        Ok(())
    }

    fn keep(&self, _: Streams, folder: &str) -> Result<bool, Refusal> {
        let Some(kept) = &self.file.kept else { return Ok(false) };
        let into = format!("{folder}{}", kept.trim_start_matches(FOLDER));
        interpreter()
            .and_then(|python| python.copy(&self.file.path, self.sha256.as_deref(), &into))
            .map_err(|why| self.refused(format!("a file to keep: {why}")))?;
        Ok(true)
    }
}

/// So many digits of a hash are in the name of a file.
const SHOWN: usize = 16;

impl Table {
    fn columns(&self) -> Result<FlowColumns, Refusal> {
        interpreter()
            .and_then(|python| python.flows(&self.file.path, self.sha256.as_deref()))
            .map_err(|why| self.refused(format!("a file to read: {why}")))
    }

    fn read(&self, context: &WorkloadContext<'_>) -> Result<Drawn, Refusal> {
        flows(&self.columns()?, context).map_err(|why| self.refused(why))
    }

    fn refused(&self, expected: String) -> Refusal {
        Refusal::value(&Value::Text(self.file.path.clone()), expected).under("file")
    }
}

/// The flows of a table, or what was expected of it. They come back as those of a list do.
pub(super) fn flows(table: &FlowColumns, context: &WorkloadContext<'_>) -> Result<Drawn, String> {
    let names: Vec<&str> = table.names.iter().map(String::as_str).collect();
    let columns = Columns::read(&names)
        .map_err(|what| format!("a table of flows, but among its columns: {what}"))?;
    let rows =
        (0..table.rows).map(|number| Ok((Place { noun: "row", number }, Row(table, number))));
    let drawn = list::read(&columns, rows, context.graph.hosts(), context.largest_flow())
        .map_err(|error| format!("a table of flows, but in its {error}"))?;
    match drawn.flows.is_empty() {
        true => Err("a table of flows, at least one row".to_owned()),
        false => Ok(drawn),
    }
}

/// A row of a table, by its number from 0.
struct Row<'a>(&'a FlowColumns, usize);

impl Cells for Row<'_> {
    fn cell(&self, place: usize) -> Cell<'_> {
        let Row(table, row) = *self;
        match &table.columns[place] {
            FlowColumn::Whole(_, Some(missing)) if missing[row] => Cell::Missing,
            FlowColumn::Whole(numbers, _) => Cell::Whole(numbers[row]),
            FlowColumn::Number(numbers) if numbers[row].is_nan() => Cell::Missing,
            FlowColumn::Number(numbers) => Cell::Number(numbers[row]),
            FlowColumn::Text(text, begins) => match &text[begins[row]..begins[row + 1]] {
                "" => Cell::Missing,
                text => Cell::Text(text),
            },
        }
    }
}
