//! Flows that follow others: which, and when.

use super::scene::After;
use sojourn_core::Time;

/// No further flow.
const NONE: u32 = u32::MAX;

/// Who follows whom, in dense numbers; nothing where nobody follows anybody.
#[derive(Debug)]
pub(super) struct Followers {
    /// For each flow the first that follows it, and for each follower the next of the same flow;
    /// followers are counted from 0.
    first: Vec<u32>,
    next: Vec<u32>,
    /// The number of the first follower among all flows.
    base: u32,
    pub(super) started: Vec<Time>,
}

impl Followers {
    /// Of `flows` flows, the last of which follow others as `after` says.
    pub(super) fn new(flows: usize, after: &[After]) -> Followers {
        let mut first = vec![NONE; if after.is_empty() { 0 } else { flows }];
        let mut next = vec![NONE; after.len()];
        for (follower, after) in after.iter().enumerate().rev() {
            next[follower] = std::mem::replace(&mut first[after.flow as usize], follower as u32);
        }
        Followers {
            first,
            next,
            base: (flows - after.len()) as u32,
            started: vec![Time::NEVER; after.len()],
        }
    }

    /// `flow` has arrived whole: `start` is told which flows start now, and when.
    pub(super) fn arrived(
        &mut self,
        flow: u32,
        now: Time,
        after: &[After],
        mut start: impl FnMut(u32, Time),
    ) {
        let mut follower = self.first.get(flow as usize).copied().unwrap_or(NONE);
        while follower != NONE {
            let at = now + after[follower as usize].delay;
            self.started[follower as usize] = at;
            start(self.base + follower, at);
            follower = self.next[follower as usize];
        }
    }
}
