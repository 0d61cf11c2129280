//! The packet engine: every packet of every flow, port by port, in windows of time.
//!
//! There is no event queue for packets. Time advances in windows no longer than the lookahead (see
//! `timing_wheel.rs`). In each window the blocks of units that have something to do are opened one after the
//! other: what has come to the switches of a block is routed, packet by packet as they lie (see
//! `routing.rs`), and then each port is visited, which merges what arrives at it with its service in
//! one loop. Every departure is put at once where it will be read: its window and its block are known.
//! Nothing depends on the order of the visits: ports and hosts share no state, ties are settled by
//! keys, and random choices come from each port's own stream. Where the ports of a switch share its
//! memory, they are visited as one (see `shared_memory.rs`). Where packets leave in the order in which they
//! come, they are on their way as soon as they have come, and no port is visited to send them (see
//! `queue/fifo_ahead.rs`).

mod agenda;
mod barrier;
mod cancellation;
mod deadlock;
mod host;
mod looks;
mod nic;
mod parallel;
mod partition;
mod pauses;
mod pausing;
mod pfc;
mod port;
mod routing;
mod sampling;
mod scenario;
mod shared_memory;
#[cfg(test)]
mod tests;
mod timing_wheel;

pub use crate::job::{Dependencies, Watch};
pub use deadlock::{Blocked, Deadlock};
pub use parallel::simulate_on_threads;
pub use pauses::Pauses;
pub use sampling::Sample;
pub(crate) use scenario::SHORTEST_LOOKAHEAD;
pub use scenario::{Outcome, PacketCounts, Scenario, ScriptedLoss};
pub use sojourn_core::{Cancelled, Execution, Progress};

use crate::flow::Flow;
use crate::hosts::HostPort;
use crate::job::Waiting;
use crate::packet::PacketId;
use crate::queue::{Builder, Outlet, Queue, QueueKind};
use crate::ranks::Ranks;
use crate::topology::Link;
use crate::transport::{Outbox, Transport};
use barrier::WindowSummary;
use cancellation::unless_cancelled;
use host::{rank_note, start_note};
use looks::Looks;
use nic::Nic;
use partition::{Block, BlockId, Layout, Partition};
use pfc::Pfc;
use port::{Boundary, Fabric, LinkTimings, Links, OwnBuffers, Port, SwitchMemory, Whole};
use routing::{Arrivals, Routing};
use sampling::Samples;
use shared_memory::SharedMemory;
use sojourn_core::{Span, Time};
use timing_wheel::TimingWheel;

/// Units of a block from which on its ports, 128 bytes each, do not fit into a first-level cache. They are
/// visited in the order of their numbers, so that memory is read in sequence.
const LARGE: usize = 1024;

/// Runs `body` with the ports that `scenario` has of a [`QueueKind`]: the one place where the name of a
/// discipline becomes the type that the engine is compiled for. Ports that are first-in first-out lines
/// send each packet on arrival, where that is cheap and nothing asks what waits.
macro_rules! with_ports {
    ($scenario:expr, $queue:expr, |$ports:ident| $body:expr) => {
        match ($scenario.sends_ahead($queue), &$scenario.pauses) {
            (_, Some(plan)) => $crate::queue::with_lossless!(
                $queue, plan.acks, |$ports| $body,
                else unreachable!("the case was checked")
            ),
            (Some(ports), None) => {
                let $ports = &ports;
                $body
            }
            (None, None) => $crate::queue::with_queue!($queue, |$ports| $body),
        }
    };
}
#[cfg(test)]
use with_ports;

/// Runs `body` with the memory of the switches of `scenario`, as a type. Ports of the builder `ports` either all
/// can be stopped, or none can.
macro_rules! with_memory {
    ($scenario:expr, $ports:ty, |$memory:ident| $body:expr) => {
        if const { <<$ports as $crate::queue::Builder>::Port as $crate::queue::Queue>::PAUSES } {
            type $memory = $crate::engine::Pfc;
            $body
        } else if $scenario.memories.is_empty() {
            type $memory = $crate::engine::OwnBuffers;
            $body
        } else {
            type $memory = $crate::engine::SharedMemory;
            $body
        }
    };
}
use with_memory;

