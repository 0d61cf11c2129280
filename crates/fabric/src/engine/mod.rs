//! The packet engine: every packet of every flow, port by port, in windows of time.
//!
//! There is no event queue for packets. Time advances in windows no longer than the lookahead (see
//! [`mailbox`]); each window visits the ports that have something to do, and a visit merges what
//! arrives at the port with its service in one loop. Every departure is routed at once into the
//! mailbox of the next port. Nothing depends on the order of the visits: ports and hosts share no
//! state, ties are settled by keys, and random choices come from each port's own stream.

mod mailbox;
#[cfg(test)]
mod oracle;
mod wire;

use crate::balance::Balance;
use crate::flow::Flow;
use crate::packet::{Kind, NIL, Packet, PacketId, Slab};
use crate::qdisc::{Builder, Discipline};
use crate::topology::Network;
use crate::transport::{End, Tally, Transport, Turn, Wake};
use mailbox::Mailbox;
use sojourn_kernel::{Span, Streams, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::Wires;

/// What others may see of a run while it goes on, and how they stop it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Flows finished so far.
    pub finished: AtomicU64,
    /// Simulated time so far, in picoseconds.
    pub simulated_ps: AtomicU64,
    /// Set to stop the run.
    pub cancelled: AtomicBool,
}

/// The run was stopped through [`Progress::cancelled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The fabric.
    pub network: Arc<Network>,
    /// How packets choose among paths.
    pub balance: Balance,
    /// All flows, by their time of arrival.
    pub flows: Arc<[Flow]>,
    /// The smallest packet that can be on a wire.
    pub smallest: u16,
    /// The largest packet.
    pub largest: u16,
    /// What is not finished then is reported as unfinished.
    pub horizon: Time,
    /// Where random choices come from.
    pub streams: Streams,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When the sender of each flow knew that all had arrived; [`Time::NEVER`] if it never did.
    pub finished: Vec<Time>,
    /// What each flow needed.
    pub tallies: Vec<Tally>,
    /// Totals.
    pub figures: Figures,
    /// For each port, how long it was sending.
    pub busy: Vec<Span>,
    /// When the run ended.
    pub ended: Time,
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Packets sent by ports, hosts' ports too.
    pub hops: u64,
    /// Packets that transports handed to their host's port.
    pub injected: u64,
    /// Packets that reached the host they were for.
    pub delivered: u64,
    /// Packets dropped at hosts' ports, before they entered the fabric.
    pub dropped_at_hosts: u64,
    /// Packets dropped at switches' ports.
    pub dropped_at_switches: u64,
    /// Packets still on links or in queues at the end.
    pub in_network: u64,
    /// Data packets that arrived with a congestion mark.
    pub marked: u64,
    /// Turns of hosts: packets, starts and wake-ups.
    pub turns: u64,
}

/// One output port.
struct Port<D> {
    free: Time,
    busy: Span,
    queue: D,
    /// Whose turn it is at the next switch when packets are sprayed.
    turn: u8,
}

/// All but the ports.
struct Fabric<'a> {
    scene: &'a Scene,
    wires: Wires,
    mailbox: Mailbox,
    slab: Slab,
    figures: Figures,
}

/// The low byte of the key of a note that a host sends itself: after packets (0), flows start, then
/// senders wake, then receivers.
const START: u8 = 1;
const WAKE_SENDER: u8 = 2;
const WAKE_RECEIVER: u8 = 3;

/// How many windows go by between two looks at [`Progress`].
const LOOK_EVERY: u64 = 256;

/// Simulates `scene`. Not inlined, so that profilers can count this function alone.
#[inline(never)]
pub fn sojourn_simulate<B: Builder, T: Transport>(
    scene: &Scene,
    queue: &B,
    transport: T,
    progress: &Progress,
) -> Result<Outcome, Cancelled> {
    Engine::<B::Port, T>::new(scene, queue, transport).run(progress)
}

struct Engine<'a, D, T> {
    fabric: Fabric<'a>,
    ports: Vec<Port<D>>,
    transport: T,
    finished: Vec<Time>,
    unfinished: usize,
    next_flow: usize,
    arrivals: Vec<(u64, PacketId)>,
    turn: Turn,
}

