//! Each port of a switch by itself, with the buffer of its discipline.

use super::alone::{self, Keeper};
use super::boundary::Boundary;
use super::layout::Unit;
use super::routing::Routing;
use super::switches::Switches;
use super::{Engine, Port, Scenario};
use crate::packet::{PacketArena, PacketId};
use crate::queue::Discipline;
use sojourn_core::Time;

/// Ports share nothing.
pub(super) struct OwnBuffers;

/// The queue has its own room.
impl Keeper<()> for OwnBuffers {
    #[inline]
    fn offer<D: Discipline>(
        &mut self,
        port: &mut Port<D, ()>,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        port.queue.enqueue(id, arena, drop);
    }

    #[inline]
    fn left(&mut self, (): &mut (), _: u16, _: Time) {}
}

impl Switches for OwnBuffers {
    type Share = ();

    fn new(_: &Scenario) -> OwnBuffers {
        OwnBuffers
    }

    fn shares(_: &Scenario) -> impl Iterator<Item = ()> {
        std::iter::repeat(())
    }

    #[inline]
    fn visit<D: Discipline, T, B: Boundary>(
        engine: &mut Engine<'_, D, T, OwnBuffers, B>,
        unit: Unit,
    ) {
        let Engine { ports, fabric, switches, .. } = engine;
        alone::visit(unit, ports, fabric, switches);
    }

    #[inline]
    fn all_came<D: Discipline, T, B: Boundary>(_: &mut Engine<'_, D, T, OwnBuffers, B>) {}

    fn hold<D: Discipline>(&self, _: &Routing<'_>, _: &[Port<D, ()>], _: &PacketArena) -> bool {
        true
    }

    fn peaks(&self) -> Vec<u64> {
        Vec::new()
    }
}
