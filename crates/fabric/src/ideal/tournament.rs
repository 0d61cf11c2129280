//! Which of many sources is done first.

use sojourn_core::Time;

/// A time for each source, and the earliest of all: a tournament, replayed from the leaf that
/// changed to the root.
pub(super) struct Tournament {
    /// When each source is done; [`Time::NEVER`] where it serves no flow. A power of two of them.
    times: Vec<Time>,
    /// Who wins at each node; the root is 1, the children of a node are at twice its place.
    winners: Vec<u32>,
}

impl Tournament {
    /// Of so many sources, none of which serves a flow.
    pub(super) fn new(sources: usize) -> Tournament {
        let leaves = sources.next_power_of_two();
        let mut winners: Vec<u32> =
            (0..2 * leaves).map(|place| place as u32 % leaves as u32).collect();
        for place in (1..leaves).rev() {
            winners[place] = winners[2 * place];
        }
        Tournament { times: vec![Time::NEVER; leaves], winners }
    }

    /// The earliest time, and whose it is.
    #[inline]
    pub(super) fn first(&self) -> (Time, u32) {
        let winner = self.winners[1];
        (self.times[winner as usize], winner)
    }

    /// `source` is done at `at`.
    #[inline]
    pub(super) fn set(&mut self, source: u32, at: Time) {
        self.times[source as usize] = at;
        let mut place = source as usize + self.times.len();
        while place > 1 {
            place /= 2;
            let (left, right) = (self.winners[2 * place], self.winners[2 * place + 1]);
            let later = self.times[right as usize] < self.times[left as usize];
            self.winners[place] = if later { right } else { left };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_core::Span;

    proptest! {
        /// Against looking through all of them.
        #[test]
        fn the_earliest_wins(
            sources in 1usize..40,
            sets in prop::collection::vec((any::<u32>(), 0u64..50), 1..80),
        ) {
            let (mut tournament, mut plain) = (Tournament::new(sources), vec![Time::NEVER; sources]);
            for (source, at) in sets {
                let source = source % sources as u32;
                let at = if at == 0 { Time::NEVER } else { Time::ZERO + Span::from_ps(at) };
                tournament.set(source, at);
                plain[source as usize] = at;
                let (first, winner) = tournament.first();
                prop_assert_eq!(Some(&first), plain.iter().min());
                prop_assert!(first == Time::NEVER || plain[winner as usize] == first);
            }
        }
    }
}
