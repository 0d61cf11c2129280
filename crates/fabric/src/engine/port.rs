//! Ports and what lies between them: a port through a window, where what arrives at it and its service
//! are merged in one loop; and a packet on its way from one port to the next.

use super::Engine;
use super::deadlock::Blocked;
use super::nic::Nic;
use super::partition::{Block, BlockId, Layout, Unit};
use super::pauses::Pauses;
use super::routing::{Arrivals, Frames, Routing};
use super::scenario::{PacketCounts, Scenario};
use super::timing_wheel::TimingWheel;
use crate::failure::Fails;
use crate::packet::{Kind, Packet, PacketArena, PacketId};
use crate::queue::Queue;
use crate::topology::{ExactTiming, Link};
use sojourn_core::{Span, Time};

/// One output port, in two cache lines of 64 bytes.
#[repr(align(64))]
pub(super) struct Port<D, S> {
    /// When the last packet that it was given to send has left.
    pub(super) free: Time,
    pub(super) timing: LinkTiming,
    /// The interface at the other end of its link: the block that it is in, and its number at its
    /// node.
    pub(super) interface: u32,
    pub(super) block: BlockId,
    pub(super) arrives_by: u8,
    pub(super) queue: D,
    pub(super) busy: Span,
    /// The time of the last visit that was asked for, so that none is asked for twice.
    pub(super) visited_at: Time,
    /// What it has of its switch's memory.
    pub(super) share: S,
}

impl<D, S> Port<D, S> {
    /// Has the port, a `unit` of the open `block`, visited at `at`.
    #[inline(always)]
    pub(super) fn visit_at(
        &mut self,
        at: Time,
        wheel: &mut TimingWheel,
        block: BlockId,
        unit: Unit,
    ) {
        if self.visited_at != at {
            self.visited_at = at;
            wheel.visit(block, unit.nth, at);
        }
    }
}

/// The element of `places` for `unit`, a unit of the open block.
#[inline(always)]
pub(super) fn at<P>(places: &mut [P], unit: Unit) -> &mut P {
    debug_assert!(unit.place < places.len());
    // SAFETY: ports, and what there is for each host, were made for all units of this side, and a side
    // opens its own blocks only.
    unsafe { places.get_unchecked_mut(unit.place) }
}

/// Times of one link, where a multiplication suffices to find them.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTiming {
    /// Propagation delay.
    delay: Span,
    /// Transmission time of a byte in picoseconds, where that is a whole number and the next node stores
    /// and forwards; otherwise 0.
    byte_ps: u32,
    /// Where that is 0, the number of its [`ExactTiming`] in [`LinkTimings`].
    timing: u32,
}

/// The timings of links for which a [`LinkTiming`] does not suffice; outside of ports, so that these stay
/// small.
#[derive(Debug, Default)]
pub(super) struct LinkTimings {
    timings: Vec<SlowTiming>,
}

/// Times of one link that need a division, and what fails on it.
#[derive(Debug)]
struct SlowTiming {
    exact: ExactTiming,
    fails: Option<Fails>,
}

impl LinkTimings {
    /// Adds a link. `header` is the size of a header in bytes, and `fails` says when the link fails.
    pub(super) fn add(&mut self, link: &Link, header: u16, fails: Option<Fails>) -> LinkTiming {
        let rate = link.spec.rate;
        let exact = 8_000_000_000_000 % rate.bits_per_second() == 0 && !link.cuts;
        let exact = exact && fails.is_none();
        let byte_ps = if exact { u32::try_from(rate.span(1).ps()).unwrap_or(0) } else { 0 };
        if byte_ps == 0 {
            self.timings.push(SlowTiming { exact: ExactTiming::new(link, header), fails });
        }
        let timing = self.timings.len().saturating_sub(1) as u32;
        LinkTiming { delay: link.spec.delay, byte_ps, timing }
    }

