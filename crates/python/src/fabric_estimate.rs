//! Estimates of fabrics from their links.

use crate::resources::{self, Given, Need, Overrides};
use crate::{Cancelled, Case, Outcome, Progress, Study, refused, settings};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_study as study;
use std::sync::Arc;

/// A study every case of which can be estimated.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Estimate {
    estimate: study::Estimate,
    given: Arc<Given>,
}

#[pymethods]
impl Estimate {
    #[staticmethod]
    #[pyo3(signature = (text, source, overrides, resources = Given::new()))]
    fn needs(text: &str, source: &str, overrides: Overrides, resources: Given) -> Vec<Need> {
        let given = resources::resources(&resources);
        resources::needs(study::Estimate::needs(text, source, &overrides, &given))
    }

    #[staticmethod]
    #[pyo3(signature = (text, source, overrides, resources = Given::new()))]
    fn parse(
        text: &str,
        source: &str,
        overrides: Overrides,
        resources: Given,
    ) -> PyResult<Estimate> {
        let given = resources::resources(&resources);
        let estimate = study::Estimate::parse(text, source, &overrides, &given).map_err(refused)?;
        Ok(Estimate { estimate, given: Arc::new(resources) })
    }

    #[getter]
    fn hints(&self) -> Vec<String> {
        self.estimate.study.hints().to_vec()
    }

    #[getter]
    fn study(&self) -> Study {
        Study::new(self.estimate.study.clone(), self.given.clone())
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settings(py, &self.estimate.parameters())
    }

    fn resolved(&self) -> String {
        self.estimate.resolved()
    }

    #[pyo3(signature = (case, replication, resources = Given::new()))]
    fn decompose(
        &self,
        py: Python<'_>,
        case: &Case,
        replication: u32,
        resources: Given,
    ) -> PyResult<Decomposition> {
        let given = resources::resources(&resources);
        let tables = |key: &str| given.table_or(&case.resources, key);
        let decomposed = py.detach(|| self.estimate.decompose(&case.case, replication, &tables));
        decomposed.map(Decomposition).map_err(refused)
    }
}

/// One replication of a case, its flows on the links that they cross.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Decomposition(study::Decomposition);

#[pymethods]
impl Decomposition {
    fn links(&self, py: Python<'_>) -> Vec<u32> {
        py.detach(|| self.0.links())
    }

    fn crossings(&self, py: Python<'_>) -> [u64; 2] {
        py.detach(|| self.0.crossings())
    }

    fn simulate<'py>(
        &self,
        py: Python<'py>,
        link: u32,
        progress: &Progress,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, u64)> {
        let times = progress.watch(py, |progress| self.0.simulate(link, progress))?;
        let times = times.map_err(|_| Cancelled::new_err("the link was stopped"))?;
        Ok((times.delays.into_pyarray(py), times.events))
    }

    fn combine(
        &self,
        py: Python<'_>,
        times: Vec<(u32, PyReadonlyArray1<'_, i64>, u64)>,
    ) -> PyResult<Outcome> {
        let link = |(link, delays, events): (u32, PyReadonlyArray1<'_, i64>, u64)| {
            let delays = delays.as_slice()?.to_vec();
            Ok(study::LinkTimes { link, delays, events })
        };
        let times: Vec<_> = times.into_iter().map(link).collect::<PyResult<_>>()?;
        let report = py
            .detach(|| self.0.combine(&times))
            .map_err(|why| PyValueError::new_err(why.to_string()))?;
        Outcome::new(py, report)
    }
}
