//! Ports and what lies between them: a packet on its way from one to the next.

use super::border::Border;
use super::mailbox::Mailbox;
use super::nic::Nic;
use super::scene::Figures;
use super::wire::Wire;
use crate::balance::{Balance, Input};
use crate::packet::{Packet, PacketId, Slab};
use crate::qdisc::Discipline;
use crate::topology::Network;
use sojourn_kernel::{Span, Time};
use std::hint::select_unpredictable;

/// One output port: its wire first, for the inner loop.
pub(super) struct Port<D, S> {
    /// When all that it was given to send has left.
    pub(super) free: Time,
    pub(super) wire: Wire,
    /// Whose turn it is at the next switch when packets are sprayed.
    pub(super) turn: u8,
    pub(super) queue: D,
    pub(super) busy: Span,
    /// What it has of its switch's memory.
    pub(super) share: S,
}

/// All but the ports, as far as it is on one side of the `border`.
pub(super) struct Fabric<'a, B> {
    pub(super) network: &'a Network,
    pub(super) balance: Balance,
    pub(super) mailbox: Mailbox,
    pub(super) slab: Slab,
    pub(super) figures: Figures,
    pub(super) border: B,
}

impl<B: Border> Fabric<'_, B> {
    /// Leaves a note for a host at the time in its key.
    pub(super) fn leave(&mut self, host: u32, note: Packet) {
        let id = self.slab.insert(note);
        self.mailbox.deliver(host, note.arrives(), id, &mut self.slab);
    }

    /// Puts a note for a host among the `arrivals` that are still to come in the window that ends at
    /// `ends`, or leaves it for a later one.
    #[inline]
    pub(super) fn note(&mut self, host: u32, note: Packet, ends: Time, arrivals: &mut PacketId) {
        if note.arrives() < ends {
            let id = self.slab.insert(note);
            self.slab.link(arrivals, id);
        } else {
            self.leave(host, note);
        }
    }

    /// The next packet of a host goes, as soon as the port is free.
    #[inline(always)]
    pub(super) fn serve<D: Discipline, S>(&mut self, port: &mut Port<D, S>, nic: &mut Nic) {
        let id = port.queue.dequeue(&mut self.slab);
        self.launch_from_host(port, nic, port.free, id);
    }

    /// Puts a packet of a host on the wire, after the time that the host takes for it.
    #[inline(always)]
    pub(super) fn launch_from_host<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        nic: &mut Nic,
        now: Time,
        id: PacketId,
    ) {
        let size = self.slab.known(id).size;
        let span = port.wire.span(size);
        let crossing = nic.arrival(now + port.wire.crossing(size)) - now;
        self.launch_for(port, now, id, (span, crossing));
    }

    /// A packet finds the port idle and nobody else there.
    #[inline]
    pub(super) fn pass<D: Discipline, S>(
        &mut self,
        port: &mut Port<D, S>,
        now: Time,
        id: PacketId,
    ) {
        port.queue.pass(self.slab.known_mut(id));
        self.launch(port, now, id);
    }

    /// Puts a packet on the wire at `now`: it is under way to the next unit.
    #[inline(always)]
    pub(super) fn launch<D, S>(&mut self, port: &mut Port<D, S>, now: Time, id: PacketId) {
        match port.wire.whole(self.slab.known(id).size) {
            Some(times) => self.launch_for(port, now, id, times),
            None => self.launch_through(port, now, id),
        }
    }

    /// The same where the next switch cuts through: out of the way of those where none does.
    #[cold]
    #[inline(never)]
    fn launch_through<D, S>(&mut self, port: &mut Port<D, S>, now: Time, id: PacketId) {
        let size = self.slab.known(id).size;
        let times = (port.wire.span(size), port.wire.crossing(size));
        self.launch_for(port, now, id, times);
    }

    /// The same for a packet of which it is known how long it takes to leave, and to cross.
    #[inline(always)]
    fn launch_for<D, S>(
        &mut self,
        port: &mut Port<D, S>,
        now: Time,
        id: PacketId,
        (span, crossing): (Span, Span),
    ) {
        let packet = self.slab.known_mut(id);
        port.free = now + span;
        port.busy += span;
        let arrives = now + crossing;
        let wire = &port.wire;
        packet.key = wire.arriving(arrives);
        // Whether it goes to a host cannot be guessed, so the way on is found for all.
        let ways = self.network.ways(wire.switch, packet.to);
        let input = Input { turn: &mut port.turn, salt: wire.salt };
        let way = self.balance.choose(input, packet, ways.count());
        let on = self.network.port(ways, way, packet.to);
        let to = select_unpredictable(wire.host != Wire::NO_HOST, wire.host, on);
        self.figures.hops += 1;
        if self.border.is_mine(to) {
            self.mailbox.deliver(to, arrives, id, &mut self.slab);
        } else {
            let packet = *self.slab.known(id);
            self.slab.free(id);
            self.border.hand_over(to, packet);
        }
    }
}
