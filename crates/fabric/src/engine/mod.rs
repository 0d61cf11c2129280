//! The packet engine: every packet of every flow, port by port, in windows of time.
//!
//! There is no event queue for packets. Time advances in windows no longer than the lookahead (see
//! `mailbox.rs`); each window visits the ports that have something to do, and a visit merges what
//! arrives at the port with its service in one loop. Every departure is routed at once into the
//! mailbox of the next port. Nothing depends on the order of the visits: ports and hosts share no
//! state, ties are settled by keys, and random choices come from each port's own stream. Where the
//! ports of a switch share its memory, they are visited as one (see `together.rs`). Where packets
//! leave in the order in which they come, they are on their way as soon as they have come, and
//! nobody visits a port to send them (see `qdisc/line.rs`).

#[cfg(test)]
mod ahead;
mod alone;
mod apart;
mod diary;
mod follow;
mod mailbox;
mod note;
#[cfg(test)]
mod oracle;
mod samples;
mod scene;
mod switches;
mod together;
mod wire;

pub use samples::Sample;
pub use scene::{After, Figures, Outcome, Scene, Watch};
pub use sojourn_queueing::{Cancelled, Progress};

use crate::balance::{Balance, Input};
use crate::flow::Flow;
use crate::packet::{CE, Kind, NIL, Packet, PacketId, Slab};
use crate::qdisc::{Builder, Discipline};
use crate::topology::{Link, Network};
use crate::transport::{Tally, Transport, Turn};
use apart::Apart;
use follow::Followers;
use mailbox::Mailbox;
use samples::Samples;
use sojourn_kernel::{Span, Time};
use std::hint::select_unpredictable;
use std::sync::atomic::Ordering;
use switches::Switches;
use together::Together;
use wire::Wire;

/// One output port: its wire first, for the inner loop.
struct Port<D, S> {
    free: Time,
    wire: Wire,
    /// Whose turn it is at the next switch when packets are sprayed.
    turn: u8,
    queue: D,
    busy: Span,
    /// What it has of its switch's memory.
    share: S,
}

/// All but the ports.
struct Fabric<'a> {
    network: &'a Network,
    balance: Balance,
    salt: u64,
    mailbox: Mailbox,
    slab: Slab,
    figures: Figures,
}

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
    let lines = queue.lines().filter(|line| scene.sample.is_none() && scene.is_shallow(line));
    match (Together::new(scene), lines) {
        (Some(together), _) => Engine::new(scene, queue, transport, together).run(progress),
        (None, Some(lines)) => Engine::new(scene, &lines, transport, Apart).run(progress),
        (None, None) => Engine::new(scene, queue, transport, Apart).run(progress),
    }
}

struct Engine<'a, D, T, S: Switches> {
    scene: &'a Scene,
    fabric: Fabric<'a>,
    ports: Vec<Port<D, S::Share>>,
    switches: S,
    transport: T,
    finished: Vec<Time>,
    followers: Followers,
    watched: Vec<Tally>,
    samples: Samples,
    /// Flows that can finish, and watches; and how many of them are not done.
    all: usize,
    unfinished: usize,
    next_flow: usize,
    /// When the last window that was visited is over.
    until: Time,
    turn: Turn,
}

impl<'a, D: Discipline, T: Transport, S: Switches> Engine<'a, D, T, S> {
    fn new<B: Builder<Port = D>>(scene: &'a Scene, queue: &B, transport: T, switches: S) -> Self {
        let ports: Vec<Port<D, S::Share>> = (0..)
            .zip(&scene.network.links)
            .zip(scene.wires())
            .zip(S::shares(scene))
            .map(|(((port, link), wire), share)| Port {
                free: Time::ZERO,
                wire,
                turn: first_turn(scene, port, link),
                queue: queue_of(scene, queue, port),
                busy: Span::ZERO,
                share,
            })
            .collect();
        let longest = scene.wires().map(|wire| wire.crossing(scene.largest)).max();
        let longest = longest.expect("a fabric has links");
        let finite = scene.flows.iter().filter(|flow| !flow.is_endless());
        let all = finite.count() + scene.watches.len();
        Engine {
            scene,
            fabric: Fabric {
                network: &scene.network,
                balance: scene.balance,
                salt: scene.salt(),
                mailbox: Mailbox::new(ports.len(), scene.lookahead(), longest),
                slab: Slab::default(),
                figures: Figures::default(),
            },
            ports,
            switches,
            transport,
            finished: vec![Time::NEVER; scene.flows.len()],
            followers: Followers::new(scene.flows.len(), &scene.after),
            watched: vec![Tally::default(); scene.watches.len()],
            samples: Samples::new(scene.sample, scene.network.links.len()),
            all,
            unfinished: all,
            next_flow: 0,
            until: Time::ZERO,
            turn: Turn::default(),
        }
    }