impl<'a, D: Discipline, T: Transport> Engine<'a, D, T> {
    fn new<B: Builder<Port = D>>(scene: &'a Scene, queue: &B, transport: T) -> Self {
        let wires = Wires::new(&scene.network);
        let lookahead = wires.lookahead(scene.smallest);
        let longest = wires.longest(scene.largest);
        let units = scene.network.links.len();
        let ports = (0..units as u64)
            .map(|port| Port {
                free: Time::ZERO,
                busy: Span::ZERO,
                queue: queue.port(scene.streams.stream("ties", port)),
                turn: scene.streams.stream("spray", port).below(256) as u8,
            })
            .collect();
        Engine {
            fabric: Fabric {
                scene,
                wires,
                mailbox: Mailbox::new(units, lookahead, longest),
                slab: Slab::default(),
                figures: Figures::default(),
            },
            ports,
            transport,
            finished: vec![Time::NEVER; scene.flows.len()],
            unfinished: scene.flows.len(),
            next_flow: 0,
            arrivals: Vec::new(),
            turn: Turn::default(),
        }
    }

    fn run(mut self, progress: &Progress) -> Result<Outcome, Cancelled> {
        let horizon = self.fabric.scene.horizon;
        let hosts = self.fabric.scene.network.hosts as u32;
        let words = self.ports.len().div_ceil(64);
        let mut windows = 0u64;
        while self.unfinished > 0 && self.fabric.mailbox.begins() <= horizon {
            let ends = self.fabric.mailbox.ends();
            self.start_flows(ends);
            for word in 0..words {
                let mut due = self.fabric.mailbox.take_due(word);
                while due != 0 {
                    let unit = word as u32 * 64 + due.trailing_zeros();
                    due &= due - 1;
                    if unit < hosts {
                        self.visit_host(unit, ends);
                    } else {
                        self.visit_port(unit, ends);
                    }
                }
            }
            if windows.is_multiple_of(LOOK_EVERY) {
                self.report(progress);
                if progress.cancelled.load(Ordering::Relaxed) {
                    return Err(Cancelled);
                }
            }
            windows += 1;
            let starts = self
                .fabric
                .scene
                .flows
                .get(self.next_flow)
                .map(|flow| flow.arrived);
            let limit = starts.unwrap_or(Time::NEVER).min(horizon + Span::from_s(1));
            let Fabric { mailbox, slab, .. } = &mut self.fabric;
            mailbox.advance(limit, slab);
        }
        self.report(progress);
        Ok(self.outcome())
    }

    fn report(&self, progress: &Progress) {
        let finished = (self.finished.len() - self.unfinished) as u64;
        progress.finished.store(finished, Ordering::Relaxed);
        let now = self.fabric.mailbox.begins().ps();
        progress.simulated_ps.store(now, Ordering::Relaxed);
    }

    fn outcome(mut self) -> Outcome {
        let horizon = self.fabric.scene.horizon;
        for finished in &mut self.finished {
            if *finished > horizon {
                *finished = Time::NEVER;
            }
        }
        let last = self
            .finished
            .iter()
            .filter(|finished| **finished != Time::NEVER)
            .max();
        let figures = &mut self.fabric.figures;
        figures.in_network = figures.injected
            - figures.delivered
            - figures.dropped_at_hosts
            - figures.dropped_at_switches;
        Outcome {
            ended: match self.unfinished {
                0 => last.copied().unwrap_or(Time::ZERO),
                _ => horizon,
            },
            tallies: (0..self.finished.len() as u32)
                .map(|f| self.transport.tally(f))
                .collect(),
            busy: self.ports.iter().map(|port| port.busy).collect(),
            figures: *figures,
            finished: self.finished,
        }
    }

    /// Leaves a note at the source of every flow that arrives before `ends`.
    fn start_flows(&mut self, ends: Time) {
        let flows = &self.fabric.scene.flows;
        while let Some(flow) = flows.get(self.next_flow)
            && flow.arrived < ends
        {
            let key = Packet::arriving(flow.arrived, START);
            let note = note(key, Kind::Start, self.next_flow as u32);
            let Fabric { mailbox, slab, .. } = &mut self.fabric;
            let id = slab.insert(note);
            mailbox.deliver(flow.from.into(), id, slab);
            self.next_flow += 1;
        }
    }

