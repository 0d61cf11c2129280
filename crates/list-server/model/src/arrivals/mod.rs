//! When messages come to a list, how large they are, and which recipients they have.

mod daily;
mod listed;
mod poisson;
mod regular;

pub use daily::Daily;
pub use listed::Listed as ListedMessages;
pub use poisson::Poisson;
pub use regular::Regular;

use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Span, Stream, Time, variants};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use listed::Listed;

variants! {
    /// When messages come to a list.
    pub enum Arrivals: "process of arrivals" => arrivals {
        Poisson(Poisson),
        Regular(Regular),
        Daily(Daily),
        Listed(Listed),
    }
}

/// A message that comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mailing {
    pub(super) at: Time,
    pub(super) size: u64,
    /// The places of its recipients in the list.
    pub(super) to: Arc<[u32]>,
}

/// Which messages are wanted.
pub(super) struct Asked<'a> {
    /// How many.
    pub(super) messages: u32,
    /// Within which time.
    pub(super) longest: Span,
    /// How large each is, where nothing else is known.
    pub(super) size: u64,
    /// The places of all subscribers, in the list's order.
    pub(super) all_places: Arc<[u32]>,
    /// The places of each domain's subscribers.
    pub(super) places: &'a BTreeMap<&'a str, Range<u32>>,
    /// What is left to chance.
    pub(super) stream: Stream,
}

impl Asked<'_> {
    /// Messages to all subscribers: `next` has the time of one after another, `comes` when it comes through.
    fn into_mailings(
        mut self,
        next: impl Fn(Time, &mut Stream) -> Time,
        comes: impl Fn(Time) -> Time,
    ) -> Result<Vec<Mailing>, Refusal> {
        let (mut last, mut mailings) = (Time::ZERO, Vec::new());
        for _ in 0..self.messages {
            last = next(last, &mut self.stream);
            let to = Arc::clone(&self.all_places);
            mailings.push(Mailing { at: comes(last), size: self.size, to });
            if last > Time::ZERO + self.longest {
                let expected = format!("messages that come within {}", self.longest);
                let given = Value::Int(self.messages.into());
                return Err(Refusal::value(&given, expected).under("messages").under("list"));
            }
        }
        Ok(mailings)
    }
}

/// A process of arrivals.
trait Process {
    /// The messages that are asked for, in the order in which they come.
    fn mailings(&self, asked: Asked<'_>) -> Result<Vec<Mailing>, Refusal>;
}

impl Arrivals {
    /// The messages that are asked for, in the order in which they come.
    pub(super) fn mailings(&self, asked: Asked<'_>) -> Result<Vec<Mailing>, Refusal> {
        arrivals!(self, |process| process.mailings(asked))
    }
}