    fn run(mut self, progress: &Progress) -> Result<Outcome, Cancelled> {
        let horizon = self.scene.horizon;
        let hosts = self.scene.network.hosts as u32;
        let blocks = self.fabric.mailbox.blocks();
        let mut windows = 0u64;
        self.leave_looks();
        while self.unfinished > 0 && self.fabric.mailbox.begins() <= horizon {
            let begins = self.fabric.mailbox.begins();
            if self.samples.are_due(begins) {
                self.samples.look(begins, hosts as usize, &self.ports, &self.fabric.slab);
            }
            let ends = self.fabric.mailbox.ends();
            self.until = ends;
            self.fabric.slab.lists_end(ends);
            self.start_flows(ends);
            for block in 0..blocks {
                let words = self.fabric.mailbox.take_words(block);
                for word in bits(words) {
                    self.visit(block as u32 * 64 * 64 + word * 64, hosts, ends);
                }
            }
            S::all_came(&mut self);
            if windows.is_multiple_of(LOOK_EVERY) {
                self.report(progress);
                if progress.cancelled.load(Ordering::Relaxed) {
                    return Err(Cancelled);
                }
            }
            windows += 1;
            let starts = self.scene.flows.get(self.next_flow).map(|flow| flow.arrived);
            let limit = starts.unwrap_or(Time::NEVER).min(horizon + Span::from_s(1));
            let Fabric { mailbox, slab, .. } = &mut self.fabric;
            mailbox.advance(limit, slab);
        }
        self.report(progress);
        Ok(self.outcome())
    }

    /// Visits those of the 64 units from `first` on that have something to do before `ends`.
    #[inline]
    fn visit(&mut self, first: u32, hosts: u32, ends: Time) {
        let due = self.fabric.mailbox.take_due(first);
        let of_hosts = match hosts.saturating_sub(first) {
            below @ 0..64 => due & ((1 << below) - 1),
            _ => due,
        };
        for bit in bits(of_hosts) {
            self.visit_host(first + bit, ends);
        }
        for bit in bits(due & !of_hosts) {
            S::visit(self, first + bit);
        }
    }

    fn report(&self, progress: &Progress) {
        let finished = (self.all - self.unfinished) as u64;
        progress.finished.store(finished, Ordering::Relaxed);
        let now = self.fabric.mailbox.begins().ps();
        progress.simulated_ps.store(now, Ordering::Relaxed);
    }

    fn outcome(mut self) -> Outcome {
        debug_assert!(self.switches.hold(self.fabric.network, &self.ports, &self.fabric.slab));
        self.call_back();
        let horizon = self.scene.horizon;
        let Followers { started, arrived, .. } = &mut self.followers;
        for finished in self.finished.iter_mut().chain(started).chain(arrived) {
            if *finished > horizon {
                *finished = Time::NEVER;
            }
        }
        let mut finite = self.finished.iter().zip(&*self.scene.flows);
        let open = finite.any(|(at, flow)| *at == Time::NEVER && !flow.is_endless());
        let ends = self.finished.iter().copied().filter(|finished| *finished != Time::NEVER);
        let last = ends.chain(self.scene.watches.iter().map(|watch| watch.until)).max();
        let figures = &mut self.fabric.figures;
        let left = self.fabric.slab.packets();
        let is_note = |kind| matches!(kind, Kind::Start | Kind::Wake | Kind::Look);
        let in_network = left.filter(|packet| !is_note(packet.kind));
        figures.in_network = in_network.count() as u64;
        Outcome {
            ended: match open {
                true => horizon,
                false => last.unwrap_or(Time::ZERO),
            },
            tallies: (0..self.finished.len() as u32).map(|f| self.transport.tally(f)).collect(),
            busy: self.ports.iter().map(|port| port.busy).collect(),
            figures: *figures,
            started: self.followers.started,
            arrived: self.followers.arrived,
            watched: self.watched,
            memory_peaks: self.switches.peaks(),
            samples: self.samples.taken(),
            finished: self.finished,
        }
    }

