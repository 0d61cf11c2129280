//! The ports of a switch that share its memory.
//!
//! What one port does changes how much memory the others find. While so much is free that nothing
//! which a window can bring reaches any limit, that makes no difference, and each port is visited
//! alone; so it is where nothing is shared. Otherwise the ports of a switch are visited as one: in
//! each window those with something to do are gathered first, then their arrivals and services
//! happen in order of time. At one time arrivals come first, by the number of the port that they
//! come in by, and then services by the number of the port that serves. A port that is not gathered
//! has nothing to do, and no other can touch its queue.

use super::Engine;
use super::agenda::{Agenda, Event};
use super::partition::Unit;
use super::port::{Admission, Boundary, Fabric, Port, SwitchMemory, at, visit};
use super::routing::{Frames, Routing};
use super::scenario::Scenario;
use crate::packet::{NIL, Packet, PacketArena, PacketId};
use crate::queue::Queue;
use crate::switch_memory::{Memory, Share};
use sojourn_core::Time;

/// The memories of all switches.
pub(super) struct SharedMemory {
    switches: Vec<Switch>,
    /// The switches of the open block of which a port has been visited.
    busy: Vec<u32>,
}

/// A switch with its memory.
struct Switch {
    memory: Memory,
    /// The most bytes that one window can bring to the memory.
    inflow: u64,
    visits: Visits,
    agenda: Agenda,
    log: OccupancyLog,
}

/// How the ports of a switch are visited in the current window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visits {
    /// None has been visited yet.
    None,
    /// Each alone: no limit can be reached in this window.
    Alone,
    /// All as one, in order of time.
    AsOne,
}

/// A port's share of the memory.
pub(super) struct Portion {
    share: Share,
    /// The list of what still arrives in this window.
    arrivals: PacketId,
}

impl Agenda {
    /// Enters the next event of `port`, or asks for a visit in a later window. A packet that goes straight
    /// through takes no memory and changes nothing for other ports: it is sent at once.
    #[inline]
    fn plan<D: Queue>(
        &mut self,
        unit: Unit,
        port: &mut Port<D, Portion>,
        fabric: &mut Fabric<'_, impl Boundary>,
    ) {
        let Fabric { arena, links, open, .. } = fabric;
        let mut key = arena.known(port.share.arrivals).key;
        while port.queue.is_empty() {
            let id = port.share.arrivals;
            if PacketArena::is_end(id) {
                return;
            }
            let (now, rest) = (arena.known(id).arrives(), arena.known(id).next);
            let alone = port.free <= now && arena.known(rest).arrives() > now;
            if !alone || !port.queue.pass(arena.known_mut(id)) {
                break;
            }
            port.share.arrivals = rest;
            links.launch(port, now, id, arena);
            key = arena.known(rest).key;
        }
        let arrives = Event::arrival(key, unit);
        let service = Event::service(port.free, unit);
        if !port.queue.is_empty() && service < arrives {
            self.insert(service);
        } else if PacketArena::is_end(port.share.arrivals) {
            port.visit_at(port.free, &mut links.wheel, *open, unit);
        } else {
            self.insert(arrives);
        }
    }
}

/// A switch's memory while its ports are visited alone.
struct Calm<'a> {
    memory: &'a mut Memory,
    log: &'a mut OccupancyLog,
}

impl Admission<Portion> for Calm<'_> {
    #[inline]
    fn offer<D: Queue>(
        &mut self,
        now: Time,
        port: &mut Port<D, Portion>,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let (key, before) = (arena.known(id).key, self.memory.held());
        self.memory.offer(
            (now, port.free),
            &mut port.share.share,
            &mut port.queue,
            id,
            arena,
            drop,
        );
        self.log.arrived(key, self.memory.held().wrapping_sub(before) as i64);
    }

    #[inline]
    fn left(&mut self, portion: &mut Portion, packet: &Packet, at: Time) {
        let before = self.memory.held();
        self.memory.give(&mut portion.share, packet.size);
        self.log.left(at, self.memory.held().wrapping_sub(before) as i64);
    }
}

impl Frames for SharedMemory {
    const PAUSES: bool = false;
}

