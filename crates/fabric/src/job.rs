//! Jobs: the flows of all parts of a case in one list, whose they are, and which wait for which.

use crate::flow::{Completion, Flow, Ideals};
use crate::workload::offered::Offered;
use crate::workload::{Answer, Drawn, Query};
use sojourn_core::{Span, Time};
use std::ops::Range;
use std::sync::Arc;

/// All flows of one replication.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    /// By time of arrival; behind them the answers of queries, query by query.
    pub(crate) flows: Arc<[Flow]>,
    /// For each answer the request that it follows.
    pub(crate) after: Arc<[After]>,
    /// The measurements of flows without an end, in order.
    pub(crate) watches: Arc<[Watch]>,
    /// The part of the case that each flow belongs to, and its role.
    pub(crate) parts: Vec<JobPart>,
    /// By time of arrival.
    pub(crate) queries: Vec<QueryRun>,
    /// Whether the case has several parts.
    pub(crate) several: bool,
    /// The load that the flows offer in the long run, if all of them arrive as Poisson processes.
    pub(crate) offered: Vec<Offered>,
}

/// The dependency of a flow on another: it starts a `delay` after the other has arrived whole, at the host
/// where that is. Its arrival time is not known before, and [`Time::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The flow that it waits for.
    pub flow: u32,
    /// Time from that flow's last byte to its start.
    pub delay: Span,
}

/// A measurement of one flow between two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The flow.
    pub flow: u32,
    /// Begin of the measurement.
    pub from: Time,
    /// End of the measurement, later than its begin.
    pub until: Time,
}

/// The part of the case that a flow belongs to, and its role there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobPart {
    /// Number of the part.
    pub(crate) part: u8,
    /// The role of the flow.
    pub(crate) role: Role,
}

/// The role of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A job itself.
    Job,
    /// The request for this answer, counted among all answers.
    Request(usize),
    /// An answer.
    Answer,
}

/// A query in a run.
#[derive(Clone, Debug)]
pub(crate) struct QueryRun {
    pub(crate) part: u8,
    pub(crate) query: Query,
    /// Its answers, among all answers.
    pub(crate) answers: Range<usize>,
}

impl Jobs {
    /// The jobs that the parts of a case have drawn.
    pub(crate) fn new(parts: Vec<Drawn>) -> Jobs {
        let several = parts.len() > 1;
        let offered = parts.iter().map(|drawn| drawn.offered).collect::<Option<_>>();
        let windows: Vec<_> = parts.iter().map(|drawn| drawn.window).collect();
        let (mut flows, mut queries) = (Vec::new(), Vec::new());
        for (part, drawn) in (0..).zip(parts) {
            let role = Role::Job;
            flows.extend(drawn.flows.into_iter().map(|flow| (flow, JobPart { part, role })));
            let query_run = |query| QueryRun { part, query, answers: 0..0 };
            queries.extend(drawn.queries.into_iter().map(query_run));
        }
        queries.sort_by_key(|query_run| query_run.query.arrived);
        let mut answers = Vec::new();
        for QueryRun { part, query, answers: own } in &mut queries {
            *own = answers.len()..answers.len() + query.answers.len();
            for answer in &query.answers {
                let (request, response) = exchange(query, answer);
                flows.push((request, JobPart { part: *part, role: Role::Request(answers.len()) }));
                answers.push((response, JobPart { part: *part, role: Role::Answer }, answer.think));
            }
        }
        flows.sort_by_key(|(flow, _)| flow.arrived);
        let mut after = vec![After { flow: 0, delay: Span::ZERO }; answers.len()];
        let mut watches = Vec::new();
        for (number, (flow, JobPart { part, role })) in (0..).zip(&flows) {
            if let Role::Request(answer) = *role {
                after[answer] = After { flow: number, delay: answers[answer].2 };
            }
            if flow.is_endless() {
                let window = windows[usize::from(*part)];
                let (from, until) = window.expect("a window for endless flows");
                watches.push(Watch { flow: number, from, until });
            }
        }
        flows.extend(answers.into_iter().map(|(flow, job_part, _)| (flow, job_part)));
        Jobs {
            after: after.into(),
            watches: watches.into(),
            parts: flows.iter().map(|(_, job_part)| *job_part).collect(),
            flows: flows.into_iter().map(|(flow, _)| flow).collect(),
            queries,
            several,
            offered: offered.unwrap_or_default(),
        }
    }

