//! The fork of a request: how many accesses it has, and on how many disks.

use crate::device::Op;
use crate::layout::{AccessPlan, Layout};

/// Requests of `accesses` accesses at once, alike in all but their disks, which are any of `disks`
/// disks with equal probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The number of accesses of a request, each on another disk.
    pub accesses: u32,
    /// The number of disks that such requests come to.
    pub disks: u32,
    /// The number of blocks of each access.
    pub blocks: u32,
}

/// The reason why there is no [`Fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unlike {
    /// Later phases wait for earlier ones.
    Phases,
    /// Requests do not wait for all of their accesses.
    Needs,
    /// Accesses, or disks, are not alike.
    Accesses,
}

/// The most ways in which a request may lie for all of them to be looked at.
pub(super) const MOST_WAYS: u64 = 1 << 16;

impl Fork {
    /// The fork of requests of `blocks` blocks, by all the ways in which they can lie.
    pub(super) fn of(layout: &Layout, op: Op, blocks: u32) -> Result<Fork, Unlike> {
        let mut plan = AccessPlan::new(layout.disks());
        let mut counts = vec![0_u64; layout.disks()];
        let mut first = None;
        let ways = layout.ways(op);
        if ways > MOST_WAYS {
            return Err(Unlike::Accesses);
        }
        for way in 0..ways {
            layout.lay(op, blocks, way, &mut plan);
            if plan.phases() > 1 {
                return Err(Unlike::Phases);
            }
            if !plan.waits_for_all() {
                return Err(Unlike::Needs);
            }
            let accesses = plan.accesses();
            let shape = (accesses.len() as u32, accesses[0].blocks);
            let alike = accesses.iter().all(|access| access.blocks == shape.1);
            if *first.get_or_insert(shape) != shape || !alike {
                return Err(Unlike::Accesses);
            }
            accesses.iter().for_each(|access| counts[usize::from(access.disk)] += 1);
        }
        let (accesses, blocks) = first.expect("a layout has at least one way");
        counts.retain(|&count| count > 0);
        match counts.iter().all(|&count| count == counts[0]) {
            true => Ok(Fork { accesses, disks: counts.len() as u32, blocks }),
            false => Err(Unlike::Accesses),
        }
    }

    /// Whether every such request comes to every disk.
    pub(super) fn is_full(&self) -> bool {
        self.accesses == self.disks
    }
}
