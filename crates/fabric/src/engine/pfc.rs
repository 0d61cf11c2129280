//! Switches that stop the port before them: priority flow control (`pfc/`) in time.
//!
//! What a port does changes how much came in by each port of its switch and waits, and so when pause frames
//! leave. While no counter can reach XOFF within a window, and no pause lasts, that makes no difference, and
//! each port is visited alone. Otherwise the ports of a switch are visited as one, in order of time: arrivals
//! first, then services, then times that are over (`agenda.rs`). A frame leaves as soon as its link has sent
//! the packet that has begun, before all that wait and whether that port is stopped or not.

use super::Engine;
use super::agenda::{Agenda, Event, Happening};
use super::deadlock::Blocked;
use super::partition::Unit;
use super::pauses::Pauses;
use super::pausing::{Due, Pausing, go_on, hear};
use super::port::{Admission, Boundary, Fabric, Port, SwitchMemory, at, visit};
use super::routing::{Frames, Routing};
use super::scenario::Scenario;
use super::shared_memory::OccupancyLog;
use crate::packet::{Kind, NIL, Packet, PacketArena, PacketId};
use crate::pfc::{Acks, Arrival, FRAME, Ingress, Memory};
use crate::queue::Queue;
use sojourn_core::{Span, Time};

/// The switches of a fabric with priority flow control.
pub(super) struct Pfc {
    switches: Vec<Switch>,
    /// The switches of the open block of which a port has been visited.
    busy: Vec<u32>,
    rules: Rules,
}

/// What holds for all switches.
#[derive(Clone, Copy)]
struct Rules {
    acks: Acks,
    quanta: u32,
    refresh: bool,
    watchdog: Span,
    /// Bytes of a frame: never fewer than the smallest packet, by which windows are measured.
    frame: u16,
}

/// A switch, and what came in by each of its ports.
struct Switch {
    memory: Memory,
    ingresses: Vec<Ingress>,
    /// Ports that are stopped.
    stopped: u32,
    visits: Visits,
    agenda: Agenda,
    log: OccupancyLog,
}

/// How the ports of a switch are visited in the current window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visits {
    /// None has been visited yet.
    None,
    /// Each alone: no frame can leave in this window.
    Alone,
    /// All as one, in order of time.
    AsOne,
}

/// A switch while its ports are visited alone.
struct Calm<'a> {
    switch: &'a mut Switch,
    rules: Rules,
}

impl Admission<Pausing> for Calm<'_> {
    const PAUSES: bool = true;

    #[inline]
    fn offer<D: Queue>(
        &mut self,
        now: Time,
        port: &mut Port<D, Pausing>,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let packet = arena.known(id);
        if self.rules.acks.stops(packet) {
            let Switch { memory, ingresses, log, .. } = &mut *self.switch;
            log.arrived(packet.key, packet.size.into());
            let arrival = memory.arrive(&mut ingresses[packet.came_by()], packet.size);
            debug_assert_eq!(arrival, Arrival::Kept, "the window is calm");
        }
        port.queue.enqueue(now, port.free, id, arena, &mut drop);
    }

    #[inline]
    fn left(&mut self, _: &mut Pausing, packet: &Packet, at: Time) {
        if self.rules.acks.stops(packet) {
            let Switch { memory, ingresses, log, .. } = &mut *self.switch;
            log.left(at, -i64::from(packet.size));
            let goes_on = memory.leave(&mut ingresses[packet.came_by()], packet.size);
            debug_assert!(!goes_on, "the window is calm");
        }
    }

    fn hear<D: Queue>(&mut self, now: Time, port: &mut Port<D, Pausing>, frame: &Packet) -> Time {
        self.switch.hear(port, frame, now);
        port.share.due(self.rules.watchdog).0
    }
}

impl Frames for Pfc {
    const PAUSES: bool = true;
}

impl SwitchMemory for Pfc {
    type Share = Pausing;