    /// What was sent ahead and would leave after the end has not left.
    fn call_back(&mut self) {
        for port in &mut self.ports {
            for size in port.queue.begin_from(self.until) {
                port.busy -= port.wire.span(size);
                self.fabric.figures.hops -= 1;
            }
        }
    }

    /// Leaves notes at the sources of watched flows, to look at them twice.
    fn leave_looks(&mut self) {
        for (number, watch) in (0..).zip(&*self.scene.watches) {
            let host = self.scene.flows[watch.flow as usize].from.into();
            for at in [watch.from, watch.until] {
                self.fabric.leave(host, note::look(at, watch.flow, number));
            }
        }
    }

    /// Leaves a note at the source of every flow that arrives before `ends`.
    fn start_flows(&mut self, ends: Time) {
        while let Some(flow) = self.scene.flows.get(self.next_flow)
            && flow.arrived < ends
        {
            let note = note::start(flow.arrived, self.next_flow as u32);
            self.fabric.leave(flow.from.into(), note);
            self.next_flow += 1;
        }
    }

    /// A host and its port in the window that ends at `ends`.
    #[inline]
    fn visit_host(&mut self, host: u32, ends: Time) {
        let mut arrivals = self.fabric.mailbox.take(host, &mut self.fabric.slab);
        loop {
            let port = &mut self.ports[host as usize];
            let next = self.fabric.slab.known(arrivals).arrives();
            if !port.queue.is_empty() && port.free < next {
                self.fabric.serve(port);
                continue;
            }
            if arrivals == NIL {
                break;
            }
            let id = arrivals;
            arrivals = self.fabric.slab.known(id).next;
            self.host_turn(id, next);
            if !self.turn.arrived.is_empty() {
                self.follow(host, ends, &mut arrivals);
            }
            for wake in self.turn.wakes.drain(..) {
                if wake.at < ends {
                    let id = self.fabric.slab.insert(note::wake(wake));
                    self.fabric.slab.link(&mut arrivals, id);
                } else {
                    self.fabric.leave(host, note::wake(wake));
                }
            }
            let alone = self.fabric.slab.known(arrivals).arrives() > next;
            self.send(host, next, alone);
        }
        let port = &self.ports[host as usize];
        if !port.queue.is_empty() {
            self.fabric.mailbox.visit(host, port.free);
        }
    }

    /// The transport's turn: `id` has come to its host at `now`.
    #[inline]
    fn host_turn(&mut self, id: PacketId, now: Time) {
        let packet = *self.fabric.slab.known(id);
        self.fabric.slab.free(id);
        let figures = &mut self.fabric.figures;
        figures.turns += 1;
        self.turn.now = now;
        match packet.kind {
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Pull => {
                figures.delivered += 1;
                figures.marked += u64::from(packet.marks & CE != 0);
                self.transport.receive(&packet, &mut self.turn);
            }
            Kind::Start => self.transport.start(packet.flow, &mut self.turn),
            Kind::Wake => self.transport.wake(note::wake_of(&packet), &mut self.turn),
            Kind::Look => self.look(packet.sequence as usize),
        }
        for flow in self.turn.finished.drain(..) {
            self.finished[flow as usize] = now;
            self.unfinished -= 1;
        }
    }

    /// Flows have arrived whole at `host`: those that follow them start there. `arrivals` is what
    /// is still to come in the window that ends at `ends`.
    #[cold]
    fn follow(&mut self, host: u32, ends: Time, arrivals: &mut PacketId) {
        let (fabric, now) = (&mut self.fabric, self.turn.now);
        for flow in self.turn.arrived.drain(..) {
            self.followers.arrived(flow, now, &self.scene.after, |flow, at| {
                let note = note::start(at, flow);
                if at < ends {
                    let id = fabric.slab.insert(note);
                    fabric.slab.link(arrivals, id);
                } else {
                    fabric.leave(host, note);
                }
            });
        }
    }

    /// A watch begins or ends.
    #[cold]
    fn look(&mut self, number: usize) {
        let watch = &self.scene.watches[number];
        let tally = self.transport.tally(watch.flow);
        if self.turn.now == watch.until {
            self.watched[number] = tally.since(self.watched[number]);
            self.unfinished -= 1;
        } else {
            self.watched[number] = tally;
        }
    }

