//! The arithmetic of a switch's memory: what there is, who has how much of it, and who may have
//! more.

use crate::packet::{PacketArena, PacketId};
use crate::queue::Queue;
use sojourn_core::parameters::{Refusal, Setting, Shape, Value};
use sojourn_core::{Bytes, Rate, Span, Time};

/// The memory of one switch, as a kind of buffer lays it out.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPlan {
    /// Bytes that all ports share.
    pub shared: u64,
    /// How long a queue may be over what of these is free; nothing: as long as something is.
    pub alpha: Option<f64>,
    /// Size of a memory cell. A packet occupies whole cells.
    pub cell: Bytes,
    /// What holds for the queue of each port.
    pub queues: Vec<Quota>,
}

/// What holds for the queue of one port, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// What it has for itself.
    pub reserve: u64,
    /// The most it may hold, the reserve counted.
    pub cap: u64,
}

impl Quota {
    /// A reserve of `size` bytes, and nothing of what is shared.
    pub fn own(size: u64) -> Quota {
        Quota { reserve: size, cap: size }
    }

    /// No reserve, and up to `cap` bytes of what is shared.
    pub fn shared(cap: u64) -> Quota {
        Quota { reserve: 0, cap }
    }
}

/// A number of bytes, the same at every port, or a time, which makes more of them at faster ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Depth {
    /// So many bytes.
    Bytes(Bytes),
    /// What the port sends in this time.
    Time(Span),
}

impl Depth {
    /// How many bytes that are at a port of `rate`.
    pub fn at(self, rate: Rate) -> u64 {
        match self {
            Depth::Bytes(bytes) => bytes.0,
            Depth::Time(span) => rate.bytes_in(span),
        }
    }
}

impl Setting for Depth {
    fn expected() -> String {
        "a size such as \"50MB\", or the time in which the port sends as much, such as \"40ms\""
            .to_owned()
    }

    fn shape() -> Shape {
        Shape::Any(vec![Bytes::shape(), Span::shape()])
    }

    fn read(value: &Value) -> Result<Depth, Refusal> {
        let bytes = Bytes::read(value).map(Depth::Bytes);
        bytes
            .or_else(|_| Span::read(value).map(Depth::Time))
            .map_err(|_| Refusal::value(value, Self::expected()))
    }

    fn write(&self) -> Option<Value> {
        match self {
            Depth::Bytes(bytes) => bytes.write(),
            Depth::Time(span) => span.write(),
        }
    }
}

/// How much can come to a switch within some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inflow {
    /// Bytes of all packets.
    pub(crate) bytes: u64,
    /// How many packets these are at most.
    pub(crate) packets: u64,
}

/// The memory of one switch in a run.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// What is free of the shared part.
    free: u64,
    /// Alpha, with this many bits behind the point: [`ALPHA_BITS`].
    alpha: u64,
    /// What all queues hold, and the most they ever held.
    held: u64,
    peak: u64,
    /// The least of the caps.
    cap: u64,
    /// Whether nothing is shared.
    is_cut: bool,
    cell: u32,
    /// 2^32 over the cell, rounded up: dividing by a multiplication.
    cells_per_byte: u64,
}

/// What the queue of one port holds, and may hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    held: u32,
    reserve: u32,
    cap: u32,
}

const ALPHA_BITS: u32 = 16;

/// No queue holds more than 4 GB.
const LARGEST_QUEUE: u64 = (u32::MAX - 2 * u16::MAX as u32) as u64;

impl Share {
    /// How much of `held` bytes lies in what is shared.
    #[inline]
    fn shared(&self, held: u32) -> u64 {
        held.saturating_sub(self.reserve).into()
    }

    /// Bytes that the queue holds.
    pub(crate) fn held(&self) -> u64 {
        self.held.into()
    }
}

impl Memory {
    /// An empty memory, and the empty share of each port.
    pub(crate) fn new(plan: &MemoryPlan) -> (Memory, Vec<Share>) {
        let memory = Memory {
            free: plan.shared,
            // Without a threshold any free byte allows a queue of any length.
            alpha: plan.alpha.map_or(u64::MAX, |a| (a * f64::from(1 << ALPHA_BITS)).round() as u64),
            held: 0,
            peak: 0,
            cap: plan.queues.iter().map(|quota| quota.cap.min(LARGEST_QUEUE)).min().unwrap_or(0),
            is_cut: plan.shared == 0,
            cell: plan.cell.0 as u32,
            cells_per_byte: (1u64 << 32).div_ceil(plan.cell.0),
        };
        let bytes = |bytes: u64| bytes.min(LARGEST_QUEUE) as u32;
        let share =
            |quota: &Quota| Share { held: 0, reserve: bytes(quota.reserve), cap: bytes(quota.cap) };
        (memory, plan.queues.iter().map(share).collect())
    }

