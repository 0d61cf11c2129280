//! Access plans: the accesses to disks that a request consists of, as data.

use crate::device::Op;

/// Where an access is, seen from the earlier accesses of its request to this disk. What its positioning
/// takes follows in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// At a random place.
    Random,
    /// Directly behind another access of its request.
    FollowOn,
    /// Where the request has read, to write what was read.
    Rewrite,
    /// As [`Rewrite`](Approach::Rewrite), but its transfer counts towards the way back.
    RewriteLess,
    /// Where the request's full stripes end.
    Reconstruct,
}

/// One access to one disk, contiguous on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The disk.
    pub disk: u16,
    /// Whether it reads or writes.
    pub op: Op,
    /// Where it is, seen from the earlier accesses of its request.
    pub approach: Approach,
    /// The first block on the disk, if the request has an address.
    pub at: u64,
    /// How many blocks, at least one.
    pub blocks: u32,
    /// Whether the next phase waits for it.
    pub gate: bool,
    /// Whether the request ends only after it.
    pub counts: bool,
}

impl Access {
    /// An access that its request waits for and no later phase does.
    pub fn new(disk: u16, op: Op, blocks: u32) -> Access {
        Access { disk, op, approach: Approach::Random, at: 0, blocks, gate: false, counts: true }
    }
}

/// The accesses of a request, phase by phase. The accesses of a phase are issued together, those of
/// the next when all accesses with `gate` of this one are done. Later phases have priority.
#[derive(Debug)]
pub struct AccessPlan {
    accesses: Vec<Access>,
    /// Where each phase ends.
    ends: Vec<usize>,
    /// For each disk the access that [`add`](AccessPlan::add) gave it, and in which phase, counted
    /// over all plans built here. Clones are only read, and have none.
    added: Vec<(u64, usize)>,
    phase: u64,
}

impl AccessPlan {
    /// An empty plan for `disks` disks.
    pub fn new(disks: usize) -> AccessPlan {
        AccessPlan { accesses: Vec::new(), ends: Vec::new(), added: vec![(0, 0); disks], phase: 1 }
    }

    /// Makes it empty again.
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.ends.clear();
        self.phase += 1;
    }

    /// Adds one block to what `disk` does in the phase that is being written.
    pub fn add(&mut self, disk: u16, op: Op) {
        match self.in_phase(disk) {
            Some(access) => access.blocks += 1,
            None => self.add_access(Access::new(disk, op, 1)),
        }
    }

    /// Adds `blocks` blocks from block `at` on to what `disk` does in the phase that is being
    /// written. An access that it has there already becomes one from the first of all these blocks
    /// to the last: what lies between is passed over anyway.
    pub fn cover(&mut self, disk: u16, op: Op, at: u64, blocks: u32) {
        match self.in_phase(disk) {
            Some(access) => {
                let end = (access.at + u64::from(access.blocks)).max(at + u64::from(blocks));
                access.at = access.at.min(at);
                access.blocks = (end - access.at) as u32;
            }
            None => self.add_access(Access { at, ..Access::new(disk, op, blocks) }),
        }
    }

    /// The access that `add` or `cover` gave `disk` in the phase that is being written.
    fn in_phase(&mut self, disk: u16) -> Option<&mut Access> {
        let (phase, place) = self.added[usize::from(disk)];
        if phase == self.phase { Some(&mut self.accesses[place]) } else { None }
    }

    fn add_access(&mut self, access: Access) {
        self.added[usize::from(access.disk)] = (self.phase, self.accesses.len());
        self.accesses.push(access);
    }

    /// Adds a block to the last access to `disk`, or an access of one block if there is none.
    pub fn lengthen(&mut self, disk: u16, op: Op) {
        match self.accesses.iter_mut().rev().find(|access| access.disk == disk) {
            Some(access) => access.blocks += 1,
            None => self.push(Access::new(disk, op, 1)),
        }
    }

    /// Adds an access to the phase that is being written.
    pub fn push(&mut self, access: Access) {
        self.accesses.push(access);
    }

    /// Ends a phase; one without accesses is none.
    pub fn end_phase(&mut self) {
        if self.ends.last().copied().unwrap_or(0) < self.accesses.len() {
            self.ends.push(self.accesses.len());
            self.phase += 1;
        }
    }

    /// The number of phases.
    #[inline]
    pub fn phases(&self) -> usize {
        self.ends.len()
    }

    /// All accesses, phase by phase.
    #[inline]
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// All accesses, for change.
    pub fn accesses_mut(&mut self) -> &mut [Access] {
        &mut self.accesses
    }

    /// The accesses of a phase.
    pub fn phase(&self, index: usize) -> &[Access] {
        &self.accesses[self.range(index)]
    }

    /// The range of the accesses of a phase among all.
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start..self.ends[index]
    }
}

impl Clone for AccessPlan {
    fn clone(&self) -> AccessPlan {
        AccessPlan {
            accesses: self.accesses.clone(),
            ends: self.ends.clone(),
            ..AccessPlan::new(0)
        }
    }

    /// Allocates nothing once the capacity suffices.
    fn clone_from(&mut self, other: &AccessPlan) {
        self.accesses.clone_from(&other.accesses);
        self.ends.clone_from(&other.ends);
    }
}
