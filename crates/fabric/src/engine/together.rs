//! All ports of a switch in its one memory.
//!
//! What one port does changes how much room the others find. While so much is free that nothing
//! which a window can bring reaches any limit, that makes no difference, and each port is visited
//! alone; so it is where nothing is shared. Otherwise the ports of a switch are visited as one: in
//! each window those with something to do are gathered first, then their arrivals and services
//! happen in order of time. At one time arrivals come first, by the number of the port that they
//! come in by, and then services by the number of the port that serves. A port that is not gathered
//! has nothing to do, and no other can touch its queue.

use super::alone::{self, Keeper};
use super::border::Border;
use super::diary::Diary;
use super::switches::Switches;
use super::{Engine, Fabric, Port, Scene};
use crate::buffer::{Memory, Share};
use crate::packet::{NIL, Packet, PacketId, Slab};
use crate::qdisc::Discipline;
use crate::topology::Network;
use sojourn_kernel::Time;

/// The memories of all switches.
pub(super) struct Together {
    memories: Vec<Memory>,
    /// The most that one window brings to each of them.
    inflows: Vec<u64>,
    /// The switch whose ports are being visited, and the first port after its own.
    switch: usize,
    until: u32,
    /// Whether they are visited alone.
    alone: bool,
    agenda: Agenda,
    diary: Diary,
}

/// What a port has of the memory.
#[derive(Default)]
pub(super) struct Portion {
    share: Share,
    /// What else arrives in this window.
    arrivals: PacketId,
}

/// What the ports of one switch do next: an entry a port, the first to happen last.
#[derive(Default)]
struct Agenda(Vec<Event>);

/// When something happens at a port: an arrival's key, or a service's time, above the rest; then
/// whether it is a service; and the port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event(u128);

impl Event {
    const SERVICE: u128 = 1 << 32;

    #[inline]
    fn arrival(key: u64, unit: u32) -> Event {
        Event(u128::from(key) << 64 | u128::from(unit))
    }

    /// After all arrivals of that time.
    #[inline]
    fn service(at: Time, unit: u32) -> Event {
        let key = Packet::arriving(at, u8::MAX);
        Event(u128::from(key) << 64 | Event::SERVICE | u128::from(unit))
    }

    #[inline]
    fn is_service(self) -> bool {
        self.0 & Event::SERVICE != 0
    }

    #[inline]
    fn unit(self) -> u32 {
        self.0 as u32
    }
}

impl Agenda {
    /// Enters what `port` does next, or when it does something in a later window. What goes
    /// straight through takes no memory and is nobody else's business: that happens at once.
    #[inline]
    fn plan<D: Discipline>(
        &mut self,
        unit: u32,
        port: &mut Port<D, Portion>,
        fabric: &mut Fabric<'_, impl Border>,
    ) {
        let mut arrival = fabric.slab.known(port.share.arrivals);
        while port.queue.is_empty() {
            let now = arrival.arrives();
            let rest = arrival.next;
            if port.share.arrivals == NIL {
                return;
            }
            if port.free > now || fabric.slab.known(rest).arrives() == now {
                break;
            }
            let id = std::mem::replace(&mut port.share.arrivals, rest);
            fabric.pass(port, now, id);
            arrival = fabric.slab.known(rest);
        }
        let arrives = Event::arrival(arrival.key, unit);
        let service = Event::service(port.free, unit);
        if !port.queue.is_empty() && service < arrives {
            self.insert(service);
        } else if port.share.arrivals != NIL {
            self.insert(arrives);
        } else {
            fabric.mailbox.visit(unit, port.free);
        }
    }

    #[inline]
    fn insert(&mut self, event: Event) {
        self.0.push(event);
        let mut place = self.0.len() - 1;
        while place > 0 && self.0[place - 1] < event {
            self.0[place] = self.0[place - 1];
            place -= 1;
        }
        self.0[place] = event;
    }

    #[inline]
    fn pop(&mut self) -> Option<Event> {
        self.0.pop()
    }
}

/// A switch's memory while its ports are visited alone.
struct Calm<'a> {
    memory: &'a mut Memory,
    diary: &'a mut Diary,
}

impl Keeper<Portion> for Calm<'_> {
    #[inline]
    fn offer<D: Discipline>(
        &mut self,
        port: &mut Port<D, Portion>,
        id: PacketId,
        slab: &mut Slab,
        drop: impl FnMut(PacketId, &mut Slab),
    ) {
        let (key, before) = (slab.known(id).key, self.memory.held());
        self.memory.offer(&mut port.share.share, &mut port.queue, id, slab, drop);
        self.diary.arrived(key, self.memory.held().wrapping_sub(before) as i64);
    }

    #[inline]
    fn left(&mut self, portion: &mut Portion, size: u16, at: Time) {
        let before = self.memory.held();
        self.memory.give(&mut portion.share, size);
        self.diary.left(at, self.memory.held().wrapping_sub(before) as i64);
    }
}

