//! Flows from a table: a Parquet file, which Python reads.

use super::list::{self, Cell, Cells, Columns, Place};
use super::{Draw, Drawn, WorkloadContext};
use crate::python::{FlowColumn, FlowColumns, HASH_SHOWN, KeptFile, interpreter};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Streams, parameters};

parameters! {
    /// Flows from a table: a Parquet file with the columns of a CSV file of flows (`workload.kind =
    /// "csv"`). From Python, `sojourn.run(study, flows=...)` takes a table of pandas, Arrow or NumPy. A run
    /// keeps the table in its directory, under `flows`, and its study names it by its SHA-256.
    pub struct Table: "table" {
        /// The file, seen from the study's own place.
        pub file: KeptFile,
        /// The SHA-256 that the file has to have.
        pub sha256: Option<String>,
    }
}

impl Check for Table {}

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
        self.file.kept = Some(format!("{FOLDER}/{}.parquet", &found[..HASH_SHOWN]));
        self.sha256.get_or_insert(found);
        Ok(())
    }

    fn keep(&self, _: Streams, run: &str) -> Result<bool, Refusal> {
        let keeps = self.file.keep(self.sha256.as_deref(), run);
        keeps.map_err(|why| self.refused(format!("a file to keep: {why}")))
    }
}

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
    columns.note().into_iter().for_each(|note| (context.tell)(format!("flows: {note}")));
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
