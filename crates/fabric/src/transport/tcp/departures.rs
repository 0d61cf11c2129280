//! When the packets of a flow left: what a sender that looks at single round trips remembers.

use super::congestion::Acked;
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

/// When the packets of a flow that are not yet acknowledged left last.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    /// Of the packets from `first` on.
    left: VecDeque<Time>,
    first: u32,
}

impl Departures {
    /// Notes that packet `sequence` leaves.
    pub(super) fn note(&mut self, sequence: u32, now: Time) {
        match self.left.get_mut((sequence - self.first) as usize) {
            Some(left) => *left = now,
            None => self.left.push_back(now),
        }
    }

    /// The round trip of the packet that caused an ACK, if that is known. Forgets all packets that are
    /// acknowledged.
    pub(super) fn round_trip(&mut self, acked: &Acked) -> Option<Span> {
        let round_trip = acked.cause.and_then(|sequence| {
            let place = sequence.checked_sub(self.first)?;
            self.left.get(place as usize).map(|&left| acked.now - left)
        });
        while self.first < acked.snd_una && self.left.pop_front().is_some() {
            self.first += 1;
        }
        round_trip
    }
}
