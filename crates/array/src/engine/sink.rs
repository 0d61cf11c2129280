//! What is kept of the requests: a record each, or nothing.

use crate::workload::Request;
use sojourn_kernel::{Span, Time};

/// Is told of every request, in order of arrival, and of its end.
pub trait Sink {
    /// Request number `job` arrives; it takes `ideal` at least.
    fn arrived(&mut self, job: u64, request: &Request, ideal: Span);

    /// Request number `job`, told of before, is done.
    fn finished(&mut self, job: u64, at: Time);
}

/// Keeps nothing: memory does not grow with the number of requests.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Sink for Nothing {
    #[inline]
    fn arrived(&mut self, _: u64, _: &Request, _: Span) {}

    #[inline]
    fn finished(&mut self, _: u64, _: Time) {}
}

/// What is kept of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The request.
    pub request: Request,
    /// When it was done; [`Time::NEVER`] before.
    pub finished: Time,
    /// How long it takes at least.
    pub ideal: Span,
}

/// Keeps a record of each request after the first `skip`.
#[derive(Clone, Debug)]
pub struct Records {
    /// The records, by number.
    pub records: Vec<Record>,
    skip: u64,
}

impl Records {
    /// Room for `count` records behind `skip` requests.
    pub fn new(skip: u64, count: usize) -> Records {
        Records { records: Vec::with_capacity(count), skip }
    }
}

impl Sink for Records {
    #[inline]
    fn arrived(&mut self, job: u64, request: &Request, ideal: Span) {
        if job >= self.skip {
            self.records.push(Record { request: *request, finished: Time::NEVER, ideal });
        }
    }

    #[inline]
    fn finished(&mut self, job: u64, at: Time) {
        if job >= self.skip {
            self.records[(job - self.skip) as usize].finished = at;
        }
    }
}
