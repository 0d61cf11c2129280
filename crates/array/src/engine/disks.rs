//! The disks of the event loop: their queues, what they serve, which is done next.

use super::idle::Idle;
use super::{AccessCounts, Scenario};
use crate::device::{Awaited, Found, Service, ServiceModel, ServiceStart, Task};
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

/// All disks of an array. Each has a queue, or one for each of its arms.
pub(super) struct Disks<'a, M: ServiceModel> {
    model: &'a M,
    /// The time that the controller takes between phases.
    between_phases: Span,
    /// The number of arms of a disk.
    arms: usize,
    /// The number of accesses of a queue that are served at once.
    servers: usize,
    /// The servers of all queues, queue by queue. What waits in a queue, and the state of its device, are at
    /// its first server.
    stations: Vec<Station<M>>,
    /// Which servers are idle, where a queue has several.
    idle: Idle,
    timers: Timers,
    /// Accesses by what their positioning took.
    pub(super) counts: AccessCounts,
}

impl<'a, M: ServiceModel> Disks<'a, M> {
    /// The disks of `scenario`, idle.
    pub(super) fn new(scenario: &'a Scenario<M>) -> Disks<'a, M> {
        let (arms, servers) = (scenario.model.arms(), scenario.model.servers());
        let all = scenario.layout.disks() * arms * servers;
        // Every server has a state, and that of the first is the one that counts.
        let state = |server| scenario.model.state(scenario.streams, (server / servers) as u64);
        Disks {
            model: &scenario.model,
            between_phases: scenario.overhead + scenario.parity,
            arms,
            servers,
            stations: (0..all).map(|server| Station::new(state(server))).collect(),
            idle: Idle::new(all / servers, servers),
            timers: Timers::new(all),
            counts: AccessCounts::default(),
        }
    }

    /// The server that is done next, and when; [`Time::NEVER`] when none serves.
    #[inline(always)]
    pub(super) fn first(&self) -> (usize, Time) {
        self.timers.first()
    }

    /// The queue that a server serves.
    #[inline(always)]
    pub(super) fn queue_served(&self, server: usize) -> usize {
        if self.servers == 1 { server } else { server / self.servers }
    }

    /// The first server of a queue, and the first of its servers that is idle.
    #[inline(always)]
    fn first_idle(&self, queue: usize) -> (usize, Option<usize>) {
        match self.servers {
            1 => (queue, Some(queue).filter(|&server| self.stations[server].serving.is_none())),
            servers => (queue * servers, self.idle.first(queue)),
        }
    }

    /// The time that each disk was busy until `until`: of several arms the busiest.
    pub(super) fn busy(&self, until: Time) -> Vec<Span> {
        let busy = |servers: &[Station<M>]| {
            let sum = servers.iter().fold(Span::ZERO, |sum, it| sum + it.busy);
            self.model.busy(&servers[0].state, sum / servers.len() as u64, until)
        };
        let queues: Vec<Span> = self.stations.chunks(self.servers).map(busy).collect();
        queues.chunks(self.arms).filter_map(|arms| arms.iter().max().copied()).collect()
    }

    /// Ends all that is served at `now`, so that no disk was busy after that.
    pub(super) fn stop(&mut self, now: Time) {
        for (server, station) in self.stations.iter_mut().enumerate() {
            if station.serving.is_some() {
                let ends = self.timers.at(server);
                station.busy -= if ends > now { ends - now } else { Span::ZERO };
            }
        }
    }

    /// Brings an access of a first phase to a queue.
    #[inline(always)]
    pub(super) fn issue(&mut self, queue: usize, task: Task<M::Spot>, now: Time) {
        if self.servers > 1 {
            return self.issue_to_several(queue, task, now);
        }
        let station = &mut self.stations[queue];
        if station.serving.is_none() && station.waiting() == 0 {
            let service = station.serve(self.model, task, now, self.between_phases);
            self.begun(queue, service, now);
        } else {
            station.normal.push_back(task);
        }
    }

    #[cold]
    fn issue_to_several(&mut self, queue: usize, task: Task<M::Spot>, now: Time) {
        match self.first_idle(queue) {
            (first, Some(server)) if self.stations[first].waiting() == 0 => {
                self.serve(server, task, now);
            }
            (first, _) => self.stations[first].normal.push_back(task),
        }
    }

    /// Brings an access of a later phase, which waited for queue `last`, to a queue.
    #[inline(always)]
    pub(super) fn issue_later(
        &mut self,
        queue: usize,
        task: Task<M::Spot>,
        last: usize,
        now: Time,
    ) {
        // The queue that the phase waited for counts as idle even if accesses of first phases wait
        // there.
        match self.first_idle(queue) {
            (first, Some(server)) if self.stations[first].urgent.is_empty() => {
                let found = if queue == last { Found::JustDone } else { Found::Idle };
                self.serve(server, Task { found, ..task }, now);
            }
            (first, _) => self.stations[first].urgent.push_back(task),
        }
    }

    /// Brings an access that belongs to no request to a queue.
    pub(super) fn issue_behind(&mut self, queue: usize, task: Task<M::Spot>, now: Time) {
        let waits = |it: &Station<M>| it.waiting() > 0 || !it.background.is_empty();
        match self.first_idle(queue) {
            (first, Some(server)) if !waits(&self.stations[first]) => self.serve(server, task, now),
            (first, _) => self.stations[first].background.push_back(task),
        }
    }

    /// Drops an access of the phase `phase` of the request in `slot` that waits in a queue; whether one did.
    #[cold]
    pub(super) fn drop_waiting(&mut self, queue: usize, slot: u32, phase: u8) -> bool {
        let station = &mut self.stations[queue * self.servers];
        let is_it =
            |task: &Task<M::Spot>| task.slot == slot && task.awaited == Awaited::AnyOf(phase);
        let found = [&mut station.normal, &mut station.urgent].into_iter().any(|waiting| {
            let place = waiting.iter().position(is_it);
            place.is_some_and(|place| waiting.remove(place).is_some())
        });
        self.counts.dropped += u64::from(found);
        found
    }

    /// Ends the access that a server serves, and returns it.
    #[inline(always)]
    pub(super) fn complete(&mut self, server: usize) -> Task<M::Spot> {
        let station = &mut self.stations[server];
        let task = station.serving.take().expect("its timer is set");
        station.last = Some(task.job);
        if self.servers > 1 {
            self.idle.add(server);
        }
        task
    }

    /// Lets a server whose access has ended serve the next one that waits in its queue, if it is not
    /// already busy again.
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
    fn serve(&mut self, server: usize, task: Task<M::Spot>, now: Time) {
        if self.servers > 1 {
            return self.serve_by_one_of_several(server, task, now);
        }
        let service = self.stations[server].serve(self.model, task, now, self.between_phases);
        self.begun(server, service, now);
    }

    #[cold]
    fn serve_by_one_of_several(&mut self, server: usize, task: Task<M::Spot>, now: Time) {
        let others = if self.model.depends_on_load() { self.others(server, now) } else { 0 };
        let own = self.stations[server].last == Some(task.job);
        let first = &mut self.stations[server / self.servers * self.servers];
        let between_phases = self.between_phases;
        let start = ServiceStart { now, own, waiting: first.waiting(), others, between_phases };
        let service = self.model.start(&mut first.state, &task, start);
        self.stations[server].begin(task, service);
        self.idle.remove(server);
        self.begun(server, service, now);
    }

    /// The number of accesses of the queue of an idle server that go on to be served. One that ends at
    /// `now` does not count, whether its end was processed or not.
    fn others(&self, server: usize, now: Time) -> usize {
        let first = self.queue_served(server) * self.servers;
        let serves = |&server: &usize| {
            self.stations[server].serving.is_some() && self.timers.at(server) > now
        };
        (first..first + self.servers).filter(serves).count()
    }

    #[inline(always)]
    fn begun(&mut self, server: usize, service: Service, now: Time) {
        self.counts.count(service.cost);
        self.timers.set(server, now + service.takes);
    }
}

/// A server of a queue, and what waits in it.
#[derive(Debug)]
struct Station<M: ServiceModel> {
    serving: Option<Task<M::Spot>>,
    /// Accesses of first phases, in order of arrival.
    normal: VecDeque<Task<M::Spot>>,
    /// Accesses of later phases: served first.
    urgent: VecDeque<Task<M::Spot>>,
    /// Accesses of no request: served last.
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

