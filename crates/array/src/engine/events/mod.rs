//! The event loop.

mod clients;

pub use clients::sojourn_simulate_clients;

use super::disks::Disks;
use super::planner::Planner;
use super::rebuild::{NO_REQUEST, RebuildRun};
use super::{AccessCounts, Join, Rebuilt, Scenario, Sink};
use crate::device::{Awaited, Op, ServiceModel, Task};
use crate::layout::{Access, AccessPlan, Phase};
use crate::workload::{LATEST, Request};
use sojourn_core::{Cancelled, Progress, Span, Time};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A request that has arrived and is not done.
#[derive(Clone, Copy, Debug, Default)]
struct PendingRequest {
    /// Its number, from 0.
    job: u64,
    /// Accesses that are not done, those of later phases too.
    left: u32,
    /// Accesses that are not done and that the request waits for; a phase that needs only some of its
    /// accesses stands here as one.
    counted: u32,
    /// Such accesses of the present phase that the next phase waits for.
    gates: u32,
    phase: u32,
}

/// The accesses of a request that are not issued on its arrival.
#[derive(Debug)]
struct LaterPhases<S> {
    /// Queues and accesses, phase by phase.
    tasks: Vec<(u16, Task<S>)>,
    phases: Vec<LaterPhase>,
}

/// A phase of such a request.
#[derive(Clone, Copy, Debug)]
struct LaterPhase {
    /// Where its accesses end, among all of the request.
    end: usize,
    /// For how many accesses, or for some of them together, the next phase waits.
    gates: u32,
    /// How many more accesses it needs, where that is not all of them.
    needs: u32,
}

impl<S> LaterPhases<S> {
    /// Marks the accesses of which phases need only some.
    #[cold]
    fn mark_any_of(&mut self, plan: &AccessPlan) {
        for number in (0..plan.phases()).filter(|&number| plan.needs(number).is_some()) {
            let any_of = Awaited::AnyOf(u8::try_from(number).expect("a plan has few phases"));
            let tasks = &mut self.tasks[plan.range(number)];
            for ((_, task), access) in tasks.iter_mut().zip(plan.phase(number)) {
                if plan.leads_on(number, access) {
                    (task.counts, task.awaited) = (false, any_of);
                }
            }
        }
    }
}

struct Engine<'a, M: ServiceModel, S> {
    scenario: &'a Scenario<M>,
    planner: Planner<'a, M>,
    disks: Disks<'a, M>,
    pending: Vec<PendingRequest>,
    /// By slot, the accesses that are issued after the arrival.
    later: Vec<LaterPhases<M::Spot>>,
    /// Slots of `pending` that no request has.
    free: Vec<u32>,
    /// Later phases that wait for the controller: when they begin, the request's slot, and the queue
    /// that they waited for. All wait equally long, so they are in order.
    delayed: VecDeque<(Time, u32, usize)>,
    /// Requests that wait for the end of the one before them, in split-merge.
    queued: VecDeque<u32>,
    /// Whether accesses that their request no longer needs are dropped where they wait.
    drops_late: bool,
    rebuild: Option<RebuildRun<'a>>,
    /// The time of the next event of `delayed` or `rebuild`.
    others: Time,
    /// The number of requests that were issued and have accesses that are not done.
    active: u64,
    finished: u64,
    ended: Time,
    sink: S,
}

/// The number of requests between two updates of the progress.
const LOOK_EVERY: u64 = 4096;

/// Simulates the first [`Scenario::requests`] of `requests` until all are done. Not inlined, so that
/// profilers can count this function alone.
#[inline(never)]
pub fn sojourn_simulate<M: ServiceModel, S: Sink>(
    scenario: &Scenario<M>,
    requests: impl Iterator<Item = Request>,
    sink: S,
    progress: &Progress,
) -> Result<(S, AccessCounts), Cancelled> {
    Engine::new(scenario, sink).run(requests, progress)
}