    fn new(scenario: &Scenario) -> Pfc {
        let plan = scenario.pauses.as_ref().expect("a scenario with pauses");
        let network = &scenario.network;
        let inflow = |port: u32| scenario.inflow(network.far_end(port)).bytes;
        let switch = |number| {
            let (memory, ingresses) = plan.memory(network, number, inflow);
            Switch {
                memory,
                ingresses,
                stopped: 0,
                visits: Visits::None,
                agenda: Agenda::default(),
                log: OccupancyLog::default(),
            }
        };
        Pfc {
            switches: (0..network.switches).map(switch).collect(),
            busy: Vec::new(),
            rules: Rules {
                acks: plan.acks,
                quanta: plan.quanta,
                refresh: plan.refresh,
                watchdog: plan.watchdog.unwrap_or(Span::MAX),
                frame: FRAME.max(scenario.smallest),
            },
        }
    }

    fn shares(scenario: &Scenario) -> impl Iterator<Item = Pausing> {
        let network = &scenario.network;
        let plan = scenario.pauses.as_ref().expect("a scenario with pauses");
        (0..network.links.len()).map(|port| {
            let first = network.switch_of(port as u32).map(|switch| network.ports_of(switch).start);
            let time = plan.time(network.links[port].spec.rate);
            Pausing::new((port - first.unwrap_or(port)) as u16, time, plan.notes_each)
        })
    }

    #[inline]
    fn visit<D: Queue, T, B: Boundary>(engine: &mut Engine<'_, D, T, Pfc, B>, unit: Unit) {
        let Engine { ports, fabric, switches: Pfc { switches, busy, rules }, .. } = engine;
        let number = fabric.routing.switch_of(unit.place);
        let switch = &mut switches[number];
        if switch.visits == Visits::None {
            switch.begin();
            busy.push(number as u32);
        }
        if switch.visits == Visits::Alone {
            visit(unit, ports, fabric, &mut Calm { switch, rules: *rules });
        } else {
            let port = at(ports, unit);
            let Fabric { arrivals, arena, routing, .. } = &mut *fabric;
            port.share.arrivals = arrivals.take_at_switch(unit, arena, routing);
            plan(switch, unit, port, fabric, rules.watchdog);
        }
    }

    #[inline]
    fn all_came<D: Queue, T, B: Boundary>(engine: &mut Engine<'_, D, T, Pfc, B>) {
        let Engine { ports, fabric, switches: Pfc { switches, busy, rules }, .. } = engine;
        for number in busy.drain(..) {
            let switch = &mut switches[number as usize];
            if switch.visits == Visits::AsOne {
                AsOne { switch, ports, fabric, rules: *rules }.happen();
            } else if let Some(most) = switch.log.above(switch.memory.peak()) {
                switch.memory.held_at_once(most);
            }
            switch.visits = Visits::None;
        }
    }

    fn hold<D: Queue>(
        &self,
        routing: &Routing<'_>,
        ports: &[Port<D, Pausing>],
        arena: &PacketArena,
    ) -> bool {
        let mut waits: Vec<Vec<u32>> =
            self.switches.iter().map(|switch| vec![0; switch.ingresses.len()]).collect();
        for (place, port) in ports.iter().enumerate() {
            let Some(waits) = waits.get_mut(routing.switch_of(place)) else { continue };
            for id in port.queue.waiting(arena) {
                if self.rules.acks.stops(&arena[id]) {
                    waits[arena[id].came_by()] += u32::from(arena[id].size);
                }
            }
        }
        let held =
            |switch: &Switch| -> Vec<u32> { switch.ingresses.iter().map(Ingress::held).collect() };
        self.switches.iter().zip(&waits).all(|(switch, waits)| {
            held(switch) == *waits
                && switch.memory.held() == waits.iter().map(|&bytes| u64::from(bytes)).sum::<u64>()
        })
    }

    fn peaks(&self) -> Vec<u64> {
        self.switches.iter().map(|switch| switch.memory.peak()).collect()
    }

    fn pauses(share: &Pausing, now: Time) -> Pauses {
        share.pauses(now)
    }

    fn each_pause(share: &Pausing, now: Time) -> Vec<(Time, Time)> {
        share.each(now).collect()
    }

    fn headroom_peaks(&self) -> Vec<u64> {
        let peak = |switch: &Switch| switch.ingresses.iter().map(Ingress::peak).max().unwrap_or(0);
        self.switches.iter().map(|switch| peak(switch).into()).collect()
    }

    fn hear<D: Queue>(port: &mut Port<D, Pausing>, frame: &Packet, now: Time) -> Option<bool> {
        hear(port, frame.sequence, now)
    }

    fn acts_at(share: &Pausing) -> Time {
        share.due(Span::MAX).0
    }

