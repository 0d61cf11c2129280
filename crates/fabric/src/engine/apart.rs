//! Each port of a switch by itself, with the buffer of its discipline.

use super::alone::{self, Keeper};
use super::border::Border;
use super::layout::Unit;
use super::routing::Routing;
use super::switches::Switches;
use super::{Engine, Port, Scene};
use crate::packet::{PacketId, Slab};
use crate::queue::Discipline;
use sojourn_core::Time;

/// Ports share nothing.
pub(super) struct Apart;

/// The queue has its own room.
impl Keeper<()> for Apart {
    #[inline]
    fn offer<D: Discipline>(
        &mut self,
        port: &mut Port<D, ()>,
        id: PacketId,
        slab: &mut Slab,
        drop: impl FnMut(PacketId, &mut Slab),
    ) {
        port.queue.enqueue(id, slab, drop);
    }

    #[inline]
    fn left(&mut self, (): &mut (), _: u16, _: Time) {}
}

impl Switches for Apart {
    type Share = ();

    fn new(_: &Scene) -> Apart {
        Apart
    }

    fn shares(_: &Scene) -> impl Iterator<Item = ()> {
        std::iter::repeat(())
    }

    #[inline]
    fn visit<D: Discipline, T, B: Border>(engine: &mut Engine<'_, D, T, Apart, B>, unit: Unit) {
        let Engine { ports, fabric, switches, .. } = engine;
        alone::visit(unit, ports, fabric, switches);
    }

    #[inline]
    fn all_came<D: Discipline, T, B: Border>(_: &mut Engine<'_, D, T, Apart, B>) {}

    fn hold<D: Discipline>(&self, _: &Routing<'_>, _: &[Port<D, ()>], _: &Slab) -> bool {
        true
    }

    fn peaks(&self) -> Vec<u64> {
        Vec::new()
    }
}
