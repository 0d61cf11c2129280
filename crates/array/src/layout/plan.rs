//! Plans: what a request comes down to, as data.

use crate::disk::Op;
use sojourn_kernel::Span;

/// How the head gets to the place of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// Seek and rotation.
    Seek,
    /// Directly behind another access of its request the head is there; else seek and rotation.
    FollowOn,
    /// Back to what the request has read on the same disk, to write it: if the disk was idle on
    /// arrival and served nobody else in between, the rest of the rotation, a whole one where the
    /// reading has just ended; else seek and rotation.
    Rewrite,
    /// [`Rewrite`](Approach::Rewrite), but where the reading has just ended a whole rotation less
    /// the transfer.
    RewriteLess,
    /// To where the request's own full stripes end: nothing if they are being served on arrival and
    /// nobody comes in between, a rotation if they were the disk's last; else seek and rotation.
    Reconstruct,
}

/// One access to one disk, contiguous on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The disk.
    pub disk: u16,
    /// Whether it reads or writes.
    pub op: Op,
    /// How the head gets there.
    pub approach: Approach,
    /// How many blocks, at least one.
    pub blocks: u32,
    /// How long their transfer takes: the engine draws it.
    pub transfer: Span,
    /// Whether the next phase waits for it.
    pub gate: bool,
    /// Whether the request is not done before it.
    pub counts: bool,
}

impl Access {
    /// An access that its request waits for and no later phase does.
    pub fn new(disk: u16, op: Op, blocks: u32) -> Access {
        Access {
            disk,
            op,
            approach: Approach::Seek,
            blocks,
            transfer: Span::ZERO,
            gate: false,
            counts: true,
        }
    }
}

/// What a request comes down to: phases of accesses. The accesses of a phase are issued together,
/// those of the next when all the gates of this one are done. Later phases have priority.
#[derive(Debug)]
pub struct Plan {
    accesses: Vec<Access>,
    /// Where each phase ends.
    ends: Vec<usize>,
    /// For each disk the access that [`add`](Plan::add) gave it, and in which phase of all.
    added: Vec<(u64, usize)>,
    phase: u64,
}

impl Plan {
    /// Makes it empty again.
    #[inline]
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.ends.clear();
        self.phase += 1;
    }

    /// Adds one block to what `disk` does in the phase that is being written.
    #[inline]
    pub fn add(&mut self, disk: u16, op: Op) {
        let place = usize::from(disk);
        if place >= self.added.len() {
            self.added.resize(place + 1, (0, 0));
        }
        if self.added[place].0 == self.phase {
            self.accesses[self.added[place].1].blocks += 1;
        } else {
            self.added[place] = (self.phase, self.accesses.len());
            self.accesses.push(Access::new(disk, op, 1));
        }
    }

    /// Adds a block to the last access to `disk`, or an access of one block if there is none.
    pub fn lengthen(&mut self, disk: u16, op: Op) {
        match self.accesses.iter_mut().rev().find(|access| access.disk == disk) {
            Some(access) => access.blocks += 1,
            None => self.push(Access::new(disk, op, 1)),
        }
    }

    /// Adds an access to the phase that is being written.
    #[inline]
    pub fn push(&mut self, access: Access) {
        self.accesses.push(access);
    }

    /// Ends a phase; one without accesses is none.
    #[inline]
    pub fn end_phase(&mut self) {
        if self.ends.last().copied().unwrap_or(0) < self.accesses.len() {
            self.ends.push(self.accesses.len());
            self.phase += 1;
        }
    }

    /// How many phases it has.
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
    #[inline]
    pub fn accesses_mut(&mut self) -> &mut [Access] {
        &mut self.accesses
    }

    /// The accesses of a phase.
    pub fn phase(&self, index: usize) -> &[Access] {
        &self.accesses[self.range(index)]
    }

    /// Where the accesses of a phase are.
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start..self.ends[index]
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { accesses: Vec::new(), ends: Vec::new(), added: Vec::new(), phase: 1 }
    }
}

impl Clone for Plan {
    fn clone(&self) -> Plan {
        Plan { accesses: self.accesses.clone(), ends: self.ends.clone(), ..Plan::default() }
    }

    /// Allocates nothing once there is room.
    fn clone_from(&mut self, other: &Plan) {
        self.accesses.clone_from(&other.accesses);
        self.ends.clone_from(&other.ends);
    }
}