/// Simulates `scenario` with ports of `queue`, each thread with its own transport.
/// See [`simulate_on_threads`].
pub fn simulate<T: Transport + Send>(
    scenario: &Scenario,
    queue: &QueueKind,
    transport: impl Fn() -> T + Sync,
    execution: Execution<'_>,
) -> Result<Outcome, Cancelled> {
    with_ports!(scenario, queue, |ports| {
        simulate_on_threads(scenario, ports, transport, execution)
    })
}

/// Simulates `scenario` on this thread. Not inlined, so that profilers can count this function alone.
#[inline(never)]
pub fn sojourn_simulate<B: Builder, T: Transport>(
    scenario: &Scenario,
    ports: &B,
    transport: T,
    progress: &Progress,
) -> Result<Outcome, Cancelled> {
    let layout = &Layout::new(&scenario.network, &Partition::new(&scenario.network, 1));
    with_memory!(scenario, B, |Memory| {
        Engine::<_, _, Memory, _>::new(scenario, layout, ports, transport, Whole, progress).run()
    })
}

struct Engine<'a, D, T, S: SwitchMemory, B> {
    scenario: &'a Scenario,
    progress: &'a Progress,
    /// The number of hops and turns at which it looks at `progress` before a number of windows is over.
    look_at: u64,
    fabric: Fabric<'a, B>,
    ports: Vec<Port<D, S::Share>>,
    nics: Vec<Nic>,
    switches: S,
    transport: T,
    losses: Vec<ScriptedLoss>,
    /// From when on each flow has no route for good; empty where routes never change.
    cuts: Vec<Time>,
    received: Vec<Time>,
    acknowledged: Vec<Time>,
    waiting: Waiting,
    ranks: Option<Box<Ranks<'a>>>,
    looks: Looks<'a>,
    samples: Samples,
    /// Flows that can finish, watches and ranks, of all sides.
    all: usize,
    /// Flows that can finish and watches whose source is on this side, and its ranks.
    own: usize,
    /// What of all sides was not done at the last meeting.
    unfinished: usize,
    /// Flows and watches of this side that are done; ranks know how many of them are.
    done: usize,
    /// Number of the next flow that arrives.
    next_flow: usize,
    /// The window of the next note to leave for a flow or a look; without one, the window a second after the
    /// horizon.
    quiet_until: u64,
    /// Windows simulated so far, and the end of the last one.
    windows: u64,
    until: Time,
    /// Whether the current window was begun before the packets of other sides came: the blocks that no
    /// link from another side leads to are done.
    has_begun: bool,
    outbox: Outbox,
}

