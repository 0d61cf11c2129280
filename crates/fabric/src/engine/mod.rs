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
mod border;
mod diary;
mod fabric;
mod follow;
mod hosts;
mod judge;
mod mailbox;
mod nic;
mod note;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod parallel;
mod samples;
mod scene;
mod sides;
mod switches;
mod threads;
mod together;
mod wire;
#[cfg(test)]
mod worlds;

pub(crate) use mailbox::SHORTEST_LOOKAHEAD;
pub use samples::Sample;
pub use scene::{After, Figures, Outcome, Scene, Watch};
pub use sojourn_queueing::{Cancelled, Progress};
pub use threads::simulate_on_threads;

use crate::hosts::HostPort;
use crate::packet::{Kind, Slab};
use crate::qdisc::{Builder, Discipline, Line};
use crate::topology::Link;
use crate::transport::{Tally, Transport, Turn};
use apart::Apart;
use border::{Border, Said, Whole};
use fabric::{Fabric, Port};
use follow::Followers;
use mailbox::Mailbox;
use nic::Nic;
use samples::Samples;
use sojourn_kernel::{Span, Time};
use std::sync::atomic::Ordering;
use switches::Switches;
use together::Together;
use wire::Wire;

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
    let (whole, shared) = (Whole, !scene.memories.is_empty());
    match lines(scene, queue) {
        _ if shared => {
            Engine::<_, _, Together, _>::new(scene, queue, transport, whole).run(progress)
        }
        Some(lines) => Engine::<_, _, Apart, _>::new(scene, &lines, transport, whole).run(progress),
        None => Engine::<_, _, Apart, _>::new(scene, queue, transport, whole).run(progress),
    }
}

/// The ports as lines that send their packets ahead, where that is cheap and nobody looks at them.
fn lines(scene: &Scene, queue: &impl Builder) -> Option<Line> {
    queue.lines().filter(|line| scene.sample.is_none() && scene.is_shallow(line))
}

struct Engine<'a, D, T, S: Switches, B> {
    scene: &'a Scene,
    fabric: Fabric<'a, B>,
    ports: Vec<Port<D, S::Share>>,
    nics: Vec<Nic>,
    switches: S,
    transport: T,
    received: Vec<Time>,
    acknowledged: Vec<Time>,
    followers: Followers,
    watched: Vec<Tally>,
    samples: Samples,
    /// Flows that can finish, and watches; how many of them are not done, and on this side are.
    all: usize,
    unfinished: usize,
    done: usize,
    next_flow: usize,
    /// How many windows were simulated, and when the last one is over.
    windows: u64,
    until: Time,
    turn: Turn,
}

impl<'a, D: Discipline, T: Transport, S: Switches, B: Border> Engine<'a, D, T, S, B> {
    fn new(scene: &'a Scene, queue: &impl Builder<Port = D>, transport: T, border: B) -> Self {
        let ports: Vec<Port<D, S::Share>> = (0..)
            .zip(&scene.network.links)
            .zip(scene.wires_drawn())
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
        let crossing = |wire: Wire| wire.crossing(scene.largest);
        let overheads = (0..scene.network.hosts).map(|host| scene.overhead(host));
        let overheads = overheads.chain(std::iter::repeat(Span::ZERO));
        let longest = scene.wires().map(crossing).zip(overheads).map(|(wire, host)| wire + host);
        let longest = longest.max().expect("a fabric has links");
        let hosts = 0..scene.network.hosts;
        let finite = scene.flows.iter().filter(|flow| !flow.is_endless());
        let all = finite.count() + scene.watches.len();
        let mut engine = Engine {
            scene,
            fabric: Fabric {
                network: &scene.network,
                balance: scene.balance,
                mailbox: Mailbox::new(ports.len(), mailbox::window(scene.lookahead()), longest),
                slab: Slab::default(),
                figures: Figures::default(),
                border,
            },
            ports,
            nics: hosts.map(|host| Nic::new(scene, host)).collect(),
            switches: S::new(scene),
            transport,
            received: vec![Time::NEVER; scene.flows.len()],
            acknowledged: vec![Time::NEVER; scene.flows.len()],
            followers: Followers::new(scene.flows.len(), &scene.after),
            watched: vec![Tally::default(); scene.watches.len()],
            samples: Samples::new(scene.sample, scene.network.links.len()),
            all,
            unfinished: all,
            done: 0,
            next_flow: 0,
            windows: 0,
            until: Time::ZERO,
            turn: Turn::default(),
        };
        engine.leave_looks();
        engine
    }

    /// Whether nothing is left to be simulated.
    fn is_over(&self) -> bool {
        self.unfinished == 0 || self.fabric.mailbox.begins() > self.scene.horizon
    }

