//! The compiled half of the Python package: bindings, and nothing else.

mod array_plan;
mod control;
mod fabric_estimate;
mod mail_names;
mod maillog;
mod progress;
mod resources;

use numpy::{IntoPyArray, PyArray1};
use progress::Progress;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use resources::{Call, Given, Need, Overrides};
use sojourn_core::parameters::Value;
use sojourn_core::{Bytes, Rate, Span};
use sojourn_study as study;
use sojourn_study::Column;
use statrs::distribution::{Beta, ContinuousCDF, StudentsT};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Long simulations and lists of thousands allocate small things by the million, from a few threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

create_exception!(
    sojourn,
    InputError,
    PyValueError,
    "What a user gave cannot be used; `str()` is one whole line for him, the exit code is 2."
);
create_exception!(sojourn, StudyError, InputError, "A study cannot be run as written.");
create_exception!(
    sojourn._core,
    Cancelled,
    PyException,
    "The case was stopped by Progress.cancel."
);

create_exception!(
    sojourn._core,
    CaseFailed,
    PyException,
    "Code that came with the study raised an exception, or returned what cannot be used."
);

fn refused(error: study::SpecError) -> PyErr {
    StudyError::new_err(error.to_string())
}

/// A study file, checked and with its defaults filled in.
#[pyclass(frozen, module = "sojourn._core")]
struct Study {
    study: study::Study,
    given: Arc<Given>,
    resources: Arc<study::Resources>,
}

impl Study {
    fn new(study: study::Study, given: Arc<Given>) -> Study {
        let resources = Arc::new(resources::resources(&given));
        Study { study, given, resources }
    }
}

#[pymethods]
impl Study {
    #[staticmethod]
    #[pyo3(signature = (text, source, overrides, resources = Given::new()))]
    fn needs(text: &str, source: &str, overrides: Overrides, resources: Given) -> Vec<Need> {
        let given = resources::resources(&resources);
        resources::needs(study::Study::needs(text, source, &overrides, &given))
    }

    #[staticmethod]
    #[pyo3(signature = (text, source, overrides, resources = Given::new()))]
    fn parse(text: &str, source: &str, overrides: Overrides, resources: Given) -> PyResult<Study> {
        let given = resources::resources(&resources);
        let study = study::Study::parse(text, source, &overrides, &given).map_err(refused)?;
        Ok(Study::new(study, Arc::new(resources)))
    }

    #[getter]
    fn resources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.given.iter().map(|(id, resource)| (id, resource.bind(py))).into_py_dict(py)
    }

    #[getter]
    fn hints(&self) -> Vec<String> {
        self.study.hints().to_vec()
    }

    #[getter]
    fn title(&self) -> &str {
        &self.study.title
    }

    #[getter]
    fn model(&self) -> &str {
        self.study.model()
    }

    #[getter]
    fn replications(&self) -> u32 {
        self.study.run.replications.get()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.study.run.seed
    }

    fn resolved(&self) -> String {
        self.study.resolved()
    }

    fn cases(&self) -> Vec<Case> {
        let case =
            |case: &study::Case| Case { case: case.clone(), resources: self.resources.clone() };
        self.study.cases().iter().map(case).collect()
    }
}

/// One point of the study: a pure description, cheap to hold.
#[pyclass(frozen, module = "sojourn._core")]
struct Case {
    case: study::Case,
    /// What its study was read with.
    resources: Arc<study::Resources>,
}

#[pymethods]
impl Case {
    #[getter]
    fn index(&self) -> usize {
        self.case.index
    }

    #[getter]
    fn jobs(&self) -> usize {
        self.case.jobs
    }