    /// Transmission time of `size` bytes on the link of `timing`.
    #[inline(always)]
    pub(super) fn span(&self, timing: &LinkTiming, size: u16) -> Span {
        match timing.byte_ps {
            0 => self.timings[timing.timing as usize].exact.span(size),
            ps => Span::from_ps(u64::from(size) * u64::from(ps)),
        }
    }

    /// Transmission time of a packet of `size` bytes that the link of `timing`, which has a [`SlowTiming`],
    /// takes at `now`; and the time until the other end has it, if it is not lost.
    fn fate(&mut self, timing: LinkTiming, size: u16, now: Time) -> (Span, Option<Span>) {
        let SlowTiming { exact, fails } = &mut self.timings[timing.timing as usize];
        let (whole, crossing) = (exact.span(size), exact.crossing(size));
        let Some(fails) = fails else { return (whole, Some(crossing)) };
        match fails.slowed(whole, now) {
            None => (whole, None),
            Some(span) => (span, Some(crossing + (span - whole))),
        }
    }
}

impl LinkTiming {
    /// Transmission time of `size` bytes, and time until the other end may send them on, or has them; none
    /// for a link with a [`SlowTiming`].
    #[inline(always)]
    fn times(self, size: u16) -> Option<(Span, Span)> {
        let span = Span::from_ps(u64::from(size) * u64::from(self.byte_ps));
        (self.byte_ps != 0).then(|| (span, span + self.delay))
    }
}

/// The boundary of the part of a fabric that one engine simulates.
pub(super) trait Boundary {
    /// Whether there are other sides.
    const CUT: bool;

    /// Which side this is.
    fn side(&self) -> usize;

    /// Whether `block` is on this side.
    fn is_mine(&self, block: BlockId) -> bool;

    /// Of eight blocks, those that links from other sides lead to: for each the lowest bit of a byte.
    fn hears(&self, eight: usize) -> u64;

    /// Hands over a packet that is under way to `block` on another side.
    fn hand_over(&mut self, block: BlockId, packet: Packet);
}

/// No boundary: one engine simulates the whole fabric.
pub(super) struct Whole;

impl Boundary for Whole {
    const CUT: bool = false;

    fn side(&self) -> usize {
        0
    }

    #[inline(always)]
    fn is_mine(&self, _: BlockId) -> bool {
        true
    }

    #[inline(always)]
    fn hears(&self, _: usize) -> u64 {
        0
    }

    fn hand_over(&mut self, _: BlockId, _: Packet) {
        unreachable!("everything is on one side");
    }
}

/// Everything of one side but its ports and hosts: routes, packets and links.
pub(super) struct Fabric<'a, B> {
    pub(super) layout: &'a Layout,
    pub(super) routing: Routing<'a>,
    /// The block that is open, and what reaches it.
    pub(super) open: BlockId,
    pub(super) arrivals: Arrivals,
    /// All packets, waiting and under way.
    pub(super) arena: PacketArena,
    pub(super) links: Links<B>,
}

/// The links of one side and what is under way on them.
pub(super) struct Links<B> {
    pub(super) timings: LinkTimings,
    pub(super) wheel: TimingWheel,
    pub(super) boundary: B,
    pub(super) counts: PacketCounts,
}

impl<'a, B: Boundary> Fabric<'a, B> {
    /// Opens a block: puts what reaches it in the current window into [`Fabric::arrivals`].
    #[inline(always)]
    pub(super) fn open<F: Frames>(&mut self, number: BlockId) -> &'a Block {
        let Fabric { layout, routing, arrivals, arena, links, open } = self;
        let block = &layout.blocks[usize::from(number)];
        *open = number;
        arrivals.clear();
        links.wheel.open(number);
        links.wheel.read(|run| {
            if block.are_hosts {
                arrivals.at_hosts(block, run, arena);
            } else {
                routing.route::<F>(block, run, arena, arrivals);
            }
        });
        links.wheel.take_visits(|unit| arrivals.visit(unit));
        block
    }

    /// Whether `unit` is on this side.
    pub(super) fn is_mine(&self, unit: u32) -> bool {
        self.links.boundary.is_mine(self.layout.of(unit))
    }

    /// Leaves a note for a host at the time in its key.
    pub(super) fn leave(&mut self, host: u32, note: Packet) {
        let note = Packet { next: PacketId::of_interface(host), ..note };
        self.links.wheel.put(self.layout.of(host), note, &mut self.arena);
    }
}

