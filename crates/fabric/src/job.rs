//! What a run plays: the flows of all parts of a case in one list, and whose they are.

use crate::engine::{After, Watch};
use crate::flow::Flow;
use crate::offered::Offered;
use crate::workload::{Answer, Drawn, Query};
use sojourn_core::{Span, Time};
use std::ops::Range;
use std::sync::Arc;

/// All flows of one replication.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// By time of arrival; behind them the answers of queries, query by query.
    pub(crate) flows: Arc<[Flow]>,
    /// For each answer the request that it follows.
    pub(crate) after: Arc<[After]>,
    /// What of them is measured over a time: those without an end, in order.
    pub(crate) watches: Arc<[Watch]>,
    /// Whose each flow is.
    pub(crate) casts: Vec<Cast>,
    /// By time of arrival.
    pub(crate) queries: Vec<Asked>,
    /// Whether the case has several parts.
    pub(crate) several: bool,
    /// What its flows ask for in the long run, if all of them arrive as Poisson processes.
    pub(crate) offered: Vec<Offered>,
}

/// Whose a flow is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cast {
    /// Which part of the case it belongs to.
    pub(crate) part: u8,
    /// What it is there for.
    pub(crate) role: Role,
}

/// What a flow is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is a job itself.
    Job,
    /// It is the request for this answer, counted among all answers.
    Request(usize),
    /// It is an answer.
    Answer,
}

/// A query as it is played.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) part: u8,
    pub(crate) query: Query,
    /// Which of all answers are its own.
    pub(crate) answers: Range<usize>,
}

impl Script {
    /// Of what the parts of a case have drawn.
    pub(crate) fn new(parts: Vec<Drawn>) -> Script {
        let several = parts.len() > 1;
        let offered = parts.iter().map(|drawn| drawn.offered).collect::<Option<_>>();
        let windows: Vec<_> = parts.iter().map(|drawn| drawn.window).collect();
        let (mut flows, mut queries) = (Vec::new(), Vec::new());
        for (part, drawn) in (0..).zip(parts) {
            let role = Role::Job;
            flows.extend(drawn.flows.into_iter().map(|flow| (flow, Cast { part, role })));
            let asked = |query| Asked { part, query, answers: 0..0 };
            queries.extend(drawn.queries.into_iter().map(asked));
        }
        queries.sort_by_key(|asked| asked.query.arrived);
        let mut answers = Vec::new();
        for Asked { part, query, answers: own } in &mut queries {
            *own = answers.len()..answers.len() + query.answers.len();
            for answer in &query.answers {
                let (request, response) = exchange(query, answer);
                flows.push((request, Cast { part: *part, role: Role::Request(answers.len()) }));
                answers.push((response, Cast { part: *part, role: Role::Answer }, answer.think));
            }
        }
        flows.sort_by_key(|(flow, _)| flow.arrived);
        let mut after = vec![After { flow: 0, delay: Span::ZERO }; answers.len()];
        let mut watches = Vec::new();
        for (number, (flow, Cast { part, role })) in (0..).zip(&flows) {
            if let Role::Request(answer) = *role {
                after[answer] = After { flow: number, delay: answers[answer].2 };
            }
            if flow.is_endless() {
                let window = windows[usize::from(*part)];
                let (from, until) = window.expect("a window for endless flows");
                watches.push(Watch { flow: number, from, until });
            }
        }
        flows.extend(answers.into_iter().map(|(flow, cast, _)| (flow, cast)));
        Script {
            after: after.into(),
            watches: watches.into(),
            casts: flows.iter().map(|(_, cast)| *cast).collect(),
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
