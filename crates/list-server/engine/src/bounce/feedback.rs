//! Complaints (RFC 5965, the Abuse Reporting Format): a recipient called a message spam.

use super::content::word;
use super::fields::{Groups, address};
use sojourn_smtp::Address;
use std::fmt;

/// What another server reports of mail that was delivered. It is no bounce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Whose mail it was: the subscriber of the return path, or the original recipient that the
    /// report names. Many servers name none.
    pub subscriber: Option<Address>,
    /// What is said of the mail.
    pub feedback: Feedback,
}

/// The type of feedback (RFC 5965 section 7.3, RFC 6591, RFC 6430).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It is unwanted.
    Abuse,
    /// Its signatures, or its host, do not fit its sender.
    AuthFailure,
    /// It deceives.
    Fraud,
    /// It was taken for spam and is none.
    NotSpam,
    /// It carries a virus.
    Virus,
    /// Something else, or a type that is not registered.
    Other,
}

/// What a feedback report says.
pub(super) fn complaint(text: &[u8]) -> Complaint {
    let names = ["feedback-type", "original-rcpt-to"];
    let [kind, recipient] = Groups::new(text, names).next().unwrap_or_default();
    let feedback = match word(kind.as_bytes()).as_slice() {
        b"abuse" => Feedback::Abuse,
        b"auth-failure" => Feedback::AuthFailure,
        b"fraud" => Feedback::Fraud,
        b"not-spam" => Feedback::NotSpam,
        b"virus" => Feedback::Virus,
        _ => Feedback::Other,
    };
    Complaint { subscriber: address(&recipient), feedback }
}

impl fmt::Display for Feedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Feedback::Abuse => "abuse",
            Feedback::AuthFailure => "auth-failure",
            Feedback::Fraud => "fraud",
            Feedback::NotSpam => "not-spam",
            Feedback::Virus => "virus",
            Feedback::Other => "other",
        })
    }
}
