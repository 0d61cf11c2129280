//! Messages as a workload draws them: what each waits for, and which job it is of. A message is a node of
//! this graph; the [`Flow`](crate::flow::Flow) of the same place carries it.

use crate::lists::Lists;
use sojourn_core::Span;

/// The place of a message among the flows that its workload has drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId(u32);

impl MessageId {
    /// The message at `place`.
    pub(crate) const fn at(place: usize) -> MessageId {
        MessageId(place as u32)
    }

    /// All messages, from the first on, without an end.
    pub(crate) fn all() -> impl Iterator<Item = MessageId> {
        (0..).map(MessageId)
    }

    /// Its place.
    pub(crate) const fn place(self) -> usize {
        self.0 as usize
    }
}

/// The place of a job among those of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobId(u32);

impl JobId {
    /// Its place.
    pub(crate) const fn place(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a job that is a set of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// A question: a client's requests, and the answers that wait for them. A request and its answer have
    /// one row together, which counts from the request on.
    Query,
    /// Any messages: each has a row, as if it were of no job.
    Messages,
}

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A message with a row of the kind `flow`.
    Flow,
    /// A request, which has no row apart from that of its response.
    Request,
    /// A response to one request, the message that it waits for.
    Response,
    /// A connection between ranks, whose messages have no rows.
    Connection,
}

/// What the messages of a workload have to do with each other: nothing, where it is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageGraph {
    /// Of each message those that it waits for.
    parents: Lists,
    /// Of each message the time from the end of its last parent to its begin.
    delays: Vec<Span>,
    /// The job of each message.
    owners: Vec<Option<JobId>>,
    jobs: Vec<JobKind>,
}

impl MessageGraph {
    /// Whether no message waits for another or is of a job.
    pub fn is_empty(&self) -> bool {
        self.parents.items() == 0 && self.jobs.is_empty()
    }

    /// The messages that `message` waits for.
    pub fn parents(&self, message: MessageId) -> impl ExactSizeIterator<Item = MessageId> {
        self.parents.of(message.0).iter().map(|&parent| MessageId(parent))
    }

    /// The time from the end of the last of them to its begin.
    pub fn delay(&self, message: MessageId) -> Span {
        self.delays.get(message.place()).copied().unwrap_or(Span::ZERO)
    }

    /// The job of `message`, if it is of one.
    pub fn job(&self, message: MessageId) -> Option<JobId> {
        self.owners.get(message.place()).copied().flatten()
    }

    /// Whether `message` waits for others.
    pub(crate) fn waits(&self, message: MessageId) -> bool {
        !self.parents.of(message.0).is_empty()
    }

    /// The role of `message`.
    pub(crate) fn role(&self, message: MessageId) -> Role {
        match self.job(message).map(|job| self.jobs[job.place()]) {
            Some(JobKind::Query) if !self.waits(message) => Role::Request,
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
        MessageId::all().take(self.parents.len()).filter(|&message| self.waits(message)).count()
    }

    /// Appends a job without messages yet.
    pub(crate) fn add_job(&mut self, kind: JobKind) -> JobId {
        self.jobs.push(kind);
        JobId(self.jobs.len() as u32 - 1)
    }

    /// Appends the next message: its `parents`, which come before it and end or begin at its source, its delay after
    /// them, and its job.
    pub(crate) fn add_message(&mut self, parents: &[MessageId], delay: Span, job: Option<JobId>) {
        self.parents.push(parents.iter().map(|parent| parent.0));
        self.delays.push(delay);
        self.owners.push(job);
    }
}