    /// Hands the transport's packets to the host's port.
    #[inline]
    fn send(&mut self, host: u32, now: Time, alone: bool) {
        if D::ASKS_FOR_CLASS {
            classify(&mut self.turn.packets, &self.scene.flows);
        }
        let port = &mut self.ports[host as usize];
        let fabric = &mut self.fabric;
        fabric.figures.injected += self.turn.packets.len() as u64;
        let idle = port.queue.is_empty() && port.free <= now;
        if idle && alone && self.turn.packets.len() == 1 {
            let id = fabric.slab.insert(self.turn.packets[0]);
            self.turn.packets.clear();
            fabric.pass(port, now, id);
            return;
        }
        if idle && !self.turn.packets.is_empty() {
            port.free = now;
        }
        for packet in self.turn.packets.drain(..) {
            let id = fabric.slab.insert(packet);
            let dropped = &mut fabric.figures.dropped_at_hosts;
            port.queue.at(now, port.free);
            port.queue.enqueue(id, &mut fabric.slab, |id, slab| {
                *dropped += 1;
                slab.free(id);
            });
            if D::AHEAD && !port.queue.is_empty() {
                fabric.serve(port);
            }
        }
    }
}

impl Fabric<'_> {
    /// Leaves a note for a host at the time in its key.
    fn leave(&mut self, host: u32, note: Packet) {
        let id = self.slab.insert(note);
        self.mailbox.deliver(host, note.arrives(), id, &mut self.slab);
    }

    /// The port is free and packets wait: the next one goes.
    #[inline]
    fn serve<D: Discipline, S>(&mut self, port: &mut Port<D, S>) {
        let id = port.queue.dequeue(&mut self.slab);
        self.launch(port, port.free, id);
    }

    /// A packet finds the port idle and nobody else there.
    #[inline]
    fn pass<D: Discipline, S>(&mut self, port: &mut Port<D, S>, now: Time, id: PacketId) {
        port.queue.pass(self.slab.known_mut(id));
        self.launch(port, now, id);
    }

    /// Puts a packet on the wire at `now`: it is under way to the next unit.
    #[inline(always)]
    fn launch<D, S>(&mut self, port: &mut Port<D, S>, now: Time, id: PacketId) {
        let packet = self.slab.known_mut(id);
        let span = port.wire.span(packet.size);
        port.free = now + span;
        port.busy += span;
        let arrives = port.free + port.wire.delay;
        packet.key = Packet::arriving(arrives, port.wire.arrives_by);
        let wire = &port.wire;
        // Whether it goes to a host cannot be guessed, so the way on is found for all.
        let ways = self.network.ways(wire.switch, packet.to);
        let input = Input { turn: &mut port.turn, switch: wire.switch, salt: self.salt };
        let way = self.balance.choose(input, packet, ways.count());
        let on = self.network.port(ways, way, packet.to);
        let to = select_unpredictable(wire.host != Wire::NO_HOST, wire.host, on);
        self.figures.hops += 1;
        self.mailbox.deliver(to, arrives, id, &mut self.slab);
    }
}

/// The empty queue of port number `port`: the first ones are the hosts'.
fn queue_of<B: Builder>(scene: &Scene, queue: &B, port: u64) -> B::Port {
    let stream = scene.streams.stream("ties", port);
    if port < scene.network.hosts as u64 {
        queue.host_port(stream)
    } else if scene.memories.is_empty() {
        queue.port(stream)
    } else {
        queue.in_memory(stream)
    }
}

/// Notes the classes of packets of `flows`.
fn classify(packets: &mut [Packet], flows: &[Flow]) {
    for packet in packets {
        packet.classify(flows[packet.flow as usize].class);
    }
}

/// Whose turn it is first among the ways of the switch that `link` leads to: any, by chance.
fn first_turn(scene: &Scene, port: u64, link: &Link) -> u8 {
    let ways = match (link.to as usize).checked_sub(scene.network.hosts) {
        Some(switch) => scene.network.most_ways(switch),
        None => 1,
    };
    scene.streams.stream("spray", port).below(ways.into()) as u8
}

/// The places of the bits of `word`, from the lowest on.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        bit
    })
}
