//! The disks of the event loop: what comes to them, what they serve, which is done next.

use super::station::Station;
use super::timers::Timers;
use super::{Figures, Scene};
use crate::device::{Found, Heads, Motion, Task};
use sojourn_core::{Span, Time};

/// All disks of an array.
pub(super) struct Disks<'a, H: Heads> {
    heads: &'a H,
    /// How long the controller takes between phases.
    between_phases: Span,
    /// How many accesses a disk serves at once.
    servers: usize,
    /// The servers of all disks, disk by disk. What waits for a disk waits at its first.
    stations: Vec<Station<H>>,
    timers: Timers,
    /// How they were positioned.
    pub(super) figures: Figures,
}

impl<'a, H: Heads> Disks<'a, H> {
    /// The disks of `scene`, idle.
    pub(super) fn new(scene: &'a Scene<H>) -> Disks<'a, H> {
        let servers = scene.heads.servers();
        let all = scene.layout.disks() * servers;
        // Only disks without a head serve several accesses at once: what it draws is of no account.
        let head = |server| scene.heads.head(scene.streams, (server / servers) as u64);
        Disks {
            heads: &scene.heads,
            between_phases: scene.overhead + scene.parity,
            servers,
            stations: (0..all).map(|server| Station::new(head(server))).collect(),
            timers: Timers::new(all),
            figures: Figures::default(),
        }
    }

    /// The server that is done next, and when; [`Time::NEVER`] when none serves.
    #[inline(always)]
    pub(super) fn first(&self) -> (usize, Time) {
        self.timers.first()
    }

    /// The disk that a server is of.
    #[inline(always)]
    pub(super) fn disk_of(&self, server: usize) -> usize {
        if self.servers == 1 { server } else { server / self.servers }
    }

    /// The first server of a disk, and the first of its servers that is idle.
    #[inline(always)]
    fn line(&self, disk: usize) -> (usize, Option<usize>) {
        let is_idle = |server: &usize| self.stations[*server].serving.is_none();
        match self.servers {
            1 => (disk, Some(disk).filter(is_idle)),
            servers => {
                let line = disk * servers;
                (line, (line..line + servers).find(is_idle))
            }
        }
    }

    /// For how long each disk was busy, its servers in the mean.
    pub(super) fn busy(&self) -> Vec<Span> {
        let disks = self.stations.chunks(self.servers);
        let busy =
            |servers: &[Station<H>]| servers.iter().fold(Span::ZERO, |sum, it| sum + it.busy);
        disks.map(|servers| busy(servers) / self.servers as u64).collect()
    }

    /// An access of a first phase comes to a disk.
    #[inline(always)]
    pub(super) fn issue(&mut self, disk: usize, task: Task<H::Spot>, now: Time) {
        if self.servers > 1 {
            return self.issue_to_several(disk, task, now);
        }
        let station = &mut self.stations[disk];
        if station.serving.is_none() && station.waiting() == 0 {
            let service = station.serve(self.heads, task, now, self.between_phases);
            self.begun(disk, service);
        } else {
            station.normal.push_back(task);
        }
    }

    #[cold]
    fn issue_to_several(&mut self, disk: usize, task: Task<H::Spot>, now: Time) {
        match self.line(disk) {
            (line, Some(server)) if self.stations[line].waiting() == 0 => {
                self.serve(server, task, now);
            }
            (line, _) => self.stations[line].normal.push_back(task),
        }
    }

    /// An access of a later phase, which waited for disk `last`, comes to a disk.
    pub(super) fn issue_later(&mut self, disk: usize, task: Task<H::Spot>, last: usize, now: Time) {
        // The disk that the phase waited for counts as idle even if first phases wait there.
        match self.line(disk) {
            (line, Some(server)) if self.stations[line].urgent.is_empty() => {
                let found = if disk == last { Found::JustDone } else { Found::Idle };
                self.serve(server, Task { found, ..task }, now);
            }
            (line, _) => self.stations[line].urgent.push_back(task),
        }
    }

    /// An access that belongs to no request comes to a disk.
    pub(super) fn issue_behind(&mut self, disk: usize, task: Task<H::Spot>, now: Time) {
        let waits = |it: &Station<H>| it.waiting() > 0 || !it.background.is_empty();
        match self.line(disk) {
            (line, Some(server)) if !waits(&self.stations[line]) => self.serve(server, task, now),
            (line, _) => self.stations[line].background.push_back(task),
        }
    }

    /// A server is done with what it serves, which is that.
    #[inline(always)]
    pub(super) fn complete(&mut self, server: usize) -> Task<H::Spot> {
        let station = &mut self.stations[server];
        let task = station.serving.take().expect("its timer is set");
        station.last = Some(task.job);
        task
    }

    /// What a server does when it is done: it serves the next of those that wait for its disk, if it
    /// is not already busy again.
    #[inline(always)]
    pub(super) fn go_on(&mut self, server: usize, now: Time) {
        let station = &mut self.stations[server];
        if station.serving.is_some() {
            return;
        }
        let next = match self.servers {
            1 => station.take(self.heads, now),
            servers => self.stations[server / servers * servers].take(self.heads, now),
        };
        match next {
            Some(task) => self.serve(server, task, now),
            None => self.timers.set(server, Time::NEVER),
        }
    }

    #[inline(always)]
    fn serve(&mut self, server: usize, mut task: Task<H::Spot>, now: Time) {
        if self.servers > 1 {
            task.transfer = self.heads.slowed(task.transfer, || self.others(server, now));
        }
        let station = &mut self.stations[server];
        let service = station.serve(self.heads, task, now, self.between_phases);
        self.begun(server, service);
    }

    /// How many accesses the disk of an idle server goes on to serve. One that ends now does not
    /// count, whether that has been seen or not.
    fn others(&self, server: usize, now: Time) -> usize {
        let line = self.disk_of(server) * self.servers;
        let serves = |&server: &usize| {
            self.stations[server].serving.is_some() && self.timers.at(server) > now
        };
        (line..line + self.servers).filter(serves).count()
    }

    #[inline(always)]
    fn begun(&mut self, server: usize, (ends, motion): (Time, Motion)) {
        self.figures.count(motion);
        self.timers.set(server, ends);
    }
}
