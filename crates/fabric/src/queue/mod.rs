//! Queue disciplines: what a port does with the packets that wait for it.
//!
//! A discipline is one file here: its parameters, and what one port keeps ([`Queue`]). The
//! engine is compiled once for each, so a call costs nothing more than its own work.

mod classes;
mod codel;
mod drop_tail;
mod drr;
mod ecn;
mod fifo;
mod fifo_ahead;
mod fq_codel;
mod levels;
mod line;
mod lossless;
mod pfabric;
mod pie;
mod python;
mod red;
mod telemetry;
mod trim;
mod trim_mark;
mod turns;

pub use classes::{Between, Classes, ClassesPort, Strict, Weighted};
pub use codel::{CoDel, CoDelPort, ControlLaw};
pub use drop_tail::{DropTail, DropTailPort};
pub use drr::{Drr, DrrPort, Victim};
pub use ecn::{Ecn, EcnPort};
pub use fifo_ahead::{FifoAhead, FifoAheadPort};
pub use fq_codel::{FqCoDel, FqCoDelPort};
pub use levels::{Levels, LevelsPort};
pub use line::LinePort;
pub(crate) use lossless::{Lossless, check_lossless, with_lossless};
pub use pfabric::{Dequeue, PFabric, PFabricPort, Ties};
pub use pie::{DelayBy, Pie, PiePort};
pub use python::{PythonPort, PythonQueue};
pub use red::{Red, RedPort};
pub use telemetry::{Telemetry, TelemetryPort};
pub use trim::{Trim, TrimPort};
pub use trim_mark::{TrimMark, TrimMarkPort};

use crate::packet::{Packet, PacketArena, PacketId};
use crate::topology::LinkSpec;
use sojourn_core::parameters::Refusal;
use sojourn_core::{Bytes, CodeFailed, Span, Stream, Time, choices, variants};

/// The room at a port unless a study sets another: the buffer of the pFabric paper's TCP (section 3).
pub(crate) const BUFFER: Bytes = Bytes(225_000);

/// The waiting bytes above which packets are marked unless a study sets another: the pFabric paper's
/// DCTCP marks above 22.5 KB (section 3).
const THRESHOLD: Bytes = Bytes(22_500);

/// Declares the disciplines, one line each: the registry of their parameters, and a port of any.
macro_rules! queues {
    ($($variant:ident($params:ty),)+) => {
        variants! {
            /// What a port does with the packets that wait.
            pub enum QueueKind: "queue" => with_queue { $($variant($params),)+ }
        }

        /// A port of any discipline, for those that have others inside.
        #[derive(Debug)]
        pub enum AnyPort {
            $(#[doc = concat!("See [`", stringify!($params), "`].")]
            $variant(<$params as Builder>::Port),)+
        }

        impl Builder for QueueKind {
            type Port = AnyPort;

            fn port(&self, outlet: Outlet) -> AnyPort {
                match self { $(QueueKind::$variant(own) => AnyPort::$variant(own.port(outlet)),)+ }
            }
            fn host_port(&self, outlet: Outlet) -> AnyPort {
                match self {
                    $(QueueKind::$variant(own) => AnyPort::$variant(own.host_port(outlet)),)+
                }
            }
            fn in_memory(&self, outlet: Outlet) -> AnyPort {
                match self {
                    $(QueueKind::$variant(own) => AnyPort::$variant(own.in_memory(outlet)),)+
                }
            }
            fn endless_port(&self, outlet: Outlet) -> AnyPort {
                match self {
                    $(QueueKind::$variant(own) => AnyPort::$variant(own.endless_port(outlet)),)+
                }
            }
            fn check_largest(&self, largest: u16) -> Result<(), Refusal> {
                match self { $(QueueKind::$variant(own) => own.check_largest(largest),)+ }
            }
        }

        impl Queue for AnyPort {
            #[inline]
            fn enqueue(
                &mut self,
                now: Time,
                link_free: Time,
                id: PacketId,
                arena: &mut PacketArena,
                drop: impl FnMut(PacketId, &mut PacketArena),
            ) {
                match self { $(AnyPort::$variant(port) => port.enqueue(now, link_free, id, arena, drop),)+ }
            }
            #[inline]
            fn dequeue(
                &mut self,
                now: Time,
                arena: &mut PacketArena,
                drop: impl FnMut(PacketId, &mut PacketArena),
            ) -> Option<PacketId> {
                match self { $(AnyPort::$variant(port) => port.dequeue(now, arena, drop),)+ }
            }
            #[inline]
            fn trims(&self, arriving: PacketId, arena: &mut PacketArena) -> bool {
                match self { $(AnyPort::$variant(port) => port.trims(arriving, arena),)+ }
            }
            #[inline]
            fn evict(&mut self, arriving: PacketId, arena: &mut PacketArena) -> Option<PacketId> {
                match self { $(AnyPort::$variant(port) => port.evict(arriving, arena),)+ }
            }
            #[inline]
            fn pass(&mut self, packet: &mut Packet) -> bool {
                match self { $(AnyPort::$variant(port) => port.pass(packet),)+ }
            }
            #[inline]
            fn is_empty(&self) -> bool {
                match self { $(AnyPort::$variant(port) => port.is_empty(),)+ }
            }
            fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
                match self { $(AnyPort::$variant(port) => port.waiting(arena),)+ }
            }
            fn peak(&self) -> u64 {
                match self { $(AnyPort::$variant(port) => port.peak(),)+ }
            }
            fn failure(&self) -> Option<&CodeFailed> {
                match self { $(AnyPort::$variant(port) => port.failure(),)+ }
            }
        }
    };
}

