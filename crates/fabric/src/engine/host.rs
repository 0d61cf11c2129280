//! A host with its port in a window: what comes to it, its transport's outbox, the time that it takes
//! for each packet, and whose packets it takes when the link is busy.

use super::Engine;
use super::boundary::Boundary;
use super::partition::Unit;
use super::port::{Fabric, Links, Port, SwitchMemory, at};
use super::scenario::Scenario;
use crate::flow::Flow;
use crate::hosts::HostPort;
use crate::packet::{CE, Kind, NIL, Packet, PacketArena, PacketId};
use crate::queue::Queue;
use crate::transport::{End, Transport, Wake};
use sojourn_core::{Light, Span, Time};
use std::collections::VecDeque;

impl<D: Queue, T: Transport, S: SwitchMemory, B: Boundary> Engine<'_, D, T, S, B> {
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

    /// Resumes a flow that was held: its link can take [`QUANTUM`] packets at `now`.
    fn resume(&mut self, host: Unit, now: Time, ends: Time, arrivals: &mut PacketId) {
        let nic = at(&mut self.nics, host);
        let flow = nic.resume(now, |flow| self.transport.urgency(flow, now));
        self.outbox.now = now;
        self.outbox.capacity = QUANTUM;
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
            self.fabric.note(host, wake_note(wake), ends, arrivals);
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
            // Data is for a receiver, which looks at no capacity.
            self.outbox.capacity = at(&mut self.nics, host).capacity(now);
        }
        match packet.kind {
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Pull => {
                counts.delivered += 1;
                counts.marked += u64::from(packet.marks & CE != 0);
                self.transport.receive(packet, &mut self.outbox);
            }
            Kind::Start => self.transport.start(flow, &mut self.outbox),
            Kind::Wake => self.transport.wake(wake_of(packet), &mut self.outbox),
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
                fabric.note(host, start_note(at, flow), ends, arrivals);
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

impl<B: Boundary> Fabric<'_, B> {
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
    pub(super) fn serve<D: Queue, S>(&mut self, port: &mut Port<D, S>, nic: &mut Nic) {
        let Fabric { arena, links, .. } = self;
        let id = port.queue.dequeue(arena);
        arena.free(id);
        let size = arena.known(id).size;
        links.launch_from_host(port, nic, (port.free, size), arena, |arena| *arena.known(id));
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
}

/// How many full packets are before a link when it is the turn of a flow that is held: enough that
/// the link never rests.
const LEFT: u64 = 1;

/// How many packets such a flow sends in its turn, as with the fair queueing of Linux (`quantum` of
/// tc-fq(8)).
pub(super) const QUANTUM: usize = 2;

/// What puts a host's packets on its link. It has several at a time in work, so that what it takes
/// for each keeps the link from no other.
pub(super) struct Nic {
    /// One more than the most picoseconds that a packet takes.
    times: u64,
    chance: Light,
    /// When its last packet arrives at the other end.
    last: Time,
    /// How long the link takes for a full packet; nothing where no transport waits for it.
    full: Option<Span>,
    /// When the link has sent all that it was given, as transports see it.
    busy_until: Time,
    /// When the link can take a packet of a flow that is held; never where none is.
    resumes: Time,
    /// Flows that are held, the one whose turn it is first.
    held: VecDeque<u32>,
}

impl Nic {
    /// Of host number `host`.
    pub(super) fn new(scenario: &Scenario, host: usize) -> Nic {
        let full = scenario.network.links[host].spec.rate.span(scenario.largest.into());
        Nic {
            times: scenario.overhead(host).ps() + 1,
            chance: Light::new(scenario.streams.stream("overhead", host as u64)),
            last: Time::ZERO,
            full: (scenario.hosts.port == HostPort::Backpressure).then_some(full),
            busy_until: Time::ZERO,
            resumes: Time::NEVER,
            held: VecDeque::new(),
        }
    }

    /// When the next packet arrives that would arrive at `soonest`: after a time that is evenly
    /// distributed, and after the packet before it.
    #[inline(always)]
    pub(super) fn arrival(&mut self, soonest: Time) -> Time {
        let ready = soonest + Span::from_ps(self.chance.below(self.times));
        self.last = ready.max(self.last + Span::from_ps(1));
        self.last
    }

    /// How many packets a flow may send at `now` whose turn it is not.
    #[inline(always)]
    pub(super) fn capacity(&self, now: Time) -> usize {
        let Some(full) = self.full else { return usize::MAX };
        let ahead = Span::from_ps(self.busy_until.ps().saturating_sub(now.ps()));
        match self.resumes == Time::NEVER && ahead <= full * (LEFT + 1) {
            true => 1 + usize::from(ahead <= full) + usize::from(ahead == Span::ZERO),
            false => 0,
        }
    }

    /// The link was given a packet at `now` that takes it `span`.
    #[inline(always)]
    pub(super) fn given(&mut self, now: Time, span: Span) {
        if self.full.is_none() {
            return;
        }
        self.busy_until = self.busy_until.max(now) + span;
        if self.resumes != Time::NEVER {
            self.resumes = self.has_room(now);
        }
    }

    /// `flow`, which is not held, would send more at `now`: it is held until it is its turn.
    pub(super) fn hold(&mut self, flow: u32, now: Time) {
        self.held.push_back(flow);
        self.resumes = self.has_room(now);
    }

    /// When it is some flow's turn that is held; never where none is.
    #[inline(always)]
    pub(super) fn resumes(&self) -> Time {
        self.resumes
    }

    /// The flow whose turn it is at `now`, held no longer: the most urgent one; of those that are as
    /// urgent, or where none is, that which has been held longest.
    pub(super) fn resume(&mut self, now: Time, urgency: impl Fn(u32) -> Option<u32>) -> u32 {
        let one = self.held.len() == 1 || urgency(self.held[0]).is_none();
        let most = |held: &VecDeque<u32>| (0..held.len()).min_by_key(|place| urgency(held[*place]));
        let place = if one { Some(0) } else { most(&self.held) };
        let flow = place.and_then(|place| self.held.remove(place)).expect("one is held");
        self.resumes = if self.held.is_empty() { Time::NEVER } else { self.has_room(now) };
        flow
    }

    /// When few enough packets are before the link for one more, at `now` or later.
    #[inline(always)]
    fn has_room(&self, now: Time) -> Time {
        let ahead = self.full.map_or(Span::ZERO, |full| full * LEFT);
        now.max(Time::from_ps(self.busy_until.ps().saturating_sub(ahead.ps())))
    }
}

/// Notes that a host sends itself: that a flow starts, that a timer may be due, that it is time to look
/// at a flow. They lie in the lists of the packets that reach it. The low byte of a note's key: after packets (0), flows start, then senders wake, then receivers,
/// and at last flows are looked at.
pub(super) const START: u8 = 1;
pub(super) const WAKE_SENDER: u8 = 2;
pub(super) const WAKE_RECEIVER: u8 = 3;
const LOOK: u8 = 4;

/// `flow` starts at `at`.
pub(super) fn start_note(at: Time, flow: u32) -> Packet {
    note(Packet::arriving(at, START), Kind::Start, flow)
}

/// Watch number `watch`, of `flow`, begins or ends at `at`.
pub(super) fn look_note(at: Time, flow: u32, watch: u32) -> Packet {
    Packet { sequence: watch, ..note(Packet::arriving(at, LOOK), Kind::Look, flow) }
}

/// One of a flow's ends wants to be woken.
pub(super) fn wake_note(wake: Wake) -> Packet {
    let order = match wake.end {
        End::Sender => WAKE_SENDER,
        End::Receiver => WAKE_RECEIVER,
    };
    note(Packet::arriving(wake.at, order), Kind::Wake, wake.flow)
}

/// What such a note says.
pub(super) fn wake_of(note: &Packet) -> Wake {
    let end = match note.key as u8 {
        WAKE_SENDER => End::Sender,
        _ => End::Receiver,
    };
    Wake { at: note.arrives(), flow: note.flow, end }
}

fn note(key: u64, kind: Kind, flow: u32) -> Packet {
    Packet {
        key,
        next: NIL,
        flow,
        sequence: 0,
        priority: 0,
        to: 0,
        size: 0,
        echo: 0,
        kind,
        marks: 0,
    }
}
