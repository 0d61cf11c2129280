//! Who wrote a message, by its header.

use super::content::{ContentType, word};
use super::phrases::{begins, has};
use sojourn_smtp::header::{all, beginning, each};

/// Who wrote a message. Of several signs the last of these counts: automatic answers have no mail
/// system's name, but reports of mail systems may say that they are automatic (RFC 3834 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A person, for all that it says.
    Person,
    /// A program that answers (RFC 3834 section 2), such as an absence note or a receipt for a
    /// message that was read (RFC 8098), or one that writes to many.
    Program,
    /// A mail system, about what it could not deliver.
    MailSystem,
}

/// Who wrote `text`.
pub fn origin(text: &[u8]) -> Origin {
    each(beginning(text)).map(|(name, value)| sign(name, value)).max().unwrap_or(Origin::Person)
}

/// Whether `text` is a report itself, whatever its return path.
pub fn is_report(text: &[u8]) -> bool {
    let name = "Content-Type";
    all(beginning(text), name).any(|value| sign(name.as_bytes(), value) == Origin::MailSystem)
}

/// Fields that only programs write.
const OF_PROGRAMS: [&str; 6] = [
    "List-Id",
    "List-Unsubscribe",
    "Precedence",
    "X-Autoreply",
    "X-Autorespond",
    "X-Auto-Response-Suppress",
];

fn sign(name: &[u8], value: &[u8]) -> Origin {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    if is("Auto-Submitted") && word(value) != b"no" || OF_PROGRAMS.iter().any(|it| is(it)) {
        return Origin::Program;
    }
    if is("Content-Type") && word(value) == b"multipart/report" {
        let kind = ContentType::read(value).and_then(|it| it.report_type);
        return match kind.as_deref() {
            None | Some(b"delivery-status" | b"feedback-report") => Origin::MailSystem,
            Some(_) => Origin::Program,
        };
    }
    let subject = || value.trim_ascii_start();
    let is_of_mail_system = is("X-Failed-Recipients")
        || is("From") && has("from", value)
        || is("Subject") && (begins("failed", subject()) || begins("late", subject()));
    if is_of_mail_system { Origin::MailSystem } else { Origin::Person }
}
