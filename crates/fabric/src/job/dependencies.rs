//! Which messages wait for which, and how many each still waits for.

use crate::flow::Flow;
use crate::lists::Lists;
use sojourn_core::{Span, Time};

/// The messages of a simulation that wait for others: the last of its flows. Each has one parent or more,
/// flows before it that end at its source, so that no host learns of another faster than by a packet. It
/// begins when all its parents have arrived whole and a delay has passed, but not before its own arrival
/// time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Of each of these messages its parents, numbered among all flows.
    parents: Lists,
    /// Of each of them the time from the end of its last parent to its begin.
    delays: Vec<Span>,
    /// Of each flow the messages that wait for it, numbered among those that wait.
    children: Lists,
}

impl Dependencies {
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
            return Dependencies::default();
        }
        let pairs = (0..delays.len() as u32)
            .flat_map(|child| parents.of(child).iter().map(move |&parent| (parent, child)));
        let children = Lists::grouped(flows, pairs);
        Dependencies { parents, delays, children }
    }

    /// How many messages wait for others.
    pub fn count(&self) -> usize {
        self.delays.len()
    }

    /// The number of the first message that waits for others, among `flows` flows.
    pub fn first(&self, flows: &[Flow]) -> usize {
        flows.len() - self.count()
    }

    /// The parents of message number `waiting` among those that wait.
    pub fn parents(&self, waiting: usize) -> &[u32] {
        self.parents.of(waiting as u32)
    }

    /// The time from the end of its last parent to its begin.
    pub fn delay(&self, waiting: usize) -> Span {
        self.delays[waiting]
    }
}

/// The state of the messages that wait for others.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// How many parents of each have not arrived whole.
    left: Vec<u32>,
    /// When each began, or will; [`Time::NEVER`] while that is not known.
    pub(crate) began: Vec<Time>,
}

impl Waiting {
    /// No flow has arrived yet.
    pub(crate) fn new(dependencies: &Dependencies) -> Waiting {
        let messages = 0..dependencies.count();
        Waiting {
            left: messages.map(|message| dependencies.parents(message).len() as u32).collect(),
            began: vec![Time::NEVER; dependencies.count()],
        }
    }

    /// Notes that flow number `flow` of `flows` has arrived whole at `now`: calls `start` with each
    /// message that waited for it last, and the time at which it begins.
    pub(crate) fn arrived(
        &mut self,
        flow: u32,
        now: Time,
        (flows, dependencies): (&[Flow], &Dependencies),
        mut start: impl FnMut(u32, Time),
    ) {
        let first = dependencies.first(flows);
        for &child in dependencies.children.of(flow) {
            let place = child as usize;
            self.left[place] -= 1;
            if self.left[place] == 0 {
                let own = flows[first + place].arrived;
                let at = own.max(now + dependencies.delays[place]);
                self.began[place] = at;
                start((first + place) as u32, at);
            }
        }
    }
}
