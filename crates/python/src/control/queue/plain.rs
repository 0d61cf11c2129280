//! A class as the interpreter runs it: an object for each port.

use super::{PACKET, STREAM};
use crate::control::members::Members;
use crate::control::reused::Reused;
use crate::control::{Configured, Definition, Random, call, fields, whole};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyType};
use sojourn_core::{Execution, Stream};
use sojourn_fabric::python::{
    Decision, PortDecisions, PythonClass, QueueClass, QueueHooks, QueuedPacket,
};
use std::sync::Arc;

/// A class that the interpreter runs.
#[derive(Debug)]
pub(super) struct PlainClass(Arc<Plain>);

#[derive(Debug)]
struct Plain {
    definition: Arc<Definition>,
    hooks: QueueHooks,
    /// Makes the object of a port.
    new: Py<PyAny>,
    /// The type of `Queue`'s own fields.
    stream_fields: Py<PyType>,
    packets: Reused<{ PACKET.len() }>,
    start: Option<Py<PyAny>>,
    enqueue: Option<Py<PyAny>>,
    dequeue: Option<Py<PyAny>>,
}

impl PlainClass {
    pub(super) fn new(
        py: Python<'_>,
        class: Configured,
        hooks: QueueHooks,
    ) -> PyResult<PlainClass> {
        let definition = class.definition.clone();
        let message = definition.object.bind(py).getattr("message")?;
        Ok(PlainClass(Arc::new(Plain {
            start: definition.plain_hook(py, "start")?,
            enqueue: definition.plain_hook(py, "enqueue")?,
            dequeue: definition.plain_hook(py, "dequeue")?,
            stream_fields: fields(py, "StreamFields")?.clone().unbind(),
            packets: Reused::new(message, fields(py, "PacketFields")?),
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

    /// Holds the interpreter throughout where one thread simulates and calls it at every packet. Several
    /// threads that wait for each other must not.
    fn surround(&self, execution: Execution<'_>, simulate: &mut dyn FnMut()) {
        match execution.threads == 1 && (self.0.hooks.enqueue || self.0.hooks.dequeue) {
            true => Python::attach(|_| simulate()),
            false => simulate(),
        }
    }
}

impl QueueClass for PlainClass {
    fn hooks(&self) -> QueueHooks {
        self.0.hooks
    }

    fn port(&self, stream: Stream) -> Result<Box<dyn PortDecisions>, String> {
        Python::attach(|py| {
            let class = &self.0;
            let make = || {
                let object = class.new.bind(py).call1((Random::from(stream),))?;
                if let Some(start) = &class.start {
                    call(start.bind(py), &object, &[])?;
                }
                Members::new(object, class.stream_fields.bind(py))
            };
            let object = make().map_err(|error| class.definition.explained(py, error))?;
            Ok(Box::new(PlainPort { class: class.clone(), object }) as Box<dyn PortDecisions>)
        })
    }
}

/// The object of one port.
#[derive(Debug)]
struct PlainPort {
    class: Arc<Plain>,
    object: Members<{ STREAM.len() }>,
}

impl PlainPort {
    /// Calls a hook.
    #[inline]
    fn call(
        &self,
        name: &str,
        hook: &Option<Py<PyAny>>,
        packet: &QueuedPacket,
    ) -> Result<Decision, String> {
        let hook = hook.as_ref().expect("a hook that the class has");
        let definition = &self.class.definition;
        Python::attach(|py| {
            let about = self.class.packets.take(py)?;
            let about_fields = [
                whole(py, packet.size.into()),
                PyBool::new(py, packet.ect).to_owned().into_any(),
                whole(py, packet.backlog.into()),
                whole(py, packet.qlen.into()),
                whole(py, packet.sojourn_time.ps()),
                whole(py, packet.now.ps()),
            ];
            about_fields.into_iter().enumerate().for_each(|(place, field)| about.set(place, field));
            let returned = call(hook.bind(py), self.object.object(py), &[about.object(py)])
                .map_err(|error| definition.explained(py, error))?;
            self.class.packets.give_back(py, about);
            match returned.extract() {
                Ok(number) => definition.decision(name, number),
                Err(_) => Err(definition.refused_decision(name, &format!("{returned:?}"))),
            }
        })
    }
}

impl PortDecisions for PlainPort {
    fn enqueue(&mut self, packet: &QueuedPacket) -> Result<Decision, String> {
        self.call("enqueue", &self.class.enqueue, packet)
    }

    fn dequeue(&mut self, packet: &QueuedPacket) -> Result<Decision, String> {
        self.call("dequeue", &self.class.dequeue, packet)
    }
}
