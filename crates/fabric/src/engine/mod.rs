//! The packet engine: every packet of every flow, port by port, in windows of time.
//!
//! There is no event queue for packets. Time advances in windows no longer than the lookahead (see
//! `wheel.rs`). In each window the blocks of units that have something to do are opened one after the
//! other: what has come to the switches of a block is routed, packet by packet as they lie (see
//! `routing.rs`), and then each port is visited, which merges what arrives at it with its service in
//! one loop. Every departure is put at once where it will be read: its window and its block are known.
//! Nothing depends on the order of the visits: ports and hosts share no state, ties are settled by
//! keys, and random choices come from each port's own stream. Where the ports of a switch share its
//! memory, they are visited as one (see `together.rs`). Where packets leave in the order in which they
//! come, they are on their way as soon as they have come, and no port is visited to send them (see
//! `queue/fifo_ahead.rs`).

#[cfg(test)]
mod ahead;
mod alone;
mod apart;
mod arrivals;
mod border;
mod diary;
mod fabric;
mod hosts;
mod judge;
mod layout;
mod nic;
mod note;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod parallel;
mod routing;
mod samples;
mod scene;
mod sides;
mod switches;
mod threads;
mod together;
mod wheel;
mod wire;
#[cfg(test)]
mod worlds;

pub use crate::job::{After, Watch};
pub use samples::Sample;
pub use scene::{Figures, Outcome, Scene};
pub use sojourn_core::{Cancelled, Progress};
pub use threads::simulate_on_threads;
pub(crate) use wheel::SHORTEST_LOOKAHEAD;

use crate::flow::Flow;
use crate::hosts::HostPort;
use crate::job::Followers;
use crate::packet::{Kind, PacketId, Slab};
use crate::queue::{Builder, Discipline, Line};
use crate::transport::{Tally, Transport, Turn};
use apart::Apart;
use arrivals::Arrivals;
use border::{Border, Said, Whole};
use fabric::{Fabric, Links, Port};
use layout::{Block, BlockId, Layout};
use nic::Nic;
use routing::Routing;
use samples::Samples;
use sides::Sides;
use sojourn_core::{Span, Time};
use std::sync::atomic::Ordering;
use switches::Switches;
use together::Together;
use wheel::Wheel;
use wire::Wires;

/// Ports of a block of so many units do not fit into the caches nearest to a processor: to visit them
/// in order is to read their memory in sequence.
const LARGE: usize = 1024;

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
    let layout = &Layout::new(&scene.network, &Sides::new(&scene.network, 1));
    match lines(scene, queue) {
        _ if !scene.memories.is_empty() => {
            Engine::<_, _, Together, _>::new(scene, layout, queue, transport, Whole).run(progress)
        }
        Some(lines) => {
            Engine::<_, _, Apart, _>::new(scene, layout, &lines, transport, Whole).run(progress)
        }
        None => Engine::<_, _, Apart, _>::new(scene, layout, queue, transport, Whole).run(progress),
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
    /// How many flows can finish, and watches, on all sides.
    all: usize,
    /// Those whose source is on this side.
    own: usize,
    /// Those of all sides that were not done at the last meeting.
    unfinished: usize,
    /// Those of this side that are done.
    done: usize,
    /// The number of the next flow that arrives.
    next_flow: usize,
    /// The window in which it does so, or that of a second after the horizon.
    quiet_until: u64,
    /// How many windows were simulated, and when the last one is over.
    windows: u64,
    until: Time,
    /// Whether the current window was begun before the other sides were heard: blocks that hear from
    /// none of them are done.
    has_begun: bool,
    turn: Turn,
}

