//! The disks of the event loop: what comes to them, what they serve, which is done next.

use super::station::Station;
use super::timers::Timers;
use super::{Figures, Scene};
use crate::positioning::{Found, Heads, Motion, Task};
use sojourn_kernel::{Span, Time};

/// All disks of an array.
pub(super) struct Disks<'a, H: Heads> {
    heads: &'a H,
    /// How long the controller takes between phases.
    between_phases: Span,
    stations: Vec<Station<H>>,
    timers: Timers,
    /// How they were positioned.
    pub(super) figures: Figures,
}

impl<'a, H: Heads> Disks<'a, H> {
    /// The disks of `scene`, idle.
    pub(super) fn new(scene: &'a Scene<H>) -> Disks<'a, H> {
        let disks = scene.layout.disks();
        let head = |disk| scene.heads.head(scene.streams, disk);
        Disks {
            heads: &scene.heads,
            between_phases: scene.overhead + scene.parity,
            stations: (0..disks as u64).map(|disk| Station::new(head(disk))).collect(),
            timers: Timers::new(disks),
            figures: Figures::default(),
        }
    }

    /// The disk that is done next, and when; [`Time::NEVER`] when none serves.
    #[inline(always)]
    pub(super) fn first(&self) -> (usize, Time) {
        self.timers.first()
    }

    /// For how long each was busy.
    pub(super) fn busy(&self) -> Vec<Span> {
        self.stations.iter().map(|station| station.busy).collect()
    }

    /// An access of a first phase comes to a disk.
    #[inline(always)]
    pub(super) fn issue(&mut self, disk: usize, task: Task<H::Spot>, now: Time) {
        let station = &mut self.stations[disk];
        if station.is_idle() {
            let service = station.serve(self.heads, task, now, self.between_phases);
            self.begun(disk, service);
        } else {
            station.normal.push_back(task);
        }
    }

    /// An access of a later phase, which waited for disk `last`, comes to a disk.
    pub(super) fn issue_later(&mut self, disk: usize, task: Task<H::Spot>, last: usize, now: Time) {
        let station = &mut self.stations[disk];
        // The disk that the phase waited for counts as idle even if first phases wait there.
        if station.serving.is_none() && station.urgent.is_empty() {
            let found = if disk == last { Found::JustDone } else { Found::Idle };
            let task = Task { found, ..task };
            let service = station.serve(self.heads, task, now, self.between_phases);
            self.begun(disk, service);
        } else {
            station.urgent.push_back(task);
        }
    }

    /// An access that belongs to no request comes to a disk.
    pub(super) fn issue_behind(&mut self, disk: usize, task: Task<H::Spot>, now: Time) {
        let station = &mut self.stations[disk];
        if station.is_idle() && station.background.is_empty() {
            let service = station.serve(self.heads, task, now, self.between_phases);
            self.begun(disk, service);
        } else {
            station.background.push_back(task);
        }
    }

    /// A disk is done with what it serves, which is that.
    #[inline(always)]
    pub(super) fn complete(&mut self, disk: usize) -> Task<H::Spot> {
        let station = &mut self.stations[disk];
        let task = station.serving.take().expect("its timer is set");
        station.last = Some(task.job);
        task
    }

    /// What a disk does when it is done: it serves the next of those that wait, if it is not already
    /// busy again.
    #[inline(always)]
    pub(super) fn go_on(&mut self, disk: usize, now: Time) {
        let station = &mut self.stations[disk];
        if station.serving.is_some() {
            return;
        }
        match station.take(self.heads, now) {
            Some(task) => {
                let service = station.serve(self.heads, task, now, self.between_phases);
                self.begun(disk, service);
            }
            None => self.timers.set(disk, Time::NEVER),
        }
    }

    #[inline(always)]
    fn begun(&mut self, disk: usize, (ends, motion): (Time, Motion)) {
        self.figures.count(motion);
        self.timers.set(disk, ends);
    }
}
