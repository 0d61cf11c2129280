//! Simulation without events: where each disk serves first come, first served, and no end of an
//! access causes another access, the end of an access is known as it arrives.

use super::planner::{PlanCache, nth_least};
use super::{AccessCounts, Join, Scenario, Sink};
use crate::device::{InOrder, PositioningCost, Service, ServiceModel};
use crate::layout::{Access, AccessPlan};
use crate::workload::{LATEST, Request};
use sojourn_core::{Cancelled, Progress, Span, Streams, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;

/// A disk that computes at the arrival of an access when it ends.
trait ForwardDisk<M: ServiceModel> {
    /// Disk number `disk`, idle.
    fn new(model: &M, streams: Streams, disk: u64) -> Self;

    /// Serves an access that arrives at `arrives`.
    fn serve(&mut self, model: &M, access: &Access, arrives: Time) -> Served;

    /// The time that the disk was busy until `until`.
    fn busy(&self, model: &M, until: Time) -> Span;
}

/// The service of an access: its transfer time, what positioning took, its end.
struct Served {
    transfer: Span,
    cost: PositioningCost,
    ended: Time,
}

/// The number of requests between two updates of the progress, and checks of the time against
/// [`LATEST`].
const LOOK_EVERY: u64 = 128;

/// Simulates as [`simulate`](super::simulate) does, without its events. Panics unless plans have one
/// phase, disks serve first come, first served, and nothing is rebuilt.
#[inline(never)]
pub fn sojourn_simulate_recursion<M: ServiceModel, S: Sink>(
    scenario: &Scenario<M>,
    requests: impl Iterator<Item = Request>,
    sink: S,
    progress: &Progress,
) -> Result<(S, AccessCounts), Cancelled> {
    assert!(scenario.rebuild.is_none(), "only requests");
    recur::<M, S, Single<M>>(scenario, requests, sink, progress)
}

/// Simulates as [`recursion`](super::recursion) does, with disks that serve several accesses at once.
#[inline(never)]
pub fn sojourn_simulate_parallel<M: ServiceModel, S: Sink>(
    scenario: &Scenario<M>,
    requests: impl Iterator<Item = Request>,
    sink: S,
    progress: &Progress,
) -> Result<(S, AccessCounts), Cancelled> {
    recur::<M, S, Servers<M>>(scenario, requests, sink, progress)
}

#[inline(always)]
fn recur<M: ServiceModel, S: Sink, D: ForwardDisk<M>>(
    scenario: &Scenario<M>,
    mut requests: impl Iterator<Item = Request>,
    mut sink: S,
    progress: &Progress,
) -> Result<(S, AccessCounts), Cancelled> {
    let model = &scenario.model;
    assert!(model.in_order(), "only first come, first served");
    let disks = 0..scenario.layout.disks() as u64;
    let mut disks: Vec<D> = disks.map(|disk| D::new(model, scenario.streams, disk)).collect();
    let mut plans =
        PlanCache::new(&scenario.layout, &scenario.layout, scenario.unit, scenario.streams);
    let mut counts = AccessCounts::default();
    let mut any_of = AnyOf::default();
    // The end of the request before, in split-merge.
    let mut before = Time::ZERO;
    for job in 0..scenario.requests {
        let Some(request) = requests.next() else { break };
        let plan = plans.of(&request, false);
        let plan = plans.plan(plan);
        let arrives = before.max(request.arrived + scenario.overhead);
        let mut finished = Time::ZERO;
        let mut ideal = Span::from_ps(1);
        if plan.is_simple() {
            for access in plan.accesses() {
                let disk = &mut disks[usize::from(access.disk)];
                let served = disk.serve(model, access, arrives);
                ideal = ideal.max(served.transfer);
                finished = finished.max(served.ended);
                counts.count(served.cost);
            }
        } else {
            (finished, ideal) = any_of.serve(model, &mut disks, plan, arrives);
        }
        sink.arrived(job, &request, ideal);
        sink.finished(job, finished);
        if scenario.join == Join::SplitMerge {
            before = finished.max(any_of.left_until);
        }
        counts.ended = counts.ended.max(finished);
        if job.is_multiple_of(LOOK_EVERY) {
            progress.finished.store(job, Ordering::Relaxed);
            progress.simulated_ps.store(arrives.ps(), Ordering::Relaxed);
            if progress.is_cancelled() {
                return Err(Cancelled);
            }
            if counts.ended > LATEST {
                break;
            }
        }
    }
    progress.finished.store(scenario.requests, Ordering::Relaxed);
    counts.add(&any_of.counts);
    counts.late = counts.ended.max(any_of.left_until) > LATEST;
    counts.busy = disks.iter().map(|disk| disk.busy(model, counts.ended)).collect();
    Ok((sink, counts))
}

/// Serves requests that need only some of their accesses. Their accesses are counted here, so that
/// what is counted of the others stays in registers.
#[derive(Default)]
struct AnyOf {
    counts: AccessCounts,
    /// The latest end of any of their accesses.
    left_until: Time,
    /// Ends and transfer times of the accesses of which a request needs some.
    ends: Vec<Time>,
    transfers: Vec<Span>,
}

impl AnyOf {
    /// Serves a request; its end, and its least sojourn time.
    #[cold]
    fn serve<M: ServiceModel, D: ForwardDisk<M>>(
        &mut self,
        model: &M,
        disks: &mut [D],
        plan: &AccessPlan,
        arrives: Time,
    ) -> (Time, Span) {
        assert!(plan.phases() == 1, "only plans of one phase");
        self.ends.clear();
        self.transfers.clear();
        for access in plan.accesses() {
            let served = disks[usize::from(access.disk)].serve(model, access, arrives);
            self.counts.count(served.cost);
            self.left_until = self.left_until.max(served.ended);
            if plan.leads_on(0, access) {
                self.ends.push(served.ended);
                self.transfers.push(served.transfer);
            }
        }
        let needs = plan.needs(0).unwrap_or(self.ends.len() as u32);
        let ideal = nth_least(&mut self.transfers, needs).max(Span::from_ps(1));
        (nth_least(&mut self.ends, needs), ideal)
    }
}

/// A disk that serves one access at a time, by the recursion of Lindley (*The theory of queues with a
/// single server*, Proc. Cambridge Phil. Soc. 48, 1952): a service starts at its arrival or at the end
/// of the one before it, whichever is later.
struct Single<M: ServiceModel> {
    device: M::InOrder,
    idle_from: Time,
    busy: Span,
}

impl<M: ServiceModel> ForwardDisk<M> for Single<M> {
    fn new(model: &M, streams: Streams, disk: u64) -> Self {
        let device = M::InOrder::new(model, streams, disk);
        Single { device, idle_from: Time::ZERO, busy: Span::ZERO }
    }

    #[inline(always)]
    fn serve(&mut self, model: &M, access: &Access, arrives: Time) -> Served {
        let now = arrives.max(self.idle_from);
        let (transfer, Service { takes, cost }) = self.device.start(model, access, now, 0);
        self.idle_from = now + takes;
        self.busy += takes;
        Served { transfer, cost, ended: self.idle_from }
    }

    fn busy(&self, model: &M, until: Time) -> Span {
        self.device.busy(model, self.busy, until)
    }
}

/// A disk that serves several accesses at once, by the recursion of Kiefer and Wolfowitz (*On the theory
/// of queues with many servers*, Trans. AMS 78, 1955): a service starts at its arrival or when the first
/// of the servers is idle, whichever is later.
struct Servers<M: ServiceModel> {
    device: M::InOrder,
    servers: usize,
    /// The ends of the accesses that are served, the first one first; of those that have ended, some may
    /// still be here.
    ends: BinaryHeap<Reverse<Time>>,
    /// The sum of the times that the servers were busy.
    busy: Span,
}

impl<M: ServiceModel> Servers<M> {
    /// Forgets the accesses that have ended at `now`.
    #[inline(always)]
    fn forget(&mut self, now: Time) {
        while self.ends.peek().is_some_and(|&Reverse(ends)| ends <= now) {
            self.ends.pop();
        }
    }
}

impl<M: ServiceModel> ForwardDisk<M> for Servers<M> {
    fn new(model: &M, streams: Streams, disk: u64) -> Self {
        let device = M::InOrder::new(model, streams, disk);
        let servers = model.servers();
        Servers { device, servers, ends: BinaryHeap::with_capacity(servers), busy: Span::ZERO }
    }

    #[inline(always)]
    fn serve(&mut self, model: &M, access: &Access, arrives: Time) -> Served {
        let mut now = arrives;
        self.forget(now);
        if self.ends.len() == self.servers {
            let Reverse(idle) = self.ends.pop().expect("a disk has at least one server");
            now = idle;
            self.forget(now);
        }
        let (transfer, Service { takes, cost }) =
            self.device.start(model, access, now, self.ends.len());
        let ended = now + takes;
        self.ends.push(Reverse(ended));
        self.busy += takes;
        Served { transfer, cost, ended }
    }

    fn busy(&self, model: &M, until: Time) -> Span {
        self.device.busy(model, self.busy / self.servers as u64, until)
    }
}
