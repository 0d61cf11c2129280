//! NDP's port: a very short queue that trims packets instead of dropping them (Handley et al.,
//! SIGCOMM 2017, section 3.1).

use super::fifo::Fifo;
use super::turns::Turns;
use super::{
    Builder, Capacity, Counting, Outlet, Queue, check_buffer, check_capacity, check_largest,
};
use crate::packet::{Packet, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Stream, Time, parameters};

parameters! {
    /// Keeps a short queue of data; when it is full, takes the payload away from the packet that
    /// comes or from the last one that waits, each as often, and queues the header before the data,
    /// with ACKs and all else that is not data. Ten of these go before a packet of data that waits,
    /// then that one goes (NDP, SIGCOMM 2017, section 3.1). What may not be trimmed is dropped
    /// instead. Hosts are not switches: their ports have no limit, trim nothing, and let flows
    /// take turns (as in csg-htsim, an open simulator). Where ports share a switch's memory, its
    /// limits hold for data and headers together, and `buffer` and `headers` for none: a memory of
    /// less than some first windows drops headers, which NDP does not bear. Not modelled: a header
    /// that does not fit is dropped, not returned to its sender.
    pub struct Trim: "trim" {
        /// Room for waiting data at each port: eight packets (section 3.1). Less trims more; more
        /// lets packets wait longer.
        pub buffer: Bytes = Bytes(12_000),
        /// Room for headers, ACKs and other packets without payload: the same again. If it is full,
        /// headers are lost and wait for a time-out.
        pub headers: Bytes = Bytes(12_000),
        /// Whether the buffer for data counts bytes or packets.
        pub counting: Counting = Counting::Packets,
    }
}

impl Check for Trim {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)?;
        check_capacity("headers", self.headers)
    }
}

/// How many headers may go before a packet of data that waits.
const HEADERS_A_PACKET: u32 = 10;

/// The data that waits: in one line at a switch, in a line for each flow at a host.
#[derive(Debug)]
enum Data {
    Fifo(Fifo),
    Turns(Turns),
}

/// What a trimming port keeps.
#[derive(Debug)]
pub struct TrimPort {
    data: Data,
    headers: Fifo,
    /// Headers that went before the data that waits since data went last.
    overtaken: u32,
    stream: Stream,
}

impl TrimPort {
    fn new(data: Data, headers: Capacity, stream: Stream) -> TrimPort {
        TrimPort { data, headers: Fifo::new(headers), overtaken: 0, stream }
    }
}

impl Builder for Trim {
    type Port = TrimPort;

    fn port(&self, outlet: Outlet) -> TrimPort {
        let data = Data::Fifo(Fifo::new(Capacity::new(self.buffer, self.counting)));
        TrimPort::new(data, Capacity::new(self.headers, Counting::Bytes), outlet.stream)
    }

    fn host_port(&self, outlet: Outlet) -> TrimPort {
        TrimPort::new(Data::Turns(Turns::default()), Capacity::endless(), outlet.stream)
    }

    fn endless_port(&self, outlet: Outlet) -> TrimPort {
        self.host_port(outlet)
    }

    /// The memory's limits take the place of the port's, and it is always the packet that comes whose
    /// payload goes.
    fn in_memory(&self, outlet: Outlet) -> TrimPort {
        let data = Data::Fifo(Fifo::new(Capacity::endless()));
        TrimPort::new(data, Capacity::endless(), outlet.stream)
    }

    fn check_largest(&self, largest: u16) -> Result<(), Refusal> {
        check_largest(self.buffer, largest)
    }
}

impl Data {
    #[inline]
    fn pop(&mut self, arena: &PacketArena) -> PacketId {
        match self {
            Data::Fifo(line) => line.pop(arena),
            Data::Turns(turns) => turns.pop(arena),
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        match self {
            Data::Fifo(line) => line.is_empty(),
            Data::Turns(turns) => turns.is_empty(),
        }
    }
}

impl Queue for TrimPort {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        if arena[id].has_payload() {
            let line = match &mut self.data {
                Data::Fifo(line) => line,
                Data::Turns(turns) => return turns.push(id, arena),
            };
            if line.push(id, arena) {
                return;
            }
            if self.stream.below(2) == 0 {
                line.exchange_last(id, arena);
            }
            if !arena.trim(id) {
                drop(id, arena);
                return;
            }
        }
        if !self.headers.push(id, arena) {
            drop(id, arena);
        }
    }

    #[inline]
    fn pass(&mut self, _: &mut Packet) -> bool {
        true
    }

    #[inline]
    fn dequeue(
        &mut self,
        _: Time,
        arena: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        if self.data.is_empty() {
            return Some(self.headers.pop(arena));
        }
        if self.headers.is_empty() || self.overtaken == HEADERS_A_PACKET {
            self.overtaken = 0;
            return Some(self.data.pop(arena));
        }
        self.overtaken += 1;
        Some(self.headers.pop(arena))
    }

