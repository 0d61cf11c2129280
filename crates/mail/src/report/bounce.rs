//! From a message that came back to whom it says something about.

use super::status::{Action, is_reply, message, read};
use super::verp::Reading;
use crate::address::Address;
use crate::smtp::Enhanced;

/// Mail for a subscriber came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounce {
    /// The subscriber.
    pub subscriber: Address,
    /// Whether there is hope.
    pub severity: Severity,
    /// Why.
    pub status: Option<Enhanced>,
    /// Why, in words.
    pub reason: String,
}

/// How much a bounce says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The host refused for good.
    Hard,
    /// It gave up after temporary failures, or nobody can read what it said.
    Soft,
}

/// Whom the message `text`, which came to a return path, says something about. Nothing when it
/// cannot be told: a person should look at it. Nobody, when it is no bounce: news of a delay, of a
/// delivery, or an absence note.
///
/// A return path that names the subscriber counts more than what the report names: mail may have
/// been forwarded.
pub fn bounces(to: &Reading, text: &[u8]) -> Option<Vec<Bounce>> {
    let message = message(text)?;
    let named = match to {
        Reading::Of(subscriber) => Some(subscriber),
        Reading::Plain => None,
    };
    let Some(outcomes) = read(&message) else {
        let subscriber = named?.clone();
        if is_reply(&message) {
            return Some(Vec::new());
        }
        let reason = "a message came back that is no report".into();
        return Some(vec![Bounce { subscriber, severity: Severity::Soft, status: None, reason }]);
    };
    let mut bounces: Vec<Bounce> = Vec::new();
    for outcome in outcomes {
        if outcome.action != Action::Failed {
            continue;
        }
        let subscriber = named.cloned().or(outcome.original).or(outcome.recipient);
        let Some(subscriber) = subscriber else { continue };
        if bounces.iter().any(|known| known.subscriber == subscriber) {
            continue;
        }
        let soft = outcome.status.is_some_and(|Enhanced(class, ..)| class == 4);
        let severity = if soft { Severity::Soft } else { Severity::Hard };
        let (status, reason) = (outcome.status, outcome.diagnostic);
        bounces.push(Bounce { subscriber, severity, status, reason });
    }
    Some(bounces)
}
