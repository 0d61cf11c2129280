//! How the ports of switches stand to each other.

use super::boundary::Boundary;
use super::layout::Unit;
use super::routing::Routing;
use super::{Engine, Port, Scenario};
use crate::packet::PacketArena;
use crate::queue::Discipline;

/// Whether the ports of a switch are visited alone or together, and what they share. The engine is
/// compiled once for each, so ports without a common memory know nothing of one.
pub(super) trait Switches: Sized {
    /// What a port has of the memory of its switch.
    type Share;

    /// What the switches of `scenario` share.
    fn new(scenario: &Scenario) -> Self;

    /// The share of each port, hosts' ports first.
    fn shares(scenario: &Scenario) -> impl Iterator<Item = Self::Share>;

    /// A port of a switch has something to do in the current window.
    fn visit<D: Discipline, T, B: Boundary>(engine: &mut Engine<'_, D, T, Self, B>, unit: Unit);

    /// All ports of the open block that have something to do in the current window have come.
    fn all_came<D: Discipline, T, B: Boundary>(engine: &mut Engine<'_, D, T, Self, B>);

    /// Whether each memory holds exactly the packets that wait at the ports of its switch.
    fn hold<D: Discipline>(
        &self,
        routing: &Routing<'_>,
        ports: &[Port<D, Self::Share>],
        arena: &PacketArena,
    ) -> bool;

    /// The most bytes that ever waited in each switch, where that was counted.
    fn peaks(&self) -> Vec<u64>;
}
