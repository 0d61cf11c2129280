//! Lines of destinations that wait for sessions.

use crate::ids::DestinationId;
use std::collections::BTreeMap;

/// Destinations by their places, which are given in rising order and kept while a destination has
/// to wait for something else first.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: BTreeMap<u64, DestinationId>,
    given: u64,
}

impl Line {
    /// The place that a destination has already, or the next one.
    pub(super) fn place(&mut self, kept: Option<u64>) -> u64 {
        kept.unwrap_or_else(|| {
            self.given += 1;
            self.given
        })
    }

    pub(super) fn insert(&mut self, place: u64, destination: DestinationId) {
        self.waiting.insert(place, destination);
    }

    pub(super) fn pop_first(&mut self) -> Option<DestinationId> {
        self.waiting.pop_first().map(|(_, destination)| destination)
    }

    /// Whether any stands before this place; before none, the end of the line.
    pub(super) fn has_before(&self, place: Option<u64>) -> bool {
        let first = self.waiting.first_key_value();
        first.is_some_and(|(&first, _)| place.is_none_or(|place| first < place))
    }

    /// The destinations, the first one first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &DestinationId> {
        self.waiting.values()
    }
}
