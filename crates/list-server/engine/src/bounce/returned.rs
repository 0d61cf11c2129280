//! From a message that came back to the recipients that it reports on.

use super::feedback::{Complaint, complaint};
use super::mime::{Kind, PARSED_MAX, Part, parts, whole};
use super::origin::{Origin, is_report, origin};
use super::phrases::{Cause, Words, begins, line, reply};
use super::status::{Action, Outcome, recipients};
use super::words::words;
use crate::list::return_path::Reading;
use sojourn_smtp::header::{all, beginning};
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
    /// It gave up after temporary failures, or did not say why.
    Soft,
}

/// What a message says that came to a return path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Mail for these subscribers did not arrive. There is none where
    /// a report names no address.
    Bounces(Vec<Bounce>),
    /// A note that costs no subscriber anything.
    Note(Note),
    /// A recipient called the mail spam: it arrived.
    Complaint(Complaint),
    /// No program can tell; a person should read it.
    Unclear,
}

/// The kinds of mail that comes to a return path, as [`Returned::kind`] names them.
pub const KINDS: [&str; 6] = ["bounce", "delay", "delivery", "answer", "complaint", "unclear"];

impl Returned {
    /// One of [`KINDS`].
    pub fn kind(&self) -> &'static str {
        match self {
            Returned::Bounces(_) => "bounce",
            Returned::Note(Note::Delay) => "delay",
            Returned::Note(Note::Delivery) => "delivery",
            Returned::Note(Note::Answer) => "answer",
            Returned::Complaint(_) => "complaint",
            Returned::Unclear => "unclear",
        }
    }
}

/// What a message says that is no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The mail is still being tried.
    Delay,
    /// The mail arrived, or was handed on.
    Delivery,
    /// A program answers, such as an absence note.
    Answer,
}

/// What the message `text`, which came to a return path, says. `is_null_sender` is whether its own
/// return path is empty, as reports have it (RFC 5321 section 4.5.5). Its first
/// [`PARSED_MAX`](super::mime::PARSED_MAX) octets are looked at.
///
/// A return path that names the subscriber counts more than what the report names: mail may have
/// been forwarded.
pub fn returned(to: &Reading, is_null_sender: bool, text: &[u8]) -> Returned {
    let named = match to {
        Reading::Of(subscriber) => Some(subscriber),
        Reading::Plain => None,
    };
    let mut origin = origin(text);
    let parts = parts_of(origin, text);
    let report = parts.iter().find(|it| it.is_report());
    let original = parts.iter().find(|it| it.kind == Kind::Original);
    let of_people = original.filter(|_| origin != Origin::MailSystem || report.is_some());
    if let Some(complaint) = complaint(report, of_people) {
        let subscriber = named.cloned().or(complaint.subscriber);
        return Returned::Complaint(Complaint { subscriber, ..complaint });
    }
    let mut outcomes = Vec::new();
    if let Some(report) = report {
        origin = Origin::MailSystem;
        outcomes.extend(report.text(PARSED_MAX).map(|status| recipients(&status)));
    }
    let words = named.map(|_| Words::of(&parts));
    // The fields of a report may stand in a text for people.
    if let (None, Origin::MailSystem, Some(words)) = (report, origin, &words) {
        outcomes.push(recipients(&words.text));
        outcomes[0].retain(|it| it.action != Action::Unknown);
    }
    let mut outcomes = outcomes.concat();
    let unknown: Vec<_> = outcomes.extract_if(.., |it| it.action == Action::Unknown).collect();
    if outcomes.iter().any(|it| it.action == Action::Failed) {
        outcomes.retain(|it| it.action == Action::Failed);
        return Returned::Bounces(bounces(named, outcomes, words.as_ref()));
    }
    if let Some(outcome) = outcomes.first() {
        let is_late = outcome.action == Action::Delayed;
        return Returned::Note(if is_late { Note::Delay } else { Note::Delivery });
    }
    let (Some(named), Some(words)) = (named, words) else { return Returned::Unclear };
    let cause = words.cause();
    let is_late = || begins("late", subject(text));
    let (severity, status, line) = match (origin, cause) {
        (Origin::Program, _) => return Returned::Note(Note::Answer),
        // Persons write of delays too, but none with an empty return path.
        (Origin::Person, Some(Cause { kind: "delay" | "refused", .. })) if !is_null_sender => {
            return Returned::Unclear;
        }
        (_, Some(Cause { kind: "delay", .. })) => return Returned::Note(Note::Delay),
        (Origin::MailSystem, _) if is_late() => return Returned::Note(Note::Delay),
        (_, Some(Cause { kind: "refused", status, line })) => (Severity::Hard, status, line),
        (Origin::Person, _) => return Returned::Unclear,
        (_, Some(Cause { kind: "final", status, line })) => (Severity::Hard, status, line),
        (_, Some(Cause { status, line, .. })) => (Severity::Soft, status, line),
        (_, None) => (Severity::Soft, None, line(subject(text))),
    };
    if severity == Severity::Soft && !unknown.is_empty() {
        return Returned::Bounces(bounces(Some(named), unknown, None));
    }
    let unsaid = || "a message came back that is no report".to_owned();
    let reason = Some(line).filter(|it| !it.is_empty()).unwrap_or_else(unsaid);
    Returned::Bounces(vec![Bounce { subscriber: named.clone(), severity, status, reason }])
}

