//! Ultra Ethernet's port: headers first, payloads trimmed where they do not fit, and marks by what is
//! left behind (as in uet-htsim).

use super::fifo::Fifo;
use super::line::mark;
use super::{Builder, Capacity, Counting, Outlet, Queue, check_largest};
use crate::packet::{Packet, PacketArena, PacketId, TRIMMED_AT_LAST};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Light, Time, parameters};

parameters! {
    /// Headers, ACKs and all else that is not data go before the data. When the data does not fit, the
    /// payload is taken away from the packet that comes or from the last one that waits, each as
    /// often; its header then goes with the headers, and knows whether this port leads to its
    /// receiver. What may not be trimmed is dropped. A packet of data is marked when it leaves, by
    /// the data behind it, itself included: never up to a lower threshold, always above an upper
    /// one, and in between with a probability that rises evenly. The packet on the link still takes
    /// its room. Sizes are by default parts of the bandwidth-delay product of the fabric at the speed of
    /// the port, in full packets rounded up. Ports of hosts have no limit and do not mark. Where
    /// ports share a switch's memory, its limits hold in place of `buffer` and `headers` (Ultra Ethernet
    /// Specification 1.0, section 3.6; as in uet-htsim).
    pub struct TrimMark: "trim-mark" {
        /// Room for data. By default one bandwidth-delay product. Less trims more, and more lets
        /// packets wait for longer.
        pub buffer: Option<Bytes> = None,
        /// Room for headers. By default twice the room for data; what does not fit is dropped and
        /// waits for a time-out.
        pub headers: Option<Bytes> = None,
        /// Data left behind up to which nothing is marked. By default 0.2 bandwidth-delay products.
        pub mark_from: Option<Bytes> = None,
        /// Data left behind above which everything is marked. By default 0.8 bandwidth-delay
        /// products.
        pub mark_all: Option<Bytes> = None,
        /// Whether ports that lead to hosts mark. They should not if receivers give credit, because
        /// receivers asked for the data that waits there.
        pub marks_to_hosts: bool = true,
        /// Whether payloads are trimmed; otherwise packets are dropped.
        pub trims: bool = true,
    }
}

impl Check for TrimMark {
    fn check(&self) -> Result<(), Refusal> {
        if let (Some(from), Some(all)) = (self.mark_from, self.mark_all)
            && from > all
        {
            let expected = format!("at most mark_all, {all}");
            return Err(Refusal::of(&from, expected).under("mark_from"));
        }
        Ok(())
    }
}

/// Data left behind, in bytes, up to which nothing is marked and above which everything is.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    from: u32,
    all: u32,
}

/// What such a port keeps.
#[derive(Debug)]
pub struct TrimMarkPort {
    data: Fifo,
    headers: Fifo,
    /// Room for data, and of it what the packet on the link takes.
    room: u32,
    leaving: u32,
    thresholds: Option<Thresholds>,
    leads_to_host: bool,
    trims: bool,
    chance: Light,
}

impl TrimMark {
    /// A port of a switch with room for `data` and `headers` bytes.
    fn with_room(&self, outlet: &Outlet, data: u32, headers: u32) -> TrimMarkPort {
        let from = outlet.size(self.mark_from, 0.2);
        let thresholds = Thresholds { from, all: outlet.size(self.mark_all, 0.8).max(from) };
        let marks = self.marks_to_hosts || !outlet.leads_to_host;
        TrimMarkPort {
            data: Fifo::new(Capacity::endless()),
            headers: Fifo::new(Capacity::new(Bytes(headers.into()), Counting::Bytes)),
            room: data,
            leaving: 0,
            thresholds: marks.then_some(thresholds),
            leads_to_host: outlet.leads_to_host,
            trims: self.trims,
            chance: Light::new(outlet.stream.clone()),
        }
    }
}

