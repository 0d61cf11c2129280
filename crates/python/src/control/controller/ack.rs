//! What hooks get: an ACK and a flow, as Python objects.

use crate::control::members::Members;
use crate::control::whole;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use sojourn_core::Span;
use sojourn_fabric::python::Begin;
use sojourn_fabric::transport::Acked;
use std::ffi::CStr;

/// The fields of an ACK, in the order of [`AckObject`]'s `fill`.
pub(crate) const ACK_FIELDS: [&CStr; 9] = [
    c"cumulative",
    c"arrived",
    c"marked",
    c"snd_una",
    c"snd_nxt",
    c"repairing",
    c"rtt",
    c"delay",
    c"now",
];

/// An ACK as a Python object.
pub(super) type AckObject = Members<{ ACK_FIELDS.len() }>;

impl AckObject {
    /// Fills it; `delay` is the round trip of the packet that caused the ACK, where that is known.
    #[inline]
    pub(super) fn fill(&self, py: Python<'_>, acked: &Acked, delay: Option<Span>) {
        let truth = |truth| PyBool::new(py, truth).to_owned().into_any();
        let fields = [
            whole(py, acked.cumulative.into()),
            whole(py, acked.arrived.into()),
            truth(acked.marked),
            whole(py, acked.snd_una.into()),
            whole(py, acked.snd_nxt.into()),
            truth(acked.repairing),
            whole(py, acked.rtt.ps()),
            whole(py, delay.map_or(0, Span::ps)),
            whole(py, acked.now.ps()),
        ];
        fields.into_iter().enumerate().for_each(|(place, field)| self.set(place, field));
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
