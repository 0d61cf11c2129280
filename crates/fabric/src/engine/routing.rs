//! Arrivals of one block in the current window, and the next hop of packets that arrive at a switch.
//!
//! Packets are routed when the block that they reach is opened, one after the other. Their look-ups do
//! not depend on each other, so a processor has several of them under way at once.

use super::ones;
use super::partition::{Block, Layout, MOST_UNITS, Unit};
use super::scenario::Scenario;
use crate::convergence::Detour;
use crate::packet::{Kind, LateNotes, NIL, Packet, PacketArena, PacketId, VISIT};
use crate::path::{self, Balance, Choose, Input, first_turn, salt_of, with_balance};
use crate::topology::{Exit, Lookup, Routes};
use sojourn_core::Time;
use std::ops::Range;

/// The lists of the block that is open, linked through the packets where they lie.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// For each unit the first of its list, last put in first; [`NIL`] where there is nothing to do.
    heads: Box<[PacketId; MOST_UNITS]>,
    /// The units that have something to do, in the order in which that was found. There are more
    /// places than a block has units, and a power of two, so that a place costs a mask and no check.
    touched: Box<[u16; 2 * MOST_UNITS]>,
    count: usize,
    /// Of the host that is visited, notes that come after many others.
    pub(super) late: LateNotes,
    /// Memory for putting what arrives at the same time into order.
    tied: Vec<PacketId>,
}

impl Arrivals {
    /// Empty lists.
    pub(super) fn new() -> Arrivals {
        let (heads, touched) = (Box::new([NIL; MOST_UNITS]), Box::new([0; 2 * MOST_UNITS]));
        Arrivals { heads, touched, count: 0, late: LateNotes::default(), tied: Vec::new() }
    }

    /// Begins another block. All lists of the one before have been taken.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Puts `id` first in the list of `unit`. Returns which was first.
    #[inline(always)]
    pub(super) fn put(&mut self, id: PacketId, unit: u16) -> PacketId {
        let head = &mut self.heads[usize::from(unit) % MOST_UNITS];
        let before = std::mem::replace(head, id);
        // The unit is written down each time and counted once: a branch on whether it is new would be
        // mispredicted.
        self.touched[self.count % (2 * MOST_UNITS)] = unit;
        self.count += usize::from(before == NIL);
        before
    }

    /// Puts the packets of a `run` that have come to the hosts of `block` into their lists.
    pub(super) fn at_hosts(
        &mut self,
        block: &Block,
        run: Range<PacketId>,
        arena: &mut PacketArena,
    ) {
        for (id, packet) in arena.run(run) {
            packet.next = self.put(id, (packet.interface() - block.units.start) as u16);
        }
    }

    /// Notes that the unit has something to do besides arrivals.
    #[inline(always)]
    pub(super) fn visit(&mut self, unit: u16) {
        let head = &mut self.heads[usize::from(unit) % MOST_UNITS];
        self.touched[self.count % (2 * MOST_UNITS)] = unit;
        self.count += usize::from(*head == NIL);
        *head = (*head).max(VISIT);
    }

    /// How many units have something to do.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The `nth` unit that has something to do.
    #[inline(always)]
    pub(super) fn touched(&self, nth: usize) -> u16 {
        self.touched[nth % (2 * MOST_UNITS)]
    }

    /// Sorts the units that have something to do by number, in a block of so many `units`.
    pub(super) fn in_order(&mut self, units: usize) {
        let mut due = [0u64; MOST_UNITS / 64];
        for &unit in &self.touched[..self.count] {
            due[usize::from(unit) / 64 % due.len()] |= 1 << (unit % 64);
        }
        let mut count = 0;
        for (first, bits) in (0..).step_by(64).zip(due).take(units.div_ceil(64)) {
            for bit in ones(bits) {
                self.touched[count % (2 * MOST_UNITS)] = first + bit as u16;
                count += 1;
            }
        }
    }

    /// Whether at least an eighth of the block's `units` has something to do.
    #[inline]
    pub(super) fn are_dense(&self, units: usize) -> bool {
        self.count * 8 >= units
    }