impl<B: Boundary> Links<B> {
    /// Sends the packet `id` at `now`: puts it on the link to the next node.
    #[inline(always)]
    pub(super) fn launch<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        now: Time,
        id: PacketId,
        arena: &mut PacketArena,
    ) {
        match port.timing.times(arena.known(id).size) {
            Some((span, crossing)) => {
                let read = |arena: &PacketArena| *arena.known(id);
                self.launch_for(port, now, (span, now + crossing), arena, read);
            }
            None => {
                let packet = *arena.known(id);
                self.launch_slowly(port, None, now, &packet, arena);
            }
        }
    }

    /// Sends `packet`, which lies nowhere yet, as soon after `now` as the link is free.
    pub(super) fn launch_new<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        now: Time,
        packet: &Packet,
        arena: &mut PacketArena,
    ) {
        let leaves = port.free.max(now);
        match port.timing.times(packet.size) {
            Some((span, crossing)) => {
                self.launch_for(port, leaves, (span, leaves + crossing), arena, |_| *packet);
            }
            None => self.launch_slowly(port, None, leaves, packet, arena),
        }
    }

    /// Sends a packet of `size` bytes of a host at `now`, after the time that the host takes for it.
    #[inline(always)]
    pub(super) fn launch_from_host<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        nic: &mut Nic,
        (now, size): (Time, u16),
        arena: &mut PacketArena,
        packet: impl FnOnce(&PacketArena) -> Packet,
    ) {
        match port.timing.times(size) {
            Some((span, crossing)) => {
                self.launch_for(port, now, (span, nic.arrival(now + crossing)), arena, packet);
            }
            None => {
                let packet = packet(arena);
                self.launch_slowly(port, Some(nic), now, &packet, arena);
            }
        }
    }

    /// Sends `packet` at `now`, of a host where there is its `nic`, over a link whose times take a division or
    /// that may lose it. A separate function keeps the common case short enough to be inlined.
    #[cold]
    #[inline(never)]
    fn launch_slowly<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        nic: Option<&mut Nic>,
        now: Time,
        packet: &Packet,
        arena: &mut PacketArena,
    ) {
        let (span, crossing) = self.timings.fate(port.timing, packet.size, now);
        if let Some(crossing) = crossing {
            let soonest = now + crossing;
            let at = nic.map_or(soonest, |nic| nic.arrival(soonest));
            self.launch_for(port, now, (span, at), arena, |_| *packet);
            return;
        }
        port.free = now + span;
        port.busy += span;
        self.counts.hops += 1;
        self.counts.lost_on_links += u64::from(!packet.kind.is_note());
    }

    /// Puts a packet on the link that takes the port `span` and arrives at `at`. `packet` reads it, after
    /// its place in the wheel is known, so that it is copied once.
    #[inline(always)]
    pub(super) fn launch_for<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        now: Time,
        (span, at): (Span, Time),
        arena: &mut PacketArena,
        packet: impl FnOnce(&PacketArena) -> Packet,
    ) {
        port.free = now + span;
        port.busy += span;
        self.counts.hops += 1;
        let (key, next) =
            (Packet::arriving(at, port.arrives_by), PacketId::of_interface(port.interface));
        if self.boundary.is_mine(port.block) {
            let place = self.wheel.place(port.block, at, arena);
            let packet = packet(arena);
            arena.known_mut(place).become_copy_of(&packet, key, next);
        } else {
            self.boundary.hand_over(port.block, Packet { key, next, ..packet(arena) });
        }
    }
}

