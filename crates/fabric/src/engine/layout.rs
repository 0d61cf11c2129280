//! How the units of a fabric are put into blocks.
//!
//! A *unit* is what is visited as one: a host with its port, or a switch's port. Blocks are neighbours
//! whose state fits into a cache together: what reaches them in a window is opened at once, and then
//! they are visited one after the other.

use super::partition::Partition;
use crate::topology::Network;
use std::ops::Range;

/// A block, counted over all sides.
pub(super) type BlockId = u16;

/// No block has more units: a host or a switch's port.
pub(super) const MOST_UNITS: usize = 4096;

/// One block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its units: hosts, or all ports of some switches.
    pub(super) units: Range<u32>,
    pub(super) are_hosts: bool,
    /// Whether links from other sides lead to any of them.
    pub(super) hears: bool,
    /// Which side it is on, and how many units of that side are before it.
    pub(super) side: usize,
    pub(super) place: usize,
}

impl Block {
    /// Whether it takes the units of `new`: there is room, and they are like its own. A block that
    /// hears from other sides already may as well take what does not.
    fn takes(&self, new: &Block) -> bool {
        let kind = |block: &Block| (block.side, block.are_hosts);
        let has_room = self.units.len() + new.units.len() <= MOST_UNITS;
        has_room && kind(self) == kind(new) && (self.hears || !new.hears)
    }

    /// The unit that is the `nth` of it.
    #[inline]
    pub(super) fn unit(&self, nth: u16) -> Unit {
        Unit { nth, place: self.place + usize::from(nth) }
    }
}

/// A unit of the block that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// Which of its block it is.
    pub(super) nth: u16,
    /// Which of its side.
    pub(super) place: usize,
}

/// All blocks, in the order of their units: first those of hosts.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    /// The block of each unit.
    of: Vec<BlockId>,
}

impl Layout {
    /// The blocks of `network`, each on one of `sides`.
    pub(super) fn new(network: &Network, sides: &Partition) -> Layout {
        let mut layout = Layout { blocks: Vec::new(), of: Vec::with_capacity(network.links.len()) };
        let mut places = vec![0; sides.count];
        let mut add = |units: Range<usize>, are_hosts| {
            if units.is_empty() {
                return;
            }
            let units = units.start as u32..units.end as u32;
            let side = sides.of(units.start);
            let is_elsewhere = |unit| sides.of(network.far_end(unit)) != side;
            let hears = units.clone().any(is_elsewhere);
            let place = places[side];
            places[side] += units.len();
            layout.add(Block { units, are_hosts, hears, side, place });
        };
        for host in 0..network.hosts {
            add(host..host + 1, true);
        }
        for switch in 0..network.switches {
            add(network.ports_of(switch), false);
        }
        layout
    }

    /// Adds units to the last block, or as a new one.
    fn add(&mut self, new: Block) {
        let end = new.units.end;
        match self.blocks.last_mut() {
            Some(last) if last.takes(&new) => last.units.end = end,
            _ => self.blocks.push(new),
        }
        let number = BlockId::try_from(self.blocks.len() - 1).expect("a block has a number");
        self.of.resize(end as usize, number);
    }

    /// The block of `unit`.
    #[inline]
    pub(super) fn of(&self, unit: u32) -> BlockId {
        self.of[unit as usize]
    }

    /// One value for each unit of `side`, in the order of their places. Room is taken for all at once,
    /// since what a growing list leaves behind stays with the process.
    pub(super) fn for_units<P>(&self, side: usize, make: impl FnMut(u32) -> P) -> Vec<P> {
        let count = self.own(side).map(|block| block.units.len()).sum();
        let mut all = Vec::with_capacity(count);
        all.extend(self.units(side).map(make));
        all
    }

    /// The units of `side`, by their places.
    pub(super) fn units(&self, side: usize) -> impl Iterator<Item = u32> + '_ {
        self.own(side).flat_map(|block| block.units.clone())
    }

    fn own(&self, side: usize) -> impl Iterator<Item = &Block> + '_ {
        self.blocks.iter().filter(move |block| block.side == side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{FatTree, Topology};
    use sojourn_core::parameters::defaults;

    fn layout(network: &Network, sides: usize) -> (Layout, Partition) {
        let sides = Partition::new(network, sides);
        (Layout::new(network, &sides), sides)
    }

    /// k = 8 in two halves: 64 hosts and 16 edges on each know only their own side, so most that a
    /// side does in a window it can do before it has heard the other.
    #[test]
    fn blocks_without_links_from_another_side_hear_nothing() {
        let network = Topology::FatTree(FatTree { k: 8, ..defaults() }).graph().network();
        let (whole, _) = layout(&network, 1);
        assert!(whole.blocks.iter().all(|block| !block.hears));
        let (halves, sides) = layout(&network, 2);
        let crosses = |unit: u32| sides.of(unit) != sides.of(network.far_end(unit));
        let mut deaf = 0;
        for block in halves.blocks.iter().filter(|block| !block.hears) {
            assert!(!block.units.clone().any(crosses), "{block:?}");
            deaf += block.units.len();
        }
        assert!(deaf >= 2 * (64 + 16 * 8), "{deaf}");
        assert!((0..network.links.len() as u32).any(crosses));
    }
}