    fn act<D: Queue>(port: &mut Port<D, Pausing>, now: Time) {
        go_on(port, now);
    }

    fn blocked<D: Queue>(
        &self,
        routing: &Routing<'_>,
        (ports, units): (&[Port<D, Pausing>], &[u32]),
        arena: &PacketArena,
    ) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        for (place, port) in ports.iter().enumerate() {
            let Some(switch) = self.switches.get(routing.switch_of(place)) else { continue };
            let own = usize::from(port.share.number);
            let ingress = &switch.ingresses[own];
            if !ingress.is_stopping() {
                continue;
            }
            let first = place - own;
            let others = first..first + switch.ingresses.len();
            let waits = |other: usize| {
                let waiting = ports[other].queue.waiting(arena).into_iter().map(|id| &arena[id]);
                let own = waiting
                    .filter(|packet| self.rules.acks.stops(packet) && packet.came_by() == own);
                let bytes: u64 = own.map(|packet| u64::from(packet.size)).sum();
                (bytes > 0).then_some((units[other], bytes))
            };
            blocked.push(Blocked {
                port: units[place],
                excess: switch.memory.excess(ingress),
                waits: others.filter_map(waits).collect(),
            });
        }
        blocked
    }
}

impl Switch {
    /// Begins the window, with the first of its ports that is visited.
    #[inline]
    fn begin(&mut self) {
        let memory = &self.memory;
        if self.stopped == 0 && memory.is_calm() {
            self.visits = Visits::Alone;
            self.log.begin(memory.held(), memory.held() + memory.inflow() > memory.peak());
        } else {
            self.visits = Visits::AsOne;
        }
    }

    /// Has a frame stop a port, or go on.
    fn hear<D: Queue>(&mut self, port: &mut Port<D, Pausing>, frame: &Packet, now: Time) {
        match hear(port, frame.sequence, now) {
            Some(true) => self.stopped += 1,
            Some(false) => self.stopped -= 1,
            None => {}
        }
    }
}

/// Enters the next event of `port`, or asks for a visit in a later window.
#[inline]
fn plan<D: Queue>(
    switch: &mut Switch,
    unit: Unit,
    port: &mut Port<D, Pausing>,
    fabric: &mut Fabric<'_, impl Boundary>,
    watchdog: Span,
) {
    let Fabric { arena, links, open, .. } = fabric;
    let arrives = Event::arrival(arena.known(port.share.arrivals).key, unit);
    let service = if port.queue.is_empty() { Time::NEVER } else { port.free };
    let (due, _) = port.share.due(watchdog);
    let own = service.min(due);
    let event = match service <= due {
        true => Event::service(own, unit),
        false => Event::time_over(own, unit),
    };
    // The key of an event has no room for a time that never comes.
    if own != Time::NEVER && event < arrives {
        switch.agenda.insert(event);
    } else if !PacketArena::is_end(port.share.arrivals) {
        switch.agenda.insert(arrives);
    } else if own != Time::NEVER {
        port.visit_at(own, &mut links.wheel, *open, unit);
    }
}

/// A switch whose ports are visited as one.
struct AsOne<'a, 'b, D, B> {
    switch: &'a mut Switch,
    ports: &'a mut Vec<Port<D, Pausing>>,
    fabric: &'a mut Fabric<'b, B>,
    rules: Rules,
}

impl<D: Queue, B: Boundary> AsOne<'_, '_, D, B> {
    /// Carries out the events of this window, in order of time.
    #[inline(never)]
    fn happen(&mut self) {
        let block = &self.fabric.layout.blocks[usize::from(self.fabric.open)];
        while let Some(event) = self.switch.agenda.pop() {
            let unit = event.unit(block);
            match event.happening() {
                Happening::Arrival => self.arrive(unit),
                Happening::Service => self.serve(unit, event),
                Happening::TimeOver => self.time_over(unit, event),
            }
            let port = at(self.ports, unit);
            plan(self.switch, unit, port, self.fabric, self.rules.watchdog);
        }
    }

