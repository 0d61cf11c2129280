//! Disks that serve several accesses at once, in order of arrival: the recursion of Kiefer and
//! Wolfowitz (*On the theory of queues with many servers*, Trans. AMS 78, 1955), disk by disk.

use super::plans::Plans;
use super::{Figures, Join, Scene, Sink};
use crate::positioning::{Heads, Motion};
use crate::workload::Request;
use sojourn_kernel::{Span, Time};
use sojourn_queueing::{Cancelled, Progress};
use std::sync::atomic::Ordering;

/// A disk: when each of its servers is idle again, and for how long they were busy in all.
struct Servers<P> {
    places: P,
    idle_from: Vec<Time>,
    busy: Span,
}

/// How many requests arrive between looks at the progress.
const LOOK_EVERY: u64 = 4096;

/// What [`recursion`](super::recursion) gives, of disks that serve several accesses at once
/// and have no heads. Only for requests whose plans have one phase.
#[inline(never)]
pub fn sojourn_simulate_parallel<H: Heads, S: Sink>(
    scene: &Scene<H>,
    requests: impl Iterator<Item = Request>,
    mut sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    let heads = &scene.heads;
    let servers = heads.servers();
    assert!(heads.in_order(), "only first come, first served");
    let disk = |disk| Servers {
        places: heads.places(scene.streams, disk),
        idle_from: vec![Time::ZERO; servers],
        busy: Span::ZERO,
    };
    let mut disks: Vec<_> = (0..scene.layout.disks() as u64).map(disk).collect();
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
            let disk = &mut disks[usize::from(access.disk)];
            let transfer = heads.transfer(heads.place(&mut disk.places), access);
            ideal = ideal.max(transfer);
            let first = disk.idle_from.iter_mut().min().expect("there are servers");
            *first = arrives.max(*first) + transfer;
            finished = finished.max(*first);
            disk.busy += transfer;
            figures.count(Motion::InPlace);
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
    figures.busy = disks.iter().map(|disk| disk.busy / servers as u64).collect();
    Ok((sink, figures))
}
