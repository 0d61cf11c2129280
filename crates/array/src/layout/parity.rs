//! Stripes with rotating parity: what RAID 5 and RAID 6 have in common (paper section 3.3).

use super::{Access, Approach, Plan};
use crate::disk::Op;
use sojourn_kernel::{Stream, choices};

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
        /// It is there, if nobody comes in between.
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
    /// When a write with a second phase is done.
    pub enum Done: "rule for the end of a write" {
        /// When all its accesses are.
        All = "all",
        /// When its second phase is, even if full stripes go on.
        SecondPhase = "second-phase",
    }
}

/// Disks of which in each stripe `parities` in a row, cyclically, hold parity.
pub(super) struct Stripes {
    pub(super) disks: u16,
    pub(super) parities: u16,
    pub(super) failed: Option<u16>,
    pub(super) write_start: WriteStart,
    pub(super) pre_read: FollowOn,
    pub(super) rewrite: Rewrite,
    pub(super) done: Done,
}

impl Stripes {
    /// Adds the accesses of a request of `blocks` blocks, from a random place on.
    #[inline]
    pub(super) fn lay(&self, op: Op, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        match op {
            Op::Read => self.read(blocks, stream, plan),
            Op::Write => self.write(blocks, stream, plan),
        }
    }

    /// The `place`-th disk from `start` on.
    #[inline]
    fn disk(&self, start: u16, place: u16) -> u16 {
        let disk = start + place;
        if disk >= self.disks { disk - self.disks } else { disk }
    }

    /// Whether `disk` holds parity where the first parity is on disk `parity`.
    #[inline]
    fn is_parity(&self, disk: u16, parity: u16) -> bool {
        let ahead = if disk >= parity { disk - parity } else { disk + self.disks - parity };
        ahead < self.parities
    }

    /// A read: from a random disk on, cyclically, without the parity, which starts on a random disk
    /// and moves on by one after each stripe (readings row 6). A block on a failed disk is computed
    /// from the others of its stripe and the first parity, which are read as far as they are not
    /// already.
    #[inline]
    fn read(&self, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        let start = stream.below(self.disks.into()) as u16;
        let mut parity = stream.below(self.disks.into()) as u16;
        let mut left = blocks;
        while left > 0 {
            let mut place = 0;
            let mut lost = false;
            while place < self.disks && left > 0 {
                let disk = self.disk(start, place);
                place += 1;
                if self.is_parity(disk, parity) {
                    continue;
                }
                left -= 1;
                match self.failed == Some(disk) {
                    true => lost = true,
                    false => plan.add(disk, Op::Read),
                }
            }
            if lost {
                let rest = (place..self.disks).map(|place| self.disk(start, place));
                for disk in rest.filter(|&disk| !self.is_parity(disk, parity)) {
                    plan.add(disk, Op::Read);
                }
                plan.add(parity, Op::Read);
            }
            parity = self.disk(parity, 1);
        }
    }

    /// A write: full stripes, then what is left over by whichever way reads less ahead. Read-modify-
    /// write reads the blocks to be written and the parity; reconstruct-write the stripe's other
    /// blocks; the former where both read as much.
    #[inline]
    fn write(&self, blocks: u32, stream: &mut Stream, plan: &mut Plan) {
        let parity = stream.below(self.disks.into()) as u16;
        let data = self.disks - self.parities;
        let (full, over) = (blocks / u32::from(data), (blocks % u32::from(data)) as u16);
        let start = match self.write_start {
            WriteStart::FirstDisk => 0,
            WriteStart::AfterParity => self.disk(parity, self.parities),
        };
        let alive = |disk: &u16| self.failed != Some(*disk);
        let data_disks = || {
            let disks = (0..self.disks).map(|place| self.disk(start, place));
            disks.filter(|&disk| !self.is_parity(disk, parity))
        };
        let targets = || data_disks().take(over.into()).filter(alive);
        let others = || data_disks().skip(over.into()).filter(alive);
        let parities = || (0..self.parities).map(|i| self.disk(parity, i)).filter(alive);
        let lost_targets = over - targets().count() as u16;
        let lost_others = data - over - others().count() as u16;
        let checks = parities().count() as u16;

        let two_phases = over > 0 && checks > 0;
        if full > 0 {
            let counts = !(two_phases && self.done == Done::SecondPhase);
            for disk in (0..self.disks).filter(alive) {
                plan.push(Access { counts, ..Access::new(disk, Op::Write, full) });
            }
        }
        if over > 0 && checks == 0 {
            // Nothing to keep consistent: the blocks follow those of the full stripes.
            targets().for_each(|disk| plan.lengthen(disk, Op::Write));
        }
        if !two_phases {
            return;
        }
        let approach = match (full > 0, self.pre_read) {
            (true, FollowOn::InPlace) => Approach::FollowOn,
            _ => Approach::Seek,
        };
        let pre_read =
            |disk: u16| Access { approach, gate: true, ..Access::new(disk, Op::Read, 1) };
        let fewer = over + checks <= data - over;
        let modify = lost_others > 0 || lost_targets == 0 && fewer;
        if modify {
            targets().chain(parities()).for_each(|disk| plan.push(pre_read(disk)));
        } else {
            others().for_each(|disk| plan.push(pre_read(disk)));
        }
        plan.end_phase();
        let approach = match (modify, self.rewrite) {
            (false, _) => Approach::Reconstruct,
            (true, Rewrite::Rotation) => Approach::Rewrite,
            (true, Rewrite::RotationLessTransfer) => Approach::RewriteLess,
        };
        for disk in targets().chain(parities()) {
            plan.push(Access { approach, ..Access::new(disk, Op::Write, 1) });
        }
    }
}
