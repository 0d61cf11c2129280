//! Classes in Python files, for congestion control and for queues: how one is loaded, and the two ways in
//! which it runs.
//!
//! What a class may say is decided in Python (`sojourn.control`); here it is called.

mod controller;
mod machine;
mod mathematics;
mod members;
mod parameters;
mod queue;
mod random;
mod reused;

pub(crate) use controller::Flow;
pub(crate) use mathematics::{c_addresses, cbrt, exp, log, power};
pub(crate) use parameters::as_written;
pub(crate) use random::{Random, draw_below, draw_uniform};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use sojourn_core::parameters::{Refusal, Setting, Table, Value};
use sojourn_core::resource::Class;
use std::any::Any;
use std::collections::BTreeMap;
use std::ptr::null_mut;
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

    /// A hook as the interpreter calls it, if the class has it.
    fn plain_hook(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        match self.has(name) {
            true => Ok(Some(self.object.bind(py).getattr("cls")?.getattr(name)?.unbind())),
            false => Ok(None),
        }
    }

    /// An exception of the class as a text, with the traceback behind its first line.
    fn explained(&self, py: Python<'_>, error: PyErr) -> String {
        let error = error.into_value(py);
        let explained = self.object.bind(py).call_method1("explain_error", (&error,));
        explained.and_then(|text| text.extract()).unwrap_or_else(|_: PyErr| error.to_string())
    }

    /// The message about what a hook of the class does; `left` says what that is, and what is expected.
    #[cold]
    fn refused(&self, hook: &str, left: &str) -> String {
        let line = self.lines.get(hook).map_or(String::new(), |line| format!(":{line}"));
        format!("{}{line}: {}.{hook} {left}", self.file, self.name)
    }
}

impl Configured {
    /// What makes an object of the class.
    fn maker(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.definition.object.bind(py).call_method1("new", (&self.values,))?.unbind())
    }
}

/// Calls a function with `object` and the arguments, of which there are at most two.
fn call<'py>(
    function: &Bound<'py, PyAny>,
    object: &Bound<'py, PyAny>,
    arguments: &[&Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let nth = |nth: usize| arguments.get(nth).map_or(null_mut(), |argument| argument.as_ptr());
    // SAFETY: the interpreter is held, as there are bound references; all arguments are alive, and a
    // null pointer ends them.
    unsafe {
        let returned = ffi::PyObject_CallFunctionObjArgs(
            function.as_ptr(),
            object.as_ptr(),
            nth(0),
            nth(1),
            null_mut::<ffi::PyObject>(),
        );
        Bound::from_owned_ptr_or_err(function.py(), returned)
    }
}

/// A whole number as a Python object.
#[inline]
fn whole(py: Python<'_>, number: u64) -> Bound<'_, PyAny> {
    let Ok(number) = number.into_pyobject(py);
    number.into_any()
}
