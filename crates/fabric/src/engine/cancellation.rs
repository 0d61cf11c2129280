//! Progress and cancellation of a run. The engine looks for a cancel after a number of windows, or earlier where
//! much happens in them: a window is as long as a link, and all flows of a case may start in one.

use super::port::{Boundary, SwitchMemory};
use super::{Cancelled, Engine};
use crate::queue::Queue;
use crate::transport::Transport;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;

/// Windows between two looks at [`Progress`](super::Progress).
const WINDOWS: u64 = 256;

/// Windows between two counts of what happened in them.
pub(super) const FEW_WINDOWS: u64 = 16;

/// Hops and turns of hosts between two looks, where fewer windows have that many.
pub(super) const EVENTS: u64 = 256;

/// What `simulate` finds, unless the run is cancelled.
pub(super) fn unless_cancelled<R>(
    simulate: impl FnOnce() -> Result<R, Cancelled>,
) -> Result<R, Cancelled> {
    match catch_unwind(AssertUnwindSafe(simulate)) {
        Ok(found) => found,
        Err(payload) if payload.is::<Cancelled>() => Err(Cancelled),
        Err(panic) => resume_unwind(panic),
    }
}

impl<D: Queue, T: Transport, S: SwitchMemory, B: Boundary> Engine<'_, D, T, S, B> {
    /// Looks at [`Progress`](super::Progress) after a number of windows, or of hops and turns.
    #[inline(never)]
    pub(super) fn look_up(&mut self) {
        if self.windows.is_multiple_of(WINDOWS) {
            self.report();
            self.heed_cancel();
        }
        self.heed_cancel_in_time();
    }

    /// Says how far this side is, and whether code of the study has failed.
    pub(super) fn report(&self) {
        let queues = self.ports.iter().find_map(|port| port.queue.failure());
        self.transport.failure().or(queues).into_iter().for_each(|why| self.progress.fail(why));
        let finished = (self.all - self.unfinished) as u64;
        self.progress.finished.store(finished, Ordering::Relaxed);
        let now = self.fabric.links.wheel.begins().ps();
        self.progress.simulated_ps.store(now, Ordering::Relaxed);
    }

    /// Calls [`heed_cancel`](Engine::heed_cancel) after a number of hops and turns.
    #[inline]
    pub(super) fn heed_cancel_in_time(&mut self) {
        let counts = &self.fabric.links.counts;
        if counts.hops + counts.turns >= self.look_at {
            self.heed_cancel();
        }
    }

    /// Ends the run if it was cancelled: unwinds to [`unless_cancelled`]. So the loops over packets need
    /// no second way out, which would cost 3 % of the instructions of a hop.
    #[cold]
    #[inline(never)]
    pub(super) fn heed_cancel(&mut self) {
        let counts = &self.fabric.links.counts;
        self.look_at = counts.hops + counts.turns + EVENTS;
        if self.progress.is_cancelled() {
            resume_unwind(Box::new(Cancelled));
        }
    }
}
