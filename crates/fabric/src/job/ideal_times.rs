//! The best possible times of flows, and of jobs that are sets of messages.

use super::Jobs;
use crate::flow::{Completion, Ideals};
use crate::workload::Role;
use sojourn_core::{Span, Time};

/// The longest best possible time of a set of messages that rows have; a longer one is none.
const LONGEST: Span = Span::from_ps(i64::MAX as u64);

/// The best possible times of all jobs of a run.
#[derive(Clone, Debug)]
pub(crate) struct IdealTimes {
    /// Of each flow, from its begin on; of the response to a request, from the begin of that on.
    pub(crate) flows: Vec<Span>,
    /// Of each set of messages, from its first begin to its last end; [`Span::MAX`] for none.
    pub(crate) sets: Vec<Span>,
}

impl Jobs {
    /// The best possible times of all jobs: of flows until their `completion`; of responses and sets of
    /// messages until the last byte is there.
    pub(crate) fn ideal_times(
        &self,
        ideals: &mut Ideals<'_>,
        completion: Completion,
    ) -> IdealTimes {
        let until = |ideals: &mut Ideals<'_>, completion| -> Vec<Span> {
            let of_own = self.flows.iter().zip(&self.owners);
            of_own
                .map(|(flow, owner)| match owner.role {
                    Role::Connection => Span::MAX,
                    _ => ideals.of(flow, completion),
                })
                .collect()
        };
        let mut flows = until(ideals, completion);
        if self.sets.is_empty() {
            return IdealTimes { flows, sets: Vec::new() };
        }
        let alone = match completion {
            Completion::Receiver => flows.clone(),
            Completion::Sender => until(ideals, Completion::Receiver),
        };
        for message in self.dependencies.waiting() {
            let place = message as usize;
            if self.owners[place].role == Role::Response {
                let asked = alone[self.dependencies.parents(message)[0] as usize];
                flows[place] = asked + self.dependencies.delay(message) + alone[place];
            }
        }
        // Written set by set; a message looks at those of its set alone.
        let mut ends = vec![Span::ZERO; flows.len()];
        let sets = 0..self.sets.len() as u32;
        let sets = sets.map(|set| self.ideal_of_set(set, ideals, &alone, &mut ends)).collect();
        IdealTimes { flows, sets }
    }

    /// The best possible time of set number `set`, whose messages take as long as `alone` says. It is not over
    /// before the last message of any chain would be, each alone in the fabric, nor before all that a host
    /// receives has crossed the host's link, one after the other from the moment that the first of it can
    /// be there. Puts the ends of its messages into `ends`.
    fn ideal_of_set(
        &self,
        set: u32,
        ideals: &mut Ideals<'_>,
        alone: &[Span],
        ends: &mut [Span],
    ) -> Span {
        let origin = self.known_begin(set);
        let mut latest = Span::ZERO;
        let mut received = Vec::new();
        for &number in self.members.of(set) {
            let flow = &self.flows[number as usize];
            let own = origin.map_or(Span::ZERO, |origin| flow.arrived.since(origin));
            let delay = self.dependencies.delay(number);
            let parents = self.dependencies.parents(number).iter();
            let parents = parents.filter(|&&parent| self.is_of(set, parent));
            let ready = parents.map(|&parent| {
                let told = self.told(parent, flow.from, ideals);
                ends[parent as usize].saturating_add(told).saturating_add(delay)
            });
            let ready = ready.max();
            let begin = own.max(ready.unwrap_or(Span::ZERO));
            let end = begin.saturating_add(alone[number as usize]);
            ends[number as usize] = end;
            latest = latest.max(end);
            if self.owners[number as usize].role != Role::Request {
                received.push((flow.to, ideals.at_last_link(flow, begin), flow.bytes));
            }
        }
        received.sort_unstable();
        let at_hosts = received.chunk_by(|one, other| one.0 == other.0).map(|at_host| {
            let (host, soonest, _) = at_host[0];
            let last = ideals.network.links[usize::from(host)].spec;
            let bytes = at_host.iter().map(|&(_, _, bytes)| ideals.packets.on_the_wire(bytes));
            let bytes = bytes.fold(0, u64::saturating_add);
            soonest.saturating_add(last.rate.span(bytes)).saturating_add(last.delay)
        });
        let best = at_hosts.fold(latest, Span::max);
        if best > LONGEST { Span::MAX } else { best }
    }

    /// The time from the end of flow number `flow` until `host`, one of its ends, learns of it: none at its
    /// receiver, and that of an ACK at its sender.
    fn told(&self, flow: u32, host: u16, ideals: &mut Ideals<'_>) -> Span {
        let flow = &self.flows[flow as usize];
        match flow.to == host {
            true => Span::ZERO,
            false => ideals.of(flow, Completion::Sender) - ideals.of(flow, Completion::Receiver),
        }
    }

    /// When set number `set` begins, where that is known beforehand: none of its messages waits for one of
    /// another job.
    fn known_begin(&self, set: u32) -> Option<Time> {
        let members = self.members.of(set);
        let waits_for_others = |&number: &u32| {
            let mut parents = self.dependencies.parents(number).iter();
            parents.any(|&parent| !self.is_of(set, parent))
        };
        // The first member waits for none then, and no other such member arrives earlier.
        let first = members.first().filter(|_| !members.iter().any(waits_for_others))?;
        Some(self.flows[*first as usize].arrived)
    }

    /// Whether flow number `flow` is of set number `set`.
    fn is_of(&self, set: u32, flow: u32) -> bool {
        self.owners[flow as usize].set == Some(set)
    }
}
