//! Python for a fabric: Parquet files with flows, functions that draw flows, classes that control congestion.

use crate::control;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sojourn_core::parameters::{Refusal, Table, Value};
use sojourn_fabric::python::{
    Call, ControllerClass, FlowColumn, FlowColumns, Interpreter, Named, QueueClass,
};
use std::cell::RefCell;
use std::sync::Arc;

/// This process's Python, with the modules of the package.
pub(crate) struct Python3;

/// The module that reads and copies tables.
const TABLES: &str = "sojourn.store.flow_tables";
/// The module that calls functions.
const FUNCTIONS: &str = "sojourn.execution.flow_functions";

impl Interpreter for Python3 {
    fn sha256(&self, file: &str) -> Result<String, String> {
        asked(|py| py.import(TABLES)?.call_method1("sha256", (file,))?.extract())
    }

    fn flows(&self, file: &str, sha256: Option<&str>) -> Result<FlowColumns, String> {
        asked(|py| columns(&py.import(TABLES)?.call_method1("columns", (file, sha256))?))
    }

    fn draw(&self, call: &Call<'_>) -> Result<FlowColumns, String> {
        asked(|py| columns(&py.import(FUNCTIONS)?.call_method1("draw", (arguments(py, call)?,))?))
    }

    fn draw_into(&self, call: &Call<'_>, folder: &str, key: &str) -> Result<(), String> {
        asked(|py| {
            let given = (arguments(py, call)?, folder, key);
            py.import(FUNCTIONS)?.call_method1("draw_into", given).map(drop)
        })
    }

    fn drawn(&self, folder: &str, key: &str) -> Result<String, String> {
        asked(|py| py.import(TABLES)?.call_method1("drawn", (folder, key))?.extract())
    }

    fn copy(&self, file: &str, sha256: Option<&str>, into: &str) -> Result<(), String> {
        asked(|py| py.import(TABLES)?.call_method1("copy", (file, sha256, into)).map(drop))
    }

    fn controller(&self, named: &Named<'_>) -> Result<Arc<dyn ControllerClass>, Refusal> {
        control::controller(named)
    }

    fn queue(&self, named: &Named<'_>) -> Result<Arc<dyn QueueClass>, Refusal> {
        control::queue(named)
    }
}

thread_local! {
    /// A Ctrl-C that ended a call: a refusal on the way back to Python, which has room for a message alone.
    static INTERRUPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// The Ctrl-C that ended a call on this thread, if one did; what was refused then was not refused.
pub(crate) fn interrupt() -> Option<PyErr> {
    INTERRUPT.take()
}

/// What Python answers, or the message of its exception. After a Ctrl-C nothing is asked any more.
fn asked<T>(ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, String> {
    if INTERRUPT.with_borrow(Option::is_some) {
        return Err("interrupted".to_owned());
    }
    Python::attach(|py| {
        ask(py).map_err(|error| {
            let message = error.value(py).to_string();
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                INTERRUPT.set(Some(error));
            }
            message
        })
    })
}

/// A call as Python has it.
fn arguments<'py>(py: Python<'py>, call: &Call<'_>) -> PyResult<Bound<'py, PyDict>> {
    let given = PyDict::new(py);
    given.set_item("file", call.file)?;
    given.set_item("sha256", call.sha256)?;
    given.set_item("function", call.function)?;
    given.set_item("settings", settings(py, call.set)?)?;
    given.set_item("rates", call.rates)?;
    given.set_item("seed", call.seed)?;
    Ok(given)
}

fn settings<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in table.iter() {
        dict.set_item(name, plain(py, value)?)?;
    }
    Ok(dict)
}

/// A setting as a Python value.
fn plain<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        Value::Table(table) => settings(py, table)?.into_any(),
        Value::List(values) => {
            let values: PyResult<Vec<_>> = values.iter().map(|value| plain(py, value)).collect();
            PyList::new(py, values?)?.into_any()
        }
    })
}

type Numbers<'py, T> = PyReadonlyArray1<'py, T>;

/// A column: its name, and one or two arrays.
type Given<'py> = (String, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// A table of flows, of which Python gives the number of rows and a list of columns, each with its name: an
/// array of floats; of whole numbers with an array of where they are missing, or none; or of octets of text
/// with an array of where each text begins.
fn columns(given: &Bound<'_, PyAny>) -> PyResult<FlowColumns> {
    let (rows, list): (usize, Vec<Given<'_>>) = given.extract()?;
    let mut table = FlowColumns { rows, ..FlowColumns::default() };
    for (name, values, more) in list {
        let column = if let Ok(numbers) = values.extract::<Numbers<'_, f64>>() {
            FlowColumn::Number(numbers.as_slice()?.to_vec())
        } else if let Ok(numbers) = values.extract::<Numbers<'_, i64>>() {
            let missing: Option<Numbers<'_, bool>> = more.extract()?;
            let missing = missing.map(|missing| missing.as_slice().map(<[bool]>::to_vec));
            FlowColumn::Whole(numbers.as_slice()?.to_vec(), missing.transpose()?)
        } else {
            let octets = values.extract::<Numbers<'_, u8>>()?.as_slice()?.to_vec();
            let begins = more.extract::<Numbers<'_, i64>>()?;
            let begins = begins.as_slice()?.iter().map(|&begin| begin as usize).collect();
            FlowColumn::Text(String::from_utf8(octets)?, begins)
        };
        table.names.push(name);
        table.columns.push(column);
    }
    Ok(table)
}
