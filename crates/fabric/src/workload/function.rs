//! Flows that a function of the user's draws, in Python: once for each seed, replication, fabric and argument.

use super::table::{FOLDER, flows};
use super::{Draw, Drawn, WorkloadContext};
use crate::python::{Call, FlowColumns, interpreter};
use sojourn_core::parameters::{Check, Refusal, Setting, Shape, Table, Value};
use sojourn_core::{Streams, parameters};

parameters! {
    /// Flows that a Python function draws, called once for each replication of a case as
    /// `function(hosts, rates, random, **set)`: how many hosts there are; the speed of each one's link in
    /// bits a second, as a NumPy array; a `numpy.random.Generator` that depends on the study's seed and the
    /// replication alone, so that cases which differ in other things have the same random numbers. It returns
    /// a table (of pandas, Arrow, or a dictionary of NumPy arrays) with the columns of a CSV file of flows
    /// (`workload.kind = "csv"`). A run keeps all tables in its directory, under `flows`, and its study names
    /// them as `drawn`: repeated, it reads them and runs no code.
    pub struct Function: "python" {
        /// The Python file, seen from the study's own place.
        pub file: String,
        /// The function in it.
        pub function: String,
        /// Further arguments of the function, by name, such as `{ load = 0.6 }`; each can be swept, as
        /// `workload.set.load`.
        pub set: Table = Table::default(),
        /// The SHA-256 that the file has to have.
        pub sha256: Option<String>,
        /// A folder of tables that were drawn before, which are read in place of a call.
        pub drawn: DrawnTables,
    }
}

impl Check for Function {}

/// The folder of tables that a function drew before, and what names those of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnTables {
    /// The folder, where there is one.
    pub folder: Option<String>,
    /// What a study gives the function, once that is known.
    given: Option<Given>,
}

/// What a study gives a function.
#[derive(Clone, Debug, PartialEq)]
struct Given {
    /// The speed of each host's link, in bits a second.
    rates: Vec<u64>,
    /// The streams of the first replication.
    first: Streams,
}

/// A folder, or `"none"`; once what is drawn is known, the folder that a run directory has for it.
impl Setting for DrawnTables {
    fn expected() -> String {
        Option::<String>::expected()
    }

    fn shape() -> Shape {
        Option::<String>::shape()
    }

    fn read(value: &Value) -> Result<DrawnTables, Refusal> {
        Option::<String>::read(value).map(|folder| DrawnTables { folder, given: None })
    }

    fn write(&self) -> Option<Value> {
        match &self.given {
            Some(_) => Some(Value::Text(FOLDER.to_owned())),
            None => self.folder.write(),
        }
    }

    fn absent() -> Option<DrawnTables> {
        Some(DrawnTables { folder: None, given: None })
    }
}

impl Draw for Function {
    fn number(&self) -> &'static str {
        "function"
    }

    fn count(&self, context: &WorkloadContext<'_>) -> Result<usize, Refusal> {
        let drawn = self.read(context, self.given()?.first)?;
        Ok(drawn.flows.len() + drawn.graph.jobs().len())
    }

    fn has_classes(&self, _: &WorkloadContext<'_>) -> Result<bool, Refusal> {
        let columns = self.columns(self.given()?.first)?;
        Ok(columns.names.iter().any(|name| name == "class"))
    }

    fn check_known_arrivals(
        &self,
        context: &WorkloadContext<'_>,
        purpose: &str,
    ) -> Result<(), Refusal> {
        match self.read(context, self.given()?.first)?.graph.waiting() {
            0 => Ok(()),
            _ => Err(self.refused(format!("flows none of which waits for another, {purpose}"))),
        }
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        self.read(context, streams)
    }

    fn is_steady(&self) -> bool {
        true
    }

    fn files(&mut self) -> Vec<&mut String> {
        std::iter::once(&mut self.file).chain(&mut self.drawn.folder).collect()
    }

    /// Of code that is not run the hash is not needed.
    fn load(&mut self, rates: &[u64], first: Streams) -> Result<(), Refusal> {
        self.drawn.given = Some(Given { rates: rates.to_vec(), first });
        if self.sha256.is_none() && self.drawn.folder.is_none() {
            let read = interpreter().and_then(|python| python.sha256(&self.file));
            self.sha256 = Some(read.map_err(|why| {
                let given = Value::Text(self.file.clone());
                Refusal::value(&given, format!("a file to read: {why}")).under("file")
            })?);
        }
        Ok(())
    }

    fn keep(&self, streams: Streams, run: &str) -> Result<bool, Refusal> {
        let (call, key) = (self.call(streams)?, self.key(streams)?);
        let kept = interpreter().and_then(|python| match &self.drawn.folder {
            None => python.draw_into(&call, &format!("{run}/{FOLDER}"), &key),
            Some(from) => {
                let file = python.drawn(from, &key)?;
                let name = file.rsplit('/').next().unwrap_or(&file);
                python.copy(&file, None, &format!("{run}/{FOLDER}/{name}"))
            }
        });
        kept.map_err(|why| self.unread(why))?;
        Ok(true)
    }
}

impl Function {
    fn given(&self) -> Result<&Given, Refusal> {
        let unknown = || self.refused("a study whose cases are known".to_owned());
        self.drawn.given.as_ref().ok_or_else(unknown)
    }

    fn call(&self, streams: Streams) -> Result<Call<'_>, Refusal> {
        let mut random = streams.stream("python flows", 0);
        Ok(Call {
            file: &self.file,
            sha256: self.sha256.as_deref(),
            function: &self.function,
            set: &self.set,
            rates: &self.given()?.rates,
            seed: [(); 4].map(|()| random.bits()),
        })
    }

    /// The name of a table among those of a run: it differs where anything does that the function gets.
    fn key(&self, streams: Streams) -> Result<String, Refusal> {
        let Call { sha256, function, set, rates, .. } = self.call(streams)?;
        let set = Value::Table(set.clone());
        let all = format!("python flows {sha256:?} {function:?} {set} {rates:?}");
        Ok(format!("{:016x}", streams.stream(&all, 0).bits()))
    }

    fn columns(&self, streams: Streams) -> Result<FlowColumns, Refusal> {
        let (call, key) = (self.call(streams)?, self.key(streams)?);
        let read = interpreter().and_then(|python| match &self.drawn.folder {
            Some(folder) => python.flows(&python.drawn(folder, &key)?, None),
            None => python.draw(&call),
        });
        read.map_err(|why| self.unread(why))
    }

    fn read(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        flows(&self.columns(streams)?, context).map_err(|why| self.refused(why))
    }

    fn unread(&self, why: String) -> Refusal {
        match &self.drawn.folder {
            None => self.refused(format!("a function that draws flows: {why}")),
            Some(folder) => Refusal::value(
                &Value::Text(folder.clone()),
                format!("a folder of drawn flows: {why}"),
            )
            .under("drawn"),
        }
    }

    fn refused(&self, expected: String) -> Refusal {
        Refusal::value(&Value::Text(self.function.clone()), expected).under("function")
    }
}