    /// Bytes that a packet of `size` bytes takes: whole cells.
    #[inline]
    pub(crate) fn cells(&self, size: u16) -> u32 {
        // Exact: size plus cell, times cell, is below 2^32.
        let cells = (u64::from(u32::from(size) + self.cell - 1) * self.cells_per_byte) >> 32;
        cells as u32 * self.cell
    }

    /// Takes the memory of a packet of `size` bytes for a queue, if it is allowed.
    #[inline]
    pub(crate) fn take(&mut self, share: &mut Share, size: u16) -> bool {
        let room = self.cells(size);
        let held = share.held + room;
        let more = share.shared(held) - share.shared(share.held);
        let within = more <= self.free && self.is_short(share.shared(held), self.free);
        if held > share.cap || !(more == 0 || within) {
            return false;
        }
        share.held = held;
        self.free -= more;
        self.held += u64::from(room);
        true
    }

    /// Whether a queue with so much of what is shared is no longer than alpha times `free`.
    #[inline]
    fn is_short(&self, shared: u64, free: u64) -> bool {
        u128::from(shared) <= (u128::from(free) * u128::from(self.alpha)) >> ALPHA_BITS
    }

    /// Whether the order does not matter in which packets come that take no more than `most` bytes
    /// together: none can reach a limit, or no queue takes from another.
    #[inline]
    pub(crate) fn is_calm(&self, most: u64) -> bool {
        let all = self.held + most;
        let room = all <= self.cap && most <= self.free;
        self.is_cut || room && self.is_short(all, self.free - most)
    }

    /// The most bytes that the packets of `inflow` take together.
    pub(crate) fn most(&self, Inflow { bytes, packets }: Inflow) -> u64 {
        bytes + packets * u64::from(self.cell - 1)
    }

    /// Gives back the memory of a packet of `size` bytes that leaves a queue.
    #[inline]
    pub(crate) fn give(&mut self, share: &mut Share, size: u16) {
        let room = self.cells(size);
        let held = share.held - room;
        self.free += share.shared(share.held) - share.shared(held);
        self.held -= u64::from(room);
        share.held = held;
    }

    /// Puts a packet that comes `now` to a port, which can send next at `link_free`, into `queue`, if
    /// need be after dropping others, or drops it. What is dropped is handed to `drop`.
    #[inline]
    pub(crate) fn offer<D: Queue>(
        &mut self,
        (now, link_free): (Time, Time),
        share: &mut Share,
        queue: &mut D,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let fits = self.take(share, arena.known(id).size)
            || self.make_room(share, queue, id, arena, &mut drop);
        if fits {
            queue.enqueue(now, link_free, id, arena, |victim, arena| {
                self.give(share, arena.known(victim).size);
                drop(victim, arena);
            });
        }
    }

    /// Makes room for the packet `id`; false when it was dropped.
    #[cold]
    #[inline(never)]
    fn make_room<D: Queue>(
        &mut self,
        share: &mut Share,
        queue: &mut D,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> bool {
        while !self.take(share, arena.known(id).size) {
            if queue.trims(id, arena) {
                continue;
            }
            let victim = match self.takes_alone(*share, arena.known(id).size) {
                true => queue.evict(id, arena),
                false => None,
            };
            let Some(victim) = victim else {
                drop(id, arena);
                return false;
            };
            self.give(share, arena[victim].size);
            drop(victim, arena);
        }
        true
    }

    /// Whether a packet of `size` bytes could come into a queue that were empty: if not, no
    /// other is dropped for it.
    fn takes_alone(&self, share: Share, size: u16) -> bool {
        let mut without = Memory { free: self.free + share.shared(share.held), ..self.clone() };
        without.take(&mut Share { held: 0, ..share }, size)
    }

    /// Bytes that all queues hold.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Notes that so many bytes were held at once.
    #[inline]
    pub(crate) fn held_at_once(&mut self, bytes: u64) {
        self.peak = self.peak.max(bytes);
    }

    /// The most bytes that all queues ever held together.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }
}
