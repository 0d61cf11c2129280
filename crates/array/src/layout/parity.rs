//! Stripes with rotating parity: what RAID 5 and RAID 6 have in common (paper section 3.3).

use super::block_run::Run;
use super::{Access, AccessPlan, Approach, Layout, LayoutPlan, RebuildSource};
use crate::device::Op;
use sojourn_core::parameters::{Setting, Value};
use sojourn_core::{Ahead, choices};

choices! {
    /// Which disk has the first block of a write.
    pub enum WriteStart: "start of writes" {
        /// The first of the array that is not parity: "requests are aligned to start striping from
        /// the first disk".
        FirstDisk = "first-disk",
        /// The one after the parity, which rotates.
        AfterParity = "after-parity",
    }
}

choices! {
    /// How the head gets to a pre-read after the request's own full stripes.
    pub enum FollowOn: "way to a pre-read" {
        /// Not at all, if no other request comes in between.
        InPlace = "in-place",
        /// By seek and rotation, as to any other place.
        Seek = "seek",
    }
}

choices! {
    /// How the head of the disk whose pre-read was the last gets back to write.
    pub enum Rewrite: "way back" {
        /// In a full rotation.
        Rotation = "rotation",
        /// In a full rotation less the transfer, to where the block begins.
        RotationLessTransfer = "rotation-less-transfer",
    }
}

choices! {
    /// When a write with a second phase is complete.
    pub enum Done: "rule for the end of a write" {
        /// When all its accesses are.
        All = "all",
        /// When its second phase is, even if full stripes go on.
        SecondPhase = "second-phase",
    }
}

/// Disks of which in each stripe `parities` in a row, cyclically, hold parity.
pub(super) struct Stripes<'a> {
    pub(super) disks: u16,
    pub(super) parities: u16,
    /// The disks that have failed.
    pub(super) failed: &'a [u16],
    pub(super) write_start: Option<WriteStart>,
    pub(super) pre_read: Option<FollowOn>,
    pub(super) rewrite: Option<Rewrite>,
    pub(super) done: Done,
}

/// A layout whose stripes have parity.
pub(super) trait Parity {
    /// Its stripes.
    fn stripes(&self) -> Stripes<'_>;

    /// The array as it is when no disk has failed.
    fn rebuilt(&self) -> Layout;
}

impl<P: Parity> LayoutPlan for P {
    fn disks(&self) -> usize {
        self.stripes().disks.into()
    }

    fn data_disks(&self) -> u64 {
        self.stripes().data().into()
    }

    fn ways(&self, op: Op) -> u64 {
        self.stripes().ways(op)
    }

    fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        self.stripes().lay(op, blocks, way, plan);
    }

    fn lay_at(&self, run: Run, _: &mut Ahead, plan: &mut AccessPlan) {
        self.stripes().lay_at(run, plan);
    }

    fn one_phase(&self, op: Op) -> bool {
        op == Op::Read
    }

    fn rebuild_source(&self) -> Option<RebuildSource> {
        self.stripes().rebuild_source(self.rebuilt())
    }

    fn without_addresses(&self) -> Option<Value> {
        self.stripes().write_start.and_then(|start| start.write())
    }

    fn by_chance(&self) -> Option<(&'static str, Value)> {
        let Stripes { pre_read, rewrite, .. } = self.stripes();
        let pre_read = pre_read.and_then(|way| way.write()).map(|way| ("pre_read", way));
        pre_read.or_else(|| rewrite.and_then(|way| way.write()).map(|way| ("rewrite", way)))
    }

    fn only_for(&self, op: Op) -> Vec<(&'static str, Value)> {
        let Stripes { write_start, pre_read, rewrite, done, .. } = self.stripes();
        let settings = match op {
            Op::Read => Vec::new(),
            Op::Write => vec![
                ("write_start", write_start.and_then(|it| it.write())),
                ("pre_read", pre_read.and_then(|it| it.write())),
                ("rewrite", rewrite.and_then(|it| it.write())),
                ("done", done.write().filter(|_| done != Done::All)),
            ],
        };
        settings.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// How the parity of a partial stripe is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Read-modify-write: what is written, and the parity, are read first.
    Modify,
    /// Reconstruct-write: the stripe's other blocks are read first.
    Reconstruct,
    /// All that is left is read first: a block to be written and another one are lost.
    Restore,
}