    #[getter]
    fn kinds(&self) -> Vec<&'static str> {
        self.case.kinds()
    }

    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settings(py, self.case.axes())
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settings(py, &self.case.parameters())
    }

    #[pyo3(signature = (replication, progress, resources = Given::new(), *, rows = true, threads = 1))]
    fn run(
        &self,
        py: Python<'_>,
        replication: u32,
        progress: &Progress,
        resources: Given,
        rows: bool,
        threads: usize,
    ) -> PyResult<Outcome> {
        let keep = if rows { study::Keep::Rows } else { study::Keep::Totals };
        let given = resources::resources(&resources);
        let tables = |key: &str| given.table_or(&self.resources, key);
        let run = |progress: &study::Progress| {
            self.case.run(replication, &tables, study::Execution { keep, threads, progress })
        };
        let report = progress.watch(py, run)?.map_err(refused)?;
        let report = report.map_err(|_| Cancelled::new_err("the case was stopped"))?;
        Outcome::new(py, report)
    }

    fn calls(&self, replication: u32) -> PyResult<Vec<Call>> {
        let calls = self.case.calls(replication).map_err(refused)?;
        Ok(calls.into_iter().map(Call::from).collect())
    }

    fn known<'py>(&self, py: Python<'py>, percentiles: Vec<f64>) -> PyResult<Bound<'py, PyDict>> {
        let known = py.detach(|| self.case.known(&percentiles)).map_err(refused)?;
        settings(py, &known)
    }

    fn distribution<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyDict>, &'static str)>> {
        let found = py.detach(|| self.case.distribution()).map_err(refused)?;
        found.map(|(rows, words)| Ok((columns(py, rows)?, words))).transpose()
    }

    fn access_sizes(
        &self,
        py: Python<'_>,
        replication: u32,
    ) -> PyResult<BTreeMap<&str, (i64, i64)>> {
        let sizes = py.detach(|| self.case.access_sizes(replication)).map_err(refused)?;
        Ok(sizes.into_iter().map(|(op, [least, most])| (op, (least, most))).collect())
    }

    fn offered<'py>(&self, py: Python<'py>, replication: u32) -> PyResult<Bound<'py, PyDict>> {
        columns(py, py.detach(|| self.case.offered(replication)).map_err(refused)?)
    }
}

fn settings<'py>(py: Python<'py>, list: &[(String, Value)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in list {
        match value {
            Value::Bool(truth) => dict.set_item(name, truth)?,
            Value::Int(number) => dict.set_item(name, number)?,
            Value::Float(number) => dict.set_item(name, number)?,
            Value::Text(text) => dict.set_item(name, text)?,
            other => dict.set_item(name, other.to_string())?,
        }
    }
    Ok(dict)
}

/// The results of a replication: columns of jobs, tables beside them, totals.
#[pyclass(frozen, module = "sojourn._core")]
struct Outcome {
    #[pyo3(get)]
    columns: Py<PyDict>,
    #[pyo3(get)]
    beside: Py<PyDict>,
    #[pyo3(get)]
    figures: Py<PyDict>,
}

impl Outcome {
    fn new(py: Python<'_>, report: study::Report) -> PyResult<Outcome> {
        let columns = self::columns(py, report.rows)?;
        let beside = PyDict::new(py);
        for (name, table) in report.beside {
            beside.set_item(name, self::columns(py, table)?)?;
        }
        let figures = settings(py, &report.totals)?;
        Ok(Outcome {
            columns: columns.unbind(),
            beside: beside.unbind(),
            figures: figures.unbind(),
        })
    }
}

/// Hands columns over without copying them.
fn columns(py: Python<'_>, rows: study::Rows) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in rows.columns {
        match column {
            Column::Int(values) | Column::Ps(values) => {
                columns.set_item(name, values.into_pyarray(py))?;
            }
            Column::Float(values) => columns.set_item(name, values.into_pyarray(py))?,
            Column::Name(codes, names) => {
                let codes: Bound<'_, PyArray1<u8>> = codes.into_pyarray(py);
                columns.set_item(name, (codes, names))?;
            }
        }
    }
    Ok(columns)
}

/// A bound for a number of the results of a study.
#[pyclass(frozen, get_all, module = "sojourn._core")]
struct Threshold {
    key: String,
    text: String,
    kinds: Vec<&'static str>,
    column: &'static str,
    percentile: Option<f64>,
    relation: &'static str,
    bound: f64,
}

/// The thresholds of the study of a run directory.
#[pyfunction]
fn thresholds(text: &str, source: &str) -> PyResult<Vec<Threshold>> {
    let found = study::thresholds(text, source).map_err(refused)?;
    let handed = |own: study::Threshold| Threshold {
        key: own.key,
        text: own.text,
        kinds: own.kinds,
        column: own.column,
        percentile: own.percentile,
        relation: own.relation.sign(),
        bound: own.bound,
    };
    Ok(found.into_iter().map(handed).collect())
}

/// Everything a study can name, as JSON.
#[pyfunction]
fn registry() -> String {
    study::registry()
}

/// The JSON Schema of study files.
#[pyfunction]
fn schema() -> String {
    study::schema()
}

