//! Classes in Python files that manage queues: which packets are marked or dropped.

use super::class::PythonClass;
use sojourn_core::{CodeFailed, Span, Stream, Time};
use std::fmt::Debug;

/// A class that manages queues, with values of its parameters.
pub trait QueueClass: PythonClass {
    /// The hooks that it has.
    fn hooks(&self) -> QueueHooks;

    /// Creates what decides for one port, and starts it; `stream` is for its random numbers alone.
    ///
    fn port(&self, stream: Stream) -> Result<Box<dyn PortDecisions>, CodeFailed>;
}

/// Which hooks a class has; without one, packets are kept there.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueHooks {
    /// Decides on a packet that comes.
    pub enqueue: bool,
    /// Decides on a packet that would leave.
    pub dequeue: bool,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It stays as it is.
    Keep,
    /// It is marked (ECN), or dropped where its transport does not understand that.
    Mark,
    /// It is dropped.
    Drop,
}

/// A packet on which is decided, and its queue.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// Its size on the wire, in bytes.
    pub size: u16,
    /// Whether its transport understands marks (ECT, RFC 3168).
    pub ect: bool,
    /// Bytes that wait, without it.
    pub backlog: u32,
    /// Packets that wait, without it.
    pub qlen: u32,
    /// How long it has waited.
    pub sojourn_time: Span,
    /// The time.
    pub now: Time,
}

/// What decides for one port.
pub trait PortDecisions: Debug + Send {
    /// Decides on a packet that comes, before it is known whether there is room for it.
    fn enqueue(&mut self, packet: &QueuedPacket) -> Result<Decision, CodeFailed>;

    /// Decides on the packet that would leave next. After one that is dropped it is asked for the next.
    fn dequeue(&mut self, packet: &QueuedPacket) -> Result<Decision, CodeFailed>;
}
