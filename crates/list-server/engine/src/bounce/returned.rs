//! From a message that came back to the recipients that it reports on.

use super::feedback::{Complaint, complaint};
use super::mime::{Report, report};
use super::origin::{Origin, origin};
use super::status::{Action, Outcome, recipients};
use super::words::words;
use crate::list::return_path::Reading;
use sojourn_smtp::{Address, Enhanced};
use std::collections::BTreeSet;

/// Mail for a subscriber came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounce {
    /// The subscriber.
    pub subscriber: Address,
    /// Whether there is hope.
    pub severity: Severity,
    /// Why.
    pub status: Option<Enhanced>,
    /// Why, in words: those of the host that refused, or else what the status means. Never empty.
    pub reason: String,
}

/// How much a bounce says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The host refused for good.
    Hard,
    /// It gave up after temporary failures, or said why in words alone.
    Soft,
}

/// What a message says that came to a return path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Mail for these subscribers did not arrive. There are none when it is news of a delay, of a
    /// delivery, or an absence note.
    Bounces(Vec<Bounce>),
    /// A recipient called the mail spam: it arrived.
    Complaint(Complaint),
    /// No program can tell; a person should read it.
    Unclear,
}

/// What the message `text`, which came to a return path, says. Its first
/// [`PARSED_MAX`](super::mime::PARSED_MAX) octets are looked at.
///
/// A return path that names the subscriber counts more than what the report names: mail may have
/// been forwarded.
pub fn returned(to: &Reading, text: &[u8]) -> Returned {
    let named = match to {
        Reading::Of(subscriber) => Some(subscriber),
        Reading::Plain => None,
    };
    match (report(text), named) {
        (Some(Report::Delivery(status)), _) => Returned::Bounces(failures(named, &status)),
        (Some(Report::Feedback(text)), _) => {
            let complaint = complaint(&text);
            let subscriber = named.cloned().or(complaint.subscriber);
            Returned::Complaint(Complaint { subscriber, ..complaint })
        }
        (None, None) => Returned::Unclear,
        (None, Some(subscriber)) => match origin(text) {
            // In words alone, as qmail has it.
            Origin::MailSystem => Returned::Bounces(vec![Bounce {
                subscriber: subscriber.clone(),
                severity: Severity::Soft,
                status: None,
                reason: "a message came back that is no report".into(),
            }]),
            Origin::Program => Returned::Bounces(Vec::new()),
            Origin::Person => Returned::Unclear,
        },
    }
}

/// The bounces of the recipients that a `message/delivery-status` calls failed, or of `named` alone.
fn failures(named: Option<&Address>, status: &[u8]) -> Vec<Bounce> {
    let mut known = BTreeSet::new();
    let failed = recipients(status).into_iter().filter(|outcome| outcome.action == Action::Failed);
    failed
        .filter_map(|outcome| {
            let Outcome { recipient, original, status, diagnostic, .. } = outcome;
            let subscriber = named.cloned().or(original).or(recipient)?;
            let soft = status.is_some_and(|Enhanced(class, ..)| class == 4);
            let severity = if soft { Severity::Soft } else { Severity::Hard };
            let reason = match status {
                _ if !diagnostic.is_empty() => diagnostic,
                Some(status) => format!("{status}: {}", words(status)),
                None => "delivery failed; the report gives no status".into(),
            };
            known.insert(subscriber.clone()).then_some(Bounce {
                subscriber,
                severity,
                status,
                reason,
            })
        })
        .collect()
}