    /// Collects what arrives at `unit` in this window, in order.
    #[inline]
    fn collect(&mut self, unit: u32) {
        self.arrivals.clear();
        self.fabric
            .mailbox
            .take(unit, &self.fabric.slab, &mut self.arrivals);
        let arrivals = &mut self.arrivals[..];
        for i in 1..arrivals.len() {
            let item = arrivals[i];
            let mut place = i;
            while place > 0 && before(item, arrivals[place - 1], &self.fabric.slab) {
                arrivals[place] = arrivals[place - 1];
                place -= 1;
            }
            arrivals[place] = item;
        }
    }

    /// A switch's port in the window that ends at `ends`.
    #[inline]
    fn visit_port(&mut self, unit: u32, ends: Time) {
        self.collect(unit);
        let port = &mut self.ports[unit as usize];
        let fabric = &mut self.fabric;
        let mut arrivals = self.arrivals.iter().peekable();
        loop {
            let next = arrivals
                .peek()
                .map_or(ends, |(key, _)| Time::from_ps(key >> 8));
            if !port.queue.is_empty() && port.free < next {
                fabric.serve(unit, port);
                continue;
            }
            let Some(&(_, id)) = arrivals.next() else {
                break;
            };
            if port.queue.is_empty() && port.free <= next {
                let alone = arrivals.peek().is_none_or(|(key, _)| key >> 8 > next.ps());
                if alone {
                    fabric.pass(unit, port, next, id);
                    continue;
                }
                port.free = next;
            }
            let dropped = &mut fabric.figures.dropped_at_switches;
            port.queue.enqueue(id, &mut fabric.slab, |id, slab| {
                *dropped += 1;
                slab.free(id);
            });
        }
        if !port.queue.is_empty() {
            fabric.mailbox.visit(unit, port.free);
        }
    }

    /// A host and its port in the window that ends at `ends`.
    fn visit_host(&mut self, host: u32, ends: Time) {
        self.collect(host);
        let mut at = 0;
        loop {
            let port = &mut self.ports[host as usize];
            let next = self
                .arrivals
                .get(at)
                .map_or(ends, |(key, _)| Time::from_ps(key >> 8));
            if !port.queue.is_empty() && port.free < next {
                self.fabric.serve(host, port);
                continue;
            }
            if at == self.arrivals.len() {
                break;
            }
            let id = self.arrivals[at].1;
            at += 1;
            self.host_turn(id, next);
            self.set_wakes(host, at, ends);
            let alone = self
                .arrivals
                .get(at)
                .is_none_or(|(key, _)| key >> 8 > next.ps());
            self.send(host, next, alone);
        }
        let port = &mut self.ports[host as usize];
        if !port.queue.is_empty() {
            self.fabric.mailbox.visit(host, port.free);
        }
    }

    /// The transport's turn: `id` has come to its host at `now`.
    #[inline]
    fn host_turn(&mut self, id: PacketId, now: Time) {
        let packet = self.fabric.slab[id];
        self.fabric.slab.free(id);
        let figures = &mut self.fabric.figures;
        figures.turns += 1;
        self.turn.now = now;
        match packet.kind {
            Kind::Data | Kind::Ack => {
                figures.delivered += 1;
                figures.marked += u64::from(packet.marks & crate::packet::CE != 0);
                self.transport.receive(&packet, &mut self.turn);
            }
            Kind::Start => self.transport.start(packet.flow, &mut self.turn),
            Kind::Wake => self.transport.wake(wake_of(&packet), &mut self.turn),
        }
        for flow in self.turn.finished.drain(..) {
            self.finished[flow as usize] = now;
            self.unfinished -= 1;
        }
    }

