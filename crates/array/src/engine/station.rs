//! One disk of the array: what waits, what is served, and what was served last.

use super::draws::Moves;
use crate::disk::Op;
use crate::layout::{Access, Approach};
use sojourn_kernel::{Span, Stream, Streams};
use std::collections::VecDeque;

/// How a second phase's access found its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Serving somebody, or with a second phase's access waiting.
    Busy,
    /// Idle.
    Idle,
    /// Just done with the access that the phase waited for.
    JustDone,
}

/// An access under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) transfer: Span,
    /// The slot of its request.
    pub(super) slot: u32,
    pub(super) op: Op,
    pub(super) approach: Approach,
    pub(super) found: Found,
    pub(super) gate: bool,
    pub(super) counts: bool,
}

impl Task {
    #[inline]
    pub(super) fn new(slot: u32, access: &Access) -> Task {
        let Access { op, approach, gate, counts, transfer, .. } = *access;
        Task { transfer, slot, op, approach, found: Found::Busy, gate, counts }
    }
}

/// A disk and its queues.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) serving: Option<Task>,
    /// First phases, in order of arrival.
    pub(super) normal: VecDeque<Task>,
    /// Later phases: they go first.
    pub(super) urgent: VecDeque<Task>,
    /// The number of the request that was served last.
    pub(super) last: u64,
    pub(super) busy: Span,
    /// What its head draws.
    pub(super) moves: Moves,
    pub(super) rotations: Stream,
}

impl Station {
    pub(super) fn new(streams: Streams, disk: u64) -> Station {
        Station {
            moves: Moves::new(streams.stream("moves", disk)),
            rotations: streams.stream("rotations", disk),
            serving: None,
            normal: VecDeque::new(),
            urgent: VecDeque::new(),
            last: u64::MAX,
            busy: Span::ZERO,
        }
    }

    /// Whether an access of a first phase that comes now is served at once.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.serving.is_none() && self.normal.is_empty() && self.urgent.is_empty()
    }

    /// How many accesses wait.
    pub(super) fn waiting(&self) -> usize {
        self.normal.len() + self.urgent.len()
    }

    /// Takes the next access to serve.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Task> {
        if let Some(task) = self.urgent.pop_front() {
            return Some(task);
        }
        self.normal.pop_front()
    }
}
