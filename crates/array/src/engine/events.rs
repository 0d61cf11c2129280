//! The event loop.

use super::planner::Planner;
use super::rebuild::{Mending, NO_REQUEST};
use super::station::Station;
use super::timers::Timers;
use super::{Figures, Join, Rebuilt, Scene, Sink};
use crate::positioning::{Found, Heads, Moment, Task};
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

/// The accesses of a request that are not issued on its arrival.
#[derive(Debug)]
struct Later<S> {
    /// Disks and what they are to do there, phase by phase.
    tasks: Vec<(u16, Task<S>)>,
    /// Where each phase ends.
    ends: Vec<usize>,
}

struct Engine<'a, H: Heads, S> {
    scene: &'a Scene<H>,
    planner: Planner<'a, H>,
    stations: Vec<Station<H>>,
    timers: Timers,
    open: Vec<Open>,
    /// By slot, the accesses that come after the arrival.
    later: Vec<Later<H::Spot>>,
    /// Slots of `open` that no request has.
    free: Vec<u32>,
    /// Later phases that wait for the controller: when they begin, the request's slot, and the disk
    /// that they waited for. The delay is the same for all, so they are in order.
    delayed: VecDeque<(Time, u32, usize)>,
    /// Requests that wait for the one before them to be done, in split-merge.
    queued: VecDeque<u32>,
    mending: Option<Mending<'a>>,
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
pub fn sojourn_simulate<H: Heads, S: Sink>(
    scene: &Scene<H>,
    requests: impl Iterator<Item = Request>,
    sink: S,
    progress: &Progress,
) -> Result<(S, Figures), Cancelled> {
    let disks = scene.layout.disks();
    let engine = Engine {
        scene,
        planner: Planner::new(scene),
        stations: (0..disks as u64)
            .map(|disk| Station::new(scene.heads.head(scene.streams, disk)))
            .collect(),
        timers: Timers::new(disks),
        open: Vec::new(),
        later: Vec::new(),
        free: Vec::new(),
        delayed: VecDeque::new(),
        queued: VecDeque::new(),
        mending: scene.rebuild.as_ref().map(Mending::new),
        active: 0,
        finished: 0,
        figures: Figures::default(),
        sink,
    };
    engine.run(requests, progress)
}

