//! A station: servers, and a line of tasks that wait for them.

use crate::Discipline;
use sojourn_kernel::{Span, Time};

/// A station of equal servers under one discipline.
///
/// It has no clock and no calendar. Whoever drives it says what time it is, and keeps its promise
/// to call [`complete`](Station::complete) at the end of each [`Service`] that it hands out:
///
/// ```
/// use sojourn_kernel::{Calendar, Span, Time};
/// use sojourn_queueing::{Line, Order, Station, Task};
///
/// let mut calendar = Calendar::new();
/// let mut station = Station::new(1, Line::new(Order::Arrival));
/// for job in ["first", "second"] {
///     let task = Task { job, class: 0, work: Span::from_us(3) };
///     if let Some(service) = station.arrive(Time::ZERO, task) {
///         calendar.schedule(service.ends, service);
///     }
/// }
/// let mut done = Vec::new();
/// while let Some((now, service)) = calendar.pop() {
///     let Some((task, next)) = station.complete(service) else { continue };
///     done.push((now, task.job));
///     if let Some(service) = next {
///         calendar.schedule(service.ends, service);
///     }
/// }
/// let at = |us| Time::ZERO + Span::from_us(us);
/// assert_eq!(done, [(at(3), "first"), (at(6), "second")]);
/// ```
#[derive(Clone, Debug)]
pub struct Station<D: Discipline> {
    discipline: D,
    servers: Vec<Option<Serving<D::Task>>>,
    idle: Vec<usize>,
    begun: u64,
    busy: Span,
}

/// A service that has begun, and when it ends unless its task is displaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// When it ends.
    pub ends: Time,
    server: usize,
    number: u64,
}

#[derive(Clone, Debug)]
struct Serving<T> {
    task: T,
    began: Time,
    service: Service,
}

impl<D: Discipline> Station<D> {
    /// A station of `servers` servers, all idle. Panics when there are none.
    pub fn new(servers: usize, discipline: D) -> Station<D> {
        assert!(servers > 0, "a station has at least one server");
        Station {
            discipline,
            servers: (0..servers).map(|_| None).collect(),
            idle: (0..servers).rev().collect(),
            begun: 0,
            busy: Span::ZERO,
        }
    }

    /// A task arrives; the service that begins in consequence, if one does.
    pub fn arrive(&mut self, now: Time, task: D::Task) -> Option<Service> {
        self.discipline.put(task);
        if self.idle.is_empty() {
            self.displace(now);
        }
        self.begin(now)
    }

    /// A service ends: its task, and the service that begins on the same server if one does.
    /// Nothing when the task had been displaced, so that the service never ended.
    pub fn complete(&mut self, service: Service) -> Option<(D::Task, Option<Service>)> {
        let current = self.servers[service.server].as_ref()?;
        if current.service != service {
            return None;
        }
        let task = self.stop(service.server, service.ends);
        Some((task, self.begin(service.ends)))
    }

    /// How many tasks are in service.
    pub fn serving(&self) -> usize {
        self.servers.len() - self.idle.len()
    }

    /// How many tasks wait.
    pub fn waiting(&self) -> usize {
        self.discipline.waiting()
    }

    /// The time all servers together have spent on services that ended or were displaced.
    pub const fn busy(&self) -> Span {
        self.busy
    }

    /// Stops the service with the most to go, if the first in line needs less than that.
    fn displace(&mut self, now: Time) {
        let Some(needs) = self.discipline.presses() else {
            return;
        };
        let services = self.servers.iter().flatten().map(|serving| serving.service);
        let Some(last) = services.max_by_key(|service| service.ends) else {
            return;
        };
        let left = last.ends - now;
        if needs < left {
            let task = self.stop(last.server, now);
            self.discipline.put_back(task, left);
        }
    }

    fn stop(&mut self, server: usize, now: Time) -> D::Task {
        let serving = self.servers[server].take().expect("the server is busy");
        self.idle.push(server);
        self.busy += now - serving.began;
        serving.task
    }

    fn begin(&mut self, now: Time) -> Option<Service> {
        let server = *self.idle.last()?;
        let (task, work) = self.discipline.take(now)?;
        self.idle.pop();
        let service = Service { ends: now + work, server, number: self.begun };
        self.begun += 1;
        self.servers[server] = Some(Serving { task, began: now, service });
        Some(service)
    }
}
