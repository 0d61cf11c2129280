//! What requests of one kind come down to.

use crate::disk::Op;
use crate::layout::{Layout, Plan};
use sojourn_kernel::Streams;

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

/// How many plans are looked at.
const PLANS: u32 = 4096;
/// By how many standard deviations a disk's share may be off, as chance will have it.
const CHANCE: f64 = 5.0;

impl Fork {
    /// That of requests of `blocks` blocks. Many plans are looked at, so that a layout need not know
    /// of this.
    pub(super) fn of(layout: &Layout, op: Op, blocks: u32) -> Result<Fork, Unlike> {
        let mut stream = Streams::new(0, 0).stream("forks", 0);
        let mut plan = Plan::new(layout.disks());
        let mut counts = vec![0_u32; layout.disks()];
        let mut first = None;
        for _ in 0..PLANS {
            layout.lay(op, blocks, stream.below(layout.ways(op)), &mut plan);
            if plan.phases() > 1 {
                return Err(Unlike::Phases);
            }
            let accesses = plan.accesses();
            let shape = (accesses.len() as u32, accesses[0].blocks);
            if *first.get_or_insert(shape) != shape
                || accesses.iter().any(|access| access.blocks != shape.1)
            {
                return Err(Unlike::Accesses);
            }
            accesses.iter().for_each(|access| counts[usize::from(access.disk)] += 1);
        }
        let (accesses, blocks) = first.expect("there are plans");
        counts.retain(|&count| count > 0);
        let disks = counts.len() as u32;
        let share = f64::from(accesses) / f64::from(disks);
        let mean = f64::from(PLANS) * share;
        let most = CHANCE * (mean * (1.0 - share)).sqrt();
        match counts.iter().all(|&count| (f64::from(count) - mean).abs() <= most) {
            true => Ok(Fork { accesses, disks, blocks }),
            false => Err(Unlike::Accesses),
        }
    }

    /// Whether every such request comes to every disk.
    pub(super) fn is_full(&self) -> bool {
        self.accesses == self.disks
    }
}
