//! A class as Numba compiles it: a record for each port.

use crate::control::Configured;
use crate::control::machine::{Hook, HookTable, Machine, Record, there};
use pyo3::prelude::*;
use sojourn_core::Stream;
use sojourn_fabric::python::{
    Decision, PortDecisions, PythonClass, QueueClass, QueueHooks, QueuedPacket,
};
use std::sync::Arc;

/// A class that runs compiled.
#[derive(Debug)]
pub(super) struct CompiledClass {
    hooks: QueueHooks,
    machine: Arc<Machine<PortHooks>>,
}

#[derive(Clone, Copy, Debug)]
struct PortHooks {
    start: Option<Hook>,
    enqueue: Option<Hook>,
    dequeue: Option<Hook>,
}

impl HookTable for PortHooks {
    fn of(find: &mut dyn FnMut(&str) -> PyResult<Option<Hook>>) -> PyResult<PortHooks> {
        Ok(PortHooks {
            start: find("start")?,
            enqueue: find("enqueue")?,
            dequeue: find("dequeue")?,
        })
    }
}

/// The place in a record of the address of the port's stream.
const STREAM: usize = 0;

impl CompiledClass {
    pub(super) fn new(class: Configured, hooks: QueueHooks) -> CompiledClass {
        CompiledClass { hooks, machine: Machine::new(class) }
    }
}

impl PythonClass for CompiledClass {
    fn name(&self) -> &str {
        &self.machine.class.definition.name
    }
}

impl QueueClass for CompiledClass {
    fn hooks(&self) -> QueueHooks {
        self.hooks
    }

    fn port(&self, stream: Stream) -> Result<Box<dyn PortDecisions>, String> {
        let mut port = CompiledPort { record: Record::new(&self.machine)?, stream };
        if let Some(start) = port.record.hooks.start {
            port.call("start", start, &mut [0])?;
        }
        Ok(Box::new(port))
    }
}

/// The record of one port, and its random numbers.
#[derive(Debug)]
struct CompiledPort {
    record: Record<PortHooks>,
    stream: Stream,
}

impl CompiledPort {
    /// Calls a hook.
    #[inline]
    fn call(&mut self, name: &str, hook: Hook, arguments: &mut [i64]) -> Result<(), String> {
        let before = self.stream.clone();
        self.record.words()[STREAM] = &raw mut self.stream as u64;
        let called = self.record.call(hook, arguments);
        called.map_err(|raised| self.record.explained(&raised, name, arguments, Some(before)))
    }

    /// Calls a hook that decides on a packet.
    #[inline]
    fn decide(
        &mut self,
        name: &str,
        hook: Hook,
        packet: &QueuedPacket,
    ) -> Result<Decision, String> {
        let mut arguments = [
            packet.size.into(),
            packet.ect.into(),
            packet.backlog.into(),
            packet.qlen.into(),
            packet.sojourn_time.ps() as i64,
            packet.now.ps() as i64,
            0,
        ];
        self.call(name, hook, &mut arguments)?;
        let [.., returned] = arguments;
        self.record.definition().decision(name, returned)
    }
}

impl PortDecisions for CompiledPort {
    fn enqueue(&mut self, packet: &QueuedPacket) -> Result<Decision, String> {
        self.decide("enqueue", there(self.record.hooks.enqueue), packet)
    }

    fn dequeue(&mut self, packet: &QueuedPacket) -> Result<Decision, String> {
        self.decide("dequeue", there(self.record.hooks.dequeue), packet)
    }
}
