//! A class as the interpreter runs it: an object for each flow.

use super::Definition;
use super::ack::{Ack, Flow};
use super::parameters::ClassValues;
use pyo3::prelude::*;
use pyo3::{ffi, intern};
use sojourn_core::parameters::Table;
use sojourn_core::{Span, Time};
use sojourn_fabric::python::{Begin, Controller, ControllerClass, Hooks};
use sojourn_fabric::transport::{Acked, Window};
use std::ptr::null_mut;
use std::sync::Arc;

/// A class that the interpreter runs.
#[derive(Debug)]
pub(super) struct PlainClass(Arc<Plain>);

#[derive(Debug)]
struct Plain {
    definition: Definition,
    table: Table,
    /// Makes the object of a flow.
    new: Py<PyAny>,
    start: Option<Py<PyAny>>,
    acked: Option<Py<PyAny>>,
    lost: Option<Py<PyAny>>,
    timed_out: Option<Py<PyAny>>,
    sent: Option<Py<PyAny>>,
    gap: Option<Py<PyAny>>,
}

impl PlainClass {
    pub(super) fn new(
        py: Python<'_>,
        definition: Definition,
        values: ClassValues,
    ) -> PyResult<PlainClass> {
        let loading = py.import("sojourn.control.loading")?;
        let new = loading.call_method1("new", (&definition.object, values.values))?.unbind();
        let class = definition.object.bind(py).getattr("cls")?;
        let hook = |name: &str| match definition.has(name) {
            true => class.getattr(name).map(|hook| Some(hook.unbind())),
            false => Ok(None),
        };
        Ok(PlainClass(Arc::new(Plain {
            start: hook("start")?,
            acked: hook("acked")?,
            lost: hook("lost")?,
            timed_out: hook("timed_out")?,
            sent: hook("sent")?,
            gap: hook("gap")?,
            table: values.table,
            new,
            definition,
        })))
    }
}

impl ControllerClass for PlainClass {
    fn name(&self) -> &str {
        &self.0.definition.name
    }

    fn parameters(&self) -> &Table {
        &self.0.table
    }

    fn hooks(&self) -> Hooks {
        self.0.definition.hooks()
    }

    fn start(&self, begin: &Begin, window: &mut Window) -> Result<Box<dyn Controller>, String> {
        Python::attach(|py| {
            let class = &self.0;
            let object = (class.new)
                .call1(py, (window.cwnd, window.ssthresh, begin.abc_limit))
                .map_err(|error| class.definition.explained(py, &error))?;
            let mut flow = PlainFlow { class: class.clone(), object, known: *window };
            if class.start.is_some() {
                let begin = Bound::new(py, Flow::of(begin)).expect("memory for an object");
                flow.call(py, "start", &class.start, &[begin.as_any()], window)?;
            }
            Ok(Box::new(flow) as Box<dyn Controller>)
        })
    }

    /// Holds the interpreter throughout where one thread simulates and calls it at every ACK. Several
    /// threads that wait for each other must not.
    fn surround(&self, threads: usize, simulate: &mut dyn FnMut()) {
        match threads == 1 && self.0.acked.is_some() {
            true => Python::attach(|_| simulate()),
            false => simulate(),
        }
    }
}

/// The object of one flow.
#[derive(Debug)]
struct PlainFlow {
    class: Arc<Plain>,
    object: Py<PyAny>,
    /// The window that the object has.
    known: Window,
}

impl PlainFlow {
    /// Calls a hook with the sender's window, and takes over what it makes of that.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        name: &str,
        hook: &Option<Py<PyAny>>,
        arguments: &[&Bound<'py, PyAny>],
        window: &mut Window,
    ) -> Result<Bound<'py, PyAny>, String> {
        let hook = hook.as_ref().expect("a hook that the class has");
        let explained = |error: PyErr| self.class.definition.explained(py, &error);
        let object = self.object.bind(py);
        if window.cwnd.to_bits() != self.known.cwnd.to_bits() {
            object.setattr(intern!(py, "cwnd"), window.cwnd).map_err(explained)?;
        }
        if window.ssthresh.to_bits() != self.known.ssthresh.to_bits() {
            object.setattr(intern!(py, "ssthresh"), window.ssthresh).map_err(explained)?;
        }
        let returned = call(hook.bind(py), object, arguments).map_err(explained)?;
        let number = |name: &Bound<'py, pyo3::types::PyString>| {
            let value = object.getattr(name).map_err(explained)?;
            value.extract::<f64>().map_err(|_| {
                let Definition { file, name: class, .. } = &self.class.definition;
                let what = format!("{file}: {class} set {name} to {value:?}");
                format!("{what}, expected a number of packets")
            })
        };
        let left = Window {
            cwnd: number(intern!(py, "cwnd"))?,
            ssthresh: number(intern!(py, "ssthresh"))?,
        };
        self.class.definition.check(name, left)?;
        self.known = left;
        *window = left;
        Ok(returned)
    }
}

/// Calls a function with `object` and the arguments, of which there are at most two.
fn call<'py>(
    function: &Bound<'py, PyAny>,
    object: &Bound<'py, PyAny>,
    arguments: &[&Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let nth = |nth: usize| arguments.get(nth).map_or(null_mut(), |argument| argument.as_ptr());
    // SAFETY: the interpreter is held, as there are bound references; all arguments are alive, and a
    // null pointer ends them.
    unsafe {
        let returned = ffi::PyObject_CallFunctionObjArgs(
            function.as_ptr(),
            object.as_ptr(),
            nth(0),
            nth(1),
            null_mut::<ffi::PyObject>(),
        );
        Bound::from_owned_ptr_or_err(function.py(), returned)
    }
}

fn whole(py: Python<'_>, number: u64) -> Bound<'_, PyAny> {
    let Ok(number) = number.into_pyobject(py);
    number.into_any()
}

impl Controller for PlainFlow {
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delay: Option<Span>,
    ) -> Result<(), String> {
        Python::attach(|py| {
            let class = self.class.clone();
            let ack = Bound::new(py, Ack::of(py, acked, delay)).expect("memory for an object");
            self.call(py, "acked", &class.acked, &[ack.as_any()], window).map(drop)
        })
    }

    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        Python::attach(|py| {
            let class = self.class.clone();
            let arguments = [&whole(py, flight.into()), &whole(py, now.ps())];
            self.call(py, "lost", &class.lost, &arguments, window).map(drop)
        })
    }

    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        Python::attach(|py| {
            let class = self.class.clone();
            let arguments = [&whole(py, flight.into()), &whole(py, now.ps())];
            self.call(py, "timed_out", &class.timed_out, &arguments, window).map(drop)
        })
    }

    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), String> {
        Python::attach(|py| {
            let class = self.class.clone();
            let arguments = [&whole(py, sequence.into()), &whole(py, now.ps())];
            self.call(py, "sent", &class.sent, &arguments, window).map(drop)
        })
    }

    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, String> {
        Python::attach(|py| {
            let class = self.class.clone();
            let wire = whole(py, wire.ps());
            let returned = self.call(py, "gap", &class.gap, &[&wire], window)?;
            let gap = returned.extract::<i64>().map_err(|_| {
                let Definition { file, name, .. } = &class.definition;
                format!("{file}: {name}.gap returned {returned:?}, expected whole picoseconds")
            })?;
            class.definition.gap(gap).map(Span::from_ps)
        })
    }
}
