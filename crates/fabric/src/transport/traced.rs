//! One flow watched packet by packet, at both of its ends.

use super::{Outbox, Running, Transport, Wake};
use crate::packet::{Kind, Packet};
use sojourn_core::{CodeFailed, Time};

/// What happens to a packet of the flow at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// Data came to the receiver.
    Arrived,
    /// The receiver answered.
    Answered,
    /// The answer came to the sender.
    Heard,
    /// The sender gave data to its host's port.
    Sent,
}

/// How fast a flow sends, as far as its transport has such a thing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Bytes that may be under way.
    pub window: Option<f64>,
    /// Bits a second.
    pub rate: Option<f64>,
}

/// A packet of the flow at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The time.
    pub at: Time,
    /// What happened.
    pub happening: Happening,
    /// Its kind.
    pub kind: Kind,
    /// Its place in the flow; of an answer what the transport says there.
    pub sequence: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// The entropy of its path.
    pub entropy: u16,
    /// Its marks.
    pub marks: u8,
    /// How fast the flow sends then, at the sender.
    pub speed: Speed,
}

/// A transport that watches one flow. What it does is out of the way of transports that watch none.
#[derive(Debug)]
pub struct Traced {
    inner: Running,
    flow: u32,
    seen: Vec<Seen>,
}

/// Most packets that are noted; they take over half a gigabyte.
const MOST: usize = 10_000_000;

impl Traced {
    /// Watches `flow` under the transport `inner`.
    pub(crate) fn new(inner: Running, flow: u32) -> Traced {
        Traced { inner, flow, seen: Vec::new() }
    }

    /// Notes which packets of the flow a call sends.
    fn watch(&mut self, outbox: &mut Outbox, call: impl FnOnce(&mut Running, &mut Outbox)) {
        let before = outbox.packets.len();
        call(&mut self.inner, outbox);
        let (now, flow) = (outbox.now, self.flow);
        for packet in outbox.packets[before..].iter().filter(|packet| packet.flow == flow) {
            let is_data = packet.kind == Kind::DATA;
            let happening = if is_data { Happening::Sent } else { Happening::Answered };
            self.note(packet, happening, now);
        }
    }

    fn note(&mut self, packet: &Packet, happening: Happening, at: Time) {
        if self.seen.len() == MOST {
            return;
        }
        let is_sender = matches!(happening, Happening::Sent | Happening::Heard);
        let speed = if is_sender { self.inner.speed(self.flow, at) } else { Speed::default() };
        let Packet { kind, sequence, size, echo: entropy, marks, .. } = *packet;
        self.seen.push(Seen { at, happening, kind, sequence, size, entropy, marks, speed });
    }

    #[cold]
    pub(super) fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.watch(outbox, |inner, outbox| inner.start(flow, outbox));
    }

    #[cold]
    pub(super) fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
        self.watch(outbox, |inner, outbox| inner.extend(flow, end, outbox));
    }

    #[cold]
    pub(super) fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        if packet.flow == self.flow {
            let is_data = packet.kind == Kind::DATA;
            let happening = if is_data { Happening::Arrived } else { Happening::Heard };
            self.note(packet, happening, outbox.now);
        }
        self.watch(outbox, |inner, outbox| inner.receive(packet, outbox));
    }

    #[cold]
    pub(super) fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
        self.watch(outbox, |inner, outbox| inner.wake(wake, outbox));
    }

    #[cold]
    pub(super) fn resume(&mut self, flow: u32, outbox: &mut Outbox) {
        self.watch(outbox, |inner, outbox| inner.resume(flow, outbox));
    }

    pub(super) fn inner(&self) -> &Running {
        &self.inner
    }

    pub(super) fn begin_watch(&mut self, flow: u32) {
        self.inner.begin_watch(flow);
    }

    pub(super) fn failure(&self) -> Option<&CodeFailed> {
        self.inner.failure()
    }

    pub(super) fn take_seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }
}