queues! {
    DropTail(DropTail),
    Ecn(Ecn),
    Red(Red),
    Telemetry(Telemetry),
    PFabric(PFabric),
    Trim(Trim),
    TrimMark(TrimMark),
    Levels(Levels),
    Drr(Drr),
    Classes(Classes),
    CoDel(CoDel),
    FqCoDel(FqCoDel),
    Pie(Pie),
    Python(PythonQueue),
}

/// The port that a queue is built for.
#[derive(Clone, Debug)]
pub struct Outlet {
    /// For the random choices of this queue alone.
    pub stream: Stream,
    /// The link that the port sends on.
    pub link: LinkSpec,
    /// The share of its speed that it has all the time, where it [fails](crate::failure).
    pub share: f64,
    /// Whether that link leads to a host.
    pub leads_to_host: bool,
    /// The round trip of a full packet between the hosts that are farthest apart, were all links as fast
    /// as this one.
    pub round_trip: Span,
    /// The largest round trip of a full packet in the fabric while nothing waits.
    pub base_round_trip: Span,
    /// Bytes of a full packet.
    pub full: u16,
}

/// Builds the ports of a discipline.
pub trait Builder {
    /// What one port keeps.
    type Port: Queue;

    /// An empty port of a switch.
    fn port(&self, outlet: Outlet) -> Self::Port;

    /// An empty port of a host: like a switch's, unless the discipline says otherwise.
    fn host_port(&self, outlet: Outlet) -> Self::Port {
        self.port(outlet)
    }

    /// An empty port of a switch whose ports share its memory: the queue itself has no limit, and
    /// [`evict`](Queue::evict) says which packet goes when the memory is full.
    fn in_memory(&self, outlet: Outlet) -> Self::Port;

    /// An empty port of a host under backpressure. It never drops: its transports send only a few
    /// packets at a time.
    fn endless_port(&self, outlet: Outlet) -> Self::Port {
        self.in_memory(outlet)
    }

    /// Refuses a buffer into which no packet of `largest` bytes fits.
    fn check_largest(&self, largest: u16) -> Result<(), Refusal>;
}

/// A discipline whose ports each have one buffer for all packets that wait there.
pub trait Buffered {
    /// What one port keeps.
    type Port: Queue;

    /// The buffer of a port that shares it with no other.
    fn room(&self) -> Capacity;

    /// An empty port with this buffer.
    fn with_room(&self, room: Capacity, outlet: Outlet) -> Self::Port;

    /// See [`Builder::host_port`].
    fn at_host(&self, outlet: Outlet) -> Self::Port {
        self.with_room(self.room(), outlet)
    }

    /// See [`Builder::endless_port`].
    fn endless(&self, outlet: Outlet) -> Self::Port {
        self.with_room(Capacity::endless(), outlet)
    }

    /// Refuses parameters, the buffer aside, that cannot serve a packet of `largest` bytes.
    fn check_others(&self, _largest: u16) -> Result<(), Refusal> {
        Ok(())
    }
}

impl<B: Buffered> Builder for B {
    type Port = B::Port;

    fn port(&self, outlet: Outlet) -> B::Port {
        self.with_room(self.room(), outlet)
    }

    fn host_port(&self, outlet: Outlet) -> B::Port {
        self.at_host(outlet)
    }

    fn in_memory(&self, outlet: Outlet) -> B::Port {
        self.with_room(Capacity::endless(), outlet)
    }