    /// The number of accesses of requests that wait.
    #[inline]
    fn waiting(&self) -> usize {
        self.normal.len() + self.urgent.len()
    }

    /// Starts to serve an access, as the only server of its queue.
    #[inline(always)]
    fn serve(
        &mut self,
        model: &M,
        task: Task<M::Spot>,
        now: Time,
        between_phases: Span,
    ) -> Service {
        let own = self.last == Some(task.job);
        let start = ServiceStart { now, own, waiting: self.waiting(), others: 0, between_phases };
        let service = model.start(&mut self.state, &task, start);
        self.begin(task, service);
        service
    }

    #[inline(always)]
    fn begin(&mut self, task: Task<M::Spot>, service: Service) {
        self.busy += service.takes;
        self.serving = Some(task);
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

/// The end of the present access of each server: one timer a server, the lower server first among
/// equal times. Unlike in a calendar a timer stays in its place. Searches look at all timers of a
/// group without branches: which one is first cannot be predicted, and a mispredicted branch costs
/// more than a few comparisons.
#[derive(Clone, Debug)]
struct Timers {
    /// The time of each, up to a whole number of groups.
    times: Vec<Time>,
    /// For each group of neighbouring timers the least of their times, and which timer has it.
    least: Vec<Time>,
    whose: Vec<u32>,
    /// The number of timers in a group, as its logarithm to base two.
    group: u32,
}

/// The most timers that make a group each.
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

    /// The time of a timer that is set.
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

/// The first of the least times, of a number of times that is a multiple of four.
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
