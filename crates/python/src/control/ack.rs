//! What hooks get: an ACK and a flow, as Python objects.

use pyo3::prelude::*;
use pyo3::types::PyBool;
use sojourn_core::Span;
use sojourn_fabric::python::Begin;
use sojourn_fabric::transport::Acked;

/// An ACK. Its fields are Python objects, which the interpreter reads without a call.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Ack {
    #[pyo3(get)]
    cumulative: Py<PyAny>,
    #[pyo3(get)]
    arrived: Py<PyAny>,
    #[pyo3(get)]
    marked: Py<PyAny>,
    #[pyo3(get)]
    snd_una: Py<PyAny>,
    #[pyo3(get)]
    snd_nxt: Py<PyAny>,
    #[pyo3(get)]
    repairing: Py<PyAny>,
    #[pyo3(get)]
    rtt: Py<PyAny>,
    #[pyo3(get)]
    delay: Py<PyAny>,
    #[pyo3(get)]
    now: Py<PyAny>,
}

fn whole(py: Python<'_>, number: u64) -> Py<PyAny> {
    let Ok(number) = number.into_pyobject(py);
    number.into_any().unbind()
}

fn truth(py: Python<'_>, truth: bool) -> Py<PyAny> {
    PyBool::new(py, truth).to_owned().into_any().unbind()
}

impl Ack {
    /// An ACK; `delay` is the round trip of the packet that caused it, where that is known.
    pub(super) fn of(py: Python<'_>, acked: &Acked, delay: Option<Span>) -> Ack {
        Ack {
            cumulative: whole(py, acked.cumulative.into()),
            arrived: whole(py, acked.arrived.into()),
            marked: truth(py, acked.marked),
            snd_una: whole(py, acked.snd_una.into()),
            snd_nxt: whole(py, acked.snd_nxt.into()),
            repairing: truth(py, acked.repairing),
            rtt: whole(py, acked.rtt.ps()),
            delay: whole(py, delay.map_or(0, Span::ps)),
            now: whole(py, acked.now.ps()),
        }
    }
}

#[pymethods]
impl Ack {
    #[new]
    #[pyo3(signature = (
        *, cumulative = 1, arrived = 1, marked = false, snd_una = 1, snd_nxt = 2, repairing = false,
        rtt = 0, delay = 0, now = 0
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a field of an ACK")]
    fn new(
        py: Python<'_>,
        cumulative: u32,
        arrived: u32,
        marked: bool,
        snd_una: u32,
        snd_nxt: u32,
        repairing: bool,
        rtt: u64,
        delay: u64,
        now: u64,
    ) -> Ack {
        Ack {
            cumulative: whole(py, cumulative.into()),
            arrived: whole(py, arrived.into()),
            marked: truth(py, marked),
            snd_una: whole(py, snd_una.into()),
            snd_nxt: whole(py, snd_nxt.into()),
            repairing: truth(py, repairing),
            rtt: whole(py, rtt),
            delay: whole(py, delay),
            now: whole(py, now),
        }
    }
}

/// A flow as it starts.
#[pyclass(frozen, get_all, module = "sojourn._core")]
pub(crate) struct Flow {
    hops: u32,
    bytes: u64,
    rate: u64,
}

impl Flow {
    pub(super) fn of(begin: &Begin) -> Flow {
        Flow { hops: begin.hops, bytes: begin.bytes, rate: begin.rate.bits_per_second() }
    }
}

#[pymethods]
impl Flow {
    #[new]
    #[pyo3(signature = (*, hops = 1, bytes = 1, rate = 10_000_000_000))]
    fn new(hops: u32, bytes: u64, rate: u64) -> Flow {
        Flow { hops, bytes, rate }
    }
}
