//! One server of a disk: what waits, what is served, and what was served last.

use crate::device::{Found, Heads, Moment, Motion, Task};
use crate::layout::Access;
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

impl<S> Task<S> {
    /// An access of request number `job`, which is in `slot`, at its disk.
    #[inline(always)]
    pub(super) fn new<H: Heads<Spot = S>>(
        heads: &H,
        slot: u32,
        job: u64,
        access: &Access,
        transfer: Span,
    ) -> Task<S> {
        let Access { op, approach, gate, counts, .. } = *access;
        let spot = heads.spot(access);
        let job = job as u32;
        Task { transfer, slot, job, op, approach, found: Found::Busy, gate, counts, spot }
    }
}

/// A server of a disk, and the queues of the disk.
#[derive(Debug)]
pub(super) struct Station<H: Heads> {
    pub(super) serving: Option<Task<H::Spot>>,
    /// First phases, in order of arrival.
    pub(super) normal: VecDeque<Task<H::Spot>>,
    /// Later phases: they go first.
    pub(super) urgent: VecDeque<Task<H::Spot>>,
    /// What is not of a request: it goes last.
    pub(super) background: VecDeque<Task<H::Spot>>,
    /// The lower bits of the number of the request that was served last, if any was.
    pub(super) last: Option<u32>,
    pub(super) busy: Span,
    pub(super) head: H::Head,
}

impl<H: Heads> Station<H> {
    pub(super) fn new(head: H::Head) -> Station<H> {
        Station {
            head,
            serving: None,
            normal: VecDeque::new(),
            urgent: VecDeque::new(),
            background: VecDeque::new(),
            last: None,
            busy: Span::ZERO,
        }
    }

    /// How many accesses of requests wait.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.normal.len() + self.urgent.len()
    }

    /// Starts to serve an access: when it ends, and how the head gets there.
    #[inline(always)]
    pub(super) fn serve(
        &mut self,
        heads: &H,
        task: Task<H::Spot>,
        now: Time,
        between_phases: Span,
    ) -> (Time, Motion) {
        let own = self.last == Some(task.job);
        let moment = Moment { now, own, waiting: self.waiting(), between_phases };
        let (positioning, motion) = heads.position(&mut self.head, &task, moment);
        let service = positioning + task.transfer;
        self.busy += service;
        self.serving = Some(task);
        (now + service, motion)
    }

    /// Takes the next access to serve.
    #[inline]
    pub(super) fn take(&mut self, heads: &H, now: Time) -> Option<Task<H::Spot>> {
        let waiting = match (self.urgent.is_empty(), self.normal.is_empty()) {
            (false, _) => &mut self.urgent,
            (true, false) => &mut self.normal,
            (true, true) => return self.background.pop_front(),
        };
        match heads.choose(&self.head, waiting, now) {
            0 => waiting.pop_front(),
            chosen => waiting.remove(chosen),
        }
    }
}