impl SwitchMemory for SharedMemory {
    type Share = Portion;
    fn new(scenario: &Scenario) -> SharedMemory {
        let switch = |(plan, inflow)| {
            let memory = Memory::new(plan).0;
            Switch {
                inflow: memory.most(inflow),
                memory,
                visits: Visits::None,
                agenda: Agenda::default(),
                log: OccupancyLog::default(),
            }
        };
        SharedMemory {
            switches: scenario.memories.iter().zip(scenario.inflows()).map(switch).collect(),
            busy: Vec::new(),
        }
    }

    fn shares(scenario: &Scenario) -> impl Iterator<Item = Portion> {
        let hosts = (0..scenario.network.hosts).map(|_| Share::default());
        let switches = scenario.memories.iter().flat_map(|plan| Memory::new(plan).1);
        hosts.chain(switches).map(|share| Portion { share, arrivals: NIL })
    }

    #[inline]
    fn visit<D: Queue, T, B: Boundary>(engine: &mut Engine<'_, D, T, SharedMemory, B>, unit: Unit) {
        let Engine { ports, fabric, switches: SharedMemory { switches, busy }, .. } = engine;
        let number = fabric.routing.switch_of(unit.place);
        let switch = &mut switches[number];
        if switch.visits == Visits::None {
            switch.begin();
            busy.push(number as u32);
        }
        if switch.visits == Visits::Alone {
            let mut calm = Calm { memory: &mut switch.memory, log: &mut switch.log };
            visit(unit, ports, fabric, &mut calm);
        } else {
            let port = at(ports, unit);
            let Fabric { arrivals, arena, routing, .. } = &mut *fabric;
            port.share.arrivals = arrivals.take_at_switch(unit, arena, routing);
            switch.agenda.plan(unit, port, fabric);
        }
    }

    #[inline]
    fn all_came<D: Queue, T, B: Boundary>(engine: &mut Engine<'_, D, T, SharedMemory, B>) {
        let Engine { ports, fabric, switches: SharedMemory { switches, busy }, .. } = engine;
        for number in busy.drain(..) {
            let switch = &mut switches[number as usize];
            if switch.visits == Visits::AsOne {
                happen(switch, ports, fabric);
            } else if let Some(most) = switch.log.above(switch.memory.peak()) {
                switch.memory.held_at_once(most);
            }
            switch.visits = Visits::None;
        }
    }

    fn hold<D: Queue>(
        &self,
        routing: &Routing<'_>,
        ports: &[Port<D, Portion>],
        arena: &PacketArena,
    ) -> bool {
        let mut waits = vec![0; self.switches.len()];
        for (place, port) in ports.iter().enumerate() {
            if let Some(Switch { memory, .. }) = self.switches.get(routing.switch_of(place)) {
                let room = |id: PacketId| u64::from(memory.cells(arena[id].size));
                let own: u64 = port.queue.waiting(arena).into_iter().map(room).sum();
                if port.share.share.held() != own {
                    return false;
                }
                waits[routing.switch_of(place)] += own;
            }
        }
        self.switches.iter().zip(waits).all(|(switch, waits)| switch.memory.held() == waits)
    }

    fn peaks(&self) -> Vec<u64> {
        self.switches.iter().map(|switch| switch.memory.peak()).collect()
    }
}

impl Switch {
    /// Begins the window, with the first of its ports that is visited.
    #[inline]
    fn begin(&mut self) {
        let Switch { memory, inflow, .. } = self;
        if memory.is_calm(*inflow) {
            self.visits = Visits::Alone;
            self.log.begin(memory.held(), memory.held() + *inflow > memory.peak());
        } else {
            self.visits = Visits::AsOne;
        }
    }
}

