//! A plan: a study of arrays to choose from, and what is wanted of them.

use crate::{Case, Study, hinted, settings};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_core::parameters::Setting;
use sojourn_study as study;
use sojourn_study::PricedDisk;

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
        hinted(py, study::Plan::parse(text, source, &overrides), study::Plan::hints).map(Plan)
    }

    #[getter]
    fn title(&self) -> &str {
        self.0.title()
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
    fn inclusive(&self) -> bool {
        self.0.wanted.target.inclusive
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
    fn lists(&self) -> Vec<CandidateList> {
        self.0.lists.iter().cloned().map(CandidateList).collect()
    }
}

/// The candidates of a disk on offer, or of all disks of a sweep.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct CandidateList(study::CandidateList);

#[pymethods]
impl CandidateList {
    #[getter]
    fn study(&self) -> Study {
        Study(self.0.study.clone())
    }

    #[getter]
    fn counts(&self) -> Vec<u32> {
        self.0.counts.clone()
    }

    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Vec<Refused<'py>>> {
        let refused = self.0.refused.iter();
        let refused = refused.map(|it| {
            let name = self.0.name(&it.axes);
            Ok((it.index, settings(py, &it.axes)?, name, it.error.to_string()))
        });
        refused.collect()
    }

    fn name(&self, case: &Case) -> String {
        self.0.name(case.0.axes())
    }

    fn priced_disk(&self, case: &Case) -> (f64, Option<u64>) {
        let PricedDisk { price, capacity } = self.0.priced_disk(&case.0);
        (*price, capacity.map(|capacity| capacity.0))
    }
}

/// A candidate that is impossible: its index, its swept parameters, the name of its disk, and why.
type Refused<'py> = (usize, Bound<'py, PyDict>, String, String);