impl<H: Heads, S: Sink> Engine<'_, H, S> {
    fn run(
        mut self,
        mut requests: impl Iterator<Item = Request>,
        progress: &Progress,
    ) -> Result<(S, Figures), Cancelled> {
        let mut job = 0;
        let mut next = self.upcoming(job, &mut requests);
        loop {
            let arrives = next.map_or(Time::NEVER, |request| request.arrived + self.scene.overhead);
            // What happens before the next request comes.
            loop {
                let begins = self.delayed.front().map_or(Time::NEVER, |delayed| delayed.0);
                let (disk, ends) = self.timers.first();
                let mends = self.mending.as_ref().map_or(Time::NEVER, |mending| mending.next);
                let first = ends.min(begins).min(mends);
                let all_done = next.is_none() && self.active == 0;
                if first > arrives || first == Time::NEVER || all_done {
                    break;
                }
                if ends == first {
                    self.complete(disk, ends);
                } else if mends == first {
                    self.mend(mends);
                } else {
                    let (_, slot, last) = self.delayed.pop_front().expect("it is first");
                    self.begin_phase(slot, last, begins);
                }
            }
            let Some(request) = next else { break };
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
        progress.finished.store(self.finished, Ordering::Relaxed);
        self.figures.rebuilt = self.mending.map_or(Rebuilt::default(), |mending| mending.done);
        self.figures.busy = self.stations.iter().map(|station| station.busy).collect();
        Ok((self.sink, self.figures))
    }

    fn upcoming(&self, job: u64, requests: &mut impl Iterator<Item = Request>) -> Option<Request> {
        if job < self.scene.requests { requests.next() } else { None }
    }

    fn arrive(&mut self, job: u64, request: &Request, now: Time) {
        let ideal = self.planner.next(request);
        self.sink.arrived(job, request, ideal);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.open.push(Open::default());
            self.later.push(Later { tasks: Vec::new(), ends: Vec::new() });
            self.open.len() as u32 - 1
        });
        let plan = self.planner.plan();
        let waits = self.scene.join == Join::SplitMerge && self.active > 0;
        let accesses = plan.accesses().len();
        let left = accesses as u32;
        let mut open = Open { job, left, counted: left, gates: 0, phase: 0 };
        let at_once = plan.phases() == 1 && !waits;
        if !at_once {
            open.counted = plan.accesses().iter().filter(|access| access.counts).count() as u32;
        }
        self.open[slot as usize] = open;
        if at_once {
            self.active += 1;
            for index in 0..accesses {
                let (access, transfer) = self.planner.access(index);
                let task = Task::new(&self.scene.heads, slot, job, &access, transfer);
                self.issue(access.disk.into(), task, now);
            }
            return;
        }
        self.keep(job, slot);
        if waits {
            self.queued.push_back(slot);
        } else {
            self.active += 1;
            self.begin_phase(slot, 0, now);
        }
    }

    /// Keeps the accesses of the request that has just come.
    fn keep(&mut self, job: u64, slot: u32) {
        let plan = self.planner.plan();
        let later = &mut self.later[slot as usize];
        later.tasks.clear();
        later.tasks.extend((0..plan.accesses().len()).map(|index| {
            let (access, transfer) = self.planner.access(index);
            (access.disk, Task::new(&self.scene.heads, slot, job, &access, transfer))
        }));
        later.ends.clear();
        later.ends.extend((0..plan.phases()).map(|phase| plan.range(phase).end));
    }

    /// An access of a first phase comes to a disk.
    #[inline(always)]
    fn issue(&mut self, disk: usize, task: Task<H::Spot>, now: Time) {
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
        let later = &self.later[slot as usize];
        let start = if phase == 0 { 0 } else { later.ends[phase - 1] };
        let range = start..later.ends[phase];
        let gates = later.tasks[range.clone()].iter().filter(|(_, task)| task.gate).count();
        self.open[slot as usize].gates = gates as u32;
        for index in range {
            let (disk, task) = self.later[slot as usize].tasks[index];
            let disk = usize::from(disk);
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

    #[inline(always)]
    fn serve(&mut self, disk: usize, task: Task<H::Spot>, now: Time) {
        let station = &mut self.stations[disk];
        let moment = Moment {
            now,
            own: station.last == Some(task.job),
            waiting: station.waiting(),
            between_phases: self.scene.overhead + self.scene.parity,
        };
        let (positioning, motion) = self.scene.heads.position(&mut station.head, &task, moment);
        self.figures.count(motion);
        let service = positioning + task.transfer;
        station.busy += service;
        station.serving = Some(task);
        self.timers.set(disk, now + service);
    }

    /// A disk is done with what it serves.
    #[inline]
    fn complete(&mut self, disk: usize, now: Time) {
        let station = &mut self.stations[disk];
        let task = station.serving.take().expect("its timer is set");
        station.last = Some(task.job);
        if task.slot == NO_REQUEST {
            self.complete_mending(now);
        } else {
            self.complete_access(&task, disk, now);
        }
        let station = &mut self.stations[disk];
        if station.serving.is_none() {
            match station.take(&self.scene.heads, now) {
                Some(task) => self.serve(disk, task, now),
                None => self.timers.set(disk, Time::NEVER),
            }
        }
    }

    /// A disk is done with an access of a request.
    #[inline(always)]
    fn complete_access(&mut self, task: &Task<H::Spot>, disk: usize, now: Time) {
        let open = &mut self.open[task.slot as usize];
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
    }

    /// A disk is done with an access of the rebuild.
    #[cold]
    fn complete_mending(&mut self, now: Time) {
        let mending = self.mending.as_mut().expect("it has an access");
        if mending.complete(now) {
            self.mend(now);
        } else {
            let blocks = mending.done.blocks;
            self.planner.mended(blocks);
        }
    }

    /// The next accesses of the rebuild come to their disks.
    #[cold]
    fn mend(&mut self, now: Time) {
        let accesses = self.mending.as_mut().expect("it is due").accesses();
        for access in accesses {
            let disk = usize::from(access.disk);
            let transfer = self.planner.transfer(&access);
            let task = Task::new(&self.scene.heads, NO_REQUEST, u64::MAX, &access, transfer);
            let station = &mut self.stations[disk];
            if station.is_idle() && station.background.is_empty() {
                self.serve(disk, task, now);
            } else {
                station.background.push_back(task);
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
        match self.scene.overhead + self.scene.parity {
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
