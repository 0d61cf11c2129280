//! Stripes with rotating parity, for requests with addresses.
//!
//! Rows of units lie as in Linux's `left-symmetric` layouts: in the first row parity is on the last
//! disk (the second one of RAID 6 on the first), in each row after it one disk further to the left,
//! and data begins behind the parity, so that units go round all disks in turn.

use super::block_run::{Piece, Run};
use super::parity::{Stripes, Way};
use super::{Access, AccessPlan, Approach, Done};
use crate::device::Op;

/// The part of a row that a write covers, where it does not fill the row.
struct Part {
    row: u64,
    /// The first and the last of its data units that are written.
    units: (u16, u16),
    /// Which blocks of a unit are written, of the first, of the last, and of any.
    first: (u32, u32),
    last: (u32, u32),
    any: (u32, u32),
}

impl Stripes<'_> {
    /// The disk with the first parity of a row.
    fn parity_of(&self, row: u64) -> u16 {
        self.disks - 1 - (row % u64::from(self.disks)) as u16
    }

    /// The disk with data unit `unit` of a row.
    pub(super) fn disk_of(&self, row: u64, unit: u16) -> u16 {
        self.disk(self.parity_of(row), (self.parities + unit) % self.disks)
    }

    /// Adds the accesses of a request with an address.
    pub(super) fn lay_at(&self, run: Run, plan: &mut AccessPlan) {
        match run.op {
            Op::Read => self.read_at(run, plan),
            Op::Write => self.write_at(run, plan),
        }
    }

    /// A read: one access a disk, which passes over parity in between. A unit on a failed disk is
    /// computed from what is left of its row.
    fn read_at(&self, run: Run, plan: &mut AccessPlan) {
        let data = u64::from(self.data());
        for Piece { unit, from, to } in run.pieces() {
            let row = unit / data;
            let at = row * u64::from(run.unit) + u64::from(from);
            let mut read = |disk| plan.cover(disk, Op::Read, at, to - from);
            let disk = self.disk_of(row, (unit % data) as u16);
            if self.is_alive(disk) {
                read(disk);
                continue;
            }
            let disks = (0..self.data()).map(|unit| self.disk_of(row, unit));
            let (left, lost): (Vec<u16>, Vec<u16>) = disks.partition(|&disk| self.is_alive(disk));
            let checks = self.checks(self.parity_of(row)).take(lost.len());
            left.into_iter().chain(checks).for_each(&mut read);
        }
    }

    /// A write: the rows that it fills, and the parts of a row before and behind them.
    fn write_at(&self, run: Run, plan: &mut AccessPlan) {
        let unit = u64::from(run.unit);
        let row = u64::from(self.data()) * unit;
        let end = run.first + u64::from(run.blocks);
        let (full_from, full_to) = (run.first.div_ceil(row), end / row);
        let ends = [run.first / row, (end - 1) / row];
        let parts = ends[..if ends[0] == ends[1] { 1 } else { 2 }].iter();
        let parts: Vec<Part> = parts
            .filter(|&row| !(full_from..full_to).contains(row))
            .map(|&number| self.part(number, run, row))
            .collect();
        let has_checks = |part: &&Part| self.checks(self.parity_of(part.row)).next().is_some();
        let two_phases = parts.iter().any(|part| has_checks(&part));
        let full = full_from < full_to;
        if full {
            let counts = !(two_phases && self.done == Done::SecondPhase);
            let blocks = ((full_to - full_from) * unit) as u32;
            for disk in (0..self.disks).filter(|&disk| self.is_alive(disk)) {
                plan.cover(disk, Op::Write, full_from * unit, blocks);
            }
            plan.accesses_mut().iter_mut().for_each(|access| access.counts = counts);
        }
        for part in parts.iter().filter(|part| !has_checks(part)) {
            // No parity to keep consistent.
            self.targets(part).filter(|target| self.is_alive(target.0)).for_each(
                |(disk, (from, to))| {
                    plan.cover(disk, Op::Write, part.row * unit + u64::from(from), to - from);
                },
            );
        }
        for part in parts.iter().filter(has_checks) {
            for (disk, (from, to)) in self.ahead(part) {
                let at = part.row * unit + u64::from(from);
                plan.push(Access { at, blocks: to - from, ..self.read_ahead(disk, full) });
            }
        }
        plan.end_phase();
        for part in parts.iter().filter(has_checks) {
            let ahead = self.ahead(part);
            let checks = self.checks(self.parity_of(part.row)).map(|disk| (disk, part.any));
            let targets = self.targets(part).filter(|target| self.is_alive(target.0));
            for (disk, (from, to)) in targets.chain(checks) {
                let approach = match ahead.iter().any(|read| read.0 == disk) {
                    true => self.way_back(),
                    false => Approach::Reconstruct,
                };
                let at = part.row * unit + u64::from(from);
                plan.push(Access { at, approach, ..Access::new(disk, Op::Write, to - from) });
            }
        }
    }

    /// The part of row `number`, of `row` blocks of data, that a write covers.
    fn part(&self, number: u64, run: Run, row: u64) -> Part {
        let first = run.first.max(number * row);
        let end = (run.first + u64::from(run.blocks)).min((number + 1) * row);
        let part = Run { first, blocks: (end - first) as u32, ..run };
        let data = u64::from(self.data());
        let mut pieces = part.pieces();
        let first = pieces.next().expect("a part has blocks in its row");
        let last = pieces.last();
        let of_row = |piece: Piece| (piece.unit % data) as u16;
        Part {
            row: number,
            units: (of_row(first), of_row(last.unwrap_or(first))),
            first: (first.from, first.to),
            last: last.map_or((first.from, first.to), |last| (last.from, last.to)),
            any: last.map_or((first.from, first.to), |_| (0, run.unit)),
        }
    }

    /// The data disks that a part writes to, failed ones too, and which blocks of their units.
    fn targets(&self, part: &Part) -> impl Iterator<Item = (u16, (u32, u32))> {
        let (first, last) = part.units;
        (first..=last).map(move |unit| {
            let blocks = match unit {
                _ if unit == first => part.first,
                _ if unit == last => part.last,
                _ => part.any,
            };
            (self.disk_of(part.row, unit), blocks)
        })
    }

    /// The disks that a part has to read before it writes, and which blocks of the units there.
    fn ahead(&self, part: &Part) -> Vec<(u16, (u32, u32))> {
        let alive = |read: &(u16, (u32, u32))| self.is_alive(read.0);
        let (first, last) = part.units;
        let units = (0..self.data()).filter(|unit| !(first..=last).contains(unit));
        let others = units.map(|unit| (self.disk_of(part.row, unit), part.any));
        let (others, lost_others): (Vec<_>, Vec<_>) = others.partition(alive);
        let (targets, lost_targets): (Vec<_>, Vec<_>) = self.targets(part).partition(alive);
        let checks: Vec<_> =
            self.checks(self.parity_of(part.row)).map(|disk| (disk, part.any)).collect();
        // Blocks that are not overwritten, of the units that are written to, count as those of the
        // other units do.
        let partial = targets.iter().filter(|target| target.1 != part.any);
        let rest: Vec<_> =
            partial.map(|&(disk, _)| (disk, part.any)).chain(others.clone()).collect();
        // So do the blocks that are not overwritten of a lost unit.
        let lost_partial = lost_targets.iter().filter(|target| target.1 != part.any).count();
        let way = self.way(
            [targets.len() + checks.len(), rest.len()],
            lost_targets.len() as u16,
            (lost_others.len() + lost_partial) as u16,
        );
        match way {
            Way::Modify => [targets, checks].concat(),
            Way::Reconstruct => rest,
            Way::Restore => {
                let all = targets.iter().map(|&(disk, _)| (disk, part.any)).collect();
                [all, others, checks].concat()
            }
        }
    }
}
