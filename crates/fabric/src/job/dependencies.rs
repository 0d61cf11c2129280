//! Which messages wait for which, and how many each still waits for.

use crate::flow::Flow;
use crate::lists::Lists;
use sojourn_core::{Span, Time};
use std::ops::Range;

/// The messages of a simulation that wait for others: the last of its flows. Each has one parent or more,
/// flows before it that end or begin at its source, so that no host learns of another faster than by a
/// packet. It begins when all its parents are over there and a delay has passed, but not before its own
/// arrival time: one that ends there when it has arrived whole, and one that begins there when its sender
/// knows that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    /// The first of these messages. They have the numbers of their flows, as their parents have.
    first: u32,
    /// Of each of them its parents.
    parents: Lists,
    /// Of each of them the time from the end of its last parent to its begin.
    delays: Vec<Span>,
    /// Of each flow the messages that wait for it.
    children: Lists,
}

impl Dependencies {
    /// The dependencies of `flows` flows that wait for none.
    pub fn none(flows: usize) -> Dependencies {
        let (parents, delays, children) = Default::default();
        Dependencies { first: flows as u32, parents, delays, children }
    }

    /// The dependencies of the last among `flows` flows: the parents of each, and its delay.
    pub fn new<P: AsRef<[u32]>>(
        flows: usize,
        waiting: impl IntoIterator<Item = (P, Span)>,
    ) -> Dependencies {
        let (mut parents, mut delays) = (Lists::default(), Vec::new());
        for (own, delay) in waiting {
            parents.push(own.as_ref().iter().copied());
            delays.push(delay);
        }
        if delays.is_empty() {
            return Dependencies::none(flows);
        }
        let first = (flows - delays.len()) as u32;
        let pairs = (0..delays.len() as u32)
            .flat_map(|place| parents.of(place).iter().map(move |&parent| (parent, first + place)));
        let children = Lists::grouped(flows, pairs);
        Dependencies { first, parents, delays, children }
    }

    /// The messages that wait for others.
    pub fn waiting(&self) -> Range<u32> {
        self.first..self.first + self.delays.len() as u32
    }

    /// The place of `message` among those that wait for others, if it does.
    pub(crate) fn place(&self, message: u32) -> Option<usize> {
        message.checked_sub(self.first).map(|place| place as usize)
    }

    /// The parents of `message`.
    pub fn parents(&self, message: u32) -> &[u32] {
        self.place(message).map_or(&[], |place| self.parents.of(place as u32))
    }

    /// The time from the end of its last parent to its begin.
    pub fn delay(&self, message: u32) -> Span {
        self.place(message).map_or(Span::ZERO, |place| self.delays[place])
    }
}

/// The state of the messages that wait for others, each at its place among these.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// How many parents of each are not over.
    left: Vec<u32>,
    /// When each began, or will; [`Time::NEVER`] while that is not known.
    pub(crate) began: Vec<Time>,
}

impl Waiting {
    /// No flow has arrived yet.
    pub(crate) fn new(dependencies: &Dependencies) -> Waiting {
        let parents = |message| dependencies.parents(message).len() as u32;
        Waiting {
            left: dependencies.waiting().map(parents).collect(),
            began: vec![Time::NEVER; dependencies.waiting().len()],
        }
    }

    /// Notes that flow number `flow` of `flows` is over at `host`, its source or its destination, at `now`:
    /// calls `start` with each message there that waited for it last, and the time at which it begins.
    pub(crate) fn over(
        &mut self,
        (flow, host): (u32, u16),
        now: Time,
        (flows, dependencies): (&[Flow], &Dependencies),
        mut start: impl FnMut(u32, Time),
    ) {
        let children = dependencies.children.of(flow).iter();
        for &child in children.filter(|&&child| flows[child as usize].from == host) {
            let place = (child - dependencies.first) as usize;
            self.left[place] -= 1;
            if self.left[place] == 0 {
                let own = flows[child as usize].arrived;
                let at = own.max(now + dependencies.delays[place]);
                self.began[place] = at;
                start(child, at);
            }
        }
    }
}