/// Where the packets of a port wait; `S` is the port's share of it.
pub(super) trait Admission<S> {
    /// Puts a packet that comes to a port `now` into its queue, if need be after dropping others, or
    /// drops it. What is dropped is handed to `drop`.
    fn offer<D: Queue>(
        &mut self,
        now: Time,
        port: &mut Port<D, S>,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    );

    /// Gives back the memory of `packet`, which left the queue at `at`.
    fn left(&mut self, share: &mut S, packet: &Packet, at: Time);

    /// Whether pause frames come.
    const PAUSES: bool = false;

    /// Takes in a pause frame that comes to a port `now`. Returns when the port has to be visited for that, if
    /// nothing else happens.
    fn hear<D: Queue>(&mut self, _now: Time, _port: &mut Port<D, S>, _frame: &Packet) -> Time {
        unreachable!("no frame comes")
    }
}

/// Visits a port of a switch, `unit` of the open block: merges its arrivals and services in this window.
/// The loop looks the port up in every round; a reference kept throughout would have the compiler keep
/// each of its fields on the stack.
#[inline]
#[expect(clippy::ptr_arg, reason = "of a slice the compiler knows what of a port it may keep")]
pub(super) fn visit<D: Queue, S, M: Admission<S>>(
    unit: Unit,
    ports: &mut Vec<Port<D, S>>,
    fabric: &mut Fabric<'_, impl Boundary>,
    keeper: &mut M,
) {
    let Fabric { arrivals, arena, links, routing, .. } = fabric;
    let mut first = arrivals.take_at_switch(unit, arena, routing);
    let mut next = arena.known(first).arrives();
    loop {
        let port = at(ports, unit);
        let (leaves, id) = if !port.queue.is_empty() && port.free < next {
            let now = port.free;
            let next = port.queue.dequeue(now, arena, |id, arena| {
                keeper.left(&mut port.share, arena.known(id), now);
                links.counts.dropped_at(routing.is_edge(unit.place));
                arena.free(id);
            });
            let Some(id) = next else { continue };
            // A place that is free keeps its packet until another is put in.
            arena.free(id);
            keeper.left(&mut port.share, arena.known(id), now);
            (now, id)
        } else if PacketArena::is_end(first) {
            break;
        } else {
            let (id, now) = (first, next);
            first = arena.known(id).next;
            next = arena.known(first).arrives();
            if M::PAUSES && arena.known(id).kind == Kind::PAUSE {
                let again = keeper.hear(now, port, arena.known(id));
                if again != Time::NEVER {
                    port.visit_at(again, &mut links.wheel, fabric.open, unit);
                }
                continue;
            }
            let idle = port.queue.is_empty() && port.free <= now;
            if idle && next > now && port.queue.pass(arena.known_mut(id)) {
                (now, id)
            } else if D::AHEAD {
                let leaves = port.free.max(now);
                if !port.queue.line_up(arena.known_mut(id), now, leaves) {
                    links.counts.dropped_at(routing.is_edge(unit.place));
                    continue;
                }
                (leaves, id)
            } else {
                if idle {
                    port.free = now;
                }
                let id = arena.insert_copy(id);
                keeper.offer(now, port, id, arena, |id, arena| {
                    links.counts.dropped_at(routing.is_edge(unit.place));
                    arena.free(id);
                });
                continue;
            }
        };
        links.launch(port, leaves, id, arena);
    }
    let port = at(ports, unit);
    if !port.queue.is_empty() {
        port.visit_at(port.free, &mut links.wheel, fabric.open, unit);
    }
}

/// The memory of the switches: each port with its own buffer, or all ports of a switch with one. The
/// engine is compiled once for each, so that ports without a common memory pay nothing for one.
pub(super) trait SwitchMemory: Sized + Frames {
    /// A port's share of the memory of its switch.
    type Share;