impl<'a, D: Queue, T: Transport, S: SwitchMemory, B: Boundary> Engine<'a, D, T, S, B> {
    fn new(
        scenario: &'a Scenario,
        layout: &'a Layout,
        queue: &impl Builder<Port = D>,
        transport: T,
        boundary: B,
        progress: &'a Progress,
    ) -> Self {
        let (network, side) = (&scenario.network, boundary.side());
        let (mut shares, mut timings) = (S::shares(scenario).enumerate(), LinkTimings::default());
        let ports = layout.for_units(side, |unit| {
            let own = unit as usize;
            let interface = network.far_end(unit);
            Port {
                free: Time::ZERO,
                timing: timings.add(&network.links[own], scenario.smallest, scenario.fails(unit)),
                interface,
                block: layout.of(interface),
                arrives_by: network.links[own].arrives_by as u8,
                queue: queue_of(scenario, queue, unit.into()),
                busy: Span::ZERO,
                visited_at: Time::ZERO,
                share: shares.find(|&(port, _)| port == own).expect("a share").1,
            }
        });
        let hosts = layout.units(side).take_while(|&unit| (unit as usize) < network.hosts);
        let finite = scenario.flows.iter().filter(|flow| !flow.is_endless());
        let watched = scenario.watches.iter().map(|watch| &scenario.flows[watch.flow as usize]);
        let goals = finite.chain(watched);
        let is_own = |flow: &&Flow| boundary.is_mine(layout.of(flow.from.into()));
        let ranks = scenario.ranks.as_deref().map(|run| {
            let side_of = |host: u16| layout.blocks[usize::from(layout.of(host.into()))].side;
            Box::new(Ranks::new(run, side, side_of, scenario.window()))
        });
        let [all_ranks, own_ranks] = ranks.as_ref().map_or([0; 2], |ranks| ranks.counts());
        let (all, own) = (goals.clone().count(), goals.filter(is_own).count());
        let (all, own) = (all + all_ranks, own + own_ranks);
        Engine {
            scenario,
            progress,
            look_at: 0,
            fabric: Fabric {
                layout,
                routing: Routing::new(scenario, layout, side),
                open: 0,
                arrivals: Arrivals::new(),
                arena: scenario.arena(),
                links: Links {
                    timings,
                    wheel: TimingWheel::new(layout.blocks.len(), scenario.window()),
                    boundary,
                    counts: PacketCounts::default(),
                },
            },
            samples: Samples::new(scenario.sample, ports.len()),
            ports,
            nics: hosts.map(|host| Nic::new(scenario, host as usize, transport.asked())).collect(),
            switches: S::new(scenario),
            transport,
            losses: scenario.losses.to_vec(),
            cuts: scenario.cuts(),
            received: vec![Time::NEVER; scenario.flows.len()],
            acknowledged: vec![Time::NEVER; scenario.flows.len()],
            waiting: Waiting::new(&scenario.dependencies),
            ranks,
            looks: Looks::new(scenario),
            all,
            own,
            unfinished: all,
            done: 0,
            next_flow: 0,
            quiet_until: 0,
            windows: 0,
            until: Time::ZERO,
            has_begun: false,
            outbox: Outbox::default(),
        }
    }

    /// Whether the simulation is over: all flows are done, or the horizon is reached.
    fn is_over(&self) -> bool {
        self.unfinished == 0 || self.fabric.links.wheel.begins() > self.scenario.horizon
    }

    /// Simulates a window, or what is left of it. Returns the next window with anything to do and how
    /// many flows are done.
    #[inline]
    fn window(&mut self) -> WindowSummary {
        if !std::mem::take(&mut self.has_begun) {
            self.begin();
        }
        if B::CUT {
            self.visit_due(|hears| hears);
        }
        if self.windows.is_multiple_of(cancellation::FEW_WINDOWS) {
            self.look_up();
        }
        self.windows += 1;
        let (mut last, mut done) = (self.quiet_until, self.done);
        if let Some(ranks) = &mut self.ranks {
            last = last.min(self.fabric.links.wheel.window_of(ranks.soonest_from(self.until)));
            done += ranks.done;
        }
        WindowSummary { next: self.fabric.links.wheel.next(last), done }
    }

    /// Begins a window: visits the blocks that no link from another side leads to.
    #[inline]
    fn begin(&mut self) {
        let begins = self.fabric.links.wheel.begins();
        if self.samples.are_due(begins) {
            let numbers = self.fabric.layout.units(self.fabric.links.boundary.side());
            let Engine { samples, nics, ports, fabric, .. } = self;
            samples.look(begins, nics.len(), ports, (numbers, S::pauses), &fabric.arena);
        }
        if self.fabric.routing.changes() <= begins {
            self.fabric.routing.change(begins);
        }
        let ends = self.fabric.links.wheel.ends();
        self.until = ends;
        self.fabric.arena.lists_end(ends);
        if let Some(ranks) = &mut self.ranks {
            ranks.read();
            for note in std::mem::take(&mut ranks.notes) {
                self.fabric.leave(ranks.host(note).into(), rank_note(note));
            }
        }
        if self.quiet_until <= self.fabric.links.wheel.current() {
            self.leave_notes(ends);
        }
        self.visit_due(|hears| !hears);
    }

    /// Visits the blocks that have something to do and are `wanted`. That function gets, for eight
    /// blocks at a time, which of them links from other sides lead to.
    #[inline(always)]
    fn visit_due(&mut self, wanted: impl Fn(u64) -> u64) {
        for eight in 0..self.fabric.links.wheel.eights() {
            let Links { wheel, boundary, .. } = &mut self.fabric.links;
            for bit in ones(wheel.take_due(eight, wanted(boundary.hears(eight)))) {
                self.visit((eight * 8) as BlockId + (bit / 8) as BlockId);
            }
        }
    }

