//! How the units of a fabric are put into blocks.
//!
//! A *unit* is what is visited as one: a host with its port, or a switch's port. Blocks are neighbours
//! whose state fits into a cache together: what reaches them in a window is opened at once, and then
//! they are visited one after the other.

use super::sides::Sides;
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
    /// Which side it is on, and how many units of that side are before it.
    pub(super) side: usize,
    pub(super) place: usize,
}

impl Block {
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
    pub(super) fn new(network: &Network, sides: &Sides) -> Layout {
        let mut layout = Layout { blocks: Vec::new(), of: Vec::with_capacity(network.links.len()) };
        let mut places = vec![0; sides.count];
        for host in 0..network.hosts {
            layout.add(host..host + 1, true, sides, &mut places);
        }
        for switch in 0..network.switches {
            layout.add(network.ports_of(switch), false, sides, &mut places);
        }
        layout
    }

    /// Adds units to the last block, or to a new one.
    fn add(&mut self, units: Range<usize>, are_hosts: bool, sides: &Sides, places: &mut [usize]) {
        if units.is_empty() {
            return;
        }
        let side = sides.of(units.start as u32);
        let first = units.start as u32;
        let fits = |block: &Block| {
            let long = block.units.len() + units.len() > MOST_UNITS;
            block.side == side && block.are_hosts == are_hosts && !long
        };
        if !self.blocks.last().is_some_and(fits) {
            assert!(self.blocks.len() <= usize::from(BlockId::MAX), "a block has a number");
            let units = first..first;
            self.blocks.push(Block { units, are_hosts, side, place: places[side] });
        }
        let block = self.blocks.last_mut().expect("it was added");
        block.units.end = units.end as u32;
        places[side] += units.len();
        self.of.resize(units.end, (self.blocks.len() - 1) as BlockId);
    }

    /// The block of `unit`.
    #[inline]
    pub(super) fn of(&self, unit: u32) -> BlockId {
        self.of[unit as usize]
    }

    /// The units of `side`, by their places.
    pub(super) fn units(&self, side: usize) -> impl Iterator<Item = u32> + '_ {
        let own = self.blocks.iter().filter(move |block| block.side == side);
        own.flat_map(|block| block.units.clone())
    }
}
