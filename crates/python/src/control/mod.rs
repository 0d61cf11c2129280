//! Congestion controllers in Python files: how a class is loaded, and the two ways in which it runs.
//!
//! What a class may say is decided in Python (`sojourn.control`); here it is called.

mod ack;
mod compiled;
mod mathematics;
mod members;
mod parameters;
mod plain;

pub(crate) use ack::Flow;
pub(crate) use mathematics::{cbrt, exp, log, mathematics_addresses, power};
pub(crate) use parameters::as_written;

use compiled::CompiledClass;
use parameters::ClassValues;
use plain::PlainClass;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_fabric::python::{ControllerClass, Hooks, Named};
use sojourn_fabric::transport::Window;
use std::ffi::CStr;
use std::sync::Arc;

/// The fields of a controller that the engine shares with it.
const WINDOW_FIELDS: [&CStr; 2] = [c"cwnd", c"ssthresh"];

/// The types whose fields the engine reads and writes directly.
pub(crate) fn types_with_fields(
    py: Python<'_>,
) -> PyResult<[(&'static str, Bound<'_, PyType>); 2]> {
    Ok([
        ("AckFields", members::new_type(py, c"sojourn._core.AckFields", ack::ACK_FIELDS)?),
        ("WindowFields", members::new_type(py, c"sojourn._core.WindowFields", WINDOW_FIELDS)?),
    ])
}

/// The largest window, in packets.
const LARGEST_WINDOW: f64 = 2_147_483_648.0;

/// Loads a class that controls congestion.
pub(crate) fn controller(named: &Named<'_>) -> Result<Arc<dyn ControllerClass>, Refusal> {
    Python::attach(|py| {
        let refused = |error: PyErr| {
            let given = Value::Text(named.file.to_owned());
            let expected = format!("a class to run: {}", error.value(py));
            Refusal::value(&given, expected).under("file")
        };
        let definition = Definition::load(py, named).map_err(refused)?;
        let values = ClassValues::read(&definition, named.set, py)?;
        match named.compiled {
            false => {
                let class = PlainClass::new(py, definition, values).map_err(refused)?;
                Ok(Arc::new(class) as Arc<dyn ControllerClass>)
            }
            true => {
                let class = CompiledClass::new(py, definition, values).map_err(refused)?;
                Ok(Arc::new(class) as Arc<dyn ControllerClass>)
            }
        }
    })
}

/// A class that `sojourn.control` has loaded and checked.
#[derive(Debug)]
struct Definition {
    /// The `Definition` of `sojourn.control.loading`.
    object: Py<PyAny>,
    file: String,
    name: String,
    sha256: String,
    /// The names of the hooks that it has.
    hooks: Vec<String>,
    reads_delay: bool,
}

impl Definition {
    fn load(py: Python<'_>, named: &Named<'_>) -> PyResult<Definition> {
        let loading = py.import("sojourn.control.loading")?;
        let object = loading.call_method1("load", (named.file, named.class, named.shown))?;
        Ok(Definition {
            file: object.getattr("file")?.extract()?,
            name: object.getattr("name")?.extract()?,
            sha256: object.getattr("sha256")?.extract()?,
            hooks: object.getattr("hooks")?.extract()?,
            reads_delay: object.call_method0("reads_delay")?.extract()?,
            object: object.unbind(),
        })
    }

    fn has(&self, hook: &str) -> bool {
        self.hooks.iter().any(|name| name == hook)
    }

    fn hooks(&self) -> Hooks {
        Hooks {
            acked: self.has("acked"),
            lost: self.has("lost"),
            timed_out: self.has("timed_out"),
            sent: self.has("sent"),
            gap: self.has("gap"),
            reads_delay: self.reads_delay,
        }
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

    /// Refuses a window that no sender can have.
    #[inline]
    fn check(&self, hook: &str, window: Window) -> Result<(), String> {
        let Window { cwnd, ssthresh } = window;
        match cwnd > 0.0 && cwnd <= LARGEST_WINDOW && ssthresh > 0.0 {
            true => Ok(()),
            false => Err(self.refused(hook, window)),
        }
    }

    /// The message about a window that no sender can have.
    #[cold]
    fn refused(&self, hook: &str, window: Window) -> String {
        let Window { cwnd, ssthresh } = window;
        let left = match cwnd > 0.0 && cwnd <= LARGEST_WINDOW {
            true => format!("ssthresh = {ssthresh}, expected a number above 0"),
            false => format!("cwnd = {cwnd}, expected a number above 0, at most {LARGEST_WINDOW}"),
        };
        format!("{}: {}.{hook} left {left}", self.file, self.name)
    }

    /// The gap that a class returned, in picoseconds.
    fn gap(&self, gap: i64) -> Result<u64, String> {
        u64::try_from(gap).map_err(|_| {
            let expected = "expected whole picoseconds, at least 0";
            format!("{}: {}.gap returned {gap}, {expected}", self.file, self.name)
        })
    }
}