impl<'a, D: Discipline, T: Transport, S: Switches, B: Border> Engine<'a, D, T, S, B> {
    fn new(
        scene: &'a Scene,
        layout: &'a Layout,
        queue: &impl Builder<Port = D>,
        transport: T,
        border: B,
    ) -> Self {
        let (network, side) = (&scene.network, border.side());
        let (mut shares, mut wires) = (S::shares(scene).enumerate(), Wires::default());
        let ports = layout.for_units(side, |unit| {
            let own = unit as usize;
            let interface = network.far_end(unit);
            Port {
                free: Time::ZERO,
                wire: wires.add(&network.links[own], scene.smallest),
                interface,
                block: layout.of(interface),
                arrives_by: network.links[own].arrives_by,
                queue: queue_of(scene, queue, unit.into()),
                busy: Span::ZERO,
                visited_at: Time::ZERO,
                share: shares.find(|&(port, _)| port == own).expect("a share").1,
            }
        });
        let hosts = layout.units(side).take_while(|&unit| (unit as usize) < network.hosts);
        let finite = scene.flows.iter().filter(|flow| !flow.is_endless());
        let watched = scene.watches.iter().map(|watch| &scene.flows[watch.flow as usize]);
        let goals = finite.chain(watched);
        let is_own = |flow: &&Flow| border.is_mine(layout.of(flow.from.into()));
        let (all, own) = (goals.clone().count(), goals.filter(is_own).count());
        let mut engine = Engine {
            scene,
            fabric: Fabric {
                layout,
                routing: Routing::new(scene, layout, side),
                open: 0,
                arrivals: Arrivals::new(),
                slab: Slab::default(),
                links: Links {
                    wires,
                    wheel: Wheel::new(layout.blocks.len(), wheel::window(scene.lookahead())),
                    border,
                    figures: Figures::default(),
                },
            },
            samples: Samples::new(scene.sample, ports.len()),
            ports,
            nics: hosts.map(|host| Nic::new(scene, host as usize)).collect(),
            switches: S::new(scene),
            transport,
            received: vec![Time::NEVER; scene.flows.len()],
            acknowledged: vec![Time::NEVER; scene.flows.len()],
            followers: Followers::new(scene.flows.len(), &scene.after),
            watched: vec![Tally::default(); scene.watches.len()],
            all,
            own,
            unfinished: all,
            done: 0,
            next_flow: 0,
            quiet_until: 0,
            windows: 0,
            until: Time::ZERO,
            has_begun: false,
            turn: Turn::default(),
        };
        engine.leave_looks();
        engine
    }

    /// Whether nothing is left to be simulated.
    fn is_over(&self) -> bool {
        self.unfinished == 0 || self.fabric.links.wheel.begins() > self.scene.horizon
    }

    /// Simulates a window, or what is left of it. Gives what there is to do next; nothing if all is to
    /// stop.
    #[inline]
    fn window(&mut self, progress: &Progress) -> Option<Said> {
        if !std::mem::take(&mut self.has_begun) {
            self.begin();
        }
        if B::CUT {
            self.visit_due(|hears| hears);
        }
        if self.windows.is_multiple_of(LOOK_EVERY) {
            self.report(progress);
            if progress.cancelled.load(Ordering::Relaxed) {
                return None;
            }
        }
        self.windows += 1;
        Some(Said { next: self.fabric.links.wheel.next(self.quiet_until), done: self.done })
    }

    /// Begins a window: visits the blocks that hear from no other side.
    #[inline]
    fn begin(&mut self) {
        let begins = self.fabric.links.wheel.begins();
        if self.samples.are_due(begins) {
            let numbers = self.fabric.layout.units(self.fabric.links.border.side());
            let Engine { samples, nics, ports, fabric, .. } = self;
            samples.look(begins, nics.len(), ports, numbers, &fabric.slab);
        }
        let ends = self.fabric.links.wheel.ends();
        self.until = ends;
        self.fabric.slab.lists_end(ends);
        if self.quiet_until <= self.fabric.links.wheel.current() {
            self.start_flows(ends);
        }
        self.visit_due(|hears| !hears);
    }

    /// Visits those blocks that have something to do and are `wanted`, which is given those of eight
    /// that hear from other sides.
    #[inline(always)]
    fn visit_due(&mut self, wanted: impl Fn(u64) -> u64) {
        for eight in 0..self.fabric.links.wheel.eights() {
            let Links { wheel, border, .. } = &mut self.fabric.links;
            for bit in ones(wheel.take_due(eight, wanted(border.hears(eight)))) {
                self.visit((eight * 8) as BlockId + (bit / 8) as BlockId);
            }
        }
    }

