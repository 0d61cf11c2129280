//! Sorts by time the accesses of a trace that is nearly in order.

use super::reader::DeviceAccess;
use std::collections::VecDeque;

/// Holds as many accesses back as one may come late by. Accesses of one time stay in their order.
pub(super) struct Window {
    /// In order of time.
    held: VecDeque<DeviceAccess>,
    /// The number of accesses that it holds at most.
    capacity: usize,
    /// The time of the last access that was let go.
    gone: u128,
    /// The most later accesses that an access was sorted before.
    pub(super) furthest: usize,
}

/// An access comes so late that a later one is already gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLate;

impl Window {
    /// A window that holds `capacity` accesses.
    pub(super) fn new(capacity: usize) -> Window {
        Window { held: VecDeque::new(), capacity, gone: 0, furthest: 0 }
    }

    /// Takes the access that comes next, and lets the earliest go if it holds too many.
    pub(super) fn push(&mut self, access: DeviceAccess) -> Result<Option<DeviceAccess>, TooLate> {
        if access.at < self.gone {
            return Err(TooLate);
        }
        if self.held.back().is_none_or(|last| last.at <= access.at) {
            self.held.push_back(access);
        } else {
            let place = self.held.partition_point(|held| held.at <= access.at);
            self.furthest = self.furthest.max(self.held.len() - place);
            self.held.insert(place, access);
        }
        Ok(if self.held.len() > self.capacity { self.pop() } else { None })
    }

    /// Lets the earliest go.
    pub(super) fn pop(&mut self) -> Option<DeviceAccess> {
        let first = self.held.pop_front()?;
        self.gone = first.at;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Op;
    use proptest::prelude::*;

    fn access(at: u64, line: u64) -> DeviceAccess {
        DeviceAccess { at: at.into(), op: Op::Read, first: 0, bytes: 1, line }
    }

    /// The order in which a window lets accesses at these times go, as (time, number).
    fn ordered(times: &[u64], capacity: usize) -> Result<(Vec<(u64, u64)>, usize), TooLate> {
        let mut window = Window::new(capacity);
        let mut found = Vec::new();
        for (line, &at) in (0..).zip(times) {
            found.extend(window.push(access(at, line))?);
        }
        found.extend(std::iter::from_fn(|| window.pop()));
        Ok((found.iter().map(|a| (a.at as u64, a.line)).collect(), window.furthest))
    }

    proptest! {
        /// A wide window sorts whatever comes, and says how wide it had to be: one of that width
        /// sorts it too, a narrower one refuses.
        #[test]
        fn it_sorts_and_says_how_wide_it_has_to_be(times in prop::collection::vec(0..50_u64, 0..60)) {
            let mut sorted: Vec<(u64, u64)> = times.iter().copied().zip(0..).collect();
            sorted.sort_by_key(|(at, _)| *at);
            let (found, furthest) = ordered(&times, times.len()).unwrap();
            prop_assert_eq!(&found, &sorted);
            prop_assert_eq!(ordered(&times, furthest).unwrap(), (sorted, furthest));
            if furthest > 0 {
                prop_assert_eq!(ordered(&times, furthest - 1), Err(TooLate));
            }
        }
    }
}
