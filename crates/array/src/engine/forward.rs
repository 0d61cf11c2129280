//! Requests without events: where each disk serves first come, first served, and no end of an access
//! leads to another, the end of an access is known when it comes.

use super::planner::Plans;
use super::{Figures, Join, Scene, Sink};
use crate::device::{Heads, Motion};
use crate::layout::Access;
use crate::workload::{LATEST, Request};
use sojourn_core::{Cancelled, Progress, Span, Streams, Time};
use std::sync::atomic::Ordering;

/// A disk that says at the arrival of an access when it ends.
trait ForwardDisk<H: Heads> {
    /// Disk number `disk`, idle.
    fn new(heads: &H, streams: Streams, disk: u64) -> Self;

    /// Serves an access that comes at `arrives`.
    fn serve(&mut self, heads: &H, access: &Access, arrives: Time) -> Served;

    /// For how long it was busy.
    fn busy(&self) -> Span;
}

/// How an access was served.
struct Served {
    transfer: Span,
    motion: Motion,
    ended: Time,
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
fn recur<H: Heads, S: Sink, D: ForwardDisk<H>>(
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
    figures.busy = disks.iter().map(ForwardDisk::busy).collect();
    Ok((sink, figures))
}

/// A disk that serves one access at a time, by the recursion of Lindley (*The theory of queues with a
/// single server*, Proc. Cambridge Phil. Soc. 48, 1952): a service starts at its arrival or at the end
/// of the one before it, whichever is later.
struct Single<H: Heads> {
    line: H::Line,
    idle_from: Time,
    busy: Span,
}

impl<H: Heads> ForwardDisk<H> for Single<H> {
    fn new(heads: &H, streams: Streams, disk: u64) -> Self {
        Single { line: heads.line(streams, disk), idle_from: Time::ZERO, busy: Span::ZERO }
    }

    #[inline(always)]
    fn serve(&mut self, heads: &H, access: &Access, arrives: Time) -> Served {
        let now = arrives.max(self.idle_from);
        let (positioning, transfer, motion) = heads.serve(&mut self.line, access, now);
        let service = positioning + transfer;
        self.idle_from = now + service;
        self.busy += service;
        Served { transfer, motion, ended: self.idle_from }
    }

    fn busy(&self) -> Span {
        self.busy
    }
}

/// A disk without a head that serves several accesses at once, by the recursion of Kiefer and Wolfowitz
/// (*On the theory of queues with many servers*, Trans. AMS 78, 1955): a service starts at its arrival
/// or when the first of the servers is idle, whichever is later.
struct Servers<P> {
    places: P,
    /// When each server is idle again.
    idle_from: Vec<Time>,
    /// For how long they were busy in all.
    busy: Span,
}

impl<H: Heads> ForwardDisk<H> for Servers<H::Places> {
    fn new(heads: &H, streams: Streams, disk: u64) -> Self {
        Servers {
            places: heads.places(streams, disk),
            idle_from: vec![Time::ZERO; heads.servers()],
            busy: Span::ZERO,
        }
    }

    #[inline(always)]
    fn serve(&mut self, heads: &H, access: &Access, arrives: Time) -> Served {
        let transfer = heads.transfer(heads.place(&mut self.places), access);
        let idle_from = self.idle_from.iter().enumerate();
        let (first, &idle) = idle_from.min_by_key(|(_, ends)| **ends).expect("there are servers");
        let starts = arrives.max(idle);
        let others = || self.idle_from.iter().filter(|&&ends| ends > starts).count();
        let service = heads.slowed(transfer, others);
        let ended = starts + service;
        self.idle_from[first] = ended;
        self.busy += service;
        Served { transfer, motion: Motion::InPlace, ended }
    }

    fn busy(&self) -> Span {
        self.busy / self.idle_from.len() as u64
    }
}