    /// The number of the first answer among the flows.
    pub(crate) fn first_answer(&self) -> usize {
        self.flows.len() - self.after.len()
    }

    /// When the last flow with an end arrives by itself, if there is one.
    pub(crate) fn last_arrival(&self) -> Option<Time> {
        let known = self.flows[..self.first_answer()].iter();
        known.filter(|flow| !flow.is_endless()).map(|flow| flow.arrived).max()
    }

    /// When the last measurement ends, if there is one.
    pub(crate) fn last_look(&self) -> Option<Time> {
        self.watches.iter().map(|watch| watch.until).max()
    }

    /// The best possible times of all flows until their `completion`; those of answers count from the
    /// question on, and end at the client.
    pub(crate) fn ideals(&self, ideals: &mut Ideals<'_>, completion: Completion) -> Vec<Span> {
        let (known, answers) = self.flows.split_at(self.first_answer());
        let mut spans: Vec<Span> = known.iter().map(|flow| ideals.of(flow, completion)).collect();
        for (answer, after) in answers.iter().zip(&*self.after) {
            let request = ideals.one_way(&self.flows[after.flow as usize]);
            spans.push(request + after.delay + ideals.one_way(answer));
        }
        spans
    }

    /// The best possible times of all queries, `of_flows` being those of the flows. None is done before
    /// its slowest answer would be alone, nor before all answers have crossed the client's link, one after the other
    /// from the moment that the first of them can be there.
    pub(crate) fn query_ideals(&self, ideals: &mut Ideals<'_>, of_flows: &[Span]) -> Vec<Span> {
        let of = |query_run: &QueryRun| {
            let places = query_run.answers.clone().map(|answer| self.first_answer() + answer);
            let slowest = places.clone().map(|place| of_flows[place]).max();
            let soonest = places
                .clone()
                .map(|place| ideals.waiting(&self.flows[place], of_flows[place]))
                .min();
            let last = ideals.network.links[usize::from(query_run.query.client)].spec;
            let bytes =
                places.map(|place| ideals.packets.on_the_wire(self.flows[place].bytes)).sum();
            let joint = soonest.unwrap_or(Span::ZERO) + last.rate.span(bytes) + last.delay;
            slowest.unwrap_or(Span::ZERO).max(joint)
        };
        self.queries.iter().map(of).collect()
    }
}

/// The request for an answer, and the answer, whose time is not known yet.
fn exchange(query: &Query, answer: &Answer) -> (Flow, Flow) {
    let &Query { client, arrived, deadline, class, request, .. } = query;
    let with_terms = |flow| Flow { deadline, class, ..flow };
    (
        with_terms(Flow::new(client, answer.server, request, arrived)),
        with_terms(Flow::new(answer.server, client, answer.bytes, Time::NEVER)),
    )
}

/// No further flow.
const NONE: u32 = u32::MAX;

/// Which flows follow which, in dense numbers; nothing where none follows another.
#[derive(Debug)]
pub(crate) struct Followers {
    /// For each flow the first that follows it, and for each follower the next of the same flow;
    /// followers are counted from 0.
    first: Vec<u32>,
    next: Vec<u32>,
    /// The number of the first follower among all flows.
    base: u32,
    pub(crate) started: Vec<Time>,
}

impl Followers {
    /// Followers among `flows` flows, the last of which follow others as `after` says.
    pub(crate) fn new(flows: usize, after: &[After]) -> Followers {
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

    /// Notes that `flow` has arrived whole: calls `start` with each flow that follows it, and the time.
    pub(crate) fn arrived(
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
