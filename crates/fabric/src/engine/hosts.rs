//! A host with its port in a window: what comes to it, its transport's turn, and what it sends.

use super::boundary::Boundary;
use super::fabric::at;
use super::layout::Unit;
use super::nic::QUANTUM;
use super::switches::Switches;
use super::{Engine, Fabric, note};
use crate::flow::Flow;
use crate::packet::{CE, Kind, Packet, PacketArena, PacketId};
use crate::queue::Discipline;
use crate::transport::Transport;
use sojourn_core::Time;

impl<D: Discipline, T: Transport, S: Switches, B: Boundary> Engine<'_, D, T, S, B> {
    /// A host of the open block, and its port, in the window that ends at `ends`.
    #[inline]
    pub(super) fn visit_host(&mut self, host: Unit, ends: Time) {
        let mut arrivals = self.fabric.arrivals.take(host.nth, &mut self.fabric.arena);
        loop {
            let (port, nic) = (at(&mut self.ports, host), at(&mut self.nics, host));
            let next = self.fabric.arena.known(arrivals).arrives();
            let waits = !port.queue.is_empty();
            let resumes = nic.resumes();
            if resumes < next && (!waits || resumes <= port.free) {
                self.resume(host, resumes, ends, &mut arrivals);
                continue;
            }
            if waits && port.free < next {
                self.fabric.serve(port, nic);
                continue;
            }
            if PacketArena::is_end(arrivals) {
                break;
            }
            let id = arrivals;
            arrivals = self.fabric.arena.known(id).next;
            self.host_turn(host, id, next);
            self.do_as_asked(host, ends, &mut arrivals);
        }
        let port = at(&mut self.ports, host);
        let resumes = at(&mut self.nics, host).resumes();
        if !port.queue.is_empty() || resumes != Time::NEVER {
            let free = if port.queue.is_empty() { Time::NEVER } else { port.free };
            let Fabric { links, open, .. } = &mut self.fabric;
            port.visit_at(free.min(resumes), &mut links.wheel, *open, host);
        }
    }

    /// It is the turn of a flow that was held: its link has room for [`QUANTUM`] packets at `now`.
    fn resume(&mut self, host: Unit, now: Time, ends: Time, arrivals: &mut PacketId) {
        let nic = at(&mut self.nics, host);
        let flow = nic.resume(now, |flow| self.transport.urgency(flow, now));
        self.outbox.now = now;
        self.outbox.room = QUANTUM;
        self.transport.resume(flow, &mut self.outbox);
        if std::mem::take(&mut self.outbox.held) {
            nic.hold(flow, now);
        }
        self.do_as_asked(host, ends, arrivals);
    }

    /// Does what a transport wants done in its turn. `arrivals` is what is still to come in the
    /// window that ends at `ends`.
    #[inline(always)]
    fn do_as_asked(&mut self, host: Unit, ends: Time, arrivals: &mut PacketId) {
        if !self.outbox.arrived.is_empty() {
            self.follow(host, ends, arrivals);
        }
        if !self.outbox.wakes.is_empty() {
            self.set_wakes(host, ends, arrivals);
        }
        if !self.outbox.packets.is_empty() {
            let alone = self.fabric.arena.known(*arrivals).arrives() > self.outbox.now;
            self.send(host, alone);
        }
    }

    #[inline(never)]
    fn set_wakes(&mut self, host: Unit, ends: Time, arrivals: &mut PacketId) {
        for wake in self.outbox.wakes.drain(..) {
            self.fabric.note(host, note::wake(wake), ends, arrivals);
        }
    }

    /// The transport's turn: `id` has come to its host at `now`.
    #[inline]
    fn host_turn(&mut self, host: Unit, id: PacketId, now: Time) {
        let packet = self.fabric.arena.known(id);
        let flow = packet.flow;
        let counts = &mut self.fabric.links.counts;
        counts.turns += 1;
        self.outbox.now = now;
        if packet.kind != Kind::Data {
            // Data is for a receiver, who asks for no room.
            self.outbox.room = at(&mut self.nics, host).room(now);
        }
        match packet.kind {
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Pull => {
                counts.delivered += 1;
                counts.marked += u64::from(packet.marks & CE != 0);
                self.transport.receive(packet, &mut self.outbox);
            }
            Kind::Start => self.transport.start(flow, &mut self.outbox),
            Kind::Wake => self.transport.wake(note::wake_of(packet), &mut self.outbox),
            Kind::Look => {
                let number = packet.sequence as usize;
                self.look(number);
            }
        }
        if std::mem::take(&mut self.outbox.held) {
            at(&mut self.nics, host).hold(flow, now);
        }
        if !self.outbox.finished.is_empty() {
            for flow in self.outbox.finished.drain(..) {
                self.acknowledged[flow as usize] = now;
                self.done += 1;
            }
        }
    }

    /// Flows have arrived whole at `host`: those that follow them start there. `arrivals` is what
    /// is still to come in the window that ends at `ends`.
    #[cold]
    fn follow(&mut self, host: Unit, ends: Time, arrivals: &mut PacketId) {
        let (fabric, now) = (&mut self.fabric, self.outbox.now);
        for flow in self.outbox.arrived.drain(..) {
            self.received[flow as usize] = now;
            self.followers.arrived(flow, now, &self.scenario.after, |flow, at| {
                fabric.note(host, note::start(at, flow), ends, arrivals);
            });
        }
    }

    /// A watch begins or ends.
    #[cold]
    fn look(&mut self, number: usize) {
        let watch = &self.scenario.watches[number];
        let tally = self.transport.tally(watch.flow);
        if self.outbox.now == watch.until {
            self.watched[number] = tally.since(self.watched[number]);
            self.done += 1;
        } else {
            self.watched[number] = tally;
        }
    }

    /// Hands the transport's packets to the host's port, `alone` if nothing else comes to the host at
    /// the same time.
    #[inline]
    fn send(&mut self, host: Unit, alone: bool) {
        let now = self.outbox.now;
        if D::ASKS_FOR_CLASS {
            classify(&mut self.outbox.packets, &self.scenario.flows);
        }
        let (port, nic) = (at(&mut self.ports, host), at(&mut self.nics, host));
        let fabric = &mut self.fabric;
        fabric.links.counts.injected += self.outbox.packets.len() as u64;
        let idle = port.queue.is_empty() && port.free <= now;
        if idle && alone && self.outbox.packets.len() == 1 {
            let packet = &mut self.outbox.packets[0];
            nic.given(now, fabric.links.timings.span(&port.timing, packet.size));
            port.queue.pass(packet);
            let leaves = (now, packet.size);
            fabric.links.launch_from_host(port, nic, leaves, &mut fabric.arena, |_| *packet);
            self.outbox.packets.clear();
            return;
        }
        if idle {
            port.free = now;
        }
        for packet in &mut self.outbox.packets {
            nic.given(now, fabric.links.timings.span(&port.timing, packet.size));
            let dropped = &mut fabric.links.counts.dropped_at_hosts;
            if !D::AHEAD {
                let id = fabric.arena.insert(*packet);
                port.queue.enqueue(id, &mut fabric.arena, |id, arena| {
                    *dropped += 1;
                    arena.free(id);
                });
            } else if port.queue.line_up(packet, now, port.free) {
                let leaves = (port.free, packet.size);
                fabric.links.launch_from_host(port, nic, leaves, &mut fabric.arena, |_| *packet);
            } else {
                *dropped += 1;
            }
        }
        self.outbox.packets.clear();
    }
}

/// Notes the classes of packets of `flows`.
pub(super) fn classify(packets: &mut [Packet], flows: &[Flow]) {
    for packet in packets {
        packet.classify(flows[packet.flow as usize].class);
    }
}