impl Switches for Together {
    type Share = Portion;

    fn new(scene: &Scene) -> Together {
        let memories: Vec<Memory> = scene.memories.iter().map(|plan| Memory::new(plan).0).collect();
        Together {
            inflows: scene.inflows().zip(&memories).map(|(inflow, m)| m.most(inflow)).collect(),
            memories,
            switch: 0,
            until: 0,
            alone: false,
            agenda: Agenda::default(),
            diary: Diary::default(),
        }
    }

    fn shares(scene: &Scene) -> impl Iterator<Item = Portion> {
        let hosts = (0..scene.network.hosts).map(|_| Share::default());
        let switches = scene.memories.iter().flat_map(|plan| Memory::new(plan).1);
        hosts.chain(switches).map(|share| Portion { share, arrivals: NIL })
    }

    #[inline]
    fn visit<D: Discipline, T, B: Border>(engine: &mut Engine<'_, D, T, Together, B>, unit: u32) {
        if unit >= engine.switches.until {
            leave(engine);
            engine.switches.enter(unit, engine.fabric.network);
        }
        let Engine { ports, fabric, switches, .. } = engine;
        let port = &mut ports[unit as usize];
        if switches.alone {
            let memory = &mut switches.memories[switches.switch];
            let mut calm = Calm { memory, diary: &mut switches.diary };
            alone::visit(unit, port, fabric, &mut calm);
        } else {
            port.share.arrivals = fabric.mailbox.take(unit, &mut fabric.slab);
            switches.agenda.plan(unit, port, fabric);
        }
    }

    #[inline]
    fn all_came<D: Discipline, T, B: Border>(engine: &mut Engine<'_, D, T, Together, B>) {
        leave(engine);
        engine.switches.until = 0;
    }

    fn hold<D: Discipline>(
        &self,
        network: &Network,
        ports: &[Port<D, Portion>],
        slab: &Slab,
    ) -> bool {
        (0..).zip(&self.memories).all(|(switch, memory)| {
            let ports = &ports[network.ports_of(switch)];
            let room = |id: PacketId| u64::from(memory.room(slab[id].size));
            let waits = |port: &Port<D, _>| port.queue.waiting(slab).into_iter().map(room).sum();
            let own = ports.iter().all(|port| port.share.share.held() == waits(port));
            own && memory.held() == ports.iter().map(waits).sum::<u64>()
        })
    }

    fn peaks(&self) -> Vec<u64> {
        self.memories.iter().map(Memory::peak).collect()
    }
}

impl Together {
    /// The next ports are those of the switch that `unit` is of.
    fn enter(&mut self, unit: u32, network: &Network) {
        self.switch = network.switch_of(unit);
        self.until = network.ports_of(self.switch).end as u32;
        let (memory, inflow) = (&self.memories[self.switch], self.inflows[self.switch]);
        self.alone = memory.is_calm(inflow);
        if self.alone {
            self.diary.begin(memory.held(), memory.held() + inflow > memory.peak());
        }
    }
}

/// All ports of a switch that have something to do have come.
#[inline]
fn leave<D: Discipline, T, B: Border>(engine: &mut Engine<'_, D, T, Together, B>) {
    if !engine.switches.alone {
        happen(engine);
        return;
    }
    let Together { memories, diary, switch, .. } = &mut engine.switches;
    let memory = &mut memories[*switch];
    if let Some(most) = diary.above(memory.peak()) {
        memory.held_at_once(most);
    }
}

/// Lets happen what the ports gathered do in this window.
#[inline(never)]
fn happen<D: Discipline, T, B: Border>(engine: &mut Engine<'_, D, T, Together, B>) {
    let Engine { ports, fabric, switches, .. } = engine;
    while let Some(event) = switches.agenda.pop() {
        let unit = event.unit();
        let port = &mut ports[unit as usize];
        let memory = &mut switches.memories[switches.switch];
        if event.is_service() {
            let id = port.queue.dequeue(&mut fabric.slab);
            memory.give(&mut port.share.share, fabric.slab.known(id).size);
            fabric.launch(port, port.free, id);
        } else {
            let id = port.share.arrivals;
            let &Packet { next, .. } = fabric.slab.known(id);
            port.share.arrivals = next;
            if port.queue.is_empty() {
                // One that comes alone to an idle port has gone through already.
                port.free = port.free.max(fabric.slab.known(id).arrives());
            }
            let (network, figures) = (fabric.network, &mut fabric.figures);
            let share = &mut port.share.share;
            memory.offer(share, &mut port.queue, id, &mut fabric.slab, |id, slab| {
                figures.dropped_at(unit, network);
                slab.free(id);
            });
            memory.held_at_once(memory.held());
        }
        switches.agenda.plan(unit, port, fabric);
    }
}