/// Simulates requests that all have one plan, which no layout need make.
#[cfg(test)]
pub(super) fn simulate_plan<M: ServiceModel, S: Sink>(
    scenario: &Scenario<M>,
    plan: &AccessPlan,
    requests: impl Iterator<Item = Request>,
    sink: S,
) -> (S, AccessCounts) {
    let mut engine = Engine::new(scenario, sink);
    engine.planner.always(plan);
    engine.run(requests, &Progress::default()).expect("nothing cancels it")
}

impl<'a, M: ServiceModel, S: Sink> Engine<'a, M, S> {
    fn new(scenario: &'a Scenario<M>, sink: S) -> Engine<'a, M, S> {
        Engine {
            scenario,
            planner: Planner::new(scenario),
            disks: Disks::new(scenario),
            pending: Vec::new(),
            later: Vec::new(),
            free: Vec::new(),
            delayed: VecDeque::new(),
            queued: VecDeque::new(),
            drops_late: scenario.layout.drops_late(),
            rebuild: scenario.rebuild.as_ref().map(RebuildRun::new),
            others: if scenario.rebuild.is_some() { Time::ZERO } else { Time::NEVER },
            active: 0,
            finished: 0,
            ended: Time::ZERO,
            sink,
        }
    }

    fn run(
        mut self,
        mut requests: impl Iterator<Item = Request>,
        progress: &Progress,
    ) -> Result<(S, AccessCounts), Cancelled> {
        let mut job = 0;
        loop {
            let next = if job < self.scenario.requests { requests.next() } else { None };
            let arrives =
                next.as_ref().map_or(LATEST, |request| request.arrived + self.scenario.overhead);
            // All events before its arrival, or before the latest time of a run; the run does not
            // wait for the end of a rebuild.
            while (next.is_some() || self.active > 0) && self.step(arrives) {}
            let Some(request) = next else { break };
            self.arrive(job, &request, arrives);
            job += 1;
            if job.is_multiple_of(LOOK_EVERY) {
                progress.finished.store(self.finished, Ordering::Relaxed);
                progress.simulated_ps.store(arrives.ps(), Ordering::Relaxed);
                if progress.is_cancelled() {
                    return Err(Cancelled);
                }
            }
        }
        progress.finished.store(self.finished, Ordering::Relaxed);
        let late = self.active > 0;
        let (sink, counts) = self.ended();
        Ok((sink, AccessCounts { late, ..counts }))
    }

    /// The sink, and the totals of a run that is over.
    fn ended(mut self) -> (S, AccessCounts) {
        self.disks.stop(self.ended);
        let counts = AccessCounts {
            rebuilt: self.rebuild.map_or(Rebuilt::default(), |rebuild| rebuild.done),
            busy: self.disks.busy(self.ended),
            ended: self.ended,
            ..self.disks.counts
        };
        (self.sink, counts)
    }

    /// Processes the next event, if that is not later than `until`; whether there was one.
    #[inline(always)]
    fn step(&mut self, until: Time) -> bool {
        let (server, ends) = self.disks.first();
        if ends <= self.others {
            if ends > until || ends == Time::NEVER {
                return false;
            }
            self.complete(server, ends);
            return true;
        }
        self.others <= until && self.begin_others()
    }

    /// Begins the next chunk of the rebuild, or else the next phase that was delayed.
    #[cold]
    fn begin_others(&mut self) -> bool {
        let now = self.others;
        if let Some(rebuild) = self.rebuild.as_mut().filter(|rebuild| rebuild.next == now) {
            let reads = rebuild.read();
            self.rebuild(&reads, now);
        } else {
            let (_, slot, last) =
                self.delayed.pop_front().expect("the next event is a delayed phase");
            self.begin_phase(slot, last, now);
        }
        self.look_ahead();
        true
    }

    /// Finds the time of the next event of `delayed` or `rebuild`.
    fn look_ahead(&mut self) {
        let begins = self.delayed.front().map_or(Time::NEVER, |delayed| delayed.0);
        let rebuilds = self.rebuild.as_ref().map_or(Time::NEVER, |rebuild| rebuild.next);
        self.others = begins.min(rebuilds);
    }

    #[inline(always)]
    fn arrive(&mut self, job: u64, request: &Request, now: Time) {
        let ideal = self.planner.next(request);
        self.sink.arrived(job, request, ideal);
        let slot = self.free.pop().unwrap_or_else(|| self.new_slot());
        let plan = self.planner.plan();
        let left = plan.accesses().len() as u32;
        let pending = PendingRequest { job, left, counted: left, gates: 0, phase: 0 };
        let waits = self.scenario.join == Join::SplitMerge && self.active > 0;
        if !plan.is_simple() || waits {
            self.arrive_in_parts(slot, pending, now);
            return;
        }
        self.pending[slot as usize] = pending;
        self.active += 1;
        for (access, transfer) in self.planner.accesses() {
            let task = Task::new(&self.scenario.model, slot, job, access, transfer);
            self.disks.issue(access.disk.into(), task, now);
        }
    }

    #[cold]
    fn new_slot(&mut self) -> u32 {
        self.pending.push(PendingRequest::default());
        self.later.push(LaterPhases { tasks: Vec::new(), phases: Vec::new() });
        self.pending.len() as u32 - 1
    }

    /// Takes in the request that has just arrived, where it is not issued whole, or not now.
    fn arrive_in_parts(&mut self, slot: u32, mut pending: PendingRequest, now: Time) {
        let plan = self.planner.plan();
        let later = &mut self.later[slot as usize];
        later.tasks.clear();
        later.tasks.extend(self.planner.accesses().map(|(access, transfer)| {
            let task = Task::new(&self.scenario.model, slot, pending.job, access, transfer);
            (access.disk, task)
        }));
        later.phases.clear();
        pending.counted = 0;
        for &Phase { end, needs, counted, gates } in plan.all_phases() {
            pending.counted += counted;
            later.phases.push(LaterPhase { end, gates, needs: needs.unwrap_or(0) });
        }
        if !plan.waits_for_all() {
            later.mark_any_of(plan);
        }
        self.pending[slot as usize] = pending;
        if self.scenario.join == Join::SplitMerge && self.active > 0 {
            self.queued.push_back(slot);
        } else {
            self.active += 1;
            self.begin_phase(slot, 0, now);
        }
    }

    /// Issues the accesses of the present phase of the request in `slot`; `last` is the queue that the
    /// phase waited for.
    fn begin_phase(&mut self, slot: u32, last: usize, now: Time) {
        let pending = &mut self.pending[slot as usize];
        let phase = pending.phase as usize;
        let later = &self.later[slot as usize];
        let start = if phase == 0 { 0 } else { later.phases[phase - 1].end };
        let LaterPhase { end, gates, .. } = later.phases[phase];
        let tasks = &later.tasks[start..end];
        pending.gates = gates;
        for &(queue, task) in tasks {
            match phase {
                0 => self.disks.issue(queue.into(), task, now),
                _ => self.disks.issue_later(queue.into(), task, last, now),
            }
        }
    }

    /// Ends the access that a server serves.
    #[inline(always)]
    fn complete(&mut self, server: usize, now: Time) {
        let task = self.disks.complete(server);
        if task.slot == NO_REQUEST {
            self.complete_rebuild(task.op, now);
        } else {
            self.complete_access(&task, server, now);
        }
        self.disks.go_on(server, now);
    }

    /// Accounts for the end of an access of a request.
    #[inline(always)]
    fn complete_access(&mut self, task: &Task<M::Spot>, server: usize, now: Time) {
        let pending = &mut self.pending[task.slot as usize];
        pending.left -= 1;
        pending.counted -= u32::from(task.counts);
        let mut left = pending.left;
        if task.counts && pending.counted == 0 {
            self.finish(task.slot, now);
        }
        match task.awaited {
            Awaited::No => {}
            Awaited::Gate => self.pass_gate(task.slot, server, now),
            Awaited::AnyOf(phase) => {
                self.pass_any_of(task.slot, phase, server, now);
                left = self.pending[task.slot as usize].left;
            }
        }
        if left == 0 {
            self.leave(task.slot, server, now);
        }
    }

    /// Accounts for the end of a request.
    #[inline(always)]
    fn finish(&mut self, slot: u32, now: Time) {
        self.finished += 1;
        self.ended = now;
        self.sink.finished(self.pending[slot as usize].job, now);
    }

    /// Accounts for the end of an access of a phase that does not need all of them.
    #[cold]
    fn pass_any_of(&mut self, slot: u32, number: u8, server: usize, now: Time) {
        let phase = &mut self.later[slot as usize].phases[usize::from(number)];
        if phase.needs == 0 {
            return;
        }
        phase.needs -= 1;
        if phase.needs > 0 {
            return;
        }
        let leads_on = phase.gates > 0;
        if self.drops_late {
            self.drop_late(slot, number);
        }
        let pending = &mut self.pending[slot as usize];
        pending.counted -= 1;
        if pending.counted == 0 {
            self.finish(slot, now);
        }
        if leads_on {
            self.pass_gate(slot, server, now);
        }
    }

    /// Drops the accesses of a phase that wait though their request no longer needs them.
    fn drop_late(&mut self, slot: u32, number: u8) {
        let LaterPhases { tasks, phases } = &self.later[slot as usize];
        let phase = usize::from(number);
        let start = if phase == 0 { 0 } else { phases[phase - 1].end };
        for &(queue, _) in &tasks[start..phases[phase].end] {
            if self.disks.drop_waiting(queue.into(), slot, number) {
                self.pending[slot as usize].left -= 1;
            }
        }
    }

    /// Accounts for the end of an access of the rebuild.
    #[cold]
    fn complete_rebuild(&mut self, op: Op, now: Time) {
        let rebuild = self.rebuild.as_mut().expect("an access of no request is of the rebuild");
        let next = rebuild.complete(op, now);
        let blocks = rebuild.done.blocks;
        self.planner.rebuilt(blocks);
        self.rebuild(&next, now);
        self.look_ahead();
    }

    /// Issues accesses of the rebuild.
    fn rebuild(&mut self, accesses: &[Access], now: Time) {
        for access in accesses {
            let access = self.planner.on_its_arm(access);
            let transfer = self.planner.transfer(&access);
            let task = Task::new(&self.scenario.model, NO_REQUEST, u64::MAX, &access, transfer);
            self.disks.issue_behind(access.disk.into(), task, now);
        }
    }

    /// Accounts for the end of an access that the next phase waits for.
    #[inline(always)]
    fn pass_gate(&mut self, slot: u32, server: usize, now: Time) {
        let pending = &mut self.pending[slot as usize];
        pending.gates -= 1;
        if pending.gates > 0 {
            return;
        }
        pending.phase += 1;
        let queue = self.disks.queue_served(server);
        match self.scenario.overhead + self.scenario.parity {
            Span::ZERO => self.begin_phase(slot, queue, now),
            delay => {
                self.delayed.push_back((now + delay, slot, queue));
                self.look_ahead();
            }
        }
    }

    /// Frees the slot of a request whose accesses are all done, and lets the next one of split-merge
    /// begin.
    #[inline(always)]
    fn leave(&mut self, slot: u32, server: usize, now: Time) {
        self.free.push(slot);
        self.active -= 1;
        if let Some(next) = self.queued.pop_front() {
            self.active += 1;
            self.begin_phase(next, self.disks.queue_served(server), now);
        }
    }
}
