//! A class as the interpreter runs it: an object for each flow.

use super::WINDOW;
use super::ack::{ACK_FIELDS, Flow};
use crate::control::members::Members;
use crate::control::reused::Reused;
use crate::control::{Configured, Definition, call, fields, whole};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyType};
use sojourn_core::{Execution, Span, Time};
use sojourn_fabric::python::{Begin, Controller, ControllerClass, Hooks, PythonClass};
use sojourn_fabric::transport::{Acked, Window};
use std::sync::Arc;

/// A class that the interpreter runs.
#[derive(Debug)]
pub(super) struct PlainClass(Arc<Plain>);

#[derive(Debug)]
struct Plain {
    definition: Arc<Definition>,
    hooks: Hooks,
    /// Makes the object of a flow.
    new: Py<PyAny>,
    /// The type of `Control`'s own fields.
    window_fields: Py<PyType>,
    acks: Reused<{ ACK_FIELDS.len() }>,
    start: Option<Py<PyAny>>,
    acked: Option<Py<PyAny>>,
    lost: Option<Py<PyAny>>,
    timed_out: Option<Py<PyAny>>,
    sent: Option<Py<PyAny>>,
    gap: Option<Py<PyAny>>,
}

impl PlainClass {
    pub(super) fn new(py: Python<'_>, class: Configured, hooks: Hooks) -> PyResult<PlainClass> {
        let definition = class.definition.clone();
        let message = definition.object.bind(py).getattr("message")?;
        Ok(PlainClass(Arc::new(Plain {
            start: definition.plain_hook(py, "start")?,
            acked: definition.plain_hook(py, "acked")?,
            lost: definition.plain_hook(py, "lost")?,
            timed_out: definition.plain_hook(py, "timed_out")?,
            sent: definition.plain_hook(py, "sent")?,
            gap: definition.plain_hook(py, "gap")?,
            window_fields: fields(py, "WindowFields")?.clone().unbind(),
            acks: Reused::new(message, fields(py, "AckFields")?),
            new: class.maker(py)?,
            hooks,
            definition,
        })))
    }
}

impl PythonClass for PlainClass {
    fn name(&self) -> &str {
        &self.0.definition.name
    }

    /// Holds the interpreter throughout where one thread simulates and calls it at every ACK. Several
    /// threads that wait for each other must not.
    fn surround(&self, execution: Execution<'_>, simulate: &mut dyn FnMut()) {
        match execution.threads == 1 && self.0.hooks.acked {
            true => Python::attach(|_| simulate()),
            false => simulate(),
        }
    }
}

impl ControllerClass for PlainClass {
    fn hooks(&self) -> Hooks {
        self.0.hooks
    }

    fn start(&self, begin: &Begin, window: &mut Window) -> Result<Box<dyn Controller>, String> {
        Python::attach(|py| {
            let class = &self.0;
            let object = (class.new)
                .bind(py)
                .call1((window.cwnd, window.ssthresh, begin.abc_limit))
                .and_then(|object| Members::new(object, class.window_fields.bind(py)))
                .map_err(|error| class.definition.explained(py, error))?;
            let mut flow = PlainFlow { class: class.clone(), object, known: *window };
            if class.start.is_some() {
                let begin = Bound::new(py, Flow::of(begin)).expect("memory for an object");
                flow.call(py, "start", |class| &class.start, &[begin.as_any()], window)?;
            }
            Ok(Box::new(flow) as Box<dyn Controller>)
        })
    }
}

/// The object of one flow.
#[derive(Debug)]
struct PlainFlow {
    class: Arc<Plain>,
    object: Members<{ WINDOW.len() }>,
    /// The window that the object has.
    known: Window,
}

impl PlainFlow {
    /// Calls a hook with the sender's window, and takes over what it makes of that.
    #[inline]
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        name: &str,
        hook: impl FnOnce(&Plain) -> &Option<Py<PyAny>>,
        arguments: &[&Bound<'py, PyAny>],
        window: &mut Window,
    ) -> Result<Bound<'py, PyAny>, String> {
        let hook = hook(&self.class).as_ref().expect("a hook that the class has");
        let (now, known) = ([window.cwnd, window.ssthresh], [self.known.cwnd, self.known.ssthresh]);
        for place in 0..now.len() {
            if now[place].to_bits() != known[place].to_bits() {
                self.object.set(place, PyFloat::new(py, now[place]).into_any());
            }
        }
        let returned = call(hook.bind(py), self.object.object(py), arguments)
            .map_err(|error| self.class.definition.explained(py, error))?;
        let left = Window { cwnd: self.number(py, 0)?, ssthresh: self.number(py, 1)? };
        self.class.definition.check(name, left)?;
        self.known = left;
        *window = left;
        Ok(returned)
    }

    /// The number in the field at `place`.
    #[inline]
    fn number(&self, py: Python<'_>, place: usize) -> Result<f64, String> {
        let value = self.object.get(py, place);
        value.as_ref().and_then(|value| value.extract().ok()).ok_or_else(|| {
            let Definition { file, name, .. } = &*self.class.definition;
            let given = value.map_or("nothing".to_owned(), |value| format!("{value:?}"));
            let field = WINDOW[place].to_string_lossy();
            format!("{file}: {name} set {field} to {given}, expected a number of packets")
        })
    }
}

impl Controller for PlainFlow {
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delay: Option<Span>,
    ) -> Result<(), String> {
        Python::attach(|py| {
            let ack = self.class.acks.take(py)?;
            ack.fill(py, acked, delay);
            self.call(py, "acked", |class| &class.acked, &[ack.object(py)], window)?;
            self.class.acks.give_back(py, ack);
            Ok(())
        })
    }

    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        Python::attach(|py| {
            let arguments = [&whole(py, flight.into()), &whole(py, now.ps())];
            self.call(py, "lost", |class| &class.lost, &arguments, window).map(drop)
        })
    }

    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        Python::attach(|py| {
            let arguments = [&whole(py, flight.into()), &whole(py, now.ps())];
            self.call(py, "timed_out", |class| &class.timed_out, &arguments, window).map(drop)
        })
    }

    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), String> {
        Python::attach(|py| {
            let arguments = [&whole(py, sequence.into()), &whole(py, now.ps())];
            self.call(py, "sent", |class| &class.sent, &arguments, window).map(drop)
        })
    }

    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, String> {
        Python::attach(|py| {
            let wire = whole(py, wire.ps());
            let returned = self.call(py, "gap", |class| &class.gap, &[&wire], window)?;
            let gap = returned.extract::<i64>().map_err(|_| {
                let left = format!("returned {returned:?}, expected whole picoseconds");
                self.class.definition.refused("gap", &left)
            })?;
            self.class.definition.gap(gap).map(Span::from_ps)
        })
    }
}