/// Carries out the events of `switch` in this window, in order of time.
#[inline(never)]
fn happen<D: Queue, B: Boundary>(
    switch: &mut Switch,
    ports: &mut [Port<D, Portion>],
    fabric: &mut Fabric<'_, B>,
) {
    let Switch { memory, agenda, .. } = switch;
    let block = &fabric.layout.blocks[usize::from(fabric.open)];
    while let Some(event) = agenda.pop() {
        let unit = event.unit(block);
        let port = at(ports, unit);
        let Fabric { arena, links, routing, .. } = &mut *fabric;
        if event.is_service() {
            let share = &mut port.share.share;
            let next = port.queue.dequeue(port.free, arena, |id, arena| {
                memory.give(share, arena.known(id).size);
                links.counts.dropped_at(routing.is_edge(unit.place));
                arena.free(id);
            });
            if let Some(id) = next {
                arena.free(id);
                memory.give(&mut port.share.share, arena.known(id).size);
                links.launch(port, port.free, id, arena);
            }
        } else {
            let packet = *arena.known(port.share.arrivals);
            port.share.arrivals = packet.next;
            if port.queue.is_empty() {
                // A packet that comes alone to an idle port has mostly been sent already.
                port.free = port.free.max(packet.arrives());
            }
            let id = arena.insert(packet);
            let share = &mut port.share.share;
            memory.offer(
                (packet.arrives(), port.free),
                share,
                &mut port.queue,
                id,
                arena,
                |id, arena| {
                    links.counts.dropped_at(routing.is_edge(unit.place));
                    arena.free(id);
                },
            );
            memory.held_at_once(memory.held());
        }
        agenda.plan(unit, port, fabric);
    }
}

/// Changes of a switch's memory in one window, in the order in which its ports were visited, from which the
/// most bytes held at once are found.
#[derive(Default)]
pub(super) struct OccupancyLog {
    changes: Vec<Change>,
    /// Whether the window can bring the memory to a new peak.
    open: bool,
    /// Bytes held when the window began.
    held: u64,
}

/// One change. Ordered by time; at one time arrivals come first, by the port that they came in by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    key: u64,
    leaves: bool,
    bytes: i64,
}

impl OccupancyLog {
    /// Begins a window with `held` bytes in the memory. Only an `open` log keeps changes.
    pub(super) fn begin(&mut self, held: u64, open: bool) {
        (self.held, self.open) = (held, open);
    }

    /// Logs that an arrival with this key changed what is held by so many bytes.
    #[inline]
    pub(super) fn arrived(&mut self, key: u64, bytes: i64) {
        if self.open {
            self.changes.push(Change { key, leaves: false, bytes });
        }
    }

    /// Logs that so many bytes left at `at`.
    #[inline]
    pub(super) fn left(&mut self, at: Time, bytes: i64) {
        if self.open {
            self.changes.push(Change { key: Packet::arriving(at, u8::MAX), leaves: true, bytes });
        }
    }

    /// The most that was held at once, if it is more than `peak`.
    pub(super) fn above(&mut self, peak: u64) -> Option<u64> {
        let come = self.changes.iter().map(|change| change.bytes.max(0) as u64);
        let most = match self.held + come.sum::<u64>() > peak {
            true => self.most(),
            false => 0,
        };
        self.changes.clear();
        (most > peak).then_some(most)
    }

    fn most(&mut self) -> u64 {
        self.changes.sort_unstable();
        let mut held = self.held;
        let mut at_once = |change: &Change| {
            held = held.wrapping_add_signed(change.bytes);
            held
        };
        self.changes.iter().map(&mut at_once).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against what is held moment by moment, in whatever order changes are written down; also
        /// against a peak that what the window brings cannot reach.
        #[test]
        fn tells_the_most_that_was_held_at_once(
            mut changes in prop::collection::vec((0u64..20, 0u8..4, 1i64..1500), 0..40),
            below in 0u64..4_000,
        ) {
            // What leaves does so in the next moment after it came, so that nothing is owed.
            let mut log = OccupancyLog::default();
            let start = 100;
            log.begin(start, true);
            changes.sort_by_key(|&(_, port, bytes)| (bytes, port));
            for &(at, port, bytes) in &changes {
                log.arrived(Packet::arriving(Time::from_ps(at), port), bytes);
                if bytes % 2 == 0 {
                    log.left(Time::from_ps(at + 1), -bytes);
                }
            }
            let held = |moment: u64| {
                let there = changes.iter().filter(|(at, _, bytes)| {
                    *at <= moment && (bytes % 2 == 1 || at + 1 >= moment)
                });
                start + there.map(|(.., bytes)| *bytes as u64).sum::<u64>()
            };
            let most = (0..21).map(held).max().expect("moments");
            prop_assert_eq!(log.above(below.max(start)), (most > below.max(start)).then_some(most));
            prop_assert_eq!(log.above(start), None);
        }
    }
}
