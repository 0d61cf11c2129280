//! Flows that a function of the user's draws, in Python: once for each seed, replication, fabric and argument.

use super::table::flows;
use super::{Draw, Drawn, WorkloadContext};
use crate::topology::Graph;
use sojourn_core::parameters::{Check, Refusal, Table, Value};
use sojourn_core::resource::{Call, Columns, Content, FileName};
use sojourn_core::{Streams, parameters};
use std::sync::Arc;

parameters! {
    /// Flows that a Python function draws, called once for each replication of a case as
    /// `function(hosts, rates, random, **set)`: how many hosts there are; the speed of each one's link in
    /// bits a second, as a NumPy array; a `numpy.random.Generator` that depends on the study's seed and the
    /// replication alone, so that cases which differ in other things have the same random numbers. It returns
    /// a table (of pandas, Arrow, or a dictionary of NumPy arrays) with the columns of a CSV file of flows
    /// (`workload.kind = "csv"`). A run keeps all tables in its directory, under `flows`, and its study names
    /// them as `drawn`: repeated, it reads them and runs no code.
    pub struct Function: "python" {
        /// The Python file, relative to the study.
        pub file: FileName,
        /// Name of the function.
        pub function: String,
        /// Further arguments of the function, by name, such as `{ load = 0.6 }`; each can be swept, as
        /// `workload.set.load`.
        pub set: Table = Table::default(),
        /// Required SHA-256 of the file.
        pub sha256: Option<String>,
        /// A folder with the tables of an earlier run, which are read instead of calling the
        /// function.
        pub drawn: Option<String>,
    }
}

impl Check for Function {}

impl Draw for Function {
    fn number(&self) -> &'static str {
        "function"
    }

    fn count(&self, context: &WorkloadContext<'_>, first: Streams) -> Result<usize, Refusal> {
        let drawn = self.draw(context, first)?;
        Ok(drawn.flows.len() + drawn.graph.jobs().len())
    }

    fn has_classes(&self, context: &WorkloadContext<'_>, first: Streams) -> Result<bool, Refusal> {
        let columns = self.columns(context, first)?;
        Ok(columns.names.iter().any(|name| name == "class"))
    }

    fn check_known_arrivals(
        &self,
        context: &WorkloadContext<'_>,
        first: Streams,
        purpose: &str,
    ) -> Result<(), Refusal> {
        match self.draw(context, first)?.graph.waiting() {
            0 => Ok(()),
            _ => Err(self.refused(format!("flows none of which waits for another, {purpose}"))),
        }
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        flows(&*self.columns(context, streams)?, context).map_err(|why| self.refused(why))
    }

    fn is_steady(&self) -> bool {
        true
    }
}

impl Function {
    /// The call that draws a replication on a fabric.
    pub(super) fn call(&self, graph: &Graph, streams: Streams) -> Result<Call, Refusal> {
        let (sha256, function, set) = (&self.sha256, &self.function, self.set.clone());
        let rates: Vec<u64> = graph.nics().map(|link| link.rate.bits_per_second()).collect();
        let all =
            format!("python flows {sha256:?} {function:?} {} {rates:?}", Value::Table(set.clone()));
        let mut random = streams.stream("python flows", 0);
        Ok(Call {
            key: format!("{:016x}", streams.stream(&all, 0).bits()),
            file: self.file.name().to_owned(),
            folder: self.folder()?.cloned(),
            function: function.clone(),
            set,
            rates,
            seed: [(); 4].map(|()| random.bits()),
        })
    }

    /// The folder of tables that were drawn before, as it was found.
    fn folder(&self) -> Result<Option<&String>, Refusal> {
        match self.file.content().map_err(|refusal| refusal.under("file"))? {
            Content::Functions(folder) => Ok(folder.as_ref()),
            _ => Err(self.refused("a function in a file of Python".to_owned())),
        }
    }

    fn columns(
        &self,
        context: &WorkloadContext<'_>,
        streams: Streams,
    ) -> Result<Arc<Columns>, Refusal> {
        let Call { key, folder, .. } = self.call(context.graph, streams)?;
        (context.tables)(&key).map_err(|why| match folder {
            None => self.refused(format!("a function that draws flows: {why}")),
            Some(folder) => {
                let expected = format!("a folder of drawn flows: {why}");
                Refusal::value(&Value::Text(folder), expected).under("drawn")
            }
        })
    }

    fn refused(&self, expected: String) -> Refusal {
        Refusal::value(&Value::Text(self.function.clone()), expected).under("function")
    }
}
