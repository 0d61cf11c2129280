//! Objects that hooks get, used again and again.

use super::members::Members;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::sync::Mutex;

/// An object with `N` fields that the engine fills. It is used again for the next call, unless a class
/// keeps it.
#[derive(Debug)]
pub(super) struct Reused<const N: usize> {
    /// The class, and the type of its fields.
    class: Py<PyAny>,
    fields: Py<PyType>,
    /// One that no hook has: another thread may be in one.
    unused: Mutex<Option<Members<N>>>,
}

impl<const N: usize> Reused<N> {
    /// Objects of a class with the fields of this type.
    pub(super) fn new(class: Bound<'_, PyAny>, fields: &Bound<'_, PyType>) -> Reused<N> {
        Reused { class: class.unbind(), fields: fields.clone().unbind(), unused: Mutex::new(None) }
    }

    /// An object that no hook has.
    #[inline]
    pub(super) fn take(&self, py: Python<'_>) -> Result<Members<N>, String> {
        let unused = self.unused.lock().expect("no thread panics with it").take();
        unused.map_or_else(|| self.another(py).map_err(|error| error.to_string()), Ok)
    }

    #[cold]
    fn another(&self, py: Python<'_>) -> PyResult<Members<N>> {
        Members::new(self.class.bind(py).call0()?, self.fields.bind(py))
    }

    /// Takes an object back after a call.
    #[inline]
    pub(super) fn give_back(&self, py: Python<'_>, object: Members<N>) {
        if object.is_alone(py) {
            *self.unused.lock().expect("no thread panics with it") = Some(object);
        }
    }
}