    /// Simulates a window. Gives what there is to do next; nothing if all is to stop.
    #[inline]
    fn window(&mut self, progress: &Progress) -> Option<Said> {
        let horizon = self.scene.horizon;
        let hosts = self.scene.network.hosts as u32;
        let begins = self.fabric.mailbox.begins();
        if self.samples.are_due(begins) {
            self.samples.look(begins, hosts as usize, &self.ports, &self.fabric.slab);
        }
        let ends = self.fabric.mailbox.ends();
        self.until = ends;
        self.fabric.slab.lists_end(ends);
        self.start_flows(ends);
        for block in 0..self.fabric.mailbox.blocks() {
            let words = self.fabric.mailbox.take_words(block);
            for word in bits(words) {
                self.visit(block as u32 * 64 * 64 + word * 64, hosts, ends);
            }
        }
        S::all_came(self);
        if self.windows.is_multiple_of(LOOK_EVERY) {
            self.report(progress);
            if progress.cancelled.load(Ordering::Relaxed) {
                return None;
            }
        }
        self.windows += 1;
        let starts = self.scene.flows.get(self.next_flow).map(|flow| flow.arrived);
        let limit = starts.unwrap_or(Time::NEVER).min(horizon + Span::from_s(1));
        Some(Said { next: self.fabric.mailbox.next(limit), done: self.done })
    }

    /// Goes on to what there is to do next, on all sides.
    #[inline]
    fn go_on(&mut self, all: Said) {
        self.fabric.mailbox.go_on_to(all.next, &mut self.fabric.slab);
        self.unfinished = self.all - all.done;
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

    fn outcome(mut self, progress: &Progress) -> Outcome {
        self.report(progress);
        let horizon = self.scene.horizon;
        if self.unfinished > 0 {
            // A port is not visited when a packet that it sent ahead leaves, so its last window
            // may lie before the horizon.
            self.until = self.fabric.mailbox.end_of_window(horizon);
        }
        debug_assert!(self.switches.hold(self.fabric.network, &self.ports, &self.fabric.slab));
        self.call_back();
        let Engine { received, acknowledged, followers, .. } = &mut self;
        for at in received.iter_mut().chain(acknowledged).chain(&mut followers.started) {
            if *at > horizon {
                *at = Time::NEVER;
            }
        }
        let figures = &mut self.fabric.figures;
        let left = self.fabric.slab.packets();
        let is_note = |kind| matches!(kind, Kind::Start | Kind::Wake | Kind::Look);
        let in_network = left.filter(|packet| !is_note(packet.kind));
        figures.in_network = in_network.count() as u64;
        Outcome {
            ended: self.scene.ended(&self.acknowledged),
            tallies: (0..self.acknowledged.len() as u32).map(|f| self.transport.tally(f)).collect(),
            busy: self.ports.iter().map(|port| port.busy).collect(),
            figures: *figures,
            started: self.followers.started,
            watched: self.watched,
            memory_peaks: self.switches.peaks(),
            samples: self.samples.taken(),
            received: self.received,
            acknowledged: self.acknowledged,
        }
    }

    /// What was sent ahead and would leave after the end has not left; and where the end is the
    /// horizon, no port was sending later than that.
    fn call_back(&mut self) {
        let Engine { fabric, ports, scene, .. } = self;
        for Port { queue, wire, free, busy, .. } in ports {
            let mut back = Span::ZERO;
            for size in queue.begin_from(self.until) {
                back += wire.span(size);
                fabric.figures.hops -= 1;
            }
            *busy -= back;
            let free = Time::from_ps(free.ps() - back.ps());
            if self.unfinished > 0 && free > scene.horizon {
                *busy -= (free - scene.horizon).min(*busy);
            }
        }
    }

    /// Leaves notes at the sources of watched flows, to look at them twice.
    fn leave_looks(&mut self) {
        for (number, watch) in (0..).zip(&*self.scene.watches) {
            let host = self.scene.flows[watch.flow as usize].from.into();
            if self.fabric.border.is_mine(host) {
                for at in [watch.from, watch.until] {
                    self.fabric.leave(host, note::look(at, watch.flow, number));
                }
            }
        }
    }

    /// Leaves a note at the source of every flow that arrives before `ends`.
    fn start_flows(&mut self, ends: Time) {
        while let Some(flow) = self.scene.flows.get(self.next_flow)
            && flow.arrived < ends
        {
            let host = flow.from.into();
            if self.fabric.border.is_mine(host) {
                self.fabric.leave(host, note::start(flow.arrived, self.next_flow as u32));
            }
            self.next_flow += 1;
        }
    }
}

impl<D: Discipline, T: Transport, S: Switches> Engine<'_, D, T, S, Whole> {
    /// Simulates all.
    fn run(mut self, progress: &Progress) -> Result<Outcome, Cancelled> {
        while !self.is_over() {
            let said = self.window(progress).ok_or(Cancelled)?;
            self.go_on(said);
        }
        Ok(self.outcome(progress))
    }
}

/// The empty queue of port number `port`: the first ones are the hosts'.
fn queue_of<B: Builder>(scene: &Scene, queue: &B, port: u64) -> B::Port {
    let stream = scene.streams.stream("ties", port);
    if port < scene.network.hosts as u64 {
        match scene.hosts.port {
            HostPort::Backpressure => queue.endless_port(stream),
            HostPort::SwitchPort => queue.host_port(stream),
        }
    } else if scene.memories.is_empty() {
        queue.port(stream)
    } else {
        queue.in_memory(stream)
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