impl Stripes<'_> {
    /// Data disks of a stripe.
    pub(super) fn data(&self) -> u16 {
        self.disks - self.parities
    }

    /// The `place`-th disk from `start` on.
    pub(super) fn disk(&self, start: u16, place: u16) -> u16 {
        let disk = start + place;
        if disk >= self.disks { disk - self.disks } else { disk }
    }

    pub(super) fn is_alive(&self, disk: u16) -> bool {
        !self.failed.contains(&disk)
    }

    /// The parity disks that are left of a stripe whose first is `parity`.
    pub(super) fn checks(&self, parity: u16) -> impl Iterator<Item = u16> {
        (0..self.parities).map(move |i| self.disk(parity, i)).filter(|&disk| self.is_alive(disk))
    }

    /// The way that reads less ahead, of those that the lost blocks allow; read-modify-write where
    /// both read as much.
    pub(super) fn way(&self, ahead: [usize; 2], lost_targets: u16, lost_others: u16) -> Way {
        let [modify, reconstruct] = ahead;
        match (lost_targets, lost_others) {
            (0, 0) if modify > reconstruct => Way::Reconstruct,
            (0, _) => Way::Modify,
            (_, 0) => Way::Reconstruct,
            _ => Way::Restore,
        }
    }

    /// The approach of a write back to a block that was read ahead.
    pub(super) fn way_back(&self) -> Approach {
        match self.rewrite {
            None | Some(Rewrite::Rotation) => Approach::Rewrite,
            Some(Rewrite::RotationLessTransfer) => Approach::RewriteLess,
        }
    }

    /// A block to be read before the second phase begins.
    pub(super) fn read_ahead(&self, disk: u16, full_stripes: bool) -> Access {
        let approach = match (full_stripes, self.pre_read) {
            (true, None | Some(FollowOn::InPlace)) => Approach::FollowOn,
            _ => Approach::Random,
        };
        Access { approach, gate: true, ..Access::new(disk, Op::Read, 1) }
    }

    /// The number of ways in which a request without an address can lie: by the disk of its parity,
    /// and of a read also by the disk of its start.
    pub(super) fn ways(&self, op: Op) -> u64 {
        let disks = u64::from(self.disks);
        if op == Op::Read { disks * disks } else { disks }
    }

    /// Adds the accesses of a request of `blocks` blocks that lies in the `way`-th way.
    pub(super) fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        let disks = u64::from(self.disks);
        let parity = (way % disks) as u16;
        match op {
            Op::Read => self.read(blocks, (way / disks) as u16, parity, plan),
            Op::Write => self.write(blocks, parity, plan),
        }
    }

    /// Rebuilds failed disks from as many of the others as hold a stripe's worth of data.
    pub(super) fn rebuild_source(&self, rebuilt: Layout) -> Option<RebuildSource> {
        let (from, to): (Vec<u16>, Vec<u16>) =
            (0..self.disks).partition(|&disk| self.is_alive(disk));
        let reads = usize::from(self.data());
        if to.is_empty() { None } else { Some(RebuildSource { rebuilt, from, reads, to }) }
    }

    /// Whether `disk` holds parity where the first parity is on disk `parity`.
    fn is_parity(&self, disk: u16, parity: u16) -> bool {
        let ahead = if disk >= parity { disk - parity } else { disk + self.disks - parity };
        ahead < self.parities
    }

    /// A read: from disk `start` on, cyclically, without the parity, which moves on by one after each
    /// stripe (readings row 6). A block on a failed disk is computed
    /// from the others of its stripe and as many parities as blocks of it are lost; these are read
    /// as far as they are not already.
    fn read(&self, blocks: u32, start: u16, mut parity: u16, plan: &mut AccessPlan) {
        let mut left = blocks;
        while left > 0 {
            let mut place = 0;
            let mut lost = 0;
            while place < self.disks && left > 0 {
                let disk = self.disk(start, place);
                place += 1;
                if self.is_parity(disk, parity) {
                    continue;
                }
                left -= 1;
                match self.is_alive(disk) {
                    true => plan.add(disk, Op::Read),
                    false => lost += 1,
                }
            }
            if lost > 0 {
                for disk in (place..self.disks).map(|place| self.disk(start, place)) {
                    match (self.is_parity(disk, parity), self.is_alive(disk)) {
                        (true, _) => {}
                        (false, true) => plan.add(disk, Op::Read),
                        (false, false) => lost += 1,
                    }
                }
                self.checks(parity).take(lost).for_each(|disk| plan.add(disk, Op::Read));
            }
            parity = self.disk(parity, 1);
        }
    }

    /// A write: full stripes, then what is left over.
    fn write(&self, blocks: u32, parity: u16, plan: &mut AccessPlan) {
        let data = self.data();
        let (full, over) = (blocks / u32::from(data), (blocks % u32::from(data)) as u16);
        let start = match self.write_start {
            Some(WriteStart::FirstDisk) => 0,
            None | Some(WriteStart::AfterParity) => self.disk(parity, self.parities),
        };
        let data_disks = || {
            let disks = (0..self.disks).map(|place| self.disk(start, place));
            disks.filter(|&disk| !self.is_parity(disk, parity))
        };
        let alive = |disk: &u16| self.is_alive(*disk);
        let targets = || data_disks().take(over.into()).filter(alive);
        let others = || data_disks().skip(over.into()).filter(alive);
        let checks = || self.checks(parity);

        let two_phases = over > 0 && checks().next().is_some();
        if full > 0 {
            let counts = !(two_phases && self.done == Done::SecondPhase);
            for disk in (0..self.disks).filter(alive) {
                plan.push(Access { counts, ..Access::new(disk, Op::Write, full) });
            }
        }
        if !two_phases {
            // No parity to keep consistent: the blocks follow those of the full stripes.
            targets().for_each(|disk| plan.lengthen(disk, Op::Write));
            return;
        }
        let modify = targets().count() + checks().count();
        let lost_targets = over - targets().count() as u16;
        let lost_others = data - over - others().count() as u16;
        let way = self.way([modify, others().count()], lost_targets, lost_others);
        let mut ahead = |disk| plan.push(self.read_ahead(disk, full > 0));
        match way {
            Way::Modify => targets().chain(checks()).for_each(&mut ahead),
            Way::Reconstruct => others().for_each(&mut ahead),
            Way::Restore => targets().chain(others()).chain(checks()).for_each(&mut ahead),
        }
        plan.end_phase();
        let approach = match way {
            Way::Reconstruct => Approach::Reconstruct,
            _ => self.way_back(),
        };
        for disk in targets().chain(checks()) {
            plan.push(Access { approach, ..Access::new(disk, Op::Write, 1) });
        }
    }
}
