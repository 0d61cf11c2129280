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

pub(crate) use controller::{Flow, controller};
pub(crate) use mathematics::{c_addresses, cbrt, exp, log, power};
pub(crate) use parameters::as_written;
pub(crate) use queue::queue;
pub(crate) use random::{Random, draw_below, draw_uniform};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use sojourn_core::parameters::{Refusal, Value};
use sojourn_fabric::python::{About, Named};
use std::collections::BTreeMap;
use std::ptr::null_mut;

/// The types whose fields the engine reads and writes directly.
pub(crate) fn types_with_fields(
    py: Python<'_>,
) -> PyResult<[(&'static str, Bound<'_, PyType>); 4]> {
    use {controller as control, queue};
    Ok([
        ("AckFields", members::new_type(py, c"sojourn._core.AckFields", control::ACK_FIELDS)?),
        ("WindowFields", members::new_type(py, c"sojourn._core.WindowFields", control::WINDOW)?),
        ("PacketFields", members::new_type(py, c"sojourn._core.PacketFields", queue::PACKET)?),
        ("StreamFields", members::new_type(py, c"sojourn._core.StreamFields", queue::STREAM)?),
    ])
}

/// A class that `sojourn.control` has loaded and checked.
#[derive(Debug)]
struct Definition {
    /// The `Definition` of `sojourn.control.loading`.
    object: Py<PyAny>,
    file: String,
    about: About,
    /// Its parameters by name, as Python has them.
    values: Py<PyDict>,
    /// The names of the hooks that it has.
    hooks: Vec<String>,
    /// Where its file defines those of them that are its own.
    lines: BTreeMap<String, usize>,
}

impl Definition {
    /// Loads a class with this base, and makes `running` of it.
    fn load<T>(
        named: &Named<'_>,
        base: &str,
        running: impl FnOnce(Python<'_>, Definition) -> PyResult<T>,
    ) -> Result<T, Refusal> {
        Python::attach(|py| {
            let refused = |error: PyErr| {
                let given = Value::Text(named.shown.to_owned());
                let expected = format!("a class to run: {}", error.value(py));
                Refusal::value(&given, expected).under("file")
            };
            let load = || {
                let loading = py.import("sojourn.control.loading")?;
                loading.call_method1("load", (named.file, named.class, named.shown, base))
            };
            let object = load().map_err(refused)?;
            let (parameters, values) = parameters::read(&object, named.set)?;
            let definition = || {
                if named.compiled {
                    py.import("sojourn.control.compiling")?.call_method0("check_available")?;
                }
                let (name, sha256) = (object.getattr("name")?, object.getattr("sha256")?);
                let about = About { name: name.extract()?, sha256: sha256.extract()?, parameters };
                Ok(Definition {
                    file: object.getattr("file")?.extract()?,
                    hooks: object.getattr("hooks")?.extract()?,
                    lines: object.getattr("lines")?.extract()?,
                    object: object.clone().unbind(),
                    about,
                    values,
                })
            };
            definition().and_then(|definition| running(py, definition)).map_err(refused)
        })
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

    /// What makes an object of the class; see `new` of `sojourn.control.loading`.
    fn maker(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let loading = py.import("sojourn.control.loading")?;
        Ok(loading.call_method1("new", (&self.object, &self.values))?.unbind())
    }

    /// An exception of the class as a text, with the traceback behind its first line.
    fn explained(&self, py: Python<'_>, error: PyErr) -> String {
        let error = error.into_value(py);
        let explain = || {
            let loading = py.import("sojourn.control.loading")?;
            loading.call_method1("explain_error", (&error, &self.object))?.extract()
        };
        explain().unwrap_or_else(|_: PyErr| error.to_string())
    }

    /// The message about what a hook of the class does; `left` says what that is, and what is expected.
    #[cold]
    fn refused(&self, hook: &str, left: &str) -> String {
        let line = self.lines.get(hook).map_or(String::new(), |line| format!(":{line}"));
        format!("{}{line}: {}.{hook} {left}", self.file, self.about.name)
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
