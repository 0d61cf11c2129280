//! Classes in Python files that a study names: they control congestion, or manage queues.
//!
//! This crate has no Python. Who reads a study hands in each class with the values of its parameters, as an
//! `Arc<dyn ControllerClass>` or an `Arc<dyn QueueClass>`.

mod class;
mod controller;
mod queue;

pub(crate) use class::surround;
pub use class::{CodeFile, PythonClass};
pub use controller::{Begin, Controller, ControllerClass, Hooks};
pub use queue::{Decision, PortDecisions, QueueClass, QueueHooks, QueuedPacket};