    /// The memories of the switches of `scenario`.
    fn new(scenario: &Scenario) -> Self;

    /// The share of each port, hosts' ports first.
    fn shares(scenario: &Scenario) -> impl Iterator<Item = Self::Share>;

    /// Visits a port of a switch that has something to do in the current window.
    fn visit<D: Queue, T, B: Boundary>(engine: &mut Engine<'_, D, T, Self, B>, unit: Unit);

    /// Ends a block's window, after all its ports with something to do were visited.
    fn all_came<D: Queue, T, B: Boundary>(engine: &mut Engine<'_, D, T, Self, B>);

    /// Whether each memory holds exactly the packets that wait at the ports of its switch.
    fn hold<D: Queue>(
        &self,
        routing: &Routing<'_>,
        ports: &[Port<D, Self::Share>],
        arena: &PacketArena,
    ) -> bool;

    /// The most bytes that ever waited in each switch, where that was counted.
    fn peaks(&self) -> Vec<u64>;

    /// What pauses did to a port, up to `now`.
    fn pauses(_share: &Self::Share, _now: Time) -> Pauses {
        Pauses::default()
    }

    /// From when until when pauses stopped a port, up to `now`, where that was noted.
    fn each_pause(_share: &Self::Share, _now: Time) -> Vec<(Time, Time)> {
        Vec::new()
    }

    /// The most of its headroom that any port of each switch ever took.
    fn headroom_peaks(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Takes in a pause frame that comes to a host's port `now`. Returns whether the port is stopped, where that
    /// has changed.
    fn hear<D: Queue>(_: &mut Port<D, Self::Share>, _frame: &Packet, _now: Time) -> Option<bool> {
        unreachable!("no frame comes")
    }

    /// When a host's port goes on by itself; never where it is not stopped.
    #[inline]
    fn acts_at(_: &Self::Share) -> Time {
        Time::NEVER
    }

    /// Has a host's port go on.
    fn act<D: Queue>(_: &mut Port<D, Self::Share>, _now: Time) {}

    /// The ports that have stopped the one before them at the end of a run; all `ports` have the numbers `units`.
    fn blocked<D: Queue>(
        &self,
        _routing: &Routing<'_>,
        (_ports, _units): (&[Port<D, Self::Share>], &[u32]),
        _arena: &PacketArena,
    ) -> Vec<Blocked> {
        Vec::new()
    }
}

/// Each port has the buffer of its discipline, and ports share nothing.
pub(super) struct OwnBuffers;

impl Admission<()> for OwnBuffers {
    #[inline]
    fn offer<D: Queue>(
        &mut self,
        now: Time,
        port: &mut Port<D, ()>,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        port.queue.enqueue(now, port.free, id, arena, drop);
    }

    #[inline]
    fn left(&mut self, (): &mut (), _: &Packet, _: Time) {}
}

impl Frames for OwnBuffers {
    const PAUSES: bool = false;
}

impl SwitchMemory for OwnBuffers {
    type Share = ();

    fn new(_: &Scenario) -> OwnBuffers {
        OwnBuffers
    }

    fn shares(_: &Scenario) -> impl Iterator<Item = ()> {
        std::iter::repeat(())
    }

    #[inline]
    fn visit<D: Queue, T, B: Boundary>(engine: &mut Engine<'_, D, T, OwnBuffers, B>, unit: Unit) {
        let Engine { ports, fabric, switches, .. } = engine;
        visit(unit, ports, fabric, switches);
    }

    #[inline]
    fn all_came<D: Queue, T, B: Boundary>(_: &mut Engine<'_, D, T, OwnBuffers, B>) {}

    fn hold<D: Queue>(&self, _: &Routing<'_>, _: &[Port<D, ()>], _: &PacketArena) -> bool {
        true
    }

    fn peaks(&self) -> Vec<u64> {
        Vec::new()
    }
}
