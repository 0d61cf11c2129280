//! A plan: a study of arrays to choose from, and what is wanted of them.

use crate::{Case, Study, hinted, settings};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_core::parameters::Setting;
use sojourn_study as study;

/// A plan file, checked and with its defaults filled in.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Plan(study::Plan);

#[pymethods]
impl Plan {
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        text: &str,
        source: &str,
        overrides: Vec<(String, String)>,
    ) -> PyResult<Plan> {
        let read = study::Plan::parse(text, source, &overrides);
        hinted(py, read, |plan| &plan.study).map(Plan)
    }

    #[getter]
    fn study(&self) -> Study {
        Study(self.0.study.clone())
    }

    #[getter]
    fn target(&self) -> String {
        self.0.wanted.target.write().expect("a target").to_string().trim_matches('"').to_owned()
    }

    #[getter]
    fn percentile(&self) -> Option<f64> {
        self.0.wanted.target.percentile
    }

    #[getter]
    fn limit_ps(&self) -> u64 {
        self.0.wanted.target.limit.ps()
    }

    #[getter]
    fn capacity_bytes(&self) -> Option<u64> {
        self.0.wanted.capacity.map(|capacity| capacity.0)
    }

    #[getter]
    fn replications(&self) -> u32 {
        self.0.wanted.replications.get()
    }

    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Vec<(usize, Bound<'py, PyDict>, String)>> {
        let refused = self.0.refused.iter();
        refused.map(|it| Ok((it.index, settings(py, &it.axes)?, it.error.to_string()))).collect()
    }

    fn offer(&self, case: &Case) -> (f64, Option<u64>) {
        let offer = self.0.offer(&case.0);
        (offer.price, offer.capacity.map(|capacity| capacity.0))
    }
}
