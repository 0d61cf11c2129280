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
    /// Whether the request waits for it.
    pub counts: bool,
}

impl Access {
    /// An access that its request waits for and no later phase does.
    pub fn new(disk: u16, op: Op, blocks: u32) -> Access {
        Access { disk, op, approach: Approach::Random, at: 0, blocks, gate: false, counts: true }
    }
}

/// The accesses of a request, phase by phase. The accesses of a phase are issued together, those of
/// the next when all accesses with `gate` of this one are done. Later phases have priority. A request
/// is done when all accesses that count are. Where a phase needs only some of its accesses, the first
/// so many that are done stand for all.
#[derive(Debug)]
pub struct AccessPlan {
    accesses: Vec<Access>,
    phases: Vec<Phase>,
    /// Whether some phase needs only some of its accesses.
    needs_some: bool,
    /// For each disk the access that [`add`](AccessPlan::add) gave it, and in which phase, counted
    /// over all plans built here. Clones are only read, and have none.
    added: Vec<(u64, usize)>,
    phase: u64,
}

/// A phase of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phase {
    /// Where its accesses end, among all of the plan.
    pub(crate) end: usize,
    /// How many of the accesses that lead on from it have to be done, where not all.
    pub(crate) needs: Option<u32>,
    /// For how many accesses the request waits; all those of which it needs some are one.
    pub(crate) counted: u32,
    /// For how many the next phase waits, counted like this.
    pub(crate) gates: u32,
}

impl Phase {
    /// The phase of these accesses, of which it needs `needs`, or all.
    fn of(accesses: &[Access], end: usize, needs: Option<u32>) -> Phase {
        let counted = accesses.iter().filter(|access| access.counts).count() as u32;
        let gates = accesses.iter().filter(|access| access.gate).count() as u32;
        let lead_on = if gates > 0 { gates } else { counted };
        match needs.filter(|&needs| needs < lead_on) {
            None => Phase { end, needs: None, counted, gates },
            needs if gates == 0 => Phase { end, needs, counted: 1, gates },
            needs => {
                let others = accesses.iter().filter(|access| access.counts && !access.gate);
                Phase { end, needs, counted: 1 + others.count() as u32, gates: 1 }
            }
        }
    }
}

impl AccessPlan {
    /// An empty plan for `disks` disks.
    pub fn new(disks: usize) -> AccessPlan {
        let added = vec![(0, 0); disks];
        AccessPlan { accesses: Vec::new(), phases: Vec::new(), needs_some: false, added, phase: 1 }
    }

    /// Makes it empty again.
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.phases.clear();
        self.needs_some = false;
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
        self.end(None);
    }

    /// Ends a phase that needs the first `needs`, at least one, of the accesses that lead on from it:
    /// those with `gate` to the next phase, and where there are none, those that count to the end of
    /// the request. The others of these go on, and are not waited for.
    pub fn end_phase_of(&mut self, needs: u32) {
        self.end(Some(needs));
    }

    fn end(&mut self, needs: Option<u32>) {
        let (start, end) = (self.phases.last().map_or(0, |phase| phase.end), self.accesses.len());
        if start < end {
            let phase = Phase::of(&self.accesses[start..], end, needs);
            self.needs_some |= phase.needs.is_some();
            self.phases.push(phase);
            self.phase += 1;
        }
    }

    /// The number of phases.
    #[inline]
    pub fn phases(&self) -> usize {
        self.phases.len()
    }

    /// Whether it has one phase, and waits for all accesses that count.
    #[inline]
    pub fn is_simple(&self) -> bool {
        self.phases.len() == 1 && !self.needs_some
    }

    /// How many of the accesses that lead on from a phase it needs, where not all.
    pub fn needs(&self, index: usize) -> Option<u32> {
        self.phases[index].needs
    }

    /// Whether an access of a phase leads on from it: to the next phase, or to the end of the request.
    pub(crate) fn leads_on(&self, index: usize, access: &Access) -> bool {
        if self.phases[index].gates > 0 { access.gate } else { access.counts }
    }

    /// Whether no phase needs only some of its accesses.
    pub fn waits_for_all(&self) -> bool {
        !self.needs_some
    }

    /// The phases, for what waits for how many accesses.
    #[inline]
    pub(crate) fn all_phases(&self) -> &[Phase] {
        &self.phases
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
        let start = if index == 0 { 0 } else { self.phases[index - 1].end };
        start..self.phases[index].end
    }
}

impl Clone for AccessPlan {
    fn clone(&self) -> AccessPlan {
        AccessPlan {
            accesses: self.accesses.clone(),
            phases: self.phases.clone(),
            needs_some: self.needs_some,
            ..AccessPlan::new(0)
        }
    }
}