    /// Goes on to what there is to do next, on all sides, if it is not there already.
    #[inline]
    fn go_on(&mut self, all: Said) {
        if !B::CUT || !self.has_begun {
            self.fabric.links.wheel.go_on_to(all.next, &mut self.fabric.slab);
        }
        debug_assert_eq!(self.fabric.links.wheel.current(), all.next);
        self.unfinished = self.all - all.done;
    }

    /// Visits those units of `block` that have something to do.
    #[inline]
    fn visit(&mut self, block: BlockId) {
        let block = self.fabric.open(block);
        if block.are_hosts {
            for nth in 0..self.fabric.arrivals.count() {
                self.visit_host(block.unit(self.fabric.arrivals.touched(nth)), self.until);
            }
        } else {
            self.visit_ports(block);
        }
        self.fabric.links.wheel.close(&mut self.fabric.slab);
    }

    /// Visits those ports of the switches of `block` that have something to do. Not inlined: a
    /// function with fewer values to keep has more of them in registers.
    #[inline(never)]
    fn visit_ports(&mut self, block: &Block) {
        let units = block.units.len();
        if units >= LARGE && self.fabric.arrivals.are_dense(units) {
            self.fabric.arrivals.in_order(units);
        }
        for nth in 0..self.fabric.arrivals.count() {
            S::visit(self, block.unit(self.fabric.arrivals.touched(nth)));
        }
        S::all_came(self);
    }

    fn report(&self, progress: &Progress) {
        let finished = (self.all - self.unfinished) as u64;
        progress.finished.store(finished, Ordering::Relaxed);
        let now = self.fabric.links.wheel.begins().ps();
        progress.simulated_ps.store(now, Ordering::Relaxed);
    }

    fn outcome(mut self, progress: &Progress) -> Outcome {
        self.report(progress);
        let horizon = self.scene.horizon;
        if self.unfinished > 0 {
            // A port is not visited when a packet that it sent ahead leaves, so its last window
            // may lie before the horizon.
            self.until = self.fabric.links.wheel.end_of_window(horizon);
        }
        debug_assert!(self.switches.hold(&self.fabric.routing, &self.ports, &self.fabric.slab));
        self.call_back();
        let Engine { received, acknowledged, followers, .. } = &mut self;
        for at in received.iter_mut().chain(acknowledged).chain(&mut followers.started) {
            if *at > horizon {
                *at = Time::NEVER;
            }
        }
        let Fabric { slab, links: Links { wheel, figures, border, .. }, layout, .. } =
            &mut self.fabric;
        let is_note = |kind| matches!(kind, Kind::Start | Kind::Wake | Kind::Look);
        let (near, far) = wheel.packets();
        let far: Vec<PacketId> = far.collect();
        let waiting = slab.len() - far.len();
        let under_way = near.chain(far).filter(|&id| !is_note(slab[id].kind));
        figures.in_network = (waiting + under_way.count()) as u64;
        let mut busy = vec![Span::ZERO; self.scene.network.links.len()];
        for (port, unit) in self.ports.iter().zip(layout.units(border.side())) {
            busy[unit as usize] = port.busy;
        }
        Outcome {
            ended: self.scene.ended(&self.acknowledged),
            tallies: (0..self.acknowledged.len() as u32).map(|f| self.transport.tally(f)).collect(),
            busy,
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
                back += fabric.links.wires.span(wire, size);
                fabric.links.figures.hops -= 1;
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
            if self.fabric.is_mine(host) {
                for at in [watch.from, watch.until] {
                    self.fabric.leave(host, note::look(at, watch.flow, number));
                }
            }
        }
    }

    /// Leaves a note at the source of every flow that arrives before `ends`.
    #[inline(never)]
    fn start_flows(&mut self, ends: Time) {
        while let Some(flow) = self.scene.flows.get(self.next_flow)
            && flow.arrived < ends
        {
            let host = flow.from.into();
            if self.fabric.is_mine(host) {
                self.fabric.leave(host, note::start(flow.arrived, self.next_flow as u32));
            }
            self.next_flow += 1;
        }
        let next = self.scene.flows.get(self.next_flow).map_or(Time::NEVER, |flow| flow.arrived);
        let last = next.min(self.scene.horizon + Span::from_s(1));
        self.quiet_until = self.fabric.links.wheel.window_of(last);
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

/// The places of the bits of `word`, from the lowest on.
#[inline]
fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        bit
    })
}
