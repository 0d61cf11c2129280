//! The rebuild of failed disks while the array serves.

use crate::device::Op;
use crate::layout::{Access, RebuildSource};
use sojourn_core::{Span, Time, choices};

choices! {
    /// Whether a rebuild reads while it writes.
    pub enum RebuildOrder: "order of a rebuild" {
        /// The next chunk is read while one is written, as today's controllers and Linux's md do: an idle
        /// array is rebuilt as fast as its slowest disk goes.
        Overlapping = "overlapping",
        /// A chunk is read when the one before it is written: half as fast.
        InTurn = "in-turn",
    }
}

/// A rebuild: of what, and how fast.
#[derive(Clone, Debug)]
pub struct Rebuild {
    /// The disks that are read, and those that are written.
    pub source: RebuildSource,
    /// The number of blocks of each failed disk that are rebuilt.
    pub blocks: u64,
    /// The number of blocks that are rebuilt at a time.
    pub chunk: u32,
    /// The time from when the next chunk could be read to when it is.
    pub gap: Span,
    /// Whether the rebuild reads while it writes.
    pub order: RebuildOrder,
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
    /// The time at which the next chunk is read; never while it cannot be.
    pub(super) next: Time,
    /// The first block that is not read yet, nor being read.
    unread: u64,
    /// Accesses that are not done of the chunk that is read, and of the one that is written.
    reads: usize,
    writes: usize,
    /// Whether a chunk is read and waits until the one before it is written.
    holds: bool,
}

impl<'a> RebuildRun<'a> {
    pub(super) fn new(rebuild: &'a Rebuild) -> RebuildRun<'a> {
        let (done, next) = (Rebuilt::default(), Time::ZERO);
        RebuildRun { rebuild, done, next, unread: 0, reads: 0, writes: 0, holds: false }
    }

    /// How many blocks the chunk from block `at` on has: the last one may be shorter than the others.
    fn blocks(&self, at: u64) -> u32 {
        u64::from(self.rebuild.chunk).min(self.rebuild.blocks - at) as u32
    }

    /// The reads of the next chunk.
    pub(super) fn read(&mut self) -> Vec<Access> {
        let RebuildSource { from, reads, .. } = &self.rebuild.source;
        let (at, blocks) = (self.unread, self.blocks(self.unread));
        // Whose turn it is not to be read goes round with the chunks.
        let first = (at / u64::from(self.rebuild.chunk)) as usize % from.len();
        let turn = from.iter().cycle().skip(first).take(*reads);
        let access = |&disk: &u16| Access { at, ..Access::new(disk, Op::Read, blocks) };
        let accesses: Vec<Access> = turn.map(access).collect();
        self.reads = accesses.len();
        self.unread += u64::from(blocks);
        self.next = Time::NEVER;
        accesses
    }

    /// The writes of the chunk that comes after all that is done.
    fn write(&mut self) -> Vec<Access> {
        let (at, blocks) = (self.done.blocks, self.blocks(self.done.blocks));
        let access = |&disk: &u16| Access { at, ..Access::new(disk, Op::Write, blocks) };
        let accesses: Vec<Access> = self.rebuild.source.to.iter().map(access).collect();
        self.writes = accesses.len();
        accesses
    }

    /// Lets the next chunk be read after the gap, if there is one.
    fn go_on(&mut self, now: Time) {
        if self.unread < self.rebuild.blocks {
            self.next = now + self.rebuild.gap;
        }
    }

    /// Accounts for the end of one of these accesses. Returns those that follow at once.
    pub(super) fn complete(&mut self, op: Op, now: Time) -> Vec<Access> {
        self.done.accesses += 1;
        let left = if op == Op::Read { &mut self.reads } else { &mut self.writes };
        *left -= 1;
        match (*left, op) {
            (1.., _) => Vec::new(),
            (0, Op::Read) => self.is_read(now),
            (0, Op::Write) => self.is_written(now),
        }
    }

    fn is_read(&mut self, now: Time) -> Vec<Access> {
        if self.writes > 0 {
            self.holds = true;
            return Vec::new();
        }
        if self.rebuild.order == RebuildOrder::Overlapping {
            self.go_on(now);
        }
        self.write()
    }

    fn is_written(&mut self, now: Time) -> Vec<Access> {
        self.done.blocks += u64::from(self.blocks(self.done.blocks));
        if self.done.blocks == self.rebuild.blocks {
            self.done.ended = Some(now);
        } else if std::mem::take(&mut self.holds) {
            self.go_on(now);
            return self.write();
        } else if self.rebuild.order == RebuildOrder::InTurn {
            self.go_on(now);
        }
        Vec::new()
    }
}
