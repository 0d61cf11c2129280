//! Complaints (RFC 5965, the Abuse Reporting Format): a recipient called a message spam.

use super::content::word;
use super::fields::{Groups, address};
use super::mime::{Kind, Part};
use sojourn_smtp::Address;
use sojourn_smtp::header::all;
use std::borrow::Cow;
use std::fmt;

/// What another server reports of mail that was delivered. It is no bounce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Whose mail it was: the subscriber of the return path, or the original recipient that the
    /// report names. Many servers name none.
    pub subscriber: Option<Address>,
    /// What is said of the mail.
    pub feedback: Feedback,
    /// Words of the report and of the enclosed mail's header in which a return path, or a link to
    /// unsubscribe, may be. Anyone can write them.
    pub mentions: Vec<String>,
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

/// The field above mail in a complaint of Microsoft's, which has no part for programs.
const OF_MICROSOFT: &str = "X-HmXmrOriginalRecipient";
/// Octets of a report, and of the header of the mail, that are looked at, and words that are kept.
const OCTETS_MAX: usize = 64 * 1024;
const MENTIONS_MAX: usize = 100;
/// Octets of a word that is kept: more than a line of a message may have (RFC 5322 section 2.1.1).
const MENTION_MAX: usize = 1000;

/// What a feedback report says of the mail `original`, or a message that encloses that mail alone.
pub(super) fn complaint(
    report: Option<&Part<'_>>,
    original: Option<&Part<'_>>,
) -> Option<Complaint> {
    let original = original.and_then(|it| it.text(OCTETS_MAX)).unwrap_or_default();
    let header = header_of(&original);
    let (fields, kind, recipient) = match report {
        Some(report) if report.kind == Kind::Feedback => {
            let fields = report.text(OCTETS_MAX)?;
            let names = ["feedback-type", "original-rcpt-to"];
            let [kind, recipient] = Groups::new(&fields, names).next().unwrap_or_default();
            (fields, kind, recipient)
        }
        Some(_) => return None,
        None => {
            let recipient = all(header, OF_MICROSOFT).next()?;
            let recipient = String::from_utf8_lossy(recipient.trim_ascii()).into_owned();
            (Cow::Borrowed(&b""[..]), "abuse".to_owned(), recipient)
        }
    };
    let feedback = match word(kind.as_bytes()).as_slice() {
        b"abuse" => Feedback::Abuse,
        b"auth-failure" => Feedback::AuthFailure,
        b"fraud" => Feedback::Fraud,
        b"not-spam" => Feedback::NotSpam,
        b"virus" => Feedback::Virus,
        _ => Feedback::Other,
    };
    let mentions = mentions(&fields).chain(mentions(header)).take(MENTIONS_MAX).collect();
    Some(Complaint { subscriber: address(&recipient), feedback, mentions })
}

/// Words with a `@` or a `/` in them, as addresses and links have one.
fn mentions(text: &[u8]) -> impl Iterator<Item = String> {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"<>\"';,()[]".contains(byte);
    let words = text.split(is_end).filter(|it| it.len() <= MENTION_MAX);
    let words = words.filter(|it| it.contains(&b'@') || it.contains(&b'/'));
    words.filter_map(|it| String::from_utf8(it.to_vec()).ok())
}

/// The header of `text`.
fn header_of(text: &[u8]) -> &[u8] {
    let ends = [&b"\r\n\r\n"[..], b"\n\n"].map(|it| memchr::memmem::find(text, it));
    &text[..ends.into_iter().flatten().min().unwrap_or(text.len())]
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