    /// Sets the wake-ups the transport asked for: those inside this window join the arrivals from
    /// place `from` on.
    #[inline]
    fn set_wakes(&mut self, host: u32, from: usize, ends: Time) {
        for wake in self.turn.wakes.drain(..) {
            let id = self.fabric.slab.insert(note_of(wake));
            if wake.at >= ends {
                let Fabric { mailbox, slab, .. } = &mut self.fabric;
                mailbox.deliver(host, id, slab);
                continue;
            }
            let item = (self.fabric.slab[id].key, id);
            let later = |other: &(u64, PacketId)| before(item, *other, &self.fabric.slab);
            let place = self.arrivals[from..].iter().position(later);
            self.arrivals.insert(
                place.map_or(self.arrivals.len(), |place| from + place),
                item,
            );
        }
    }

    /// Hands the transport's packets to the host's port.
    #[inline]
    fn send(&mut self, host: u32, now: Time, alone: bool) {
        let port = &mut self.ports[host as usize];
        let fabric = &mut self.fabric;
        fabric.figures.injected += self.turn.packets.len() as u64;
        let idle = port.queue.is_empty() && port.free <= now;
        if idle && alone && self.turn.packets.len() == 1 {
            let id = fabric.slab.insert(self.turn.packets[0]);
            self.turn.packets.clear();
            fabric.pass(host, port, now, id);
            return;
        }
        if idle && !self.turn.packets.is_empty() {
            port.free = now;
        }
        for packet in self.turn.packets.drain(..) {
            let id = fabric.slab.insert(packet);
            let dropped = &mut fabric.figures.dropped_at_hosts;
            port.queue.enqueue(id, &mut fabric.slab, |id, slab| {
                *dropped += 1;
                slab.free(id);
            });
        }
    }
}

impl Fabric<'_> {
    /// The port is free and packets wait: the next one goes.
    #[inline]
    fn serve<D: Discipline>(&mut self, unit: u32, port: &mut Port<D>) {
        if let Some(id) = port.queue.dequeue(&mut self.slab) {
            self.launch(unit, port, port.free, id);
        }
    }

    /// A packet finds the port idle and nobody else there.
    #[inline]
    fn pass<D: Discipline>(&mut self, unit: u32, port: &mut Port<D>, now: Time, id: PacketId) {
        port.queue.pass(&mut self.slab[id]);
        self.launch(unit, port, now, id);
    }

    /// Puts a packet on the wire at `now`: it is under way to the next unit.
    #[inline]
    fn launch<D>(&mut self, unit: u32, port: &mut Port<D>, now: Time, id: PacketId) {
        let wire = self.wires.of(unit);
        let packet = &mut self.slab[id];
        let span = wire.span(packet.size);
        port.free = now + span;
        port.busy += span;
        packet.key = Packet::arriving(port.free + wire.delay, wire.arrives_by);
        let to = self.next_unit(unit, id, &mut port.turn);
        self.figures.hops += 1;
        self.mailbox.deliver(to, id, &mut self.slab);
    }

    /// Where a packet that leaves by `unit` has to be next: a host, or a port of a switch.
    #[inline]
    fn next_unit(&self, unit: u32, id: PacketId, turn: &mut u8) -> u32 {
        let wire = self.wires.of(unit);
        if wire.to_host {
            return wire.to;
        }
        let packet = &self.slab[id];
        let ways = self.scene.network.next(wire.to, packet.to);
        match ways {
            [only] => *only,
            _ => {
                let flow = u64::from(packet.flow) << 1 | u64::from(packet.kind == Kind::Ack);
                ways[self.scene.balance.choose(turn, flow, wire.to, ways.len())]
            }
        }
    }
}

/// The order of arrivals at one node: by key; notes of one moment by flow.
#[inline]
fn before(a: (u64, PacketId), b: (u64, PacketId), slab: &Slab) -> bool {
    a.0 < b.0 || a.0 == b.0 && slab[a.1].flow < slab[b.1].flow
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

fn note_of(wake: Wake) -> Packet {
    let order = match wake.end {
        End::Sender => WAKE_SENDER,
        End::Receiver => WAKE_RECEIVER,
    };
    note(Packet::arriving(wake.at, order), Kind::Wake, wake.flow)
}

fn wake_of(note: &Packet) -> Wake {
    let end = match note.key as u8 {
        WAKE_SENDER => End::Sender,
        _ => End::Receiver,
    };
    Wake {
        at: note.arrives(),
        flow: note.flow,
        end,
    }
}
