//! Who is told of the requests.

use crate::workload::Request;
use sojourn_core::{Span, Time};

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
