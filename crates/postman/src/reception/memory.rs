//! The memory that messages may occupy while they are taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What there is for all sessions together.
#[derive(Debug)]
pub(super) struct Memory {
    most: usize,
    used: AtomicUsize,
}

/// A part of it, in use until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    memory: Arc<Memory>,
    octets: usize,
}

impl Memory {
    pub(super) fn new(most: usize) -> Arc<Memory> {
        Arc::new(Memory { most, used: AtomicUsize::new(0) })
    }

    /// Nothing yet.
    pub(super) fn hold(self: &Arc<Memory>) -> Held {
        Held { memory: Arc::clone(self), octets: 0 }
    }

    /// So many octets, before they are used; nothing where there are not as many.
    pub(super) fn reserve(self: &Arc<Memory>, octets: usize) -> Option<Held> {
        let mut held = self.hold();
        held.set(octets).then_some(held)
    }

    /// Octets in use.
    #[cfg(test)]
    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

impl Held {
    /// So many octets are used now; whether there is memory for all that are in use, where these
    /// became more.
    pub(super) fn set(&mut self, octets: usize) -> bool {
        let before = std::mem::replace(&mut self.octets, octets);
        if octets <= before {
            self.memory.used.fetch_sub(before - octets, Ordering::Relaxed);
            return true;
        }
        let more = octets - before;
        self.memory.used.fetch_add(more, Ordering::Relaxed) + more <= self.memory.most
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_until_it_is_dropped() {
        let memory = Memory::new(100);
        let mut one = memory.hold();
        assert!(one.set(60));
        let two = memory.reserve(40).unwrap();
        assert!(memory.reserve(1).is_none());
        assert_eq!(memory.used(), 100);
        // Who becomes smaller is told nothing, whatever others have.
        assert!(!one.set(61) && one.set(50));
        drop(two);
        assert!(one.set(100));
        drop(one);
        assert_eq!(memory.used(), 0);
    }
}
