//! Fork and join: a job is done when the last of its tasks is.

use slab::Slab;

/// The jobs whose tasks are under way.
#[derive(Clone, Debug)]
pub struct Joins<J> {
    open: Slab<(J, u32)>,
}

/// A job under way; its tasks carry copies of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fork(usize);

impl<J> Joins<J> {
    /// No job under way.
    pub const fn new() -> Joins<J> {
        Joins { open: Slab::new() }
    }

    /// Forks `job` into `tasks` tasks. Panics when there are none: it would never be done.
    pub fn fork(&mut self, job: J, tasks: u32) -> Fork {
        assert!(tasks > 0, "a job has at least one task");
        Fork(self.open.insert((job, tasks)))
    }

    /// One task of a job is done; the job itself when that was its last.
    /// Panics when the job is done already.
    pub fn join(&mut self, fork: Fork) -> Option<J> {
        let (_, left) = self.open.get_mut(fork.0).expect("a job that is under way");
        *left -= 1;
        (*left == 0).then(|| self.open.remove(fork.0).0)
    }

    /// How many jobs are under way.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether no job is under way.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

impl<J> Default for Joins<J> {
    fn default() -> Joins<J> {
        Joins::new()
    }
}