    /// Takes the list of what arrives at a host, in order.
    #[inline(always)]
    pub(super) fn take(&mut self, unit: u16, arena: &mut PacketArena) -> PacketId {
        let head = std::mem::replace(&mut self.heads[usize::from(unit) % MOST_UNITS], NIL);
        if arena.known(head).next == NIL { head } else { arena.sorted_at_host(head) }
    }

    /// Takes the list of what arrives at a port of a switch, in order.
    #[inline(always)]
    pub(super) fn take_at_switch(
        &mut self,
        unit: Unit,
        arena: &mut PacketArena,
        routing: &Routing<'_>,
    ) -> PacketId {
        let head = std::mem::replace(&mut self.heads[usize::from(unit.nth) % MOST_UNITS], NIL);
        if arena.known(head).next == NIL {
            return head;
        }
        let (sorted, tied) = arena.sorted_at_switch(head);
        match tied {
            true => arena.with_ties_settled(sorted, routing.ties(unit), &mut self.tied),
            false => sorted,
        }
    }
}

/// The switches and interfaces of one side.
pub(super) struct Routing<'a> {
    routes: &'a Routes,
    /// The changes of routes to come, by time.
    detours: &'a [Detour],
    balance: Balance,
    /// All switches of the fabric, of all sides.
    switches: Vec<Switch>,
    /// The input of each unit of this side; that of a host leads to no switch.
    interfaces: Vec<Interface>,
}

/// The switch of a host's interface.
const NO_SWITCH: u32 = u32::MAX;

/// What a switch routes by.
#[derive(Clone, Copy)]
struct Switch {
    exit: Exit,
    /// Start value of its hashes.
    salt: u64,
    /// Multiplier of arrival times, and start value of hashes, for the order at a tie.
    ties: u64,
}

/// A port of a switch, as packets come in by it.
#[derive(Clone, Copy)]
struct Interface {
    switch: u32,
    /// The next hop whose turn it is when packets are sprayed.
    turn: u8,
    /// Its number at its switch.
    number: u16,
}

/// Whether switches send pause frames: decided when the engine is compiled.
pub(super) trait Frames {
    /// If so, a frame is not routed, and every packet says by which port of the switch it came.
    const PAUSES: bool;
}

impl<'a> Routing<'a> {
    /// The switches and interfaces of one `side` of `layout`.
    pub(super) fn new(scenario: &'a Scenario, layout: &Layout, side: usize) -> Routing<'a> {
        let network = &*scenario.network;
        let switch =
            |(number, (ties, salt))| Switch { exit: network.routes.exit(number), ties, salt };
        let ways: Vec<u32> =
            (0..network.switches).map(|switch| network.most_ways(switch)).collect();
        let interface = |unit: u32| match network.switch_of(unit) {
            Some(switch) => Interface {
                switch: switch as u32,
                turn: first_turn(scenario.streams, network.far_end(unit), ways[switch]),
                number: (unit as usize - network.ports_of(switch).start) as u16,
            },
            None => Interface { switch: NO_SWITCH, turn: 0, number: 0 },
        };
        Routing {
            routes: &network.routes,
            detours: scenario.failures.convergence().detours(),
            balance: scenario.balance,
            switches: (0..).zip(drawn(scenario)).map(switch).collect(),
            interfaces: layout.for_units(side, interface),
        }
    }

    /// When routes change next.
    #[inline]
    pub(super) fn changes(&self) -> Time {
        self.detours.first().map_or(Time::NEVER, |detour| detour.from)
    }

    /// Changes to the routes of a window that begins at `begins`.
    #[cold]
    pub(super) fn change(&mut self, begins: Time) {
        while let [Detour { from, routes, .. }, later @ ..] = self.detours
            && *from <= begins
        {
            (self.routes, self.detours) = (routes, later);
        }
        for (number, switch) in self.switches.iter_mut().enumerate() {
            switch.exit = self.routes.exit(number);
        }
    }

    /// Puts the packets of a `run` that have come to the switches of `block` into the lists of the
    /// ports that they leave by.
    #[inline]
    pub(super) fn route<F: Frames>(
        &mut self,
        block: &Block,
        run: Range<PacketId>,
        arena: &mut PacketArena,
        arrivals: &mut Arrivals,
    ) {
        // One branch a run of packets, so that each way to choose has its own loop.
        with_balance!(self.balance, |Path| self.route_by::<Path, F>(block, run, arena, arrivals));
    }

    #[inline(never)]
    fn route_by<C: Choose, F: Frames>(
        &mut self,
        block: &Block,
        run: Range<PacketId>,
        arena: &mut PacketArena,
        arrivals: &mut Arrivals,
    ) {
        self.table(block).route::<C, F>(run, arena, arrivals);
    }

    #[inline(always)]
    fn table(&mut self, block: &Block) -> Table<'_> {
        Table {
            lookup: self.routes.lookup(),
            switches: &self.switches,
            interfaces: &mut self.interfaces[block.place..],
            first: block.units.start,
        }
    }

