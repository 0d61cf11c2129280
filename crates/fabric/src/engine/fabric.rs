//! Ports and what lies between them: a packet on its way from one to the next.

use super::arrivals::Arrivals;
use super::boundary::Boundary;
use super::layout::{Block, BlockId, Layout, Unit};
use super::link_timing::{LinkTiming, LinkTimings};
use super::nic::Nic;
use super::routing::Routing;
use super::scenario::PacketCounts;
use super::timing_wheel::TimingWheel;
use crate::packet::{Packet, PacketArena, PacketId};
use crate::queue::Discipline;
use sojourn_core::{Span, Time};
use std::ops::Range;

/// One output port, in two lines of a cache.
#[repr(align(64))]
pub(super) struct Port<D, S> {
    /// When all that it was given to send has left.
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
    /// Sees to it that the port, a `unit` of the open `block`, is visited at `at`.
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

/// What is at the place of `unit`, of the block that is open, on its side.
#[inline(always)]
pub(super) fn at<P>(places: &mut [P], unit: Unit) -> &mut P {
    debug_assert!(unit.place < places.len());
    // SAFETY: ports, and what there is for each host, were made for all units of this side, and a side
    // opens its own blocks only.
    unsafe { places.get_unchecked_mut(unit.place) }
}

/// All but the ports, as far as it is on one side of the boundary.
pub(super) struct Fabric<'a, B> {
    pub(super) layout: &'a Layout,
    pub(super) routing: Routing<'a>,
    /// The block that is open, and what reaches it.
    pub(super) open: BlockId,
    pub(super) arrivals: Arrivals,
    /// The packets, waiting and under way.
    pub(super) arena: PacketArena,
    pub(super) links: Links<B>,
}

/// What is under way on all links.
pub(super) struct Links<B> {
    pub(super) timings: LinkTimings,
    pub(super) wheel: TimingWheel,
    pub(super) boundary: B,
    pub(super) counts: PacketCounts,
}

impl<'a, B: Boundary> Fabric<'a, B> {
    /// Opens a block: what reaches it in the current window is in [`Fabric::arrivals`].
    #[inline(always)]
    pub(super) fn open(&mut self, number: BlockId) -> &'a Block {
        let Fabric { layout, routing, arrivals, arena, links, open } = self;
        let block = &layout.blocks[usize::from(number)];
        *open = number;
        arrivals.clear();
        links.wheel.open(number);
        links.wheel.read(|run| {
            if block.are_hosts {
                at_hosts(block, run, arena, arrivals);
            } else {
                routing.route(block, run, arena, arrivals);
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
        let note = Packet { next: host, ..note };
        self.links.wheel.put(self.layout.of(host), note, &mut self.arena);
    }

    /// Puts a note for a host of the open block among the `arrivals` that are still to come in the
    /// window that ends at `ends`, or leaves it for a later one.
    #[inline]
    pub(super) fn note(&mut self, host: Unit, note: Packet, ends: Time, arrivals: &mut PacketId) {
        if note.arrives() < ends {
            let id = self.links.wheel.add(note, &mut self.arena);
            self.arena.link(arrivals, id);
        } else {
            let first = self.layout.blocks[usize::from(self.open)].units.start;
            self.leave(first + u32::from(host.nth), note);
        }
    }

    /// The next packet of a host goes, as soon as the port is free.
    #[inline(always)]
    pub(super) fn serve<D: Discipline, S>(&mut self, port: &mut Port<D, S>, nic: &mut Nic) {
        let Fabric { arena, links, .. } = self;
        let id = port.queue.dequeue(arena);
        arena.free(id);
        let size = arena.known(id).size;
        links.launch_from_host(port, nic, (port.free, size), arena, |arena| *arena.known(id));
    }
}

/// Puts the packets of a `run` that have come to the hosts of `block` into their lists.
fn at_hosts(block: &Block, run: Range<PacketId>, arena: &mut PacketArena, arrivals: &mut Arrivals) {
    for (id, packet) in (run.start..).zip(arena.run(run)) {
        packet.next = arrivals.put(id, (packet.next - block.units.start) as u16);
    }
}

impl<B: Boundary> Links<B> {
    /// Puts a packet of a host on the wire, after the time that the host takes for it.
    #[inline(always)]
    pub(super) fn launch_from_host<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        nic: &mut Nic,
        (now, size): (Time, u16),
        arena: &mut PacketArena,
        packet: impl FnOnce(&PacketArena) -> Packet,
    ) {
        let (span, crossing) = self.timings.times(&port.timing, size);
        let at = nic.arrival(now + crossing);
        self.launch_for(port, now, (span, at), arena, packet);
    }

    /// Puts the packet `id` on the wire at `now`: it is under way to the next node.
    #[inline(always)]
    pub(super) fn launch<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        now: Time,
        id: PacketId,
        arena: &mut PacketArena,
    ) {
        let (span, crossing) = self.timings.times(&port.timing, arena.known(id).size);
        self.launch_for(port, now, (span, now + crossing), arena, |arena| *arena.known(id));
    }

    /// Puts a packet on the wire that takes the port `span` and arrives at the time `at`. `packet` reads
    /// it; it is read when its place in the wheel is known, so that it is copied once.
    #[inline(always)]
    fn launch_for<D, S>(
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
        let (key, next) = (Packet::arriving(at, port.arrives_by), port.interface);
        if self.boundary.is_mine(port.block) {
            let place = self.wheel.place(port.block, at, arena);
            let packet = packet(arena);
            arena.known_mut(place).become_copy_of(&packet, key, next);
        } else {
            self.boundary.hand_over(port.block, Packet { key, next, ..packet(arena) });
        }
    }
}
