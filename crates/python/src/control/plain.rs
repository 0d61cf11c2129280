//! A class as the interpreter runs it: its hooks, and an object for each flow or port.

use super::members::Members;
use super::{Configured, Definition, fields};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyType};
use sojourn_core::CodeFailed;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// A class with `HOOKS` hooks, whose objects have `OWN` fields that the engine shares with them. Hooks that get
/// an object of the engine find `MESSAGE` fields in it.
#[derive(Debug)]
pub(super) struct Plain<const HOOKS: usize, const OWN: usize, const MESSAGE: usize> {
    pub(super) definition: Arc<Definition>,
    hooks: [Option<Py<PyAny>>; HOOKS],
    /// Makes an object.
    new: Py<PyAny>,
    /// The type of its fields that are shared.
    own: Py<PyType>,
    pub(super) messages: Reused<MESSAGE>,
}

impl<const HOOKS: usize, const OWN: usize, const MESSAGE: usize> Plain<HOOKS, OWN, MESSAGE> {
    /// Takes a class; the types of shared fields and of a message's fields are given by their names.
    pub(super) fn new(
        py: Python<'_>,
        class: &Configured,
        names: [&'static str; HOOKS],
        own: &str,
        message: &str,
    ) -> PyResult<Arc<Self>> {
        let definition = class.definition.clone();
        let object = definition.object.bind(py);
        let mut hooks = [const { None }; HOOKS];
        for (hook, name) in hooks.iter_mut().zip(names) {
            if definition.has(name) {
                *hook = Some(object.getattr("cls")?.getattr(name)?.unbind());
            }
        }
        Ok(Arc::new(Plain {
            hooks,
            new: object.call_method1("new", (&class.values,))?.unbind(),
            own: fields(py, own)?.clone().unbind(),
            messages: Reused {
                class: object.getattr("message")?.unbind(),
                fields: fields(py, message)?.clone().unbind(),
                unused: Mutex::new(None),
            },
            definition: definition.clone(),
        }))
    }

    /// Whether the class has the hook at this place of their names.
    pub(super) fn has(&self, hook: usize) -> bool {
        self.hooks[hook].is_some()
    }

    /// Makes an object of the class.
    pub(super) fn object<'py>(
        &self,
        py: Python<'py>,
        arguments: impl pyo3::call::PyCallArgs<'py>,
    ) -> Result<Members<OWN>, CodeFailed> {
        let made = self.new.bind(py).call1(arguments);
        let members = made.and_then(|object| Members::new(object, self.own.bind(py)));
        members.map_err(|error| self.definition.explained(py, error))
    }

    /// Calls a hook, which the class has to have, with at most two arguments.
    #[inline]
    pub(super) fn call<'py>(
        &self,
        py: Python<'py>,
        hook: usize,
        object: &Members<OWN>,
        arguments: &[&Bound<'py, PyAny>],
    ) -> Result<Bound<'py, PyAny>, CodeFailed> {
        let hook = self.hooks[hook].as_ref().expect("a hook that the class has");
        let nth = |nth: usize| arguments.get(nth).map_or(null_mut(), |argument| argument.as_ptr());
        // SAFETY: the interpreter is held, as there are bound references; all arguments are alive, and a
        // null pointer ends them.
        let returned = unsafe {
            let returned = ffi::PyObject_CallFunctionObjArgs(
                hook.as_ptr(),
                object.object(py).as_ptr(),
                nth(0),
                nth(1),
                null_mut::<ffi::PyObject>(),
            );
            Bound::from_owned_ptr_or_err(py, returned)
        };
        returned.map_err(|error| self.definition.explained(py, error))
    }
}

/// A whole number as a Python object.
#[inline]
pub(super) fn whole(py: Python<'_>, number: u64) -> Bound<'_, PyAny> {
    let Ok(number) = number.into_pyobject(py);
    number.into_any()
}

/// A truth value as a Python object.
#[inline]
pub(super) fn truth(py: Python<'_>, truth: bool) -> Bound<'_, PyAny> {
    PyBool::new(py, truth).to_owned().into_any()
}

/// An object with `N` fields that the engine fills for a hook. It is used again for the next call, unless a
/// class keeps it.
#[derive(Debug)]
pub(super) struct Reused<const N: usize> {
    /// The class, and the type of its fields.
    class: Py<PyAny>,
    fields: Py<PyType>,
    /// One that no hook has: another thread may be in one.
    unused: Mutex<Option<Members<N>>>,
}

impl<const N: usize> Reused<N> {
    /// An object that no hook has, with these fields.
    #[inline]
    pub(super) fn take<'py>(
        &self,
        py: Python<'py>,
        fields: [Bound<'py, PyAny>; N],
    ) -> Result<Members<N>, CodeFailed> {
        let unused = self.unused.lock().expect("no thread panics with it").take();
        let object = unused
            .map_or_else(|| self.another(py).map_err(|error| CodeFailed(error.to_string())), Ok)?;
        fields.into_iter().enumerate().for_each(|(place, field)| object.set(place, field));
        Ok(object)
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
