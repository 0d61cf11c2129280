//! A plan: a study of arrays to choose from, and what is wanted of them.

use crate::resources::{self, Given, Need, Overrides};
use crate::{Case, Study, refused, settings};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_core::parameters::Setting;
use sojourn_study as study;
use sojourn_study::PricedDisk;
use std::sync::Arc;

/// A plan file, checked and with its defaults filled in.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Plan {
    plan: study::Plan,
    given: Arc<Given>,
}

#[pymethods]
impl Plan {
    #[staticmethod]
    #[pyo3(signature = (text, source, overrides, resources = Given::new()))]
    fn needs(text: &str, source: &str, overrides: Overrides, resources: Given) -> Vec<Need> {
        let given = resources::resources(&resources);
        resources::needs(study::Plan::needs(text, source, &overrides, &given))
    }

    #[staticmethod]
    #[pyo3(signature = (text, source, overrides, resources = Given::new()))]
    fn parse(text: &str, source: &str, overrides: Overrides, resources: Given) -> PyResult<Plan> {
        let given = resources::resources(&resources);
        let plan = study::Plan::parse(text, source, &overrides, &given).map_err(refused)?;
        Ok(Plan { plan, given: Arc::new(resources) })
    }

    #[getter]
    fn title(&self) -> &str {
        self.plan.title()
    }

    #[getter]
    fn target(&self) -> String {
        self.plan.wanted.target.write().expect("a target").to_string().trim_matches('"').to_owned()
    }

    #[getter]
    fn percentile(&self) -> Option<f64> {
        self.plan.wanted.target.percentile
    }

    #[getter]
    fn limit_ps(&self) -> u64 {
        self.plan.wanted.target.limit.ps()
    }

    #[getter]
    fn inclusive(&self) -> bool {
        self.plan.wanted.target.inclusive
    }

    #[getter]
    fn capacity_bytes(&self) -> Option<u64> {
        self.plan.wanted.capacity.map(|capacity| capacity.0)
    }

    #[getter]
    fn replications(&self) -> u32 {
        self.plan.wanted.replications.get()
    }

    #[getter]
    fn lists(&self) -> Vec<CandidateList> {
        let list = |list: &study::CandidateList| CandidateList {
            list: list.clone(),
            given: self.given.clone(),
        };
        self.plan.lists.iter().map(list).collect()
    }
}

/// The candidates of a disk on offer, or of all disks of a sweep.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct CandidateList {
    list: study::CandidateList,
    given: Arc<Given>,
}

#[pymethods]
impl CandidateList {
    #[getter]
    fn study(&self) -> Study {
        Study::new(self.list.study.clone(), self.given.clone())
    }

    #[getter]
    fn counts(&self) -> Vec<u32> {
        self.list.counts.clone()
    }

    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Vec<Refused<'py>>> {
        let refused = self.list.refused.iter();
        let refused = refused.map(|it| {
            let name = self.list.name(&it.axes);
            Ok((it.index, settings(py, &it.axes)?, name, it.error.to_string()))
        });
        refused.collect()
    }

    fn name(&self, case: &Case) -> String {
        self.list.name(case.case.axes())
    }

    fn priced_disk(&self, case: &Case) -> (f64, Option<u64>) {
        let PricedDisk { price, capacity } = self.list.priced_disk(&case.case);
        (*price, capacity.map(|capacity| capacity.0))
    }
}

/// A candidate that is impossible: its index, its swept parameters, the name of its disk, and why.
type Refused<'py> = (usize, Bound<'py, PyDict>, String, String);
