//! The event loop.

use super::station::{Found, Station, Task};
use super::timers::Timers;
use super::{Figures, Join, Planner, Scene, Sink};
use crate::disk::{Drive, Op};
use crate::layout::{Approach, Plan};
use crate::scheduling::Scheduling;
use crate::workload::Request;
use sojourn_kernel::{Span, Time};
use sojourn_queueing::{Cancelled, Progress};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A request under way.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// Its number, from 0.
    job: u64,
    /// Accesses that are not done, those of later phases too.
    left: u32,
    /// Those of them that it is not done without.
    counted: u32,
    /// Gates of the present phase that are not done.
    gates: u32,
    phase: u32,
}

struct Engine<'a, D, S> {
    scene: &'a Scene<D>,
    planner: Planner<'a, D>,
    stations: Vec<Station>,
    timers: Timers,
    open: Vec<Open>,
    /// By slot, where the plan is needed after the arrival.
    plans: Vec<Plan>,
    /// Slots of `open` that no request has.
    free: Vec<u32>,
    /// Later phases that wait for the controller: when they begin, the request's slot, and the disk
    /// that they waited for. The delay is the same for all, so they are in order.
    delayed: VecDeque<(Time, u32, usize)>,
    /// Requests that wait for the one before them to be done, in split-merge.
    queued: VecDeque<u32>,
    /// How many requests have been issued and are not done with all accesses.
    active: u64,
    finished: u64,
    figures: Figures,
    sink: S,
}

/// How many requests arrive between looks at the progress.
const LOOK_EVERY: u64 = 4096;

/// Simulates the first [`Scene::requests`] of `requests` until all are done. Not inlined, so that
/// profilers can count this function alone.
#[inline(never)]
pub fn sojourn_simulate<D: Drive, S: Sink>(
    scene: &Scene<D>,
    requests: impl Iterator<Item = Request>,
    sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    let disks = scene.layout.disks();
    let engine = Engine {
        scene,
        planner: Planner::new(scene),
        stations: (0..disks as u64).map(|disk| Station::new(scene.streams, disk)).collect(),
        timers: Timers::new(disks),
        open: Vec::new(),
        plans: Vec::new(),
        free: Vec::new(),
        delayed: VecDeque::new(),
        queued: VecDeque::new(),
        active: 0,
        finished: 0,
        figures: Figures::default(),
        sink,
    };
    engine.run(requests, progress)
}

