//! Flows from a table: a Parquet file, which Python reads.

use super::list::{self, Cell, Cells, Columns, Place};
use super::{Draw, Drawn, WorkloadContext};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::resource::{Cells as Column, Columns as FlowTable, FileName};
use sojourn_core::{Streams, parameters};

parameters! {
    /// Flows from a table: a Parquet file with the columns of a CSV file of flows (`workload.kind =
    /// "csv"`). From Python, `sojourn.run(study, flows=...)` takes a table of pandas, Arrow or NumPy. A run
    /// keeps the table in its directory, under `flows`, and its study names it by its SHA-256.
    pub struct Table: "table" {
        /// The file, relative to the study.
        pub file: FileName,
        /// Required SHA-256 of the file.
        pub sha256: Option<String>,
    }
}

impl Check for Table {}

impl Draw for Table {
    fn number(&self) -> &'static str {
        "file"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        self.read(context).map(|drawn| drawn.flows.len() + drawn.graph.jobs().len())
    }

    fn has_classes(&self, _: &WorkloadContext<'_>, _: Streams) -> Result<bool, Refusal> {
        Ok(self.columns()?.names.iter().any(|name| name == "class"))
    }

    fn check_known_arrivals(
        &self,
        context: &WorkloadContext<'_>,
        _: Streams,
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
}

impl Table {
    fn columns(&self) -> Result<&FlowTable, Refusal> {
        self.file.columns().map_err(|refusal| refusal.under("file"))
    }

    fn read(&self, context: &WorkloadContext<'_>) -> Result<Drawn, Refusal> {
        flows(self.columns()?, context).map_err(|why| self.refused(why))
    }

    fn refused(&self, expected: String) -> Refusal {
        self.file.refused(expected).under("file")
    }
}

/// The flows of a table, or what was expected of it. They come back as those of a list do.
pub(super) fn flows(table: &FlowTable, context: &WorkloadContext<'_>) -> Result<Drawn, String> {
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
struct Row<'a>(&'a FlowTable, usize);

impl Cells for Row<'_> {
    fn cell(&self, place: usize) -> Cell<'_> {
        let Row(table, row) = *self;
        match &table.columns[place] {
            Column::Whole(_, Some(missing)) if missing[row] => Cell::Missing,
            Column::Whole(numbers, _) => Cell::Whole(numbers[row]),
            Column::Number(numbers) if numbers[row].is_nan() => Cell::Missing,
            Column::Number(numbers) => Cell::Number(numbers[row]),
            Column::Text(text, begins) => match &text[begins[row]..begins[row + 1]] {
                "" => Cell::Missing,
                text => Cell::Text(text),
            },
        }
    }
}
