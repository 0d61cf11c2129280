//! A table that holds at most so many entries, and counts those it had to give up.

use foldhash::fast::FixedState;
use indexmap::{Equivalent, IndexMap};
use std::hash::Hash;

/// What is remembered by a name, at most so many at a time.
///
/// When it is full, the next entry takes the place of one that was not used for long: a hand goes
/// round, passes over those used since it last came by, and takes the first that was not.
#[derive(Debug)]
pub(crate) struct Bounded<K, V> {
    entries: IndexMap<K, Entry<V>, FixedState>,
    most: usize,
    hand: usize,
    /// How many were given up.
    pub(crate) given_up: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    used: bool,
}

impl<K: Hash + Eq, V> Bounded<K, V> {
    pub(crate) fn new(most: usize) -> Bounded<K, V> {
        Bounded { entries: IndexMap::default(), most, hand: 0, given_up: 0 }
    }

    pub(crate) fn get<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        let entry = self.entries.get_mut(key)?;
        entry.used = true;
        Some(&mut entry.value)
    }

    /// Puts in what is not there yet.
    pub(crate) fn add(&mut self, key: K, value: V) {
        while self.entries.len() >= self.most {
            self.hand %= self.entries.len();
            let entry = &mut self.entries[self.hand];
            if std::mem::take(&mut entry.used) {
                self.hand += 1;
            } else {
                self.entries.swap_remove_index(self.hand);
                self.given_up += 1;
            }
        }
        self.entries.insert(key, Entry { value, used: false });
    }

    pub(crate) fn remove<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        self.take(key).map(|(_, value)| value)
    }

    /// Removes an entry with its key.
    pub(crate) fn take<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<(K, V)> {
        let (_, key, entry) = self.entries.swap_remove_full(key)?;
        Some((key, entry.value))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_stays() {
        let mut table = Bounded::new(3);
        for key in 0..3 {
            table.add(key, key * 10);
        }
        assert_eq!(table.get(&0), Some(&mut 0));
        table.add(3, 30);
        assert_eq!((table.len(), table.given_up), (3, 1));
        assert_eq!(table.get(&0), Some(&mut 0));
        assert_eq!(table.get(&1), None);
        assert_eq!(table.get(&3), Some(&mut 30));
        assert_eq!(table.remove(&0), Some(0));
        assert_eq!((table.remove(&0), table.len()), (None, 2));
    }

    #[test]
    fn all_used_is_no_end() {
        let mut table = Bounded::new(2);
        for key in 0..100 {
            table.add(key, ());
            table.get(&key);
        }
        assert_eq!((table.len(), table.given_up), (2, 98));
    }
}