    /// The switch of the unit at `place`; for a host a number beyond all switches.
    #[inline]
    pub(super) fn switch_of(&self, place: usize) -> usize {
        self.interfaces[place].switch as usize
    }

    /// The random number of the switch of `unit` for the order at a tie.
    pub(super) fn ties(&self, unit: Unit) -> u64 {
        self.switches[self.switch_of(unit.place)].ties
    }

    /// Whether the switch of the unit at `place` has hosts.
    pub(super) fn is_edge(&self, place: usize) -> bool {
        self.switches[self.switch_of(place)].exit.is_edge()
    }
}

/// What routes the packets of one block.
struct Table<'a> {
    lookup: Lookup<'a>,
    switches: &'a [Switch],
    interfaces: &'a mut [Interface],
    /// The first unit of the block.
    first: u32,
}

impl Table<'_> {
    #[inline(always)]
    fn route<C: Choose, F: Frames>(
        mut self,
        run: Range<PacketId>,
        arena: &mut PacketArena,
        arrivals: &mut Arrivals,
    ) {
        for (id, packet) in arena.run(run) {
            let (unit, key) = match F::PAUSES && packet.kind == Kind::PAUSE {
                true => ((packet.interface() - self.first) as u16, packet.key),
                false => self.way_on::<C>(packet),
            };
            if F::PAUSES {
                let place = (packet.interface() - self.first) as usize;
                packet.set_came_by(self.interfaces[place].number);
            }
            packet.key = key;
            packet.next = arrivals.put(id, unit);
        }
    }

    /// The unit of the block that `packet` leaves by, and its key there.
    #[inline(always)]
    fn way_on<C: Choose>(&mut self, packet: &Packet) -> (u16, u64) {
        let place = (packet.interface() - self.first) as usize;
        debug_assert!(place < self.interfaces.len());
        // SAFETY: the bucket of a block holds what comes by one of its interfaces.
        let interface = unsafe { self.interfaces.get_unchecked_mut(place) };
        debug_assert!((interface.switch as usize) < self.switches.len());
        // SAFETY: the block is one of switches, and their interfaces have the numbers of these.
        let switch = unsafe { self.switches.get_unchecked(interface.switch as usize) };
        let ways = self.lookup.ways(switch.exit, packet.to);
        let input = Input { turn: &mut interface.turn, salt: switch.salt };
        let way = C::choose(input, packet, ways.count());
        let port = self.lookup.port(switch.exit, ways, way, packet.to);
        ((port - self.first) as u16, at_a_tie(packet, switch.ties))
    }
}

/// Random numbers of a replication for each switch: the multiplier for the order at a tie, and the start
/// value of hashes.
pub(super) fn drawn(scenario: &Scenario) -> impl Iterator<Item = (u64, u64)> {
    let (streams, salt) = (scenario.streams, path::salt(scenario.streams));
    let hosts = scenario.network.hosts as u64;
    (0..scenario.network.switches as u32).map(move |switch| {
        let mut stream = streams.stream("arrivals at once", hosts + u64::from(switch));
        (stream.bits() | 1, salt_of(switch, salt))
    })
}

/// The key of a packet at a switch with the multiplier `ties`. The numbers of the ports of packets that
/// arrive at one switch at the same time are compared after bits are inverted that depend on the switch,
/// the time and the seed: either order of two is as likely. Of more than two at one port, these keys are
/// the places, which `PacketArena::with_ties_settled` gives them.
#[inline(always)]
pub(super) fn at_a_tie(packet: &Packet, ties: u64) -> u64 {
    packet.key ^ packet.arrives().ps().wrapping_mul(ties) >> 56
}
