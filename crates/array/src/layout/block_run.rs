//! Runs of blocks with an address, and how stripes cut them.

use crate::device::Op;

/// Blocks of the array in a row, where stripe units have `unit` blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) op: Op,
    /// The first block.
    pub(super) first: u64,
    pub(super) blocks: u32,
    pub(super) unit: u32,
}

/// Blocks in a row on one of several places that a run is dealt out to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The place.
    pub(super) place: u32,
    /// The first block there.
    pub(super) at: u64,
    pub(super) blocks: u32,
}

/// A part of one stripe unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Which stripe unit of the array.
    pub(super) unit: u64,
    /// The first block of it, and the one behind the last.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Run {
    /// The stripe units that the run touches, one by one, each with the part that it touches.
    pub(super) fn pieces(self) -> impl Iterator<Item = Piece> {
        let unit = u64::from(self.unit);
        let end = self.first + u64::from(self.blocks);
        (self.first / unit..end.div_ceil(unit)).map(move |number| Piece {
            unit: number,
            from: self.first.saturating_sub(number * unit) as u32,
            to: (end - number * unit).min(unit) as u32,
        })
    }

    /// The part of the run on each of `places` places that units are dealt out to in turn: the place
    /// of the first unit first, each place once.
    pub(super) fn dealt(self, places: u32) -> impl Iterator<Item = Extent> {
        let unit = u64::from(self.unit);
        let end = self.first + u64::from(self.blocks);
        let (first, last) = (self.first / unit, (end - 1) / unit);
        let places = u64::from(places);
        (first..=last.min(first + places - 1)).map(move |number| {
            let units = (last - number) / places + 1;
            let skipped = self.first.saturating_sub(number * unit);
            let has_last = (last - number).is_multiple_of(places);
            let missing = if has_last { (last + 1) * unit - end } else { 0 };
            Extent {
                place: (number % places) as u32,
                at: number / places * unit + skipped,
                blocks: (units * unit - skipped - missing) as u32,
            }
        })
    }
}