    fn endless_port(&self, outlet: Outlet) -> B::Port {
        self.endless(outlet)
    }

    fn check_largest(&self, largest: u16) -> Result<(), Refusal> {
        self.check_others(largest)?;
        check_largest(Bytes(self.room().all.into()), largest)
    }
}

/// The packets that wait at one port: their order, and which are marked, trimmed or dropped.
///
/// Every packet that arrives is either returned by [`dequeue`](Queue::dequeue) or handed to `drop`,
/// once. [`arrives`](Packet::arrives) says since when a packet waits.
pub trait Queue {
    /// Takes in the packet `id`, which arrives `now`; the port can send next at `link_free`. It may mark
    /// the packet, and hands to `drop` what does not fit: `id`, or others in its place.
    fn enqueue(
        &mut self,
        now: Time,
        link_free: Time,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    );

    /// Takes out the packet that goes next, as the port is free `now`. Some packet waits. It may hand
    /// packets to `drop` first; nothing where that were all it found, and it is asked again while
    /// others wait.
    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId>;

    /// Trims the packet `arriving`, for which a switch's memory has no room, to its header, if its
    /// transport allows that. See [`PacketArena::trim`]. Returns whether it did.
    #[inline]
    fn trims(&self, _arriving: PacketId, _arena: &mut PacketArena) -> bool {
        false
    }

    /// Takes out the packet that is dropped so that `arriving` fits; nothing when `arriving` is.
    #[inline]
    fn evict(&mut self, _arriving: PacketId, _arena: &mut PacketArena) -> Option<PacketId> {
        None
    }

    /// Does at once for `packet`, which finds the port idle and is sent without waiting, what
    /// [`enqueue`](Queue::enqueue) and [`dequeue`](Queue::dequeue) would do. That is a short way for
    /// disciplines to which such a packet makes little or no difference; others return false.
    #[inline]
    fn pass(&mut self, _packet: &mut Packet) -> bool {
        false
    }

    /// Whether no packet waits, but for those that were sent ahead.
    fn is_empty(&self) -> bool;

    /// The packets that wait, in any order.
    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId>;

    /// The most bytes of its buffer that were taken at once; a packet that found the port idle took none.
    fn peak(&self) -> u64;

    /// Why code of a user by which it decides failed, if it did.
    fn failure(&self) -> Option<&CodeFailed> {
        None
    }

    /// A packet that may leave next, where most have waited for so long that it pays to fetch it into the
    /// cache before the port is visited.
    #[doc(hidden)]
    #[inline]
    fn leaves_next(&self) -> Option<PacketId> {
        None
    }

    /// Whether packets are sent on arrival, by `line_up`, instead of being kept; see [`FifoAhead`],
    /// whose ports alone have these three.
    #[doc(hidden)]
    const AHEAD: bool = false;

    /// Takes in a packet that comes `now` and begins to leave at `at`, and marks it where so much
    /// waits; false where it does not fit.
    #[doc(hidden)]
    #[inline]
    fn line_up(&mut self, _packet: &mut Packet, _now: Time, _at: Time) -> bool {
        unreachable!("only lines send ahead")
    }

    /// The sizes of packets that were sent ahead and begin to leave at `at` or later.
    #[doc(hidden)]
    fn begin_from(&self, _at: Time) -> impl Iterator<Item = u16> {
        std::iter::empty()
    }

    /// Whether pause frames stop the port; see [`Lossless`], whose ports alone have the next two.
    #[doc(hidden)]
    const PAUSES: bool = false;

    /// Stops what a pause stops, or lets it go on.
    #[doc(hidden)]
    fn stop(&mut self, _stopped: bool) {
        unreachable!("no pause stops this port")
    }

    /// Counts a packet of `size` bytes of another class, which the port sends past what this queue holds.
    #[doc(hidden)]
    #[inline]
    fn passed_by(&mut self, _size: u16) {}

    /// Takes out the next packet of those that are stopped, to drop it.
    #[doc(hidden)]
    fn take_stopped(&mut self, _now: Time, _arena: &mut PacketArena) -> Option<PacketId> {
        unreachable!("no pause stops this port")
    }
}

/// Makes room for the packet `id` in `queue` until `fits` says that it fits; what is dropped is handed
/// to `drop`. False when it is `id` itself that was dropped.
#[inline]
fn make_room<Q: Queue>(
    queue: &mut Q,
    id: PacketId,
    arena: &mut PacketArena,
    fits: impl Fn(&Q, u16) -> bool,
    mut drop: impl FnMut(PacketId, &mut PacketArena),
) -> bool {
    while !fits(queue, arena.known(id).size) {
        let victim = queue.evict(id, arena);
        drop(victim.unwrap_or(id), arena);
        if victim.is_none() {
            return false;
        }
    }
    true
}

