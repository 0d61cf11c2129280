//! Reports of other servers (RFC 3464): what became of which recipient.

use super::content::word;
use super::fields::{Groups, address, typed};
use super::mime::{Kind, PARSED_MAX, parts};
use sojourn_smtp::{Address, Enhanced, plain};

/// What a server says of one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The recipient that the server tried to reach.
    pub recipient: Option<Address>,
    /// The recipient that the message was first sent to, where the report has it (RFC 3461).
    pub original: Option<Address>,
    /// What became of it.
    pub action: Action,
    /// Why, as a status (RFC 3463).
    pub status: Option<Enhanced>,
    /// Why, in the words of the host that refused.
    pub diagnostic: String,
}

/// What became of a recipient (RFC 3464 section 2.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It will not be delivered.
    Failed,
    /// It is still tried.
    Delayed,
    /// It was delivered, or handed on.
    Passed,
    /// The word for it is none of the standard's, or missing.
    Unknown,
}

/// Octets of a diagnosis that are kept.
const DIAGNOSIS_MAX: usize = 500;

/// Recipients of one report that are looked at: ten times what one transaction has to be able to
/// carry (RFC 5321 section 4.5.3.1.8).
const RECIPIENTS_MAX: usize = 1000;

/// What a report says, recipient by recipient; nothing when `text` is no report on delivery. Its
/// first [`PARSED_MAX`](super::mime::PARSED_MAX) octets are looked at.
pub fn outcomes(text: &[u8]) -> Option<Vec<Outcome>> {
    let parts = parts(text);
    let report = parts.iter().find(|it| matches!(it.kind, Kind::Delivery | Kind::Feedback))?;
    let status = report.text(PARSED_MAX).filter(|_| report.kind == Kind::Delivery)?;
    Some(recipients(&status))
}

/// What the text of a `message/delivery-status` says.
pub(super) fn recipients(status: &[u8]) -> Vec<Outcome> {
    let groups = Groups::new(status, FIELDS);
    groups.filter_map(|values| outcome(&values)).take(RECIPIENTS_MAX).collect()
}

const FIELDS: [&str; 5] =
    ["final-recipient", "original-recipient", "action", "status", "diagnostic-code"];

/// What one group says; nothing when it is of no recipient.
fn outcome(values: &[String; 5]) -> Option<Outcome> {
    let [recipient, original, action, status, diagnostic] = values;
    if recipient.is_empty() && original.is_empty() {
        return None;
    }
    let action = match word(action.as_bytes()).as_slice() {
        b"failed" | b"failure" | b"expired" => Action::Failed,
        b"delayed" | b"delay" => Action::Delayed,
        b"delivered" | b"relayed" | b"expanded" => Action::Passed,
        _ if status.starts_with('2') => Action::Passed,
        _ => Action::Unknown,
    };
    let status = String::from_utf8(word(status.as_bytes())).ok();
    let diagnostic: String = typed(diagnostic).1.chars().take(DIAGNOSIS_MAX).collect();
    Some(Outcome {
        recipient: address(recipient),
        original: address(original),
        action,
        status: status.and_then(|text| text.parse().ok()),
        diagnostic: plain(&diagnostic).into_owned(),
    })
}
