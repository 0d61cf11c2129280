//! The disks of the event loop: what comes to them, what they serve, which is done next.

use super::{AccessCounts, Scenario};
use crate::device::{Found, Motion, ServiceModel, ServiceStart, Task};
use crate::layout::Access;
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

/// All disks of an array.
pub(super) struct Disks<'a, M: ServiceModel> {
    model: &'a M,
    /// How long the controller takes between phases.
    between_phases: Span,
    /// How many accesses a disk serves at once.
    servers: usize,
    /// The servers of all disks, disk by disk. What waits for a disk waits at its first.
    stations: Vec<Station<M>>,
    timers: Timers,
    /// How they were positioned.
    pub(super) counts: AccessCounts,
}

impl<'a, M: ServiceModel> Disks<'a, M> {
    /// The disks of `scenario`, idle.
    pub(super) fn new(scenario: &'a Scenario<M>) -> Disks<'a, M> {
        let servers = scenario.model.servers();
        let all = scenario.layout.disks() * servers;
        // Only disks without a head serve several accesses at once: what it draws is of no account.
        let state = |server| scenario.model.state(scenario.streams, (server / servers) as u64);
        Disks {
            model: &scenario.model,
            between_phases: scenario.overhead + scenario.parity,
            servers,
            stations: (0..all).map(|server| Station::new(state(server))).collect(),
            timers: Timers::new(all),
            counts: AccessCounts::default(),
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
            |servers: &[Station<M>]| servers.iter().fold(Span::ZERO, |sum, it| sum + it.busy);
        disks.map(|servers| busy(servers) / self.servers as u64).collect()
    }

    /// An access of a first phase comes to a disk.
    #[inline(always)]
    pub(super) fn issue(&mut self, disk: usize, task: Task<M::Spot>, now: Time) {
        if self.servers > 1 {
            return self.issue_to_several(disk, task, now);
        }
        let station = &mut self.stations[disk];
        if station.serving.is_none() && station.waiting() == 0 {
            let service = station.serve(self.model, task, now, self.between_phases);
            self.begun(disk, service);
        } else {
            station.normal.push_back(task);
        }
    }

    #[cold]
    fn issue_to_several(&mut self, disk: usize, task: Task<M::Spot>, now: Time) {
        match self.line(disk) {
            (line, Some(server)) if self.stations[line].waiting() == 0 => {
                self.serve(server, task, now);
            }
            (line, _) => self.stations[line].normal.push_back(task),
        }
    }

    /// An access of a later phase, which waited for disk `last`, comes to a disk.
    pub(super) fn issue_later(&mut self, disk: usize, task: Task<M::Spot>, last: usize, now: Time) {
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
    pub(super) fn issue_behind(&mut self, disk: usize, task: Task<M::Spot>, now: Time) {
        let waits = |it: &Station<M>| it.waiting() > 0 || !it.background.is_empty();
        match self.line(disk) {
            (line, Some(server)) if !waits(&self.stations[line]) => self.serve(server, task, now),
            (line, _) => self.stations[line].background.push_back(task),
        }
    }

    /// A server is done with what it serves, which is that.
    #[inline(always)]
    pub(super) fn complete(&mut self, server: usize) -> Task<M::Spot> {
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
            1 => station.take(self.model, now),
            servers => self.stations[server / servers * servers].take(self.model, now),
        };
        match next {
            Some(task) => self.serve(server, task, now),
            None => self.timers.set(server, Time::NEVER),
        }
    }

    #[inline(always)]
    fn serve(&mut self, server: usize, mut task: Task<M::Spot>, now: Time) {
        if self.servers > 1 {
            task.transfer = self.model.slowed(task.transfer, || self.others(server, now));
        }
        let station = &mut self.stations[server];
        let service = station.serve(self.model, task, now, self.between_phases);
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
        self.counts.count(motion);
        self.timers.set(server, ends);
    }
}

impl<S> Task<S> {
    /// An access of request number `job`, which is in `slot`, at its disk.
    #[inline(always)]
    pub(super) fn new<M: ServiceModel<Spot = S>>(
        model: &M,
        slot: u32,
        job: u64,
        access: &Access,
        transfer: Span,
    ) -> Task<S> {
        let Access { op, approach, gate, counts, .. } = *access;
        let spot = model.spot(access);
        let job = job as u32;
        Task { transfer, slot, job, op, approach, found: Found::Busy, gate, counts, spot }
    }
}

/// A server of a disk, and the queues of the disk.
#[derive(Debug)]
struct Station<M: ServiceModel> {
    serving: Option<Task<M::Spot>>,
    /// First phases, in order of arrival.
    normal: VecDeque<Task<M::Spot>>,
    /// Later phases: they go first.
    urgent: VecDeque<Task<M::Spot>>,
    /// What is not of a request: it goes last.
    background: VecDeque<Task<M::Spot>>,
    /// The lower bits of the number of the request that was served last, if any was.
    last: Option<u32>,
    busy: Span,
    state: M::State,
}

impl<M: ServiceModel> Station<M> {
    fn new(state: M::State) -> Station<M> {
        Station {
            state,
            serving: None,
            normal: VecDeque::new(),
            urgent: VecDeque::new(),
            background: VecDeque::new(),
            last: None,
            busy: Span::ZERO,
        }
    }

    /// How many accesses of requests wait.
    #[inline]
    fn waiting(&self) -> usize {
        self.normal.len() + self.urgent.len()
    }

    /// Starts to serve an access: when it ends, and how the head gets there.
    #[inline(always)]
    fn serve(
        &mut self,
        model: &M,
        task: Task<M::Spot>,
        now: Time,
        between_phases: Span,
    ) -> (Time, Motion) {
        let own = self.last == Some(task.job);
        let start = ServiceStart { now, own, waiting: self.waiting(), between_phases };
        let (positioning, motion) = model.position(&mut self.state, &task, start);
        let service = positioning + task.transfer;
        self.busy += service;
        self.serving = Some(task);
        (now + service, motion)
    }

    /// Takes the next access to serve.
    #[inline]
    fn take(&mut self, model: &M, now: Time) -> Option<Task<M::Spot>> {
        let waiting = match (self.urgent.is_empty(), self.normal.is_empty()) {
            (false, _) => &mut self.urgent,
            (true, false) => &mut self.normal,
            (true, true) => return self.background.pop_front(),
        };
        match model.choose(&self.state, waiting, now) {
            0 => waiting.pop_front(),
            chosen => waiting.remove(chosen),
        }
    }
}

/// One timer a disk. Unlike a calendar it holds at most one event for each, and keeps them where
/// they are; among equal times the lower disk is first. What is looked through is looked through
/// whole, without a question on the way: which timer is first cannot be predicted, and a wrong guess
/// costs more than the others of a few.
#[derive(Clone, Debug)]
struct Timers {
    /// The time of each, up to a whole number of groups.
    times: Vec<Time>,
    /// For each group of neighbours the least of their times, and whose it is.
    least: Vec<Time>,
    whose: Vec<u32>,
    /// How many timers a group has, as a power of two.
    group: u32,
}

/// Up to so many timers are groups of their own.
const FEW: usize = 8;

impl Timers {
    /// `count` timers, none of them set.
    fn new(count: usize) -> Timers {
        let group = if count <= FEW { 0 } else { (count.ilog2() / 2).max(2) };
        let groups = count.div_ceil(1 << group).next_multiple_of(4);
        Timers {
            times: vec![Time::NEVER; groups << group],
            least: vec![Time::NEVER; groups],
            whose: (0..groups as u32).map(|of| of << group).collect(),
            group,
        }
    }

    /// The first timer and its time; [`Time::NEVER`] when none is set.
    #[inline(always)]
    fn first(&self) -> (usize, Time) {
        let (place, time) = least(&self.least);
        (self.whose[place] as usize, time)
    }

    /// When a timer that is set goes off.
    fn at(&self, timer: usize) -> Time {
        if self.group == 0 { self.least[timer] } else { self.times[timer] }
    }

    /// Sets a timer, or stops it with [`Time::NEVER`].
    #[inline(always)]
    fn set(&mut self, timer: usize, at: Time) {
        if self.group == 0 {
            self.least[timer] = at;
        } else {
            self.set_in_group(timer, at);
        }
    }

    fn set_in_group(&mut self, timer: usize, at: Time) {
        self.times[timer] = at;
        let of = timer >> self.group;
        let start = of << self.group;
        let (place, time) = least(&self.times[start..start + (1 << self.group)]);
        self.least[of] = time;
        self.whose[of] = (start + place) as u32;
    }
}

/// The first of the least of some times, a whole number of fours.
#[inline(always)]
fn least(times: &[Time]) -> (usize, Time) {
    let earlier = |a: (usize, Time), b: (usize, Time)| if b.1 < a.1 { b } else { a };
    let mut first = (0, Time::NEVER);
    for (place, four) in (0..).step_by(4).zip(times.as_chunks::<4>().0) {
        let early = earlier((place, four[0]), (place + 1, four[1]));
        let late = earlier((place + 2, four[2]), (place + 3, four[3]));
        first = earlier(first, earlier(early, late));
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Streams;

    #[test]
    fn the_first_timer_is_the_least_and_of_equal_ones_the_lowest() {
        let mut stream = Streams::new(1, 0).stream("timers", 0);
        for count in [1, 2, 3, 4, 7, 8, 100] {
            let mut timers = Timers::new(count);
            let mut plain = vec![Time::NEVER; count];
            assert_eq!(timers.first().1, Time::NEVER);
            for _ in 0..2000 {
                let timer = stream.below(count as u64) as usize;
                let at = match stream.below(4) {
                    0 => Time::NEVER,
                    _ => Time::from_ps(stream.below(20)),
                };
                timers.set(timer, at);
                plain[timer] = at;
                let least = (0..count).min_by_key(|&timer| (plain[timer], timer)).unwrap();
                assert_eq!(timers.first().1, plain[least]);
                if plain[least] != Time::NEVER {
                    assert_eq!(timers.first().0, least);
                }
            }
        }
    }
}
