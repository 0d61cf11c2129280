//! A host with its port in a window: what comes to it, and its transport's outbox.

use super::Engine;
use super::nic::Nic;
use super::partition::Unit;
use super::port::{Boundary, Fabric, Port, SwitchMemory, at};
use super::routing::Arrivals;
use super::scenario::ScriptedLoss;
use crate::packet::{CE, Kind, NIL, Packet, PacketArena, PacketId};
use crate::queue::Queue;
use crate::ranks::{Note, Ranks};
use crate::transport::{End, Outbox, Transport, Wake};
use sojourn_core::{Span, Time};

impl<D: Queue, T: Transport, S: SwitchMemory, B: Boundary> Engine<'_, D, T, S, B> {
    /// Visits a host of the open block, and its port, in the window that ends at `ends`.
    #[inline]
    pub(super) fn visit_host(&mut self, host: Unit, ends: Time) {
        let mut arrivals = self.fabric.arrivals.take(host.nth, &mut self.fabric.arena);
        loop {
            let (port, nic) = (at(&mut self.ports, host), at(&mut self.nics, host));
            let next = self.fabric.arena.known(arrivals).arrives();
            let waits = !port.queue.is_empty();
            let resumes = nic.resumes();
            let acts = S::acts_at(&port.share);
            if S::PAUSES && acts < next && (!waits || acts <= port.free) && acts <= resumes {
                S::act(port, acts);
                go_on(port, nic, &self.fabric, acts);
                continue;
            }
            if resumes < next && (!waits || resumes <= port.free) {
                arrivals = self.resume(host, resumes, ends, arrivals);
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
            let Fabric { arrivals: Arrivals { late, .. }, arena, .. } = &mut self.fabric;
            if !late.is_empty() {
                arrivals = late.bring(arrivals, arena);
            }
            self.host_turn(host, id, next);
            arrivals = self.do_as_asked(host, ends, arrivals);
        }
        let port = at(&mut self.ports, host);
        let resumes = at(&mut self.nics, host).resumes().min(S::acts_at(&port.share));
        if !port.queue.is_empty() || resumes != Time::NEVER {
            let free = if port.queue.is_empty() { Time::NEVER } else { port.free };
            let Fabric { links, open, .. } = &mut self.fabric;
            port.visit_at(free.min(resumes), &mut links.wheel, *open, host);
        }
    }

    /// Resumes a flow that was held: its link can take some packets at `now`.
    fn resume(&mut self, host: Unit, now: Time, ends: Time, arrivals: PacketId) -> PacketId {
        let nic = at(&mut self.nics, host);
        let flow = nic.resume(now, |flow| {
            let order = self.ranks.as_ref().and_then(|ranks| ranks.order(flow));
            order.or_else(|| self.transport.urgency(flow, now))
        });
        self.outbox.now = now;
        self.outbox.capacity = nic.quantum();
        self.transport.resume(flow, &mut self.outbox);
        if std::mem::take(&mut self.outbox.held) {
            nic.hold(flow, now);
        }
        self.do_as_asked(host, ends, arrivals)
    }

    /// Carries out what a transport has put into its outbox. `arrivals` is what still arrives in the
    /// window that ends at `ends`; returns it with the notes that are now among it.
    #[inline(always)]
    fn do_as_asked(&mut self, host: Unit, ends: Time, mut arrivals: PacketId) -> PacketId {
        if std::mem::take(&mut self.outbox.asks) {
            arrivals = self.leave_asked(host, ends, arrivals);
        }
        let Outbox { wakes, arrived, finished, .. } = &self.outbox;
        debug_assert!(
            wakes.is_empty() && arrived.is_empty() && finished.is_empty(),
            "asked by the way"
        );
        if !self.outbox.packets.is_empty() {
            let alone = self.fabric.arena.known(arrivals).arrives() > self.outbox.now;
            self.send(host, alone);
        }
        arrivals
    }

    /// Leaves the notes that a transport and ranks have asked for.
    #[inline(never)]
    fn leave_asked(&mut self, host: Unit, ends: Time, mut arrivals: PacketId) -> PacketId {
        if !self.outbox.arrived.is_empty() || !self.outbox.finished.is_empty() {
            arrivals = self.follow(host, ends, arrivals);
        }
        if !self.outbox.wakes.is_empty() {
            // A flow that starts or times out sets a timer: so many of them at one moment can be cut short.
            self.heed_cancel_in_time();
        }
        for wake in self.outbox.wakes.drain(..) {
            self.fabric.note(host, wake_note(wake), ends, &mut arrivals);
        }
        for note in self.ranks.iter_mut().flat_map(|ranks| ranks.notes.drain(..)) {
            self.fabric.note(host, rank_note(note), ends, &mut arrivals);
        }
        arrivals
    }

    /// Hands the packet or note `id`, which arrives at its host at `now`, to the transport.
    #[inline]
    fn host_turn(&mut self, host: Unit, id: PacketId, now: Time) {
        let packet = self.fabric.arena.known(id);
        if S::PAUSES && packet.kind == Kind::PAUSE {
            self.hear(host, *packet, now);
            return;
        }
        let flow = packet.flow;
        let counts = &mut self.fabric.links.counts;
        counts.turns += 1;
        self.outbox.now = now;
        if packet.kind != Kind::DATA {
            // Data is for a receiver, which looks at no capacity.
            self.outbox.capacity = at(&mut self.nics, host).capacity(now);
        }
        match packet.kind {
            Kind::START | Kind::WAKE if is_cut(&self.cuts, packet, now) => {}
            Kind::START => match &mut self.ranks {
                Some(ranks) if ranks.has(flow) => {
                    if let Some(end) = ranks.next_end(flow) {
                        self.transport.extend(flow, end, &mut self.outbox);
                    }
                }
                _ => self.transport.start(flow, &mut self.outbox),
            },
            Kind::RANK => {
                let ranks = self.ranks.as_mut().expect("ranks with notes");
                ranks.look(flow, now);
                self.outbox.asks = true;
            }
            Kind::WAKE => self.transport.wake(wake_of(packet), &mut self.outbox),
            Kind::LOOK => {
                let (number, instant) = (packet.to, packet.sequence);
                self.done += self.looks.look(number, instant, &mut self.transport);
            }
            Kind::DATA if is_lost(&mut self.losses, flow, packet.sequence) => {
                counts.lost_by_script += 1;
            }
            _ => {
                counts.delivered += 1;
                counts.marked += u64::from(packet.marks & CE != 0);
                let kind = packet.kind;
                self.transport.receive(packet, &mut self.outbox);
                if let Some(ranks) = &mut self.ranks {
                    hear(ranks, &self.transport, (flow, kind), now);
                    self.outbox.asks |= !ranks.notes.is_empty();
                }
            }
        }
        if std::mem::take(&mut self.outbox.held) {
            at(&mut self.nics, host).hold(flow, now);
        }
    }

    /// Has a pause frame stop the host's port, or go on.
    #[cold]
    fn hear(&mut self, host: Unit, frame: Packet, now: Time) {
        self.outbox.now = now;
        let (port, nic) = (at(&mut self.ports, host), at(&mut self.nics, host));
        match S::hear(port, &frame, now) {
            Some(true) => nic.stop(),
            Some(false) => go_on(port, nic, &self.fabric, now),
            None => {}
        }
    }

    /// Notes which flows are over at `host`: those that arrived there whole, and those whose sender it is and
    /// has just learnt of their arrival. Starts the flows that waited for them. `arrivals` is what still
    /// arrives in the window that ends at `ends`.
    #[cold]
    fn follow(&mut self, host: Unit, ends: Time, mut arrivals: PacketId) -> PacketId {
        let (fabric, now) = (&mut self.fabric, self.outbox.now);
        let graph = (&*self.scenario.flows, &*self.scenario.dependencies);
        let mut over = |(flow, at_host): (u32, u16)| {
            self.waiting.over((flow, at_host), now, graph, |flow, at| {
                fabric.note(host, start_note(at, flow), ends, &mut arrivals);
            });
        };
        for flow in self.outbox.arrived.drain(..) {
            self.received[flow as usize] = now;
            over((flow, graph.0[flow as usize].to));
        }
        for flow in self.outbox.finished.drain(..) {
            self.acknowledged[flow as usize] = now;
            self.done += 1;
            over((flow, graph.0[flow as usize].from));
        }
        arrivals
    }

    /// Hands the transport's packets to the host's port, `alone` if nothing else comes to the host at
    /// the same time.
    #[inline]
    fn send(&mut self, host: Unit, alone: bool) {
        let now = self.outbox.now;
        let (port, nic) = (at(&mut self.ports, host), at(&mut self.nics, host));
        let fabric = &mut self.fabric;
        fabric.links.counts.injected += self.outbox.packets.len() as u64;
        let idle = port.queue.is_empty() && port.free <= now;
        if idle
            && alone
            && let [packet] = &mut self.outbox.packets[..]
            && port.queue.pass(packet)
        {
            nic.given(now, fabric.links.timings.span(&port.timing, packet.size));
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
                packet.key = Packet::arriving(now, 0);
                let id = fabric.arena.insert(*packet);
                port.queue.enqueue(now, port.free, id, &mut fabric.arena, |id, arena| {
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

impl<B: Boundary> Fabric<'_, B> {
    /// Puts a note for a host of the open block among the `arrivals` of the window that ends at `ends`,
    /// or leaves it for a later window.
    #[inline]
    pub(super) fn note(&mut self, host: Unit, note: Packet, ends: Time, arrivals: &mut PacketId) {
        if note.arrives() < ends {
            let id = self.links.wheel.add(note, &mut self.arena);
            self.arrivals.late.put(id, arrivals, &mut self.arena);
        } else {
            let first = self.layout.blocks[usize::from(self.open)].units.start;
            self.leave(first + u32::from(host.nth), note);
        }
    }

    /// Sends the next packet of a host, as soon as the port is free.
    #[inline(always)]
    pub(super) fn serve<D: Queue, S>(&mut self, port: &mut Port<D, S>, nic: &mut Nic) {
        let Fabric { arena, links, .. } = self;
        let next = port.queue.dequeue(port.free, arena, |id, arena| {
            links.counts.dropped_at_hosts += 1;
            arena.free(id);
        });
        let Some(id) = next else { return };
        arena.free(id);
        let size = arena.known(id).size;
        links.launch_from_host(port, nic, (port.free, size), arena, |arena| *arena.known(id));
    }
}

/// Tells `ranks` how far `flow` has come, by a packet of `kind` for one of its ends.
#[inline]
fn hear<T: Transport>(ranks: &mut Ranks<'_>, transport: &T, (flow, kind): (u32, Kind), now: Time) {
    if kind == Kind::DATA {
        ranks.has_come(flow, transport.first_missing(flow), now);
    } else if ranks.waits_for_acknowledgements() {
        ranks.was_acknowledged(flow, transport.tally(flow).acknowledged, now);
    }
}

/// Tells the interface of a host that its port goes on at `now`, with all that waits before it.
fn go_on<D: Queue, S>(
    port: &Port<D, S>,
    nic: &mut Nic,
    fabric: &Fabric<'_, impl Boundary>,
    now: Time,
) {
    let size = |id| fabric.links.timings.span(&port.timing, fabric.arena[id].size);
    let waits: Span = port.queue.waiting(&fabric.arena).into_iter().map(size).sum();
    nic.go_on(now, port.free.max(now) + waits);
}

/// Whether a data packet of `flow` is one that is lost by script, this time.
#[inline(always)]
fn is_lost(losses: &mut [ScriptedLoss], flow: u32, sequence: u32) -> bool {
    let Some(loss) = losses.get_mut(flow as usize) else { return false };
    let lost = loss.sequence == sequence && loss.times > 0;
    loss.times -= u32::from(lost);
    lost
}

/// Whether `note` is for the sender of a flow that has no route any more at `now`, and so is over for it. A
/// receiver's is carried out: its host may pace what it asks of all flows by it.
fn is_cut(cuts: &[Time], note: &Packet, now: Time) -> bool {
    let is_cut = cuts.get(note.flow as usize).is_some_and(|&at| at <= now);
    is_cut && note.key as u8 != WAKE_RECEIVER
}

/// The low byte of the key of a note, which a host sends itself and which lies in the lists of the packets
/// that reach it. At one time packets come first (0), then ranks go on, then flows start, then senders
/// wake, then receivers, and at last flows are looked at.
const RANK: u8 = 1;
pub(super) const START: u8 = 2;
pub(super) const WAKE_SENDER: u8 = 3;
pub(super) const WAKE_RECEIVER: u8 = 4;
const LOOK: u8 = 5;

/// The note that a rank has asked for.
pub(super) fn rank_note(asked: Note) -> Packet {
    match asked {
        Note::Send { at, flow } => start_note(at, flow),
        Note::Look { at, rank } => note(Packet::arriving(at, RANK), Kind::RANK, rank),
    }
}

/// The note that `flow` starts at `at`.
pub(super) fn start_note(at: Time, flow: u32) -> Packet {
    note(Packet::arriving(at, START), Kind::START, flow)
}

/// The note that the flows of `host` are looked at, at `at`, which is instant number `instant`.
pub(super) fn look_note(at: Time, host: u16, instant: u32) -> Packet {
    Packet { sequence: instant, to: host, ..note(Packet::arriving(at, LOOK), Kind::LOOK, 0) }
}

/// The note that wakes one end of a flow.
pub(super) fn wake_note(wake: Wake) -> Packet {
    let order = match wake.end {
        End::Sender => WAKE_SENDER,
        End::Receiver => WAKE_RECEIVER,
    };
    note(Packet::arriving(wake.at, order), Kind::WAKE, wake.flow)
}

/// The wake-up that such a note stands for.
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
