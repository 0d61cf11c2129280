//! The parameters of a class: what a study sets of them, as Python has them and as a study writes them.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};
use sojourn_core::parameters::{Refusal, Setting, Table, Value};
use sojourn_core::{Bytes, Rate, Span};

/// A number of a class.
#[derive(Clone, Copy, Debug)]
enum Number {
    Float(f64),
    Whole(i64),
    Truth(bool),
}

impl Number {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Number> {
        Ok(if value.is_instance_of::<PyBool>() {
            Number::Truth(value.extract()?)
        } else if value.is_instance_of::<PyInt>() {
            Number::Whole(value.extract()?)
        } else {
            Number::Float(value.cast::<PyFloat>()?.value())
        })
    }
}

/// The parameters of a class, of which a study sets some and the rest have their defaults: as a study
/// writes them, and by name as Python has them.
pub(super) fn read(
    py: Python<'_>,
    fields: &[Field],
    set: &Table,
) -> Result<(Table, Py<PyDict>), Refusal> {
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    if let Some((key, _)) = set.iter().find(|(key, _)| !names.contains(key)) {
        return Err(Refusal::key(key, names).under("set"));
    }
    let (mut table, values) = (Table::default(), PyDict::new(py));
    for field in fields {
        let number = match set.get(&field.name) {
            Some(value) => {
                field.read(value).map_err(|refusal| refusal.under(&field.name).under("set"))?
            }
            None => field.default,
        };
        table.set(&field.name, write(&field.kind, number));
        let set = match number {
            Number::Float(number) => values.set_item(&field.name, number),
            Number::Whole(number) => values.set_item(&field.name, number),
            Number::Truth(truth) => values.set_item(&field.name, truth),
        };
        set.expect("a name and a number");
    }
    Ok((table, values.unbind()))
}

/// A value of a type of `sojourn.control` as a study writes it.
#[pyfunction]
pub(crate) fn as_written(kind: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(write(kind, Number::of(value)?).to_string())
}

/// A parameter of a class.
#[derive(Debug)]
pub(super) struct Field {
    name: String,
    /// Its type, as `sojourn.control` names it.
    kind: String,
    default: Number,
}

impl Field {
    /// The parameters of a class: its fields without an underscore in front.
    pub(super) fn all(definition: &Bound<'_, PyAny>) -> PyResult<Vec<Field>> {
        let mut all = Vec::new();
        for field in definition.getattr("fields")?.try_iter()? {
            let field = field?;
            let name: String = field.getattr("name")?.extract()?;
            let default = Number::of(&field.getattr("default")?)?;
            if !name.starts_with('_') {
                all.push(Field { name, kind: field.getattr("type")?.extract()?, default });
            }
        }
        Ok(all)
    }

    fn read(&self, value: &Value) -> Result<Number, Refusal> {
        let within = |number: u64| match i64::try_from(number) {
            Ok(number) => Ok(Number::Whole(number)),
            Err(_) => Err(Refusal::value(value, format!("at most {} of the unit", i64::MAX))),
        };
        match self.kind.as_str() {
            "float" => f64::read(value).map(Number::Float),
            "bool" => bool::read(value).map(Number::Truth),
            "time" => Span::read(value).and_then(|span| within(span.ps())),
            "bytes" => Bytes::read(value).and_then(|bytes| within(bytes.0)),
            "rate" => Rate::read(value).and_then(|rate| within(rate.bits_per_second())),
            _ => match value {
                Value::Int(number) => Ok(Number::Whole(*number)),
                _ => Err(Refusal::value(value, "a whole number")),
            },
        }
    }
}

/// A number of a type of `sojourn.control` as a study writes it.
fn write(kind: &str, number: Number) -> Value {
    let text = |written: Option<Value>| written.expect("a quantity is not absent");
    match (kind, number) {
        ("time", Number::Whole(ps)) => text(Span::from_ps(ps as u64).write()),
        ("bytes", Number::Whole(bytes)) => text(Bytes(bytes as u64).write()),
        // No link has a rate of zero, so no study can write that.
        ("rate", Number::Whole(rate)) => {
            Rate::new(rate as u64).map_or(Value::Int(0), |rate| text(rate.write()))
        }
        (_, Number::Whole(number)) => Value::Int(number),
        (_, Number::Float(number)) => Value::Float(number),
        (_, Number::Truth(truth)) => Value::Bool(truth),
    }
}
