//! The memory that messages may occupy while they are taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What there is for all sessions together.
#[derive(Debug)]
pub(crate) struct Memory {
    most: usize,
    used: AtomicUsize,
    /// What this is a part of.
    whole: Option<Arc<Memory>>,
}

/// A part of it, in use until this is dropped.
#[derive(Debug)]
pub(crate) struct Occupied {
    memory: Arc<Memory>,
    octets: usize,
}

impl Memory {
    pub(crate) fn new(most: usize) -> Arc<Memory> {
        Arc::new(Memory { most, used: AtomicUsize::new(0), whole: None })
    }

    /// The half of it that unknown clients may use: submitters have the rest for themselves.
    pub(crate) fn half(self: &Arc<Memory>) -> Arc<Memory> {
        let whole = Some(Arc::clone(self));
        Arc::new(Memory { most: self.most / 2, used: AtomicUsize::new(0), whole })
    }

    /// Nothing yet.
    pub(crate) fn nothing(self: &Arc<Memory>) -> Occupied {
        Occupied { memory: Arc::clone(self), octets: 0 }
    }

    /// So many octets, before they are used; nothing where there are not as many.
    pub(crate) fn reserve(self: &Arc<Memory>, octets: usize) -> Option<Occupied> {
        let mut occupied = self.nothing();
        occupied.set(octets).then_some(occupied)
    }

    /// Octets in use.
    #[cfg(test)]
    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

impl Occupied {
    /// So many octets are used now; whether there is memory for all that are in use, where these
    /// became more.
    pub(crate) fn set(&mut self, octets: usize) -> bool {
        let before = std::mem::replace(&mut self.octets, octets);
        let (mut fits, mut memory) = (true, Some(&self.memory));
        while let Some(part) = memory {
            if octets <= before {
                part.used.fetch_sub(before - octets, Ordering::Relaxed);
            } else {
                let more = octets - before;
                fits &= part.used.fetch_add(more, Ordering::Relaxed) + more <= part.most;
            }
            memory = part.whole.as_ref();
        }
        fits
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What unknown clients use leaves submitters the other half.
    #[test]
    fn half_of_it_is_for_untrusted_clients() {
        let memory = Memory::new(100);
        let untrusted = memory.half();
        let one = untrusted.reserve(50).unwrap();
        assert!(untrusted.reserve(1).is_none());
        assert_eq!((untrusted.used(), memory.used()), (50, 50));
        let rest = memory.reserve(50).unwrap();
        assert!(memory.reserve(1).is_none());
        drop(one);
        assert!(untrusted.reserve(50).is_some());
        drop(rest);
        assert_eq!((untrusted.used(), memory.used()), (0, 0));
    }

    #[test]
    fn what_is_occupied_counts_until_it_is_dropped() {
        let memory = Memory::new(100);
        let mut one = memory.nothing();
        assert!(one.set(60));
        let two = memory.reserve(40).unwrap();
        assert!(memory.reserve(1).is_none());
        assert_eq!(memory.used(), 100);
        // Who becomes smaller always fits, whatever others have.
        assert!(!one.set(61) && one.set(50));
        drop(two);
        assert!(one.set(100));
        drop(one);
        assert_eq!(memory.used(), 0);
    }
}
