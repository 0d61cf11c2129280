//! What reaches the units of one block in the current window: lists, unit by unit.

use super::layout::MOST_UNITS;
use super::ones;
use crate::packet::{NIL, PacketArena, PacketId, VISIT};

/// The lists of the block that is open, linked through the packets where they lie.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// For each unit the first of its list, last put in first; [`NIL`] where nothing is to be done.
    heads: Box<[PacketId; MOST_UNITS]>,
    /// The units that have something to do, in the order in which that was found. There is room for one
    /// more than a block has, and a power of two of places, so that a place costs a mask and no check.
    touched: Box<[u16; 2 * MOST_UNITS]>,
    count: usize,
}

impl Arrivals {
    /// Nothing yet.
    pub(super) fn new() -> Arrivals {
        let (heads, touched) = (Box::new([NIL; MOST_UNITS]), Box::new([0; 2 * MOST_UNITS]));
        Arrivals { heads, touched, count: 0 }
    }

    /// Another block is opened. All lists of the one before have been taken.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// `id` is the first of the list of `unit` now. Gives which was.
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

    /// The unit has something to do besides.
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

    /// One of them.
    #[inline(always)]
    pub(super) fn touched(&self, nth: usize) -> u16 {
        self.touched[nth % (2 * MOST_UNITS)]
    }

    /// Puts them in the order of their numbers, in a block of so many.
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

    /// Whether so many of its `units` have something to do that they are near each other.
    #[inline]
    pub(super) fn are_dense(&self, units: usize) -> bool {
        self.count * 8 >= units
    }

    /// Takes the list of what arrives at a unit, in order.
    #[inline(always)]
    pub(super) fn take(&mut self, unit: u16, arena: &mut PacketArena) -> PacketId {
        let head = std::mem::replace(&mut self.heads[usize::from(unit) % MOST_UNITS], NIL);
        if arena.known(head).next == NIL { head } else { arena.sorted(head) }
    }
}
