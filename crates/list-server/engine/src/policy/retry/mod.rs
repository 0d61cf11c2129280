//! When to try again.

mod backoff;
mod fixed;
mod prompt;

pub use super::retry::backoff::Backoff;
pub use super::retry::fixed::Fixed;
pub use super::retry::prompt::Prompt;

use sojourn_core::random::mix;
use sojourn_core::{Span, Streams, variants};

variants! {
    /// When a failed delivery is tried again.
    pub enum RetryKind: "retry schedule" => retry {
        Prompt(Prompt),
        Backoff(Backoff),
        Fixed(Fixed),
    }
}

/// A recipient that was refused for now, or a host that did not answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryInput {
    /// How many times in a row, this one included.
    pub times: u32,
    /// How long after the first of them.
    pub since_first: Span,
    /// What the server's answer named as a wait.
    pub named: Option<Span>,
    /// How long after a first refusal the destination accepted a recipient, when it ever did.
    pub learned: Option<Span>,
    /// Between 0 and 1, of the engine's own stream.
    pub chance: f64,
}

/// A retry schedule.
pub trait Retry {
    /// How long a recipient waits that its destination refused for now.
    fn recipient(&self, setback: &RetryInput) -> Span;

    /// How long a host is left alone that did not answer, or a domain whose name servers did not.
    fn host(&self, setback: &RetryInput) -> Span;
}

impl Retry for RetryKind {
    fn recipient(&self, setback: &RetryInput) -> Span {
        retry!(self, |way| way.recipient(setback))
    }

    fn host(&self, setback: &RetryInput) -> Span {
        retry!(self, |way| way.host(setback))
    }
}

/// `span` and up to `jitter` parts of it more.
fn stretched(span: Span, jitter: f64, chance: f64) -> Span {
    span.saturating_add(Span::from_seconds(span.seconds() * jitter * chance))
}

/// `first`, doubled with each time after the first, at most `most`.
fn doubled(first: Span, most: Span, times: u32) -> Span {
    first.saturating_mul(1 << times.saturating_sub(1).min(32)).min(most)
}

/// No wait is longer before it is stretched.
const LONGEST_WAIT: Span = Span::from_s(50 * 86_400);

/// Refuses a wait of nothing, and one that ends after every message is given up.
fn check(waits: &[(&str, Span)]) -> Result<(), sojourn_core::parameters::Refusal> {
    use sojourn_core::parameters::Refusal;
    for &(key, span) in waits {
        let expected = match span {
            _ if span < Span::from_s(1) => "a wait of at least 1s".to_owned(),
            _ if span > LONGEST_WAIT => format!("a wait of at most {LONGEST_WAIT}"),
            _ => continue,
        };
        return Err(Refusal::of(&span, expected).under(key));
    }
    Ok(())
}

/// A random number between 0 and 1 that belongs to `entity` at its `times`-th turn.
pub(crate) fn chance(streams: &Streams, purpose: &str, entity: u32, times: u32) -> f64 {
    let key = mix(entity.into()) ^ u64::from(times);
    streams.stream(purpose, key).uniform()
}
