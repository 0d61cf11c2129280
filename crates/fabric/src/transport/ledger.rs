//! What one end of a flow writes for the other because no packet has room for it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

/// Records that one end of a flow writes and the other one reads by their numbers, which packets carry.
///
/// A record is read when its packet has come, at least a window after it was written, and each end
/// alone decides what is written and what is forgotten. So nothing depends on which end is simulated
/// first within a window, nor on the number of threads: the lock only keeps two threads from
/// touching the list at once.
#[derive(Debug)]
pub(super) struct Ledger<R>(Mutex<Records<R>>);

#[derive(Debug)]
struct Records<R> {
    /// The number of the first record that is not forgotten.
    first: u32,
    list: VecDeque<R>,
}

impl<R> Default for Ledger<R> {
    fn default() -> Ledger<R> {
        Ledger(Mutex::new(Records { first: 0, list: VecDeque::new() }))
    }
}

impl<R: Copy> Ledger<R> {
    fn records(&self) -> MutexGuard<'_, Records<R>> {
        // A thread that panics ends the run, whatever it has left behind.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a record and returns its number: the one after that of the last one.
    #[inline]
    pub(super) fn write(&self, record: R) -> u32 {
        let mut records = self.records();
        let number = records.first.wrapping_add(records.list.len() as u32);
        records.list.push_back(record);
        number
    }

    /// Record `number`; none where it was forgotten.
    #[inline]
    pub(super) fn read(&self, number: u32) -> Option<R> {
        self.records().get(number)
    }

    /// Forgets records from the first on, as long as they are `over`.
    #[inline]
    pub(super) fn forget(&self, over: impl Fn(u32, &R) -> bool) {
        self.records().forget(over);
    }

    /// Reads a record, and then forgets.
    #[inline]
    pub(super) fn take(&self, number: u32, over: impl Fn(u32, &R) -> bool) -> Option<R> {
        let mut records = self.records();
        let record = records.get(number);
        records.forget(over);
        record
    }
}

impl<R: Copy> Records<R> {
    #[inline]
    fn get(&self, number: u32) -> Option<R> {
        self.list.get(number.wrapping_sub(self.first) as usize).copied()
    }

    #[inline]
    fn forget(&mut self, over: impl Fn(u32, &R) -> bool) {
        while self.list.front().is_some_and(|record| over(self.first, record)) {
            self.list.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_their_numbers() {
        let ledger = Ledger::default();
        let numbers: Vec<u32> = (0..5).map(|record| ledger.write(record * 10)).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        assert_eq!((ledger.read(3), ledger.read(5)), (Some(30), None));
        ledger.forget(|number, &record| number < 4 && record < 20);
        assert_eq!([1, 2, 3].map(|number| ledger.read(number)), [None, Some(20), Some(30)]);
        assert_eq!(ledger.write(50), 5);
        assert_eq!(ledger.take(4, |_, _| true), Some(40));
        assert_eq!((ledger.write(60), ledger.read(6), ledger.read(5)), (6, Some(60), None));
    }
}
