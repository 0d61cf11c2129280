//! What requests of one kind come down to.

use crate::device::Op;
use crate::layout::{AccessPlan, Layout};

/// Requests that come down to `accesses` accesses at once, alike in all but their disks, which are
/// as likely these as others of `disks` disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// How many accesses, each on a disk of its own.
    pub accesses: u32,
    /// On how many disks such requests come at all.
    pub disks: u32,
    /// How many blocks each access has.
    pub blocks: u32,
}

/// Why there is no [`Fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unlike {
    /// Later phases wait for earlier ones.
    Phases,
    /// Accesses, or disks, are not alike.
    Accesses,
}

/// Of a layout where a request can lie in more ways, nothing is said.
const MOST_WAYS: u64 = 1 << 16;

impl Fork {
    /// That of requests of `blocks` blocks, by all the ways in which they can lie.
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
            let accesses = plan.accesses();
            let shape = (accesses.len() as u32, accesses[0].blocks);
            let alike = accesses.iter().all(|access| access.blocks == shape.1);
            if *first.get_or_insert(shape) != shape || !alike {
                return Err(Unlike::Accesses);
            }
            accesses.iter().for_each(|access| counts[usize::from(access.disk)] += 1);
        }
        let (accesses, blocks) = first.expect("there are plans");
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