/// The parts of a message, or of the report that a mail system forwards in it: some return mail to
/// the sender by way of another one. What came back from a list is no such report.
fn parts_of(origin: Origin, text: &[u8]) -> Vec<Part<'_>> {
    let found = parts(text);
    if origin != Origin::MailSystem || found.iter().any(Part::is_report) {
        return found;
    }
    let is_list_mail =
        |body| ["List-Id", "List-Unsubscribe"].iter().any(|it| all(body, it).next().is_some());
    let forwarded = found.iter().find(|it| {
        let header = beginning(it.body);
        it.kind == Kind::Original && is_report(header) && !is_list_mail(header)
    });
    match forwarded {
        Some(part) => parts(part.body),
        None if found.is_empty() => vec![whole(text)],
        None => found,
    }
}

/// The subject of a message.
fn subject(text: &[u8]) -> &[u8] {
    all(beginning(text), "Subject").next().unwrap_or_default().trim_ascii()
}

/// The bounces of the recipients that a report calls failed, or of `named` alone. Of a report that
/// is not read to its end it is uncertain how they failed.
fn bounces(named: Option<&Address>, outcomes: Vec<Outcome>, text: Option<&Words>) -> Vec<Bounce> {
    let mut known = BTreeSet::new();
    // Where the report has no words of a host, the text for people may.
    let cause = text.and_then(Words::cause).filter(|it| matches!(it.kind, "refused" | "passing"));
    let line = cause.map(|it| it.line).unwrap_or_default();
    let bounce = |outcome| {
        let Outcome { recipient, original, action, status, diagnostic } = outcome;
        let subscriber = named.cloned().or(original).or(recipient)?;
        let status = status.or_else(|| reply(diagnostic.as_bytes())?.1);
        let is_soft = match status {
            Some(Enhanced(class, ..)) => class != 5,
            None => action == Action::Unknown,
        };
        let severity = if is_soft { Severity::Soft } else { Severity::Hard };
        let reason = match status {
            _ if !diagnostic.is_empty() => diagnostic,
            _ if !line.is_empty() => line.clone(),
            Some(status) => format!("{status}: {}", words(status)),
            None => "delivery failed; the report gives no status".into(),
        };
        let bounce = Bounce { subscriber: subscriber.clone(), severity, status, reason };
        known.insert(subscriber).then_some(bounce)
    };
    outcomes.into_iter().filter_map(bounce).collect()
}