    /// What arrives next at the port does.
    #[inline]
    fn arrive(&mut self, unit: Unit) {
        let port = at(self.ports, unit);
        let Fabric { arena, links, routing, .. } = &mut *self.fabric;
        let (id, packet) = (port.share.arrivals, *arena.known(port.share.arrivals));
        port.share.arrivals = packet.next;
        let now = packet.arrives();
        if packet.kind == Kind::PAUSE {
            self.switch.hear(port, &packet, now);
            return;
        }
        let idle = port.queue.is_empty() && port.free <= now;
        let alone = arena.known(packet.next).arrives() > now;
        if idle && alone && port.queue.pass(arena.known_mut(id)) {
            links.launch(port, now, id, arena);
            return;
        }
        if idle {
            port.free = now;
        }
        let mut arrival = Arrival::Kept;
        let counts = self.rules.acks.stops(&packet);
        if counts {
            arrival = match port.share.drops() {
                true => Arrival::Dropped,
                false => {
                    let ingress = &mut self.switch.ingresses[packet.came_by()];
                    self.switch.memory.arrive(ingress, packet.size)
                }
            };
        }
        if arrival == Arrival::Dropped {
            links.counts.dropped_at(routing.is_edge(unit.place));
            return;
        }
        self.switch.memory.held_at_once(self.switch.memory.held());
        let waits = arena.insert(packet);
        port.queue.enqueue(now, port.free, waits, arena, |_, _| unreachable!("it has no limit"));
        if arrival == Arrival::Stop {
            self.send_frame(unit, packet.came_by(), self.rules.quanta, now);
        }
    }

    /// The port sends its next packet, unless a frame has put that off.
    #[inline]
    fn serve(&mut self, unit: Unit, event: Event) {
        let port = at(self.ports, unit);
        if port.queue.is_empty() || event != Event::service(port.free, unit) {
            return;
        }
        let Fabric { arena, links, .. } = &mut *self.fabric;
        let now = port.free;
        let next = port.queue.dequeue(now, arena, |_, _| unreachable!("it drops nothing"));
        let id = next.expect("a packet waits");
        arena.free(id);
        let packet = *arena.known(id);
        links.launch(port, now, id, arena);
        self.leave(unit, &packet, now);
    }

    /// Gives back the memory of a packet that leaves, and lets the port before go on where that suffices.
    #[inline]
    fn leave(&mut self, unit: Unit, packet: &Packet, now: Time) {
        let number = packet.came_by();
        if self.rules.acks.stops(packet)
            && self.switch.memory.leave(&mut self.switch.ingresses[number], packet.size)
        {
            self.send_frame(unit, number, 0, now);
        }
    }

    /// Does what is due at the port.
    #[cold]
    fn time_over(&mut self, unit: Unit, event: Event) {
        let port = at(self.ports, unit);
        let (now, due) = port.share.due(self.rules.watchdog);
        if now == Time::NEVER || event != Event::time_over(now, unit) {
            return;
        }
        match due {
            Due::RunsOut => {
                go_on(port, now);
                self.switch.stopped -= 1;
            }
            Due::Again => {
                let number = port.share.number.into();
                self.send_frame(unit, number, self.rules.quanta, now);
            }
            Due::TooLong => {
                port.share.begin_to_drop();
                while let Some(id) =
                    at(self.ports, unit).queue.take_stopped(now, &mut self.fabric.arena)
                {
                    let Fabric { arena, links, routing, .. } = &mut *self.fabric;
                    arena.free(id);
                    let packet = *arena.known(id);
                    links.counts.dropped_at(routing.is_edge(unit.place));
                    self.leave(unit, &packet, now);
                }
            }
        }
    }

    /// Sends a frame at `now` from port `number` of the switch that has `unit`, to the port before it.
    #[cold]
    #[inline(never)]
    fn send_frame(&mut self, unit: Unit, number: usize, quanta: u32, now: Time) {
        let own = usize::from(at(self.ports, unit).share.number);
        let nth = usize::from(unit.nth) - own + number;
        let sender = Unit { nth: nth as u16, place: unit.place - own + number };
        let port = at(self.ports, sender);
        let Fabric { arena, links, open, .. } = &mut *self.fabric;
        let frame = Packet {
            sequence: quanta,
            size: self.rules.frame,
            kind: Kind::PAUSE,
            next: NIL,
            ..Packet::LAST
        };
        links.launch_new(port, now, &frame, arena);
        if quanta == 0 {
            port.share.let_go_on();
            return;
        }
        port.share.stop_before(now, self.rules.refresh);
        if port.share.again() != Time::NEVER {
            port.visit_at(port.share.again(), &mut links.wheel, *open, sender);
        }
    }
}
