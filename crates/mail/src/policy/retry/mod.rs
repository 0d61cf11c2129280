//! When to try again.

mod backoff;
mod fixed;
mod prompt;

pub use backoff::Backoff;
pub use fixed::Fixed;
pub use prompt::Prompt;

use sojourn_kernel::{Span, variants};

variants! {
    /// When to try again.
    pub enum RetryKind: "retry schedule" => retry {
        Prompt(Prompt),
        Backoff(Backoff),
        Fixed(Fixed),
    }
}

/// A recipient that was refused for now, or a host that did not answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setback {
    /// How many times in a row, this one included.
    pub times: u32,
    /// How long after the first of them.
    pub since_first: Span,
    /// What the server's answer named as a wait.
    pub named: Option<Span>,
    /// How long after a first refusal the destination accepted somebody, when it ever did.
    pub learned: Option<Span>,
    /// Between 0 and 1, of the engine's own stream.
    pub chance: f64,
}

/// A retry schedule.
pub trait Retry {
    /// How long a recipient waits that its destination refused for now.
    fn recipient(&self, setback: &Setback) -> Span;

    /// How long a host is left alone that did not answer, or a domain whose name servers did not.
    fn host(&self, setback: &Setback) -> Span;
}

impl Retry for RetryKind {
    fn recipient(&self, setback: &Setback) -> Span {
        retry!(self, |way| way.recipient(setback))
    }

    fn host(&self, setback: &Setback) -> Span {
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

/// Refuses a share of a wait that is not between 0 and 1, and a wait of nothing.
fn check(waits: &[(&str, Span)], jitter: f64) -> Result<(), sojourn_kernel::parameters::Refusal> {
    use sojourn_kernel::parameters::{Refusal, Setting, Value};
    for &(key, span) in waits {
        if span < Span::from_s(1) {
            let given = span.write().expect("a span is a text");
            return Err(Refusal::value(&given, "a wait of at least 1s").under(key));
        }
    }
    if !(0.0..=1.0).contains(&jitter) {
        let refusal = Refusal::value(&Value::Float(jitter), "a share between 0 and 1");
        return Err(refusal.under("jitter"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_kernel::parameters::defaults;

    const FIRST: Setback =
        Setback { times: 1, since_first: Span::ZERO, named: None, learned: None, chance: 0.0 };

    #[test]
    fn backoff_doubles_up_to_its_most() {
        let backoff: Backoff = defaults();
        let wait = |times, chance| backoff.host(&Setback { times, chance, ..FIRST });
        assert_eq!(
            [1, 2, 3, 4].map(|times| wait(times, 0.0)),
            [300, 600, 1200, 2400].map(Span::from_s)
        );
        assert_eq!(wait(u32::MAX, 0.0), Span::from_s(4000));
        assert_eq!(wait(1, 0.5), Span::from_s(315));
    }

    #[test]
    fn prompt_comes_when_it_can_first_succeed() {
        let prompt: Prompt = defaults();
        let wait = |setback| prompt.recipient(&setback).seconds();
        assert_eq!(wait(FIRST), 60.0);
        assert_eq!(wait(Setback { named: Some(Span::from_s(17)), ..FIRST }), 17.0);
        assert_eq!(wait(Setback { learned: Some(Span::from_s(300)), ..FIRST }), 300.0);
        // Refused at 0 s and 61 s: the next customary time is 300 s after the first.
        let again = Setback { times: 2, since_first: Span::from_s(61), ..FIRST };
        assert_eq!(wait(again), 239.0);
        // What was learned lies in the past: on to the customary times.
        assert_eq!(wait(Setback { learned: Some(Span::from_s(40)), ..again }), 239.0);
        let day = Setback { times: 30, since_first: Span::from_s(86_400), ..FIRST };
        assert_eq!(wait(day), 3600.0);
    }
}
