//! Which task a station serves next.

use sojourn_kernel::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The tasks that wait at a station, and the rule for which of them goes next.
///
/// The discipline also says how long a service takes, at the moment it begins: a disk's depends
/// on where its head then is.
pub trait Discipline {
    /// What waits and is served.
    type Task;

    /// Adds a task that has arrived.
    fn put(&mut self, task: Self::Task);

    /// Takes the task to serve next, with the time its service takes if it begins `now`.
    fn take(&mut self, now: Time) -> Option<(Self::Task, Span)>;

    /// In a preemptive discipline, what the first waiting task needs: a task in service that has
    /// more than that to go is displaced. Nothing (the default) displaces nobody.
    fn presses(&self) -> Option<Span> {
        None
    }

    /// Puts back a displaced task with what its service has to go. Called only after
    /// [`presses`](Discipline::presses) said something.
    fn put_back(&mut self, task: Self::Task, left: Span);

    /// How many tasks wait.
    fn waiting(&self) -> usize;
}

/// A task whose work is known when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task<J> {
    /// The job that it is part of.
    pub job: J,
    /// Its class in [`Order::Class`]: a smaller one goes first.
    pub class: u32,
    /// How long its service takes; of a displaced task, what is left.
    pub work: Span,
}

/// The order in which a [`Line`] is served. Among equals, who was put in first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Arrival,
    /// The smallest class first; a service once begun is finished (non-preemptive priority).
    Class,
    /// Shortest remaining processing time, preemptive and resuming (SRPT).
    ShortestRemaining,
}

/// A waiting line of [`Task`]s in some [`Order`].
#[derive(Clone, Debug)]
pub struct Line<J> {
    order: Order,
    waiting: BinaryHeap<Reverse<Place<J>>>,
    put: u64,
}

#[derive(Clone, Debug)]
struct Place<J> {
    rank: u64,
    put: u64,
    task: Task<J>,
}

impl<J> Line<J> {
    /// An empty line.
    pub fn new(order: Order) -> Line<J> {
        Line { order, waiting: BinaryHeap::new(), put: 0 }
    }
}

impl<J> Discipline for Line<J> {
    type Task = Task<J>;

    fn put(&mut self, task: Task<J>) {
        let rank = match self.order {
            Order::Arrival => 0,
            Order::Class => u64::from(task.class),
            Order::ShortestRemaining => task.work.ps(),
        };
        self.waiting.push(Reverse(Place { rank, put: self.put, task }));
        self.put += 1;
    }

    fn take(&mut self, _: Time) -> Option<(Task<J>, Span)> {
        let Reverse(Place { task, .. }) = self.waiting.pop()?;
        let work = task.work;
        Some((task, work))
    }

    fn presses(&self) -> Option<Span> {
        match self.order {
            Order::Arrival | Order::Class => None,
            Order::ShortestRemaining => self.waiting.peek().map(|first| first.0.task.work),
        }
    }

    fn put_back(&mut self, task: Task<J>, left: Span) {
        self.put(Task { work: left, ..task });
    }

    fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

impl<J> Ord for Place<J> {
    fn cmp(&self, other: &Place<J>) -> std::cmp::Ordering {
        (self.rank, self.put).cmp(&(other.rank, other.put))
    }
}

impl<J> PartialOrd for Place<J> {
    fn partial_cmp(&self, other: &Place<J>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<J> PartialEq for Place<J> {
    fn eq(&self, other: &Place<J>) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<J> Eq for Place<J> {}