    /// Goes on to the next window in which any side has something to do, if it is not there already.
    #[inline]
    fn go_on(&mut self, all: WindowSummary) {
        if !B::CUT || !self.has_begun {
            self.fabric.links.wheel.go_on_to(all.next, &mut self.fabric.arena);
        }
        debug_assert_eq!(self.fabric.links.wheel.current(), all.next);
        self.unfinished = self.all - all.done;
    }

    /// Visits the units of `block` that have something to do.
    #[inline]
    fn visit(&mut self, block: BlockId) {
        let block = self.fabric.open::<S>(block);
        if block.are_hosts {
            for nth in 0..self.fabric.arrivals.count() {
                self.visit_host(block.unit(self.fabric.arrivals.touched(nth)), self.until);
            }
        } else {
            self.visit_ports(block);
        }
        self.fabric.links.wheel.close(&mut self.fabric.arena);
    }

    /// Visits the ports of the switches of `block` that have something to do. Not inlined: a function
    /// with fewer values to keep has more of them in registers.
    #[inline(never)]
    fn visit_ports(&mut self, block: &Block) {
        let units = block.units.len();
        if units >= LARGE && self.fabric.arrivals.are_dense(units) {
            self.fabric.arrivals.in_order(units);
        }
        for nth in 0..self.fabric.arrivals.count() {
            // Behind the last one is any unit, or none.
            let next = block.unit(self.fabric.arrivals.touched(nth + 1));
            let leaves = self.ports.get(next.place).and_then(|port| port.queue.leaves_next());
            if let Some(id) = leaves {
                self.fabric.arena.fetch(id);
            }
            S::visit(self, block.unit(self.fabric.arrivals.touched(nth)));
        }
        S::all_came(self);
    }

    fn outcome(mut self) -> Outcome {
        self.report();
        let horizon = self.scenario.horizon;
        if self.unfinished > 0 {
            // A port is not visited when a packet that it sent ahead leaves, so its last window
            // may lie before the horizon.
            self.until = self.fabric.links.wheel.end_of_window(horizon);
        }
        debug_assert!(self.switches.hold(&self.fabric.routing, &self.ports, &self.fabric.arena));
        self.call_back();
        let units: Vec<u32> = self.fabric.layout.units(self.fabric.links.boundary.side()).collect();
        let blocked = {
            let Engine { fabric, ports, switches, .. } = &self;
            switches.blocked(&fabric.routing, (ports, &units), &fabric.arena)
        };
        let Engine { received, acknowledged, waiting, .. } = &mut self;
        for at in received.iter_mut().chain(acknowledged).chain(&mut waiting.began) {
            if *at > horizon {
                *at = Time::NEVER;
            }
        }
        let Fabric { arena, links: Links { wheel, counts, .. }, .. } = &mut self.fabric;
        let (near, far) = wheel.packets();
        let far: Vec<PacketId> = far.collect();
        let waiting = arena.len() - far.len();
        let under_way = near.chain(far).filter(|&id| !arena[id].kind.is_note());
        counts.in_network = (waiting + under_way.count()) as u64;
        let mut busy = vec![Span::ZERO; self.scenario.network.links.len()];
        let mut port_peaks = vec![0; busy.len()];
        let pauses = if S::PAUSES { busy.len() } else { 0 };
        let mut pauses = vec![Pauses::default(); pauses];
        let mut each_pause = Vec::new();
        for (port, &unit) in self.ports.iter().zip(&units) {
            if S::PAUSES {
                pauses[unit as usize] = S::pauses(&port.share, self.until);
                let each = S::each_pause(&port.share, self.until);
                each_pause.extend(each.into_iter().map(|(from, until)| (unit, from, until)));
            }
            busy[unit as usize] = port.busy;
            port_peaks[unit as usize] = port.queue.peak();
        }
        let without_route = self.scenario.without_route(&self.acknowledged, &self.waiting.began);
        let ranks = self.ranks.map(|ranks| ranks.outcome(horizon));
        Outcome {
            ended: self.scenario.ended(&self.acknowledged, &without_route, ranks.as_ref()),
            without_route,
            ranks,
            tallies: (0..self.acknowledged.len() as u32).map(|f| self.transport.tally(f)).collect(),
            delivered: (0..self.acknowledged.len() as u32)
                .map(|flow| self.transport.received(flow))
                .collect(),
            busy,
            counts: *counts,
            began: self.waiting.began,
            watched: self.looks.tallies,
            progress: self.looks.received,
            memory_peaks: self.switches.peaks(),
            headroom_peaks: self.switches.headroom_peaks(),
            pauses,
            each_pause,
            seen: self.transport.take_seen(),
            blocked,
            port_peaks,
            samples: self.samples.taken(),
            received: self.received,
            acknowledged: self.acknowledged,
        }
    }

