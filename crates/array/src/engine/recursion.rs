//! The recursion of Lindley (1952), disk by disk: where each serves first come, first served, and no
//! end of an access leads to another, a service starts at its arrival or at the end of the one
//! before it, whichever is later.

use super::plans::Plans;
use super::{Figures, Join, Scene, Sink};
use crate::positioning::{Heads, Moment, Task};
use crate::workload::Request;
use sojourn_kernel::{Span, Time};
use sojourn_queueing::{Cancelled, Progress};
use std::sync::atomic::Ordering;

/// A disk.
struct Station<H: Heads> {
    places: H::Places,
    head: H::Head,
    idle_from: Time,
    busy: Span,
}

/// How many requests arrive between looks at the progress.
const LOOK_EVERY: u64 = 4096;

/// What [`simulate`](super::simulate) gives, without its events. Only for requests whose plans have
/// one phase, and disks that serve first come, first served.
#[inline(never)]
pub fn sojourn_simulate_recursion<H: Heads, S: Sink>(
    scene: &Scene<H>,
    requests: impl Iterator<Item = Request>,
    mut sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    let heads = &scene.heads;
    assert!(heads.in_order(), "only first come, first served");
    assert!(scene.rebuild.is_none(), "only requests");
    let disks = scene.layout.disks();
    let station = |disk| Station {
        places: heads.places(scene.streams, disk),
        head: heads.head(scene.streams, disk),
        idle_from: Time::ZERO,
        busy: Span::ZERO,
    };
    let mut stations: Vec<Station<H>> = (0..disks as u64).map(station).collect();
    let mut plans = Plans::new(&scene.layout, &scene.layout, scene.unit, scene.streams);
    let mut figures = Figures::default();
    let mut before = Time::ZERO;
    for (job, request) in (0..scene.requests).zip(requests) {
        let number = plans.of(&request, false);
        let plan = plans.plan(number);
        assert!(plan.phases() == 1, "only plans of one phase");
        let mut arrives = request.arrived + scene.overhead;
        if scene.join == Join::SplitMerge {
            arrives = arrives.max(before);
        }
        let mut finished = Time::ZERO;
        let mut ideal = Span::from_ps(1);
        for access in plan.accesses() {
            let station = &mut stations[usize::from(access.disk)];
            let transfer = heads.transfer(heads.place(&mut station.places), access);
            ideal = ideal.max(transfer);
            let now = arrives.max(station.idle_from);
            let moment = Moment { now, own: false, waiting: 0, between_phases: Span::ZERO };
            let task = Task::new(heads, 0, job, access, transfer);
            let (positioning, motion) = heads.position(&mut station.head, &task, moment);
            figures.count(motion);
            let service = positioning + transfer;
            station.idle_from = now + service;
            station.busy += service;
            finished = finished.max(station.idle_from);
        }
        sink.arrived(job, &request, ideal);
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
    figures.busy = stations.iter().map(|station| station.busy).collect();
    Ok((sink, figures))
}
