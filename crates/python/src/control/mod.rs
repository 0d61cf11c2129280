//! Classes in Python files, for congestion control and for queues: how one is loaded, and the two ways in
//! which it runs.
//!
//! What a class may say is decided in Python (`sojourn.control`); here it is called.

mod controller;
mod machine;
mod mathematics;
mod members;
mod parameters;
mod plain;
mod queue;
mod random;

pub(crate) use controller::Flow;
pub(crate) use mathematics::{c_addresses, cbrt, exp, log, power};
pub(crate) use parameters::as_written;
pub(crate) use random::{Random, draw_below, draw_uniform};

use machine::Machine;
use plain::Plain;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use sojourn_core::parameters::{Refusal, Setting, Table, Value};
use sojourn_core::resource::Class;
use sojourn_core::{CodeFailed, Execution};
use sojourn_fabric::python::PythonClass;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The types whose fields the engine reads and writes directly.
static FIELDS: PyOnceLock<[(&str, Py<PyType>); 4]> = PyOnceLock::new();

pub(crate) fn types_with_fields(py: Python<'_>) -> PyResult<&[(&'static str, Py<PyType>); 4]> {
    use {controller as control, queue};
    FIELDS.get_or_try_init(py, || {
        let ack = members::new_type(py, c"sojourn._core.AckFields", control::ACK_FIELDS)?;
        let window = members::new_type(py, c"sojourn._core.WindowFields", control::WINDOW)?;
        let packet = members::new_type(py, c"sojourn._core.PacketFields", queue::PACKET)?;
        let stream = members::new_type(py, c"sojourn._core.StreamFields", queue::STREAM)?;
        Ok([
            ("AckFields", ack.unbind()),
            ("WindowFields", window.unbind()),
            ("PacketFields", packet.unbind()),
            ("StreamFields", stream.unbind()),
        ])
    })
}

/// The type of this name among them.
fn fields<'py>(py: Python<'py>, name: &str) -> PyResult<&'py Bound<'py, PyType>> {
    let types = types_with_fields(py)?;
    let (_, found) = types.iter().find(|(own, _)| *own == name).expect("a type of the list");
    Ok(found.bind(py))
}

/// A class that was loaded and checked in Python.
#[derive(Debug)]
pub(crate) struct Definition {
    /// A `Runnable` of `sojourn.control`.
    object: Py<PyAny>,
    /// What messages call its file.
    pub(crate) file: String,
    /// Its name.
    pub(crate) name: String,
    /// The SHA-256 of its file, in hexadecimal digits.
    pub(crate) sha256: String,
    /// The names of the hooks that it has.
    hooks: Vec<String>,
    /// Where its file defines those of them that are its own.
    lines: BTreeMap<String, usize>,
    fields: Vec<parameters::Field>,
}

/// A class with values of its parameters.
#[derive(Debug)]
struct Configured {
    definition: Arc<Definition>,
    /// Its parameters by name, as Python has them.
    values: Py<PyDict>,
}

impl Class for Definition {
    fn configured(
        self: Arc<Self>,
        around: &mut Table,
    ) -> Result<Arc<dyn Any + Send + Sync>, Refusal> {
        let set = match around.get("set") {
            Some(set) => Table::read(set).map_err(|refusal| refusal.under("set"))?,
            None => Table::default(),
        };
        let compiled = matches!(around.get("compiled"), Some(Value::Bool(true)));
        Python::attach(|py| {
            let (all, values) = parameters::read(py, &self.fields, &set)?;
            around.set("set", Value::Table(all));
            let class = Configured { definition: self.clone(), values };
            let base =
                self.object.bind(py).getattr("base").and_then(|base| base.extract::<String>());
            let made = match base.as_deref() {
                Ok("Queue") => queue::queue(py, class, compiled).map(|it| Arc::new(it) as _),
                Ok(_) => controller::controller(py, class, compiled).map(|it| Arc::new(it) as _),
                Err(_) => unreachable!("a class is derived from one of ours"),
            };
            made.map_err(|error| {
                let expected = format!("a class to run: {}", error.value(py));
                Refusal::value(&Value::Text(self.file.clone()), expected).under("file")
            })
        })
    }
}

impl Definition {
    /// The class that Python hands over.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Arc<Definition>> {
        let definition = object.getattr("definition")?;
        Ok(Arc::new(Definition {
            object: object.clone().unbind(),
            file: definition.getattr("file")?.extract()?,
            name: definition.getattr("name")?.extract()?,
            sha256: definition.getattr("sha256")?.extract()?,
            hooks: definition.getattr("hooks")?.extract()?,
            lines: definition.getattr("lines")?.extract()?,
            fields: parameters::Field::all(&definition)?,
        }))
    }

    fn has(&self, hook: &str) -> bool {
        self.hooks.iter().any(|name| name == hook)
    }

    /// An exception of the class as a text, with the traceback behind its first line.
    fn explained(&self, py: Python<'_>, error: PyErr) -> CodeFailed {
        let error = error.into_value(py);
        let explained = self.object.bind(py).call_method1("explain_error", (&error,));
        CodeFailed(
            explained.and_then(|text| text.extract()).unwrap_or_else(|_: PyErr| error.to_string()),
        )
    }

    /// The message about what a hook of the class does; `left` says what that is, and what is expected.
    #[cold]
    fn refused(&self, hook: &str, left: &str) -> CodeFailed {
        let line = self.lines.get(hook).map_or(String::new(), |line| format!(":{line}"));
        CodeFailed(format!("{}{line}: {}.{hook} {left}", self.file, self.name))
    }
}

/// A class that is ready to be called, with the hooks that it has as the engine knows them.
#[derive(Debug)]
struct Ready<H, const HOOKS: usize, const OWN: usize, const MESSAGE: usize> {
    hooks: H,
    /// Whether it is called at every packet or ACK.
    often: bool,
    code: Code<HOOKS, OWN, MESSAGE>,
}

/// The way in which a class runs.
#[derive(Debug)]
enum Code<const HOOKS: usize, const OWN: usize, const MESSAGE: usize> {
    Plain(Arc<Plain<HOOKS, OWN, MESSAGE>>),
    Compiled(Arc<Machine<HOOKS>>),
}

impl<H, const HOOKS: usize, const OWN: usize, const MESSAGE: usize> PythonClass
    for Ready<H, HOOKS, OWN, MESSAGE>
where
    H: Debug + Send + Sync,
{
    fn name(&self) -> &str {
        match &self.code {
            Code::Plain(class) => &class.definition.name,
            Code::Compiled(machine) => &machine.class.definition.name,
        }
    }

    /// Holds the interpreter throughout where one thread simulates and calls a plain class often. Several
    /// threads that wait for each other must not.
    fn surround(&self, execution: Execution<'_>, simulate: &mut dyn FnMut()) {
        match execution.threads == 1 && self.often && matches!(self.code, Code::Plain(_)) {
            true => Python::attach(|_| simulate()),
            false => simulate(),
        }
    }
}