    /// Takes back the hops and busy time of packets that were sent ahead and would leave after the end;
    /// where the end is the horizon, also the busy time after it.
    fn call_back(&mut self) {
        let Engine { fabric, ports, scenario, .. } = self;
        for Port { queue, timing, free, busy, .. } in ports {
            let mut back = Span::ZERO;
            for size in queue.begin_from(self.until) {
                back += fabric.links.timings.span(timing, size);
                fabric.links.counts.hops -= 1;
            }
            *busy -= back;
            let free = Time::from_ps(free.ps() - back.ps());
            if self.unfinished > 0 && free > scenario.horizon {
                *busy -= (free - scenario.horizon).min(*busy);
            }
        }
    }

    /// Leaves a note at the source of every flow that arrives before `ends`, and at hosts that are looked
    /// at before.
    #[inline(never)]
    fn leave_notes(&mut self, ends: Time) {
        let flows = self.scenario.independent();
        while let Some(flow) = flows.get(self.next_flow)
            && flow.arrived < ends
        {
            let host = flow.from.into();
            if self.fabric.is_mine(host) {
                self.fabric.leave(host, start_note(flow.arrived, self.next_flow as u32));
            }
            self.next_flow += 1;
        }
        while self.looks.next_instant() < ends {
            for note in self.looks.take_notes() {
                if self.fabric.is_mine(note.to.into()) {
                    self.fabric.leave(note.to.into(), note);
                }
            }
        }
        let next = flows.get(self.next_flow).map_or(Time::NEVER, |flow| flow.arrived);
        let last = next.min(self.looks.next_instant()).min(self.scenario.horizon + Span::from_s(1));
        self.quiet_until = self.fabric.links.wheel.window_of(last);
    }
}

impl<D: Queue, T: Transport, S: SwitchMemory> Engine<'_, D, T, S, Whole> {
    /// Simulates the whole scenario.
    fn run(mut self) -> Result<Outcome, Cancelled> {
        unless_cancelled(|| {
            while !self.is_over() {
                let summary = self.window();
                self.go_on(summary);
            }
            Ok(self.outcome())
        })
    }
}

/// The empty queue of port number `port`; the hosts' ports come first.
fn queue_of<B: Builder>(scenario: &Scenario, queue: &B, port: u64) -> B::Port {
    let network = &scenario.network;
    let Link { spec: link, to, .. } = network.links[port as usize];
    let (full, smallest) = (scenario.largest.into(), scenario.smallest.into());
    let outlet = Outlet {
        stream: scenario.streams.stream("ties", port),
        link,
        share: scenario.failures.always(port as u32),
        leads_to_host: (to as usize) < network.hosts,
        round_trip: network.reach.round_trip(link.rate, full, smallest),
        base_round_trip: network.reach.base_round_trip(full, smallest),
        full: scenario.largest,
    };
    if port < network.hosts as u64 {
        match scenario.hosts.port {
            HostPort::Backpressure => queue.endless_port(outlet),
            HostPort::SwitchPort => queue.host_port(outlet),
        }
    } else if scenario.memories.is_empty() {
        queue.port(outlet)
    } else {
        queue.in_memory(outlet)
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
