//! The load of disks: for which share of the time they have work.

use super::Offered;
use super::forks::MOST_WAYS;
use crate::device::{Op, PARTS};
use crate::layout::{AccessPlan, Layout};

/// The requests that make up a load, as disks see them.
pub(crate) struct Load<'a> {
    /// How requests are spread over disks.
    pub(crate) layout: &'a Layout,
    /// Whether an access of a later phase is as much work as any other.
    pub(crate) comes_back: bool,
}

impl Load<'_> {
    /// The share of the time for which the busiest part of the busiest disk has work: above one, more
    /// comes than is served. `work` says for how many picoseconds an access keeps each part. None where that is
    /// not known, and where requests differ in size.
    pub(crate) fn share(
        &self,
        offered: &Offered,
        work: impl Fn(Op, u32) -> Option<[f64; PARTS]>,
    ) -> Option<f64> {
        let Offered { rate, blocks, reads, .. } = *offered;
        if blocks.varies() {
            return None;
        }
        let mut busy = vec![[0.0; PARTS]; self.layout.disks()];
        let mut plan = AccessPlan::new(self.layout.disks());
        for (op, share) in [(Op::Read, reads), (Op::Write, 1.0 - reads)] {
            if share == 0.0 {
                continue;
            }
            let ways = self.layout.ways(op);
            if ways > MOST_WAYS {
                return None;
            }
            for way in 0..ways {
                self.layout.lay(op, blocks.mean as u32, way, &mut plan);
                if plan.phases() > 1 && !self.comes_back {
                    return None;
                }
                for access in plan.accesses() {
                    let parts = work(access.op, access.blocks)?;
                    for (sum, part) in busy[usize::from(access.disk)].iter_mut().zip(parts) {
                        *sum += rate * share / ways as f64 * part;
                    }
                }
            }
        }
        busy.iter().flatten().copied().reduce(f64::max)
    }
}
