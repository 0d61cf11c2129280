//! What a study needs beside its text, as Python hears of it and hands it in.

use crate::control::Definition;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sojourn_core::parameters::{Table, Value};
use sojourn_core::resource::{self, Cells, Columns, Content, Octets};
use sojourn_study as study;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A file that a study names.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct FileNeed(study::FileNeed);

#[pymethods]
impl FileNeed {
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    #[getter]
    fn part(&self) -> (&str, &str) {
        (self.0.part.0, &self.0.part.1)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settings(py, &self.0.settings)
    }
}

/// The call of a function that draws a table.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Call(resource::Call);

#[pymethods]
impl Call {
    /// What its table is handed in as.
    #[getter]
    fn id(&self) -> &str {
        &self.0.key
    }

    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    #[getter]
    fn folder(&self) -> Option<&str> {
        self.0.folder.as_deref()
    }

    #[getter]
    fn function(&self) -> &str {
        &self.0.function
    }

    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settings(py, &self.0.set)
    }

    #[getter]
    fn rates(&self) -> &[u64] {
        &self.0.rates
    }

    #[getter]
    fn seed(&self) -> [u64; 4] {
        self.0.seed
    }
}

impl From<resource::Call> for Call {
    fn from(call: resource::Call) -> Call {
        Call(call)
    }
}

/// What is missing.
#[derive(IntoPyObject)]
pub(crate) enum Need {
    File(FileNeed),
    Table(Call),
}

/// The needs of a study, each as an object.
pub(crate) fn needs(needs: Vec<study::Need>) -> Vec<Need> {
    let need = |need| match need {
        study::Need::File(file) => Need::File(FileNeed(file)),
        study::Need::Table(call) => Need::Table(Call(call)),
    };
    needs.into_iter().map(need).collect()
}

/// What is in a file, or why it is of no use; and what Python has of it.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Resource {
    found: Result<resource::Resource, study::Unread>,
    #[pyo3(get)]
    origin: Option<Py<PyAny>>,
}

/// What was handed in, by the ids of needs.
pub(crate) type Given = BTreeMap<String, Py<Resource>>;

/// Values that replace a study's, each with its path.
pub(crate) type Overrides = Vec<(String, String)>;

/// What was handed in, for the study.
pub(crate) fn resources(given: &Given) -> study::Resources {
    let found = given.iter().map(|(id, resource)| (id.clone(), resource.get().found.clone()));
    study::Resources(found.collect())
}

impl Resource {
    /// A file with these settings beside it.
    fn new(
        (name, shown): (&str, &str),
        beside: &[(&str, &str)],
        content: Content,
        origin: Option<Py<PyAny>>,
    ) -> Resource {
        let mut table = Table::default();
        for (key, text) in beside {
            table.set(key, Value::Text((*text).to_owned()));
        }
        let (name, shown) = (name.to_owned(), shown.to_owned());
        let found = Ok(resource::Resource { name, shown, beside: table, content });
        Resource { found, origin }
    }
}

#[pymethods]
impl Resource {
    #[staticmethod]
    fn unread(shown: String, expected: String) -> Resource {
        Resource { found: Err(study::Unread { shown, expected }), origin: None }
    }

    #[staticmethod]
    fn text(name: &str, data: &[u8]) -> Resource {
        let octets = Content::Octets(Arc::new(Arc::<[u8]>::from(data)));
        Resource::new((name, name), &[], octets, None)
    }

    #[staticmethod]
    fn file(name: &str, descriptor: RawFd) -> PyResult<Resource> {
        // SAFETY: the caller has the file open during this call.
        let own = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()?;
        let file = OpenFile(Arc::new(File::from(own)));
        Ok(Resource::new((name, name), &[], Content::Octets(Arc::new(file)), None))
    }

    #[staticmethod]
    fn table(
        name: &str,
        shown: &str,
        sha256: &str,
        columns: Rows<'_>,
        origin: Py<PyAny>,
    ) -> PyResult<Resource> {
        let content = Content::Columns(Arc::new(columns_of(columns)?));
        Ok(Resource::new((name, shown), &[("sha256", sha256)], content, Some(origin)))
    }

    #[staticmethod]
    #[pyo3(signature = (name, sha256, folder, origin))]
    fn functions(
        name: &str,
        sha256: Option<&str>,
        folder: Option<String>,
        origin: Py<PyAny>,
    ) -> Resource {
        let sha256 = sha256.map(|sha256| ("sha256", sha256));
        let beside: Vec<_> = sha256.into_iter().chain([("drawn", FLOWS)]).collect();
        Resource::new((name, name), &beside, Content::Functions(folder), Some(origin))
    }

    #[staticmethod]
    fn code(name: &str, runnable: &Bound<'_, PyAny>, origin: Py<PyAny>) -> PyResult<Resource> {
        let class = Definition::of(runnable)?;
        let beside = [("class", &*class.name), ("sha256", &*class.sha256)];
        let content = Content::Class(class.clone());
        Ok(Resource::new((name, &class.file), &beside, content, Some(origin)))
    }
}

/// The folder that a run directory has for tables of flows.
const FLOWS: &str = "flows";

/// An open file, each of whose readers has a place of its own.
#[derive(Debug)]
struct OpenFile(Arc<File>);

/// The number of octets that are read at a time.
const BUFFER: usize = 1 << 16;

impl Octets for OpenFile {
    fn reader(&self) -> Box<dyn BufRead> {
        Box::new(BufReader::with_capacity(BUFFER, FromPlace { file: self.0.clone(), at: 0 }))
    }
}

struct FromPlace {
    file: Arc<File>,
    at: u64,
}

impl Read for FromPlace {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
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
        Value::File(file) => file.name.as_str().into_pyobject(py)?.into_any(),
        Value::Table(table) => settings(py, table)?.into_any(),
        Value::List(values) => {
            let values: PyResult<Vec<_>> = values.iter().map(|value| plain(py, value)).collect();
            PyList::new(py, values?)?.into_any()
        }
    })
}

type Numbers<'py, T> = PyReadonlyArray1<'py, T>;

/// A table: the number of rows and a list of columns, each with its name: an array of floats; of whole numbers
/// with an array of where they are missing, or none; or of octets of text with an array of where each text begins.
type Rows<'py> = (usize, Vec<(String, Bound<'py, PyAny>, Bound<'py, PyAny>)>);

fn columns_of((rows, list): Rows<'_>) -> PyResult<Columns> {
    let mut table = Columns { rows, ..Columns::default() };
    for (name, values, more) in list {
        let column = if let Ok(numbers) = values.extract::<Numbers<'_, f64>>() {
            Cells::Number(numbers.as_slice()?.to_vec())
        } else if let Ok(numbers) = values.extract::<Numbers<'_, i64>>() {
            let missing: Option<Numbers<'_, bool>> = more.extract()?;
            let missing = missing.map(|missing| missing.as_slice().map(<[bool]>::to_vec));
            Cells::Whole(numbers.as_slice()?.to_vec(), missing.transpose()?)
        } else {
            let octets = values.extract::<Numbers<'_, u8>>()?.as_slice()?.to_vec();
            let begins = more.extract::<Numbers<'_, i64>>()?;
            let begins = begins.as_slice()?.iter().map(|&begin| begin as usize).collect();
            Cells::Text(String::from_utf8(octets)?, begins)
        };
        table.names.push(name);
        table.columns.push(column);
    }
    Ok(table)
}