/// Each model's words for its jobs and what is measured of them, as JSON.
#[pyfunction]
fn vocabulary() -> String {
    study::vocabulary()
}

/// A quantity as a study writes it, in whole base units: picoseconds, bytes or bits a second.
#[pyfunction]
fn quantity(text: &str) -> PyResult<u64> {
    let span = text.parse().map(Span::ps);
    let bytes = || text.parse().map(|bytes: Bytes| bytes.0);
    let rate = || text.parse().map(Rate::bits_per_second);
    let refused = |_| PyValueError::new_err(format!("{text:?} is no time, size or speed"));
    span.or_else(|_| bytes()).or_else(|_| rate()).map_err(refused)
}

/// The quantile of Student's t distribution: its values are below with this probability.
#[pyfunction]
fn student_t_quantile(degrees: f64, probability: f64) -> PyResult<f64> {
    quantile(StudentsT::new(0.0, 1.0, degrees), probability)
}

/// The quantile of the Beta(a, b) distribution: its values are below with this probability.
#[pyfunction]
fn beta_quantile(a: f64, b: f64, probability: f64) -> PyResult<f64> {
    quantile(Beta::new(a, b), probability)
}

/// The probability that Student's t is below this value.
#[pyfunction]
fn student_t_probability(degrees: f64, value: f64) -> PyResult<f64> {
    let of = StudentsT::new(0.0, 1.0, degrees);
    Ok(of.map_err(|error| PyValueError::new_err(error.to_string()))?.cdf(value))
}

fn quantile<D: ContinuousCDF<f64, f64>, E: ToString>(
    of: Result<D, E>,
    probability: f64,
) -> PyResult<f64> {
    let of = of.map_err(|error| PyValueError::new_err(error.to_string()))?;
    match probability {
        0.0..=1.0 => Ok(of.inverse_cdf(probability)),
        _ => Err(PyValueError::new_err(format!("{probability} is no probability"))),
    }
}

/// How the extension was built.
#[pyfunction]
fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    if let Some(commit) = option_env!("SOJOURN_COMMIT") {
        info.set_item("commit", commit)?;
    }
    Ok(info)
}

/// The compiled half of sojourn: studies parsed, cases simulated. No statistics, no files.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Study>()?;
    module.add_class::<Case>()?;
    module.add_class::<array_plan::Plan>()?;
    module.add_class::<array_plan::CandidateList>()?;
    module.add_class::<fabric_estimate::Estimate>()?;
    module.add_class::<fabric_estimate::Decomposition>()?;
    module.add_class::<Progress>()?;
    module.add_class::<resources::Resource>()?;
    module.add_class::<resources::FileNeed>()?;
    module.add_class::<Call>()?;
    module.add_class::<Outcome>()?;
    module.add_class::<Threshold>()?;
    for (name, of) in control::types_with_fields(module.py())? {
        module.add(*name, of)?;
    }
    module.add_class::<control::Flow>()?;
    module.add_class::<control::Random>()?;
    module.add_function(wrap_pyfunction!(control::as_written, module)?)?;
    module.add_function(wrap_pyfunction!(control::cbrt, module)?)?;
    module.add_function(wrap_pyfunction!(control::exp, module)?)?;
    module.add_function(wrap_pyfunction!(control::log, module)?)?;
    module.add_function(wrap_pyfunction!(control::power, module)?)?;
    module.add_function(wrap_pyfunction!(control::draw_uniform, module)?)?;
    module.add_function(wrap_pyfunction!(control::draw_below, module)?)?;
    module.add_function(wrap_pyfunction!(control::c_addresses, module)?)?;
    module.add_class::<maillog::MailLog>()?;
    module.add_function(wrap_pyfunction!(maillog::mail_log_formats, module)?)?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("StudyError", module.py().get_type::<StudyError>())?;
    module.add_function(wrap_pyfunction!(mail_names::mail_address, module)?)?;
    module.add_function(wrap_pyfunction!(mail_names::mail_canonical, module)?)?;
    module.add_function(wrap_pyfunction!(mail_names::mail_provider, module)?)?;
    module.add("Cancelled", module.py().get_type::<Cancelled>())?;
    module.add("CaseFailed", module.py().get_type::<CaseFailed>())?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(thresholds, module)?)?;
    module.add_function(wrap_pyfunction!(vocabulary, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(student_t_probability, module)?)?;
    module.add_function(wrap_pyfunction!(student_t_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(beta_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(build_info, module)?)
}
