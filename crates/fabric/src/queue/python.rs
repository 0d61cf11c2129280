//! First in, first out, managed by a class in a Python file.

use super::codel::marks;
use super::fifo::Fifo;
use super::{Buffered, Capacity, Counting, Outlet, Queue, QueueKind, check_buffer};
use crate::packet::{ECT, PacketArena, PacketId};
use crate::python::{
    CodeFile, Decision, PortDecisions, PythonClass, QueueClass, QueueHooks, QueuedPacket,
};
use sojourn_core::parameters::{Check, Refusal, Table};
use sojourn_core::{Bytes, CodeFailed, Span, Time, parameters};

parameters! {
    /// First in, first out, with an active queue management of yours (RFC 7567): a class in a Python
    /// file, derived from `sojourn.control.Queue`, which decides of each packet that comes or would
    /// leave whether it is kept, marked or dropped. `sojourn list queues FILE.py` shows what the file
    /// has, `sojourn init queue FILE.py` writes a class to begin from.
    pub struct PythonQueue: "python" {
        /// The class and its file.
        pub code: CodeFile [flatten],
        /// Parameters of the class.
        pub set: Table = Table::default(),
        /// Room for waiting packets, at each port: 1,000 packets, as in Linux.
        pub buffer: Bytes = Bytes(1_500_000),
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Packets,
    }
}

impl Check for PythonQueue {
    fn check(&self) -> Result<(), Refusal> {
        self.code.check_kind::<dyn QueueClass>()?;
        check_buffer(self.buffer)
    }
}

impl QueueKind {
    /// The classes that it is.
    pub(crate) fn classes(&self) -> Vec<&dyn PythonClass> {
        match self {
            QueueKind::Python(python) => vec![&**python.code.class::<dyn QueueClass>()],
            QueueKind::Classes(classes) => {
                classes.inside.iter().flat_map(QueueKind::classes).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What such a port keeps.
#[derive(Debug)]
pub struct PythonPort {
    fifo: Fifo,
    packets: u32,
    hooks: QueueHooks,
    /// None for a port that keeps all, and once a hook has failed.
    decisions: Option<Box<dyn PortDecisions>>,
    failure: Option<CodeFailed>,
}

impl Buffered for PythonQueue {
    type Port = PythonPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, outlet: Outlet) -> PythonPort {
        let class = self.code.class::<dyn QueueClass>();
        let port = PythonPort { hooks: class.hooks(), ..PythonPort::keeping(room) };
        match class.port(outlet.stream) {
            Ok(decisions) => PythonPort { decisions: Some(decisions), ..port },
            Err(why) => PythonPort { failure: Some(why), ..port },
        }
    }

    fn endless(&self, _: Outlet) -> PythonPort {
        PythonPort::keeping(Capacity::endless())
    }
}

impl PythonPort {
    /// One that keeps all packets.
    fn keeping(capacity: Capacity) -> PythonPort {
        PythonPort {
            fifo: Fifo::new(capacity),
            packets: 0,
            hooks: QueueHooks::default(),
            decisions: None,
            failure: None,
        }
    }

    /// Asks what becomes of the packet `id`. All are kept once a hook has failed.
    #[inline]
    fn decide(
        &mut self,
        now: Time,
        id: PacketId,
        sojourn_time: Span,
        arena: &PacketArena,
        hook: impl FnOnce(&mut dyn PortDecisions, &QueuedPacket) -> Result<Decision, CodeFailed>,
    ) -> Decision {
        let Some(decisions) = self.decisions.as_deref_mut() else { return Decision::Keep };
        let packet = arena.known(id);
        let about = QueuedPacket {
            size: packet.size,
            ect: packet.marks & ECT != 0,
            backlog: self.fifo.bytes(),
            qlen: self.packets,
            sojourn_time,
            now,
        };
        hook(decisions, &about).unwrap_or_else(|why| {
            let at = now - Time::ZERO;
            self.failure = Some(why.during(format_args!("flow {}, at {at}", packet.flow)));
            self.decisions = None;
            Decision::Keep
        })
    }
}

/// Whether a packet goes on after a decision, which may have marked it.
#[inline]
fn goes_on(decision: Decision, id: PacketId, arena: &mut PacketArena) -> bool {
    match decision {
        Decision::Keep => true,
        Decision::Mark => marks(id, arena),
        Decision::Drop => false,
    }
}

impl Queue for PythonPort {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let decision = match self.hooks.enqueue {
            true => self.decide(now, id, Span::ZERO, arena, |port, packet| port.enqueue(packet)),
            false => Decision::Keep,
        };
        if goes_on(decision, id, arena) && self.fifo.push(id, arena) {
            self.packets += 1;
        } else {
            drop(id, arena);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        while !self.fifo.is_empty() {
            let id = self.fifo.pop(arena);
            self.packets -= 1;
            let decision = match self.hooks.dequeue {
                true => {
                    let waited = now.since(arena.known(id).arrives());
                    self.decide(now, id, waited, arena, |port, packet| port.dequeue(packet))
                }
                false => Decision::Keep,
            };
            if goes_on(decision, id, arena) {
                return Some(id);
            }
            drop(id, arena);
        }
        None
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.fifo.waiting(arena)
    }

    fn peak(&self) -> u64 {
        self.fifo.peak()
    }

    fn failure(&self) -> Option<&CodeFailed> {
        self.failure.as_ref()
    }
}
