//! What came into a switch's memory and went out in one window, where its ports were visited one
//! after the other, so that the most that it held can still be told.

use crate::packet::Packet;
use sojourn_core::Time;

/// Changes, in the order of visits.
#[derive(Default)]
pub(super) struct OccupancyLog {
    changes: Vec<Change>,
    /// Whether the window can bring the memory to a new high.
    open: bool,
    /// Bytes held when the window began.
    held: u64,
}

/// In order of time; at one time arrivals come first, by the port that they came in by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    key: u64,
    leaves: bool,
    bytes: i64,
}

impl OccupancyLog {
    /// A window begins with `held` bytes in the memory. Nothing is written down unless it is `open`.
    pub(super) fn begin(&mut self, held: u64, open: bool) {
        (self.held, self.open) = (held, open);
    }

    /// An arrival with this key changed what is held by so many bytes.
    #[inline]
    pub(super) fn arrived(&mut self, key: u64, bytes: i64) {
        if self.open {
            self.changes.push(Change { key, leaves: false, bytes });
        }
    }

    /// So many bytes left at `at`.
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
        /// Against what is held moment by moment, in whatever order changes are written down. An
        /// open diary is asked for more than it has room to find where the window brings too little.
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
