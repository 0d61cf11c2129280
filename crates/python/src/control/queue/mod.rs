//! Classes that manage queues.

mod compiled;
mod plain;

use super::{Configured, Definition};
use compiled::CompiledClass;
use plain::PlainClass;
use pyo3::prelude::*;
use sojourn_fabric::python::{Decision, QueueClass, QueueHooks};
use std::ffi::CStr;
use std::sync::Arc;

/// The fields of a packet, in the order of [`PlainClass`]'s objects.
pub(super) const PACKET: [&CStr; 6] =
    [c"size", c"ect", c"backlog", c"qlen", c"sojourn_time", c"now"];

/// The field of a queue that has its random numbers.
pub(super) const STREAM: [&CStr; 1] = [c"__stream__"];

/// A class that manages queues, ready to be called.
pub(super) fn queue(
    py: Python<'_>,
    class: Configured,
    compiled: bool,
) -> PyResult<Arc<dyn QueueClass>> {
    let has = |hook| class.definition.has(hook);
    let hooks = QueueHooks { enqueue: has("enqueue"), dequeue: has("dequeue") };
    Ok(match compiled {
        false => Arc::new(PlainClass::new(py, class, hooks)?) as Arc<dyn QueueClass>,
        true => Arc::new(CompiledClass::new(class, hooks)),
    })
}

impl Definition {
    /// What a hook returned as a decision, by the numbers of `sojourn.control`.
    #[inline]
    fn decision(&self, hook: &str, number: i64) -> Result<Decision, String> {
        match number {
            0 => Ok(Decision::Keep),
            1 => Ok(Decision::Mark),
            2 => Ok(Decision::Drop),
            _ => Err(self.refused_decision(hook, &number.to_string())),
        }
    }

    /// The message about what is no decision.
    #[cold]
    fn refused_decision(&self, hook: &str, returned: &str) -> String {
        self.refused(hook, &format!("returned {returned}, expected KEEP, MARK or DROP"))
    }
}