#[cfg(test)]
impl Outlet {
    /// A port at 10 Gb/s, to a switch.
    fn alone(stream: Stream) -> Outlet {
        let link = LinkSpec { rate: sojourn_core::Rate::gbps(10), delay: Span::from_us(1) };
        let round_trip = Span::from_us(12);
        Outlet {
            stream,
            link,
            share: 1.0,
            leads_to_host: false,
            round_trip,
            base_round_trip: round_trip,
            full: 1500,
        }
    }
}

/// For tests of queues that drop no packet when they send one.
#[cfg(test)]
fn no_drop(_: PacketId, _: &mut PacketArena) {
    panic!("a packet was dropped");
}

choices! {
    /// What a buffer's limit counts.
    pub enum Counting: "way of counting a buffer" {
        /// Bytes: 22.5 KB hold 15 full packets, or 562 ACKs.
        Bytes = "bytes",
        /// Packets, each as one full packet of 1500 B: 22.5 KB hold 15 of any size.
        Packets = "packets",
    }
}

/// Bytes that each packet takes where a buffer counts packets.
const FULL_PACKET: u16 = 1500;

/// How much of one port's buffer is free.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    free: u32,
    /// The least that was ever free, and all that there is.
    least: u32,
    all: u32,
    /// Bytes that each packet takes where packets are counted; 0 where bytes are.
    each: u16,
    size_mask: u16,
}

impl Capacity {
    /// An empty buffer of `buffer` bytes.
    pub(crate) fn new(buffer: Bytes, counting: Counting) -> Capacity {
        let (each, size_mask) = match counting {
            Counting::Bytes => (0, u16::MAX),
            Counting::Packets => (FULL_PACKET, 0),
        };
        let all = u32::try_from(buffer.0).unwrap_or(u32::MAX);
        Capacity { free: all, least: all, all, each, size_mask }
    }

    /// A buffer for all: 4 GB, more than can be under way.
    pub(crate) fn endless() -> Capacity {
        Capacity::new(Bytes(u64::MAX), Counting::Bytes)
    }

    /// Bytes that a packet of `size` bytes takes.
    #[inline]
    fn taken_by(self, size: u16) -> u32 {
        (self.each + (size & self.size_mask)).into()
    }

    /// The most bytes that fit into what is free, in packets of up to `largest` bytes.
    fn most(self, largest: u16) -> u64 {
        match self.each {
            0 => self.free.into(),
            each => u64::from(self.free / u32::from(each)) * u64::from(largest),
        }
    }

    /// Whether a packet of `size` bytes fits.
    #[inline]
    pub(crate) fn fits(self, size: u16) -> bool {
        self.taken_by(size) <= self.free
    }

    /// Takes the capacity of a packet of `size` bytes, which has to fit.
    #[inline]
    pub(crate) fn take(&mut self, size: u16) {
        self.free -= self.taken_by(size);
        if self.free < self.least {
            self.least = self.free;
        }
    }

    /// The most that was taken at once, in bytes.
    pub(crate) fn peak(self) -> u64 {
        (self.all - self.least).into()
    }

    /// Gives back the capacity of a packet of `size` bytes.
    #[inline]
    pub(crate) fn give(&mut self, size: u16) {
        self.free += self.taken_by(size);
    }
}

/// Refuses a buffer in which not even one full packet fits.
fn check_buffer(buffer: Bytes) -> Result<(), Refusal> {
    check_capacity("buffer", buffer)
}

/// Refuses a capacity below one full packet (1500 B); `key` names the parameter in the message.
fn check_capacity(key: &str, capacity: Bytes) -> Result<(), Refusal> {
    if capacity.0 < FULL_PACKET.into() {
        let expected = "room for at least one full packet, \"1500B\"";
        return Err(Refusal::of(&capacity, expected).under(key));
    }
    Ok(())
}

/// Refuses a buffer in which not even one packet of `largest` bytes fits.
fn check_largest(buffer: Bytes, largest: u16) -> Result<(), Refusal> {
    if buffer.0 < largest.into() {
        let expected = format!("room for at least one full packet of {largest}B");
        return Err(Refusal::of(&buffer, expected).under("buffer"));
    }
    Ok(())
}