impl Outlet {
    /// The size `given`, or so many bandwidth-delay products of the fabric at the speed of the port, in
    /// whole packets; of it the share of that speed which the link has.
    fn size(&self, given: Option<Bytes>, products: f64) -> u32 {
        let full = u64::from(self.full);
        let packets = self.link.rate.bytes_in(self.round_trip).div_ceil(full);
        let packets = (packets as f64 * products).ceil() as u64;
        let size = given.map_or(packets * full, |given| given.0);
        (size as f64 * self.share) as u32
    }
}

impl Builder for TrimMark {
    type Port = TrimMarkPort;

    fn port(&self, outlet: Outlet) -> TrimMarkPort {
        let data = outlet.size(self.buffer, 1.0);
        let headers = match self.headers {
            None => data.saturating_mul(2),
            headers => outlet.size(headers, 0.0),
        };
        self.with_room(&outlet, data, headers)
    }

    fn host_port(&self, outlet: Outlet) -> TrimMarkPort {
        TrimMarkPort { thresholds: None, ..self.in_memory(outlet) }
    }

    fn in_memory(&self, outlet: Outlet) -> TrimMarkPort {
        self.with_room(&outlet, u32::MAX, u32::MAX)
    }

    fn endless_port(&self, outlet: Outlet) -> TrimMarkPort {
        self.host_port(outlet)
    }

    fn check_largest(&self, largest: u16) -> Result<(), Refusal> {
        self.buffer.map_or(Ok(()), |buffer| check_largest(buffer, largest))
    }
}

impl TrimMarkPort {
    /// Marks a packet of data that leaves, by what is left behind.
    #[inline]
    fn mark(&mut self, packet: &mut Packet) {
        let Some(Thresholds { from, all }) = self.thresholds else { return };
        let behind = self.data.bytes() + u32::from(packet.size);
        let marked = behind > from
            && (behind > all
                || self.chance.below(u64::from(all - from)) < u64::from(behind - from));
        if marked {
            mark(packet);
        }
    }

    /// Takes the payload of `id` away, if that may be.
    fn trim(&self, id: PacketId, arena: &mut PacketArena) -> bool {
        let trimmed = self.trims && arena.trim(id);
        if trimmed && self.leads_to_host {
            arena.known_mut(id).marks |= TRIMMED_AT_LAST;
        }
        trimmed
    }
}

impl Queue for TrimMarkPort {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        link_free: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let packet = arena.known(id);
        if packet.has_payload() {
            let leaving = if link_free > now { self.leaving } else { 0 };
            let taken = self.data.bytes().saturating_add(leaving);
            if taken.saturating_add(packet.size.into()) <= self.room {
                self.data.push(id, arena);
                return;
            }
            if self.chance.below(2) == 0 {
                self.data.exchange_last(id, arena);
            }
            if !self.trim(id, arena) {
                drop(id, arena);
                return;
            }
        }
        if !self.headers.push(id, arena) {
            drop(id, arena);
        }
    }

    #[inline]
    fn pass(&mut self, packet: &mut Packet) -> bool {
        self.leaving = if packet.has_payload() { packet.size.into() } else { 0 };
        if self.leaving > 0 {
            self.mark(packet);
        }
        true
    }

    #[inline]
    fn dequeue(
        &mut self,
        _: Time,
        arena: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        if !self.headers.is_empty() {
            self.leaving = 0;
            return Some(self.headers.pop(arena));
        }
        let id = self.data.pop(arena);
        if let Some(next) = self.data.first() {
            arena.fetch(next);
        }
        let packet = arena.known_mut(id);
        self.leaving = packet.size.into();
        self.mark(packet);
        Some(id)
    }

    #[inline]
    fn trims(&self, id: PacketId, arena: &mut PacketArena) -> bool {
        self.trim(id, arena)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.headers.is_empty()
    }

    #[inline]
    fn leaves_next(&self) -> Option<PacketId> {
        self.data.first()
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        let mut waiting = self.headers.waiting(arena);
        waiting.extend(self.data.waiting(arena));
        waiting
    }

    fn peak(&self) -> u64 {
        self.data.peak()
    }
}
