//! Random numbers for classes: the stream of a port, drawn from plain and compiled.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_core::{Stream, Streams};

/// A stream of random numbers.
#[pyclass(module = "sojourn._core")]
#[derive(Debug)]
pub(crate) struct Random(Stream);

impl From<Stream> for Random {
    fn from(stream: Stream) -> Random {
        Random(stream)
    }
}

#[pymethods]
impl Random {
    #[new]
    #[pyo3(signature = (seed = 1))]
    fn new(seed: u64) -> Random {
        Random(Streams::new(seed, 0).stream("by hand", 0))
    }
}

/// The next number of a stream, uniform on (0, 1).
#[pyfunction]
#[pyo3(signature = (stream, /))]
pub(crate) fn draw_uniform(mut stream: PyRefMut<'_, Random>) -> f64 {
    stream.0.uniform()
}

/// The next whole number of a stream, uniform below `n`, which has to be at least 1.
#[pyfunction]
#[pyo3(signature = (stream, n, /))]
pub(crate) fn draw_below(mut stream: PyRefMut<'_, Random>, n: i64) -> PyResult<i64> {
    match n > 0 {
        true => Ok(below(&mut stream.0, n)),
        false => Err(PyValueError::new_err("expected a number of at least 1")),
    }
}

fn below(stream: &mut Stream, n: i64) -> i64 {
    stream.below(n as u64) as i64
}

/// [`draw_uniform`] for compiled code.
pub(super) unsafe extern "C" fn c_draw_uniform(stream: *mut Stream) -> f64 {
    // SAFETY: compiled code passes on the stream of its port, which that call alone has.
    unsafe { &mut *stream }.uniform()
}

/// [`draw_below`] for compiled code, which has checked `n`.
pub(super) unsafe extern "C" fn c_draw_below(stream: *mut Stream, n: i64) -> i64 {
    // SAFETY: as above.
    below(unsafe { &mut *stream }, n.max(1))
}