    #[inline]
    fn trims(&self, id: PacketId, arena: &mut PacketArena) -> bool {
        arena.trim(id)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.headers.is_empty()
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        let mut waiting = self.headers.waiting(arena);
        waiting.extend(match &self.data {
            Data::Fifo(line) => line.waiting(arena),
            Data::Turns(turns) => turns.waiting(arena),
        });
        waiting
    }

    fn peak(&self) -> u64 {
        match &self.data {
            Data::Fifo(line) => line.peak(),
            // A host's port, which drops nothing.
            Data::Turns(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Kind, TRIMMABLE};
    use crate::queue::no_drop;
    use sojourn_core::Streams;
    use sojourn_core::parameters::defaults;

    fn port(stream: u64) -> (TrimPort, PacketArena) {
        (
            defaults::<Trim>().port(Outlet::alone(Streams::new(1, 0).stream("t", stream))),
            PacketArena::default(),
        )
    }

    fn data(sequence: u32) -> Packet {
        let template = Packet::LAST;
        Packet { sequence, size: 1500, kind: Kind::DATA, marks: TRIMMABLE, ..template }
    }

    fn ack(sequence: u32) -> Packet {
        Packet { size: 40, kind: Kind::ACK, marks: 0, ..data(sequence) }
    }

    /// Offers a packet; how many were dropped.
    fn offer(port: &mut TrimPort, arena: &mut PacketArena, packet: Packet) -> usize {
        let (id, mut dropped) = (arena.insert(packet), 0);
        port.enqueue(Time::ZERO, Time::ZERO, id, arena, |_, _| dropped += 1);
        dropped
    }

    /// All that waits, in the order in which it goes: sequence and size.
    fn drain(port: &mut TrimPort, arena: &mut PacketArena) -> Vec<(u32, u16)> {
        let next = |port: &mut TrimPort, arena: &mut PacketArena| {
            let id = port.dequeue(Time::ZERO, arena, no_drop).expect("a packet");
            (arena[id].sequence, arena[id].size)
        };
        std::iter::from_fn(|| (!port.is_empty()).then(|| next(port, arena))).collect()
    }

    /// Eight packets wait whole. The ninth is trimmed, or takes the place of the eighth, which is:
    /// each half of the time, with a 99 % interval. The header overtakes.
    #[test]
    fn a_full_queue_trims() {
        let trials = 10_000;
        let mut newest = 0;
        let mut order: Vec<(u32, u16)> = (0..8).map(|sequence| (sequence, 1500)).collect();
        for trial in 0..trials {
            let (mut port, mut arena) = port(trial);
            for sequence in 0..9 {
                assert_eq!(offer(&mut port, &mut arena, data(sequence)), 0);
            }
            let gone = drain(&mut port, &mut arena);
            let trimmed = gone[0].0;
            order[7].0 = 15 - trimmed;
            assert_eq!((gone[0].1, &gone[1..]), (40, &order[..]));
            newest += u64::from(trimmed == 8);
        }
        let deviation = (trials as f64 / 4.0).sqrt();
        assert!((newest as f64 - trials as f64 / 2.0).abs() < 2.576 * deviation);
    }

    #[test]
    fn ten_headers_go_before_each_packet_that_waits() {
        let (mut port, mut arena) = port(0);
        for sequence in 0..25 {
            offer(&mut port, &mut arena, ack(sequence));
        }
        for sequence in 100..103 {
            offer(&mut port, &mut arena, data(sequence));
        }
        let kinds: Vec<u32> = drain(&mut port, &mut arena).iter().map(|gone| gone.0).collect();
        let expected = (0..10).chain([100]).chain(10..20).chain([101]).chain(20..25).chain([102]);
        assert_eq!(kinds, expected.collect::<Vec<_>>());
    }

    /// 12 KB hold 300 headers of 40 B. What may not be trimmed is lost where a header would be
    /// left. At a host nothing is.
    #[test]
    fn what_does_not_fit_is_dropped() {
        let (mut port, mut arena) = port(0);
        let all: usize = (0..309).map(|i| offer(&mut port, &mut arena, data(i))).sum();
        assert_eq!((all, drain(&mut port, &mut arena).len()), (1, 308));
        let plain = |i| Packet { marks: 0, ..data(i) };
        let lost: usize = (0..9).map(|i| offer(&mut port, &mut arena, plain(i))).sum();
        assert_eq!((lost, drain(&mut port, &mut arena).len()), (1, 8));
        let mut host =
            defaults::<Trim>().host_port(Outlet::alone(Streams::new(1, 0).stream("t", 0)));
        assert_eq!((0..309).map(|i| offer(&mut host, &mut arena, data(i))).sum::<usize>(), 0);
        assert!(drain(&mut host, &mut arena).iter().all(|gone| gone.1 == 1500));
    }
}
