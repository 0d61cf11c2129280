//! Requests without events: where each disk serves first come, first served, and no end of an access
//! leads to another, the end of an access is known when it comes.

use super::lindley::Single;
use super::plans::Plans;
use super::servers::Servers;
use super::{Figures, Join, Scene, Sink};
use crate::device::{Heads, Motion};
use crate::layout::Access;
use crate::workload::{LATEST, Request};
use sojourn_core::{Cancelled, Progress, Span, Streams, Time};
use std::sync::atomic::Ordering;

/// A disk that says at the arrival of an access when it ends.
pub(super) trait Station<H: Heads> {
    /// Disk number `disk`, idle.
    fn new(heads: &H, streams: Streams, disk: u64) -> Self;

    /// Serves an access that comes at `arrives`.
    fn serve(&mut self, heads: &H, access: &Access, arrives: Time) -> Served;

    /// For how long it was busy.
    fn busy(&self) -> Span;
}

/// How an access was served.
pub(super) struct Served {
    pub(super) transfer: Span,
    pub(super) motion: Motion,
    pub(super) ended: Time,
}

/// How many requests arrive between looks at the progress, and at whether time goes too far.
const LOOK_EVERY: u64 = 128;

/// What [`simulate`](super::simulate) gives, without its events. Only for requests whose plans have
/// one phase, and disks that serve first come, first served.
#[inline(never)]
pub fn sojourn_simulate_recursion<H: Heads, S: Sink>(
    scene: &Scene<H>,
    requests: impl Iterator<Item = Request>,
    sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    assert!(scene.rebuild.is_none(), "only requests");
    recur::<H, S, Single<H>>(scene, requests, sink, progress)
}

/// What [`recursion`](super::recursion) gives, of disks that serve several accesses at once and
/// have no heads. Only for requests whose plans have one phase.
#[inline(never)]
pub fn sojourn_simulate_parallel<H: Heads, S: Sink>(
    scene: &Scene<H>,
    requests: impl Iterator<Item = Request>,
    sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    recur::<H, S, Servers<H::Places>>(scene, requests, sink, progress)
}

#[inline(always)]
fn recur<H: Heads, S: Sink, D: Station<H>>(
    scene: &Scene<H>,
    mut requests: impl Iterator<Item = Request>,
    mut sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    let heads = &scene.heads;
    assert!(heads.in_order(), "only first come, first served");
    let disks = 0..scene.layout.disks() as u64;
    let mut disks: Vec<D> = disks.map(|disk| D::new(heads, scene.streams, disk)).collect();
    let mut plans = Plans::new(&scene.layout, &scene.layout, scene.unit, scene.streams);
    let mut figures = Figures::default();
    // When the request before is done, if that is waited for.
    let mut before = Time::ZERO;
    for job in 0..scene.requests {
        let Some(request) = requests.next() else { break };
        let plan = plans.of(&request, false);
        let plan = plans.plan(plan);
        assert!(plan.phases() == 1, "only plans of one phase");
        let arrives = before.max(request.arrived + scene.overhead);
        let mut finished = Time::ZERO;
        let mut ideal = Span::from_ps(1);
        for access in plan.accesses() {
            let disk = &mut disks[usize::from(access.disk)];
            let served = disk.serve(heads, access, arrives);
            ideal = ideal.max(served.transfer);
            finished = finished.max(served.ended);
            figures.count(served.motion);
        }
        sink.arrived(job, &request, ideal);
        sink.finished(job, finished);
        if scene.join == Join::SplitMerge {
            before = finished;
        }
        figures.ended = figures.ended.max(finished);
        if job.is_multiple_of(LOOK_EVERY) {
            progress.finished.store(job, Ordering::Relaxed);
            progress.simulated_ps.store(arrives.ps(), Ordering::Relaxed);
            if progress.cancelled.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
            if figures.ended > LATEST {
                break;
            }
        }
    }
    figures.late = figures.ended > LATEST;
    progress.finished.store(scene.requests, Ordering::Relaxed);
    figures.busy = disks.iter().map(Station::busy).collect();
    Ok((sink, figures))
}
