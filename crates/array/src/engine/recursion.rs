//! The recursion of Lindley (1952), disk by disk: where each serves first come, first served, and no
//! end of an access leads to another, a service starts at its arrival or at the end of the one
//! before it, whichever is later.

use super::draws::Moves;
use super::{Figures, Join, Planner, Scene, Sink};
use crate::disk::Drive;
use crate::scheduling::Scheduling;
use crate::workload::Request;
use sojourn_kernel::{Span, Time};
use sojourn_queueing::{Cancelled, Progress};
use std::sync::atomic::Ordering;

/// A disk.
struct Head {
    moves: Moves,
    idle_from: Time,
    busy: Span,
}

/// How many requests arrive between looks at the progress.
const LOOK_EVERY: u64 = 4096;

/// What [`simulate`](super::simulate) gives, without its events. Only for requests whose plans have
/// one phase, and disks that serve first come, first served.
#[inline(never)]
pub fn sojourn_simulate_recursion<D: Drive, S: Sink>(
    scene: &Scene<D>,
    requests: impl Iterator<Item = Request>,
    mut sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    assert!(matches!(scene.scheduling, Scheduling::Fcfs(_)), "only first come, first served");
    let disks = scene.layout.disks();
    let mut planner = Planner::new(scene);
    let streams = (0..disks as u64).map(|disk| scene.streams.stream("moves", disk));
    let head = |stream| Head { moves: Moves::new(stream), idle_from: Time::ZERO, busy: Span::ZERO };
    let mut heads: Vec<Head> = streams.map(head).collect();
    let mut figures = Figures::default();
    let mut before = Time::ZERO;
    for (job, request) in (0..scene.requests).zip(requests) {
        let ideal = planner.plan(request.op, request.blocks);
        let accesses = planner.plan.accesses();
        assert!(planner.plan.phases() == 1, "only plans of one phase");
        sink.arrived(job, &request, ideal);
        let mut arrives = request.arrived + scene.overhead;
        if scene.join == Join::SplitMerge {
            arrives = arrives.max(before);
        }
        let mut finished = Time::ZERO;
        for access in accesses {
            let head = &mut heads[usize::from(access.disk)];
            let to = head.moves.next(&scene.drive);
            let service = scene.drive.position(access.op, to) + access.transfer;
            let ends = arrives.max(head.idle_from) + service;
            head.idle_from = ends;
            head.busy += service;
            finished = finished.max(ends);
        }
        figures.accesses += accesses.len() as u64;
        sink.finished(job, finished);
        before = finished;
        figures.ended = figures.ended.max(finished);
        if job.is_multiple_of(LOOK_EVERY) {
            progress.finished.store(job, Ordering::Relaxed);
            progress.simulated_ps.store(arrives.ps(), Ordering::Relaxed);
            if progress.cancelled.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
        }
    }
    progress.finished.store(scene.requests, Ordering::Relaxed);
    figures.seeks = figures.accesses;
    figures.busy = heads.iter().map(|head| head.busy).collect();
    Ok((sink, figures))
}
