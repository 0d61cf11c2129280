//! The load of disks: for which share of the time they have work.

use super::Offered;
use super::forks::MOST_WAYS;
use crate::device::{Op, PARTS};
use crate::layout::{AccessPlan, Layout};

/// The share of the time for which the busiest part of a disk has work. Above one, more comes than is
/// served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// On average over all disks, also those that have failed.
    pub mean: f64,
    /// Of the busiest disk.
    pub busiest: f64,
}

impl Load {
    /// The load of the disks of a layout. `work` says for how many picoseconds an access keeps each part
    /// of its disk; `comes_back`, whether an access of a later phase is as much work as any other. None
    /// where that is not known, and where requests differ in size.
    pub(crate) fn of(
        layout: &Layout,
        comes_back: bool,
        offered: &Offered,
        work: impl Fn(Op, u32) -> Option<[f64; PARTS]>,
    ) -> Option<Load> {
        let Offered { rate, blocks, reads, .. } = *offered;
        if blocks.varies() {
            return None;
        }
        let mut disks = vec![[0.0; PARTS]; layout.disks()];
        let mut plan = AccessPlan::new(layout.disks());
        for (op, share) in [(Op::Read, reads), (Op::Write, 1.0 - reads)] {
            if share == 0.0 {
                continue;
            }
            let ways = layout.ways(op);
            if ways > MOST_WAYS {
                return None;
            }
            for way in 0..ways {
                layout.lay(op, blocks.mean as u32, way, &mut plan);
                if plan.phases() > 1 && !comes_back {
                    return None;
                }
                for access in plan.accesses() {
                    let parts = work(access.op, access.blocks)?;
                    let sums = &mut disks[usize::from(access.disk)];
                    for (sum, part) in sums.iter_mut().zip(parts) {
                        *sum += rate * share / ways as f64 * part;
                    }
                }
            }
        }
        let loads = disks.iter().map(|parts| parts.iter().copied().fold(0.0, f64::max));
        let loads: Vec<f64> = loads.collect();
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        Some(Load { mean, busiest: loads.into_iter().reduce(f64::max)? })
    }
}
