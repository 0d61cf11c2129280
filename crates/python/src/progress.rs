//! A running case, seen from Python: how far it is, and how it is stopped.

use crate::{Cancelled, CaseFailed};
use pyo3::prelude::*;
use sojourn_study as study;
use std::sync::atomic::{AtomicBool, Ordering};

/// The progress of a running case; any thread may read it, and cancel the case.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Progress {
    run: study::Progress,
    /// Whether the case was cancelled from outside.
    was_asked: AtomicBool,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress { run: study::Progress::default(), was_asked: AtomicBool::new(false) }
    }

    #[getter]
    fn done(&self) -> u64 {
        self.run.finished.load(Ordering::Relaxed)
    }

    #[getter]
    fn simulated_ps(&self) -> u64 {
        self.run.simulated_ps.load(Ordering::Relaxed)
    }

    #[getter]
    fn helped_s(&self) -> f64 {
        self.run.helped_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    #[getter]
    fn went_alone(&self) -> bool {
        self.run.went_alone.load(Ordering::Relaxed)
    }

    /// Takes over how far a case is that another process runs.
    fn take_over(&self, done: u64, simulated_ps: u64) {
        self.run.finished.store(done, Ordering::Relaxed);
        self.run.simulated_ps.store(simulated_ps, Ordering::Relaxed);
    }

    /// Asks the case to stop. No exception is raised in its thread: one that a debugger or a profiler
    /// meets first would be theirs. A hook of a class therefore ends before its case does.
    fn cancel(&self) {
        self.was_asked.store(true, Ordering::Relaxed);
        self.run.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Progress {
    /// Runs `simulate`, which code of Python may be a part of, on this thread.
    pub(crate) fn watch<T: Send>(
        &self,
        py: Python<'_>,
        simulate: impl FnOnce(&study::Progress) -> T + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| simulate(&self.run));
        match self.run.failure.get() {
            _ if self.was_asked.load(Ordering::Relaxed) => {
                Err(Cancelled::new_err("the case was stopped"))
            }
            Some(why) => Err(CaseFailed::new_err(why.0.clone())),
            None => Ok(done),
        }
    }
}
