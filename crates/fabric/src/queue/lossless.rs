//! A port that a pause frame stops: around a discipline that drops nothing of its own accord.

use super::fifo::Fifo;
use super::{Builder, Capacity, Outlet, Queue, QueueKind};
use crate::packet::{Packet, PacketArena, PacketId};
use crate::pfc::Acks;
use sojourn_core::Time;
use sojourn_core::parameters::{Refusal, Setting, Value};

/// Runs `body` with the ports of a [`QueueKind`] that can be stopped, or `otherwise` with another: the one list of
/// disciplines beside which priority flow control works. They keep what waits in one line, and drop nothing that
/// their buffer can hold.
macro_rules! with_lossless {
    ($queue:expr, $acks:expr, |$ports:ident| $body:expr, else $otherwise:expr) => {
        $crate::queue::with_lossless! {
            @of [DropTail Ecn Red Telemetry] $queue, $acks, |$ports| $body, else $otherwise
        }
    };
    (@of [$($kind:ident)+] $queue:expr, $acks:expr, |$ports:ident| $body:expr, else $otherwise:expr) => {
        match $queue {
            $($crate::queue::QueueKind::$kind(queue) => {
                let $ports = &$crate::queue::Lossless::new(queue, $acks);
                $body
            })+
            _ => $otherwise,
        }
    };
}
pub(crate) use with_lossless;

/// Refuses a discipline that drops packets of its own accord, or that knows departures before a pause.
pub(crate) fn check_lossless(queue: &QueueKind) -> Result<(), Refusal> {
    let is_lossless =
        |queue: &QueueKind| with_lossless!(queue, Acks::OwnClass, |_ports| true, else false);
    if is_lossless(queue) {
        return Ok(());
    }
    let kinds = QueueKind::entries().into_iter().map(|entry| Value::Text(entry.name.to_owned()));
    let kinds = kinds.filter_map(|name| QueueKind::read(&name).ok()).filter(is_lossless);
    let names: Vec<&str> = kinds.map(|kind| kind.name()).collect();
    let expected = format!(
        "a queue that drops nothing by itself, beside priority flow control: {}",
        names.join(", ")
    );
    Err(Refusal::value(&Value::Text(queue.name().to_owned()), expected).under("queue"))
}

/// The ports of a discipline, which pauses stop.
pub(crate) struct Lossless<'a, B> {
    inside: &'a B,
    acks: Acks,
}

impl<'a, B: Builder> Lossless<'a, B> {
    /// Ports of `inside`; `acks` says which packets a pause stops.
    pub(crate) fn new(inside: &'a B, acks: Acks) -> Lossless<'a, B> {
        Lossless { inside, acks }
    }

    fn around(&self, data: B::Port) -> LosslessPort<B::Port> {
        let control = Fifo::new(Capacity::endless());
        LosslessPort { data, control, acks: self.acks, is_stopped: false }
    }
}

impl<B: Builder> Builder for Lossless<'_, B> {
    type Port = LosslessPort<B::Port>;

    fn port(&self, outlet: Outlet) -> Self::Port {
        self.in_memory(outlet)
    }

    fn host_port(&self, outlet: Outlet) -> Self::Port {
        self.endless_port(outlet)
    }

    fn in_memory(&self, outlet: Outlet) -> Self::Port {
        self.around(self.inside.in_memory(outlet))
    }

    fn endless_port(&self, outlet: Outlet) -> Self::Port {
        self.around(self.inside.endless_port(outlet))
    }

    fn check_largest(&self, largest: u16) -> Result<(), Refusal> {
        self.inside.check_largest(largest)
    }
}

/// What such a port keeps: the packets that a pause stops, and those that go first.
#[derive(Debug)]
pub(crate) struct LosslessPort<D> {
    data: D,
    control: Fifo,
    acks: Acks,
    is_stopped: bool,
}

impl<D: Queue> Queue for LosslessPort<D> {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        link_free: Time,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        if self.acks.stops(arena.known(id)) {
            self.data.enqueue(now, link_free, id, arena, drop);
        } else {
            self.control.push(id, arena);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        if self.control.is_empty() {
            return self.data.dequeue(now, arena, drop);
        }
        let id = self.control.pop(arena);
        self.data.passed_by(arena.known(id).size);
        Some(id)
    }

    #[inline]
    fn pass(&mut self, packet: &mut Packet) -> bool {
        if self.acks.stops(packet) {
            return !self.is_stopped && self.data.pass(packet);
        }
        self.data.passed_by(packet.size);
        true
    }

    /// Whether nothing can be sent: of what is stopped nothing can.
    #[inline]
    fn is_empty(&self) -> bool {
        self.control.is_empty() && (self.is_stopped || self.data.is_empty())
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        let mut all = self.data.waiting(arena);
        all.extend(self.control.waiting(arena));
        all
    }

    fn peak(&self) -> u64 {
        self.data.peak()
    }

    const PAUSES: bool = true;

    #[inline]
    fn stop(&mut self, stopped: bool) {
        self.is_stopped = stopped;
    }

    #[inline]
    fn take_stopped(&mut self, now: Time, arena: &mut PacketArena) -> Option<PacketId> {
        if self.data.is_empty() {
            return None;
        }
        self.data.dequeue(now, arena, |_, _| unreachable!("it drops nothing"))
    }
}
