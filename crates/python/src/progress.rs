//! A running case, seen from Python: how far it is, and how it is stopped.

use crate::{Cancelled, CaseFailed};
use pyo3::prelude::*;
use sojourn_study as study;
use std::ffi::c_long;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a running case; any thread may read it, and cancel the case.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Progress {
    run: study::Progress,
    /// Whether the case was cancelled from outside.
    was_asked: AtomicBool,
    /// The interpreter's number of the thread that runs the case; 0 where none does.
    thread: AtomicU64,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress {
            run: study::Progress::default(),
            was_asked: AtomicBool::new(false),
            thread: AtomicU64::new(0),
        }
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

    /// Stops the case, and a Python function that it is in.
    fn cancel(&self, py: Python<'_>) {
        self.was_asked.store(true, Ordering::Relaxed);
        self.run.cancelled.store(true, Ordering::Relaxed);
        raise_in(py, self.thread.load(Ordering::Relaxed), true);
    }
}

impl Progress {
    /// Runs `simulate`, which code of Python may be a part of, on this thread.
    pub(crate) fn watch<T: Send>(
        &self,
        py: Python<'_>,
        simulate: impl FnOnce(&study::Progress) -> T + Send,
    ) -> PyResult<T> {
        let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        self.thread.store(thread, Ordering::Relaxed);
        let done = py.detach(|| simulate(&self.run));
        self.thread.store(0, Ordering::Relaxed);
        raise_in(py, thread, false);
        match self.run.failure.get() {
            _ if self.was_asked.load(Ordering::Relaxed) => {
                Err(Cancelled::new_err("the case was stopped"))
            }
            Some(why) => Err(CaseFailed::new_err(why.clone())),
            None => Ok(done),
        }
    }
}

/// Raises `Cancelled` in the Python code of a thread, or withdraws that if it was not raised yet.
fn raise_in(py: Python<'_>, thread: u64, wanted: bool) {
    let cancelled = py.get_type::<Cancelled>();
    let error = if wanted { cancelled.as_ptr() } else { null_mut() };
    if thread != 0 {
        // SAFETY: the interpreter is held. A thread that is gone is not found.
        unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(thread as c_long, error) };
    }
}
