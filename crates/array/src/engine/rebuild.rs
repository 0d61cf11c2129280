//! The rebuild of failed disks while the array serves.

use crate::device::Op;
use crate::layout::{Access, RebuildSource};
use sojourn_core::{Span, Time};

/// A rebuild: of what, and how fast.
#[derive(Clone, Debug)]
pub struct Rebuild {
    /// The disks that are read, and those that are written.
    pub source: RebuildSource,
    /// The number of blocks of each failed disk that are rebuilt.
    pub blocks: u64,
    /// The number of blocks that are rebuilt at a time.
    pub chunk: u32,
    /// The time between a chunk's end and the next one's beginning.
    pub gap: Span,
}

/// The progress of a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Blocks of each failed disk that are there again.
    pub blocks: u64,
    /// Accesses that were made for it.
    pub accesses: u64,
    /// The end of the rebuild, if that was before the end of the last request.
    pub ended: Option<Time>,
}

/// The slot of accesses that belong to no request.
pub(super) const NO_REQUEST: u32 = u32::MAX;

/// A rebuild under way: chunk after chunk, each read, then written.
#[derive(Debug)]
pub(super) struct RebuildRun<'a> {
    rebuild: &'a Rebuild,
    pub(super) done: Rebuilt,
    /// The time at which the next chunk begins; never while one is under way.
    pub(super) next: Time,
    /// Accesses of the chunk that are not done.
    left: usize,
    writes: bool,
}

impl<'a> RebuildRun<'a> {
    pub(super) fn new(rebuild: &'a Rebuild) -> RebuildRun<'a> {
        let done = Rebuilt::default();
        RebuildRun { rebuild, done, next: Time::ZERO, left: 0, writes: false }
    }

    fn blocks(&self) -> u32 {
        u64::from(self.rebuild.chunk).min(self.rebuild.blocks - self.done.blocks) as u32
    }

    /// The next accesses: reads of a chunk, or writes of what was read.
    pub(super) fn accesses(&mut self) -> Vec<Access> {
        let RebuildSource { from, reads, to, .. } = &self.rebuild.source;
        let (at, blocks) = (self.done.blocks, self.blocks());
        let access = |&disk: &u16, op| Access { at, ..Access::new(disk, op, blocks) };
        // Whose turn it is not to be read goes round with the chunks.
        let first = (at / u64::from(self.rebuild.chunk)) as usize % from.len();
        let accesses: Vec<Access> = match self.writes {
            true => to.iter().map(|disk| access(disk, Op::Write)).collect(),
            false => {
                let turn = from.iter().cycle().skip(first).take(*reads);
                turn.map(|disk| access(disk, Op::Read)).collect()
            }
        };
        self.left = accesses.len();
        self.next = Time::NEVER;
        accesses
    }

    /// Accounts for the end of one of these accesses; whether the next ones follow at once.
    pub(super) fn complete(&mut self, now: Time) -> bool {
        self.done.accesses += 1;
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.writes = !self.writes;
        if self.writes {
            return true;
        }
        // The last chunk may be shorter than the others.
        self.done.blocks += u64::from(self.blocks());
        if self.done.blocks == self.rebuild.blocks {
            self.done.ended = Some(now);
        } else {
            self.next = now + self.rebuild.gap;
        }
        false
    }
}