impl<D: Drive, S: Sink> Engine<'_, D, S> {
    fn run(
        mut self,
        mut requests: impl Iterator<Item = Request>,
        progress: &Progress,
    ) -> Result<(S, Figures), Cancelled> {
        let mut job = 0;
        let mut next = self.upcoming(job, &mut requests);
        loop {
            let arrives = next.map_or(Time::NEVER, |request| request.arrived + self.scene.overhead);
            let begins = self.delayed.front().map_or(Time::NEVER, |delayed| delayed.0);
            let (disk, ends) = self.timers.first();
            if ends <= arrives && ends <= begins {
                if ends == Time::NEVER {
                    break;
                }
                self.complete(disk, ends);
            } else if begins <= arrives {
                let (_, slot, last) = self.delayed.pop_front().expect("it is first");
                self.begin_phase(slot, last, begins);
            } else if let Some(request) = next {
                self.arrive(job, &request, arrives);
                job += 1;
                next = self.upcoming(job, &mut requests);
                if job.is_multiple_of(LOOK_EVERY) {
                    progress.finished.store(self.finished, Ordering::Relaxed);
                    progress.simulated_ps.store(arrives.ps(), Ordering::Relaxed);
                    if progress.cancelled.load(Ordering::Relaxed) {
                        return Err(Cancelled);
                    }
                }
            }
        }
        progress.finished.store(self.finished, Ordering::Relaxed);
        self.figures.accesses =
            self.figures.seeks + self.figures.rotations + self.figures.follow_ons;
        self.figures.busy = self.stations.iter().map(|station| station.busy).collect();
        Ok((self.sink, self.figures))
    }

    fn upcoming(&self, job: u64, requests: &mut impl Iterator<Item = Request>) -> Option<Request> {
        if job < self.scene.requests { requests.next() } else { None }
    }

    fn arrive(&mut self, job: u64, request: &Request, now: Time) {
        let ideal = self.planner.plan(request.op, request.blocks);
        self.sink.arrived(job, request, ideal);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.open.push(Open::default());
            self.plans.push(Plan::default());
            self.open.len() as u32 - 1
        });
        let plan = &self.planner.plan;
        let waits = self.scene.join == Join::SplitMerge && self.active > 0;
        let accesses = plan.accesses().len() as u32;
        let mut open = Open { job, left: accesses, counted: accesses, gates: 0, phase: 0 };
        if plan.phases() > 1 || waits {
            open.counted = plan.accesses().iter().filter(|access| access.counts).count() as u32;
            self.plans[slot as usize].clone_from(plan);
        }
        self.open[slot as usize] = open;
        if waits {
            self.queued.push_back(slot);
        } else if plan.phases() > 1 {
            self.active += 1;
            self.begin_phase(slot, 0, now);
        } else {
            self.active += 1;
            for index in 0..accesses as usize {
                let access = &self.planner.plan.accesses()[index];
                self.issue(access.disk.into(), Task::new(slot, access), now);
            }
        }
    }

    /// An access of a first phase comes to a disk.
    #[inline]
    fn issue(&mut self, disk: usize, task: Task, now: Time) {
        let station = &mut self.stations[disk];
        if station.is_idle() {
            self.serve(disk, task, now);
        } else {
            station.normal.push_back(task);
        }
    }

    /// The accesses of the present phase of the request in `slot` come to their disks; `last` is the
    /// disk that the phase waited for.
    fn begin_phase(&mut self, slot: u32, last: usize, now: Time) {
        let phase = self.open[slot as usize].phase as usize;
        let accesses = self.plans[slot as usize].phase(phase);
        let gates = accesses.iter().filter(|access| access.gate).count();
        self.open[slot as usize].gates = gates as u32;
        for index in self.plans[slot as usize].range(phase) {
            let access = &self.plans[slot as usize].accesses()[index];
            let disk = usize::from(access.disk);
            let task = Task::new(slot, access);
            if phase == 0 {
                self.issue(disk, task, now);
                continue;
            }
            let station = &mut self.stations[disk];
            // The disk that the phase waited for counts as idle even if first phases wait there.
            if station.serving.is_none() && station.urgent.is_empty() {
                let found = if disk == last { Found::JustDone } else { Found::Idle };
                self.serve(disk, Task { found, ..task }, now);
            } else {
                station.urgent.push_back(task);
            }
        }
    }

    #[inline]
    fn serve(&mut self, disk: usize, task: Task, now: Time) {
        let scene = self.scene;
        let station = &mut self.stations[disk];
        let positioning = match (task.approach, &scene.scheduling) {
            (Approach::Seek, Scheduling::Fcfs(_)) => {
                self.figures.seeks += 1;
                scene.drive.position(task.op, station.moves.next(&scene.drive))
            }
            _ => self.position(disk, &task),
        };
        let service = positioning + task.transfer;
        let station = &mut self.stations[disk];
        station.busy += service;
        station.serving = Some(task);
        self.timers.set(disk, now + service);
    }

    /// How long the head takes to the place of an access that starts now (paper section 3.3).
    fn position(&mut self, disk: usize, task: &Task) -> Span {
        let own = self.stations[disk].last == self.open[task.slot as usize].job;
        let span = match (task.approach, task.found, own) {
            (Approach::Seek, ..) => return self.seek(disk, task.op),
            (Approach::FollowOn, _, true) | (Approach::Reconstruct, Found::Busy, true) => {
                self.figures.follow_ons += 1;
                return Span::ZERO;
            }
            (Approach::Rewrite, Found::JustDone, true) => self.rest_of_rotation(Span::ZERO),
            (Approach::RewriteLess, Found::JustDone, true) => self.rest_of_rotation(task.transfer),
            (Approach::Rewrite | Approach::RewriteLess, Found::Idle, true)
            | (Approach::Reconstruct, _, true) => {
                self.scene.drive.rotate(&mut self.stations[disk].rotations)
            }
            _ => return self.seek(disk, task.op),
        };
        self.figures.rotations += 1;
        span
    }

    /// The time until the head is where it was when a pre-read ended, less `less`; meanwhile the
    /// controller has computed the parity.
    fn rest_of_rotation(&self, less: Span) -> Span {
        let rotation = self.scene.drive.rotation().ps();
        let passed = (self.phase_delay() + less).ps();
        Span::from_ps(rotation - passed.checked_rem(rotation).unwrap_or(0))
    }

    fn phase_delay(&self) -> Span {
        self.scene.overhead + self.scene.parity
    }

    /// The shortest of as many positionings as the scheduling chooses from.
    fn seek(&mut self, disk: usize, op: Op) -> Span {
        self.figures.seeks += 1;
        let drive = &self.scene.drive;
        let station = &mut self.stations[disk];
        let choices = match &self.scene.scheduling {
            Scheduling::Fcfs(_) => 1,
            Scheduling::Rpo(rpo) => rpo.choices(station.waiting()),
        };
        let mut least = drive.position(op, station.moves.next(drive));
        for _ in 1..choices {
            least = least.min(drive.position(op, station.moves.next(drive)));
        }
        least
    }

    /// A disk is done with what it serves.
    fn complete(&mut self, disk: usize, now: Time) {
        let station = &mut self.stations[disk];
        let task = station.serving.take().expect("its timer is set");
        let open = &mut self.open[task.slot as usize];
        station.last = open.job;
        open.left -= 1;
        open.counted -= u32::from(task.counts);
        let left = open.left;
        if task.counts && open.counted == 0 {
            self.finished += 1;
            self.figures.ended = now;
            self.sink.finished(open.job, now);
        }
        if task.gate {
            self.pass_gate(task.slot, disk, now);
        }
        if left == 0 {
            self.leave(task.slot, disk, now);
        }
        let station = &mut self.stations[disk];
        if station.serving.is_none() {
            match station.take() {
                Some(task) => self.serve(disk, task, now),
                None => self.timers.set(disk, Time::NEVER),
            }
        }
    }

    /// An access that the next phase waits for is done.
    fn pass_gate(&mut self, slot: u32, disk: usize, now: Time) {
        let open = &mut self.open[slot as usize];
        open.gates -= 1;
        if open.gates > 0 {
            return;
        }
        open.phase += 1;
        match self.phase_delay() {
            Span::ZERO => self.begin_phase(slot, disk, now),
            delay => self.delayed.push_back((now + delay, slot, disk)),
        }
    }

    /// All accesses of a request are done.
    #[inline]
    fn leave(&mut self, slot: u32, disk: usize, now: Time) {
        self.free.push(slot);
        self.active -= 1;
        if let Some(next) = self.queued.pop_front() {
            self.active += 1;
            self.begin_phase(next, disk, now);
        }
    }
}
