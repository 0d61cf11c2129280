//! Messages as a workload draws them: what each waits for, and which job it is of.

use crate::lists::Lists;
use sojourn_core::Span;

/// The kind of a job that is a set of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// A question: a client's requests, and the answers that wait for them. A request and its answer have
    /// one row together, which counts from the request on.
    Query,
    /// Any messages: each has a row, as if it were of no job.
    Messages,
}

/// The role of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A flow with a row.
    Flow,
    /// A request, which has no row apart from that of its response.
    Request,
    /// A response to one request, the flow that it waits for.
    Response,
}

/// What the flows of a workload have to do with each other: nothing, where it is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageGraph {
    /// Of each flow those that it waits for.
    parents: Lists,
    /// Of each flow the time from the end of its last parent to its begin.
    delays: Vec<Span>,
    /// The job of each flow.
    owners: Vec<Option<u32>>,
    jobs: Vec<JobKind>,
}

impl MessageGraph {
    /// Whether no flow waits for another or is of a job.
    pub fn is_empty(&self) -> bool {
        self.parents.items() == 0 && self.jobs.is_empty()
    }

    /// The flows that flow number `flow` waits for.
    pub fn parents(&self, flow: usize) -> &[u32] {
        self.parents.of(flow as u32)
    }

    /// The time from the end of the last of them to its begin.
    pub fn delay(&self, flow: usize) -> Span {
        self.delays.get(flow).copied().unwrap_or(Span::ZERO)
    }

    /// The job of flow number `flow`, if it is of one.
    pub fn job(&self, flow: usize) -> Option<u32> {
        self.owners.get(flow).copied().flatten()
    }

    /// The role of flow number `flow`.
    pub(crate) fn role(&self, flow: usize) -> Role {
        match self.job(flow).map(|job| self.jobs[job as usize]) {
            Some(JobKind::Query) if self.parents(flow).is_empty() => Role::Request,
            Some(JobKind::Query) => Role::Response,
            Some(JobKind::Messages) | None => Role::Flow,
        }
    }

    /// All jobs.
    pub fn jobs(&self) -> &[JobKind] {
        &self.jobs
    }

    /// How many messages wait for others.
    pub fn waiting(&self) -> usize {
        (0..self.parents.len()).filter(|&flow| !self.parents(flow).is_empty()).count()
    }

    /// Appends a job without messages yet, and returns its number.
    pub(crate) fn add_job(&mut self, kind: JobKind) -> u32 {
        self.jobs.push(kind);
        self.jobs.len() as u32 - 1
    }

    /// Appends what concerns the next flow: its `parents`, which come before it and end at its source, its
    /// delay after them, and its job.
    pub(crate) fn add_message(&mut self, parents: &[u32], delay: Span, job: Option<u32>) {
        self.parents.push(parents.iter().copied());
        self.delays.push(delay);
        self.owners.push(job);
    }
}
