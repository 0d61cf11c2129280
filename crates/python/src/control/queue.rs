//! Classes that manage queues.

use super::machine::{Machine, Record};
use super::members::Members;
use super::plain::{Plain, truth, whole};
use super::{Code, Configured, Definition, Random, Ready};
use pyo3::prelude::*;
use sojourn_core::{CodeFailed, Stream};
use sojourn_fabric::python::{Decision, PortDecisions, QueueClass, QueueHooks, QueuedPacket};
use std::ffi::CStr;
use std::sync::Arc;

/// The hooks of a class, and the place of each.
const HOOKS: [&str; 3] = ["start", "enqueue", "dequeue"];
const START: usize = 0;
const ENQUEUE: usize = 1;
const DEQUEUE: usize = 2;

/// The fields of a packet, in the order of [`message`].
pub(super) const PACKET: [&CStr; 6] =
    [c"size", c"ect", c"backlog", c"qlen", c"sojourn_time", c"now"];

/// The field of a queue that has its random numbers; in a record, it is the address of the port's stream.
pub(super) const STREAM: [&CStr; 1] = [c"__stream__"];

type PlainQueue = Plain<{ HOOKS.len() }, { STREAM.len() }, { PACKET.len() }>;
type ReadyQueue = Ready<QueueHooks, { HOOKS.len() }, { STREAM.len() }, { PACKET.len() }>;

/// A class that manages queues, ready to be called.
pub(super) fn queue(
    py: Python<'_>,
    class: Configured,
    compiled: bool,
) -> PyResult<Arc<dyn QueueClass>> {
    let has = |hook| class.definition.has(HOOKS[hook]);
    let hooks = QueueHooks { enqueue: has(ENQUEUE), dequeue: has(DEQUEUE) };
    let code = match compiled {
        false => Code::Plain(Plain::new(py, &class, HOOKS, "StreamFields", "PacketFields")?),
        true => Code::Compiled(Machine::new(class, HOOKS)),
    };
    Ok(Arc::new(ReadyQueue { hooks, often: hooks.enqueue || hooks.dequeue, code }))
}

impl QueueClass for ReadyQueue {
    fn hooks(&self) -> QueueHooks {
        self.hooks
    }

    fn port(&self, stream: Stream) -> Result<Box<dyn PortDecisions>, CodeFailed> {
        match &self.code {
            Code::Plain(class) => Python::attach(|py| {
                let object = class.object(py, (Random::from(stream),))?;
                if class.has(START) {
                    class.call(py, START, &object, &[])?;
                }
                Ok(Box::new(PlainPort { class: class.clone(), object }) as Box<dyn PortDecisions>)
            }),
            Code::Compiled(machine) => {
                let mut port = CompiledPort { record: Record::new(machine)?, stream };
                if port.record.has(START) {
                    port.call(START, &mut [0])?;
                }
                Ok(Box::new(port))
            }
        }
    }
}

/// The fields of a packet, made by `whole` and `truth`.
#[inline]
fn message<T>(
    packet: &QueuedPacket,
    whole: impl Fn(u64) -> T,
    truth: impl Fn(bool) -> T,
) -> [T; PACKET.len()] {
    [
        whole(packet.size.into()),
        truth(packet.ect),
        whole(packet.backlog.into()),
        whole(packet.qlen.into()),
        whole(packet.sojourn_time.ps()),
        whole(packet.now.ps()),
    ]
}

/// The object of one port.
#[derive(Debug)]
struct PlainPort {
    class: Arc<PlainQueue>,
    object: Members<{ STREAM.len() }>,
}

impl PlainPort {
    /// Calls a hook that decides on a packet.
    #[inline]
    fn decide(&self, hook: usize, packet: &QueuedPacket) -> Result<Decision, CodeFailed> {
        let PlainPort { class, object } = self;
        Python::attach(|py| {
            let fields = message(packet, |number| whole(py, number), |value| truth(py, value));
            let message = class.messages.take(py, fields)?;
            let returned = class.call(py, hook, object, &[message.object(py)])?;
            class.messages.give_back(py, message);
            match returned.extract() {
                Ok(number) => class.definition.decision(HOOKS[hook], number),
                Err(_) => {
                    Err(class.definition.refused_decision(HOOKS[hook], &format!("{returned:?}")))
                }
            }
        })
    }
}

impl PortDecisions for PlainPort {
    fn enqueue(&mut self, packet: &QueuedPacket) -> Result<Decision, CodeFailed> {
        self.decide(ENQUEUE, packet)
    }

    fn dequeue(&mut self, packet: &QueuedPacket) -> Result<Decision, CodeFailed> {
        self.decide(DEQUEUE, packet)
    }
}

/// The record of one port, and its random numbers.
#[derive(Debug)]
struct CompiledPort {
    record: Record<{ HOOKS.len() }>,
    stream: Stream,
}

impl CompiledPort {
    /// Calls a hook.
    #[inline]
    fn call(&mut self, hook: usize, arguments: &mut [i64]) -> Result<(), CodeFailed> {
        let before = self.stream.clone();
        self.record.words()[0] = &raw mut self.stream as u64;
        self.record.call(hook, arguments, Some(before))
    }

    /// Calls a hook that decides on a packet.
    #[inline]
    fn decide(&mut self, hook: usize, packet: &QueuedPacket) -> Result<Decision, CodeFailed> {
        let [size, ect, backlog, qlen, sojourn_time, now] =
            message(packet, |number| number as i64, i64::from);
        let mut arguments = [size, ect, backlog, qlen, sojourn_time, now, 0];
        self.call(hook, &mut arguments)?;
        let [.., returned] = arguments;
        self.record.definition().decision(HOOKS[hook], returned)
    }
}

impl PortDecisions for CompiledPort {
    fn enqueue(&mut self, packet: &QueuedPacket) -> Result<Decision, CodeFailed> {
        self.decide(ENQUEUE, packet)
    }

    fn dequeue(&mut self, packet: &QueuedPacket) -> Result<Decision, CodeFailed> {
        self.decide(DEQUEUE, packet)
    }
}

impl Definition {
    /// What a hook returned as a decision, by the numbers of `sojourn.control`.
    #[inline]
    fn decision(&self, hook: &str, number: i64) -> Result<Decision, CodeFailed> {
        match number {
            0 => Ok(Decision::Keep),
            1 => Ok(Decision::Mark),
            2 => Ok(Decision::Drop),
            _ => Err(self.refused_decision(hook, &number.to_string())),
        }
    }

    /// The message about what is no decision.
    #[cold]
    fn refused_decision(&self, hook: &str, returned: &str) -> CodeFailed {
        self.refused(hook, &format!("returned {returned}, expected KEEP, MARK or DROP"))
    }
}
