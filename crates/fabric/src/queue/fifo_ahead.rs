//! First in, first out, with departures known on arrival.
//!
//! Nothing overtakes in a line, so when a packet comes it is clear when it leaves: after those before
//! it (Lindley 1952). Its port can send it ahead at once, as of that time, and need not come back for
//! it. What the line keeps is when each begins to leave, to know how much waits.

use super::line::mark;
use super::{Buffered, Builder, Capacity, Outlet, Queue, QueueKind};
use crate::packet::{Packet, PacketArena, PacketId};
use sojourn_core::Time;
use sojourn_core::parameters::Refusal;
use std::collections::VecDeque;

/// The parameters of all lines of a fabric.
#[derive(Clone, Copy, Debug)]
pub struct FifoAhead {
    pub(super) capacity: Capacity,
    /// Waiting bytes above which an arriving packet is marked. If it is low, links may run empty;
    /// if it is high, all packets wait longer.
    pub(super) threshold: u32,
}

impl FifoAhead {
    /// The ports of `queue` as such lines: the one place that knows which disciplines are first in,
    /// first out, and decide nothing after the arrival.
    pub(crate) fn of(queue: &QueueKind) -> Option<FifoAhead> {
        let (capacity, threshold) = match queue {
            QueueKind::DropTail(own) => (own.room(), u32::MAX),
            QueueKind::Ecn(own) => (own.room(), own.marks_above()),
            _ => return None,
        };
        Some(FifoAhead { capacity, threshold })
    }

    /// The most bytes that can wait, in packets of up to `largest` bytes.
    pub(crate) fn longest(&self, largest: u16) -> u64 {
        self.capacity.most(largest)
    }
}

/// The line of one port.
#[derive(Debug)]
pub struct FifoAheadPort {
    /// Bytes of the buffer that are free and were taken at some time.
    below_peak: u32,
    /// Bytes that were never taken.
    never_taken: u32,
    /// Bytes that wait. In all three what has left since departures were last dropped still waits.
    bytes: u32,
    /// The buffer as it was in the beginning.
    empty: Capacity,
    threshold: u32,
    /// When each of those that wait begins to leave, and its size; before them some that have left.
    leaving: VecDeque<Departure>,
}

/// When a packet begins to leave, and its size. Packed, because queues of a large fabric that are full
/// do not fit into the caches.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(2))]
struct Departure {
    begins: Time,
    size: u16,
}

/// Departures that a new line has places for, 60 bytes. Those that are over are dropped only when the line
/// is full, or when capacity or threshold depend on them.
const FEW: usize = 6;

impl Builder for FifoAhead {
    type Port = FifoAheadPort;

    fn port(&self, _: Outlet) -> FifoAheadPort {
        FifoAheadPort {
            below_peak: 0,
            never_taken: self.capacity.all,
            bytes: 0,
            empty: self.capacity,
            threshold: self.threshold,
            leaving: VecDeque::with_capacity(FEW),
        }
    }

    fn endless_port(&self, outlet: Outlet) -> FifoAheadPort {
        FifoAhead { capacity: Capacity::endless(), threshold: u32::MAX }.port(outlet)
    }

    fn in_memory(&self, _: Outlet) -> FifoAheadPort {
        unreachable!("what has room in a switch's memory is not sent ahead")
    }

    fn check_largest(&self, _: u16) -> Result<(), Refusal> {
        unreachable!("the discipline that these lines are of was checked")
    }
}

impl FifoAheadPort {
    /// Drops the departures before `now`. A packet that begins to leave at `now` still waits when another
    /// comes then.
    #[inline(never)]
    fn settle(&mut self, now: Time) {
        while let Some(&Departure { begins, size }) = self.leaving.front()
            && begins < now
        {
            self.leaving.pop_front();
            self.below_peak += self.empty.taken_by(size);
            self.bytes -= u32::from(size);
        }
    }

    /// Whether `size` bytes fit beside all that the line knows of, make no new peak and are not marked.
    #[inline]
    fn is_easy(&self, size: u16) -> bool {
        self.empty.taken_by(size) <= self.below_peak
            && self.bytes + u32::from(size) <= self.threshold
            && self.leaving.len() < self.leaving.capacity()
    }
}

const SENT_AHEAD: &str = "no packet waits that was sent ahead";

impl Queue for FifoAheadPort {
    const AHEAD: bool = true;

    #[inline]
    fn line_up(&mut self, packet: &mut Packet, now: Time, at: Time) -> bool {
        let size = packet.size;
        let taken = self.empty.taken_by(size);
        if !self.is_easy(size) {
            self.settle(now);
            let new = taken.saturating_sub(self.below_peak);
            if new > self.never_taken {
                return false;
            }
            self.never_taken -= new;
            self.below_peak += new;
        }
        self.below_peak -= taken;
        self.bytes += u32::from(size);
        if self.bytes > self.threshold {
            mark(packet);
        }
        self.leaving.push_back(Departure { begins: at, size });
        true
    }

    fn begin_from(&self, at: Time) -> impl Iterator<Item = u16> {
        self.leaving
            .iter()
            .rev()
            .take_while(move |departure| { departure.begins } >= at)
            .map(|departure| departure.size)
    }

    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        _: PacketId,
        _: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) {
        unreachable!("{SENT_AHEAD}")
    }

    fn dequeue(
        &mut self,
        _: Time,
        _: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        unreachable!("{SENT_AHEAD}")
    }

    #[inline]
    fn pass(&mut self, packet: &mut Packet) -> bool {
        if u32::from(packet.size) > self.threshold {
            mark(packet);
        }
        true
    }

    #[inline]
    fn is_empty(&self) -> bool {
        true
    }

    fn waiting(&self, _: &PacketArena) -> Vec<PacketId> {
        unreachable!("nothing is sent ahead where ports are sampled")
    }

    fn peak(&self) -> u64 {
        (self.empty.all - self.never_taken).into()
    }
}
