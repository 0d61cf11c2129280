//! Reports of other servers (RFC 3464): what became of which recipient.

use crate::address::Address;
use crate::smtp::Enhanced;
use mail_parser::{HeaderValue, Message, MessageParser, MimeHeaders};

/// What a server says of one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whom the server tried to reach.
    pub recipient: Option<Address>,
    /// Whom the message was sent to at first, if that is told (RFC 3461).
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
}

/// Octets of a diagnosis that are kept.
const DIAGNOSIS_MAX: usize = 500;

/// Recipients of one report that are looked at: ten times what one transaction has to be able to
/// carry (RFC 5321 section 4.5.3.1.8).
const RECIPIENTS_MAX: usize = 1000;

/// What a report says, recipient by recipient; nothing when `text` is no report.
pub fn outcomes(text: &[u8]) -> Option<Vec<Outcome>> {
    read(&message(text)?)
}

/// The message in its parts; nothing when it cannot be taken apart. What strangers send must not
/// end a server, whatever its parser makes of it: a parser that panics has not understood it.
pub(super) fn message(text: &[u8]) -> Option<Message<'_>> {
    std::panic::catch_unwind(|| MessageParser::default().parse(text)).ok().flatten()
}

pub(super) fn read(message: &Message<'_>) -> Option<Vec<Outcome>> {
    let report = message.content_type().filter(|it| is(it, "multipart", &["report"]))?;
    // A few servers leave the kind out.
    let kind = report.attribute("report-type").unwrap_or("delivery-status");
    if !kind.eq_ignore_ascii_case("delivery-status") {
        return None;
    }
    let kinds = ["delivery-status", "global-delivery-status"];
    let part = message
        .parts
        .iter()
        .find(|part| part.content_type().is_some_and(|content| is(content, "message", &kinds)))?;
    let text = String::from_utf8_lossy(part.contents());
    Some(groups(&text).iter().filter_map(outcome).take(RECIPIENTS_MAX).collect())
}

fn is(content: &mail_parser::ContentType<'_>, kind: &str, subkinds: &[&str]) -> bool {
    let subkind = content.subtype().unwrap_or_default();
    content.ctype().eq_ignore_ascii_case(kind)
        && subkinds.iter().any(|name| name.eq_ignore_ascii_case(subkind))
}

type Fields = Vec<(String, String)>;

/// Fields, unfolded, in groups that an empty line parts (RFC 3464 section 2.1).
fn groups(text: &str) -> Vec<Fields> {
    let mut groups = vec![Fields::new()];
    for line in text.lines() {
        let group = groups.last_mut().expect("there is one");
        if line.trim().is_empty() {
            groups.push(Fields::new());
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = group.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            group.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    groups
}

/// What one group says; nothing when it is of no recipient.
fn outcome(fields: &Fields) -> Option<Outcome> {
    let field = |name: &str| fields.iter().find(|(it, _)| it == name).map(|(_, value)| value);
    let recipient = field("final-recipient")?;
    let action = match field("action")?.to_ascii_lowercase().as_str() {
        "failed" => Action::Failed,
        "delayed" => Action::Delayed,
        "delivered" | "relayed" | "expanded" => Action::Passed,
        _ => return None,
    };
    // Comments may follow it.
    let status = field("status").and_then(|text| text.split_ascii_whitespace().next());
    let words = field("diagnostic-code").map_or("", |text| typed(text).1);
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    Some(Outcome {
        recipient: address(recipient),
        original: field("original-recipient").and_then(|text| address(text)),
        action,
        status: status.and_then(|text| text.parse().ok()),
        diagnostic: words.chars().take(DIAGNOSIS_MAX).map(plain).collect(),
    })
}

/// `type; value`.
fn typed(text: &str) -> (&str, &str) {
    let (kind, value) = text.split_once(';').unwrap_or(("", text));
    (kind.trim(), value.trim())
}

fn address(text: &str) -> Option<Address> {
    let (kind, value) = typed(text);
    let known = ["", "rfc822", "utf-8"].iter().any(|name| name.eq_ignore_ascii_case(kind));
    let bare = value.strip_prefix('<').and_then(|value| value.strip_suffix('>')).unwrap_or(value);
    known.then(|| bare.parse().ok()).flatten()
}

/// Whether a program wrote the message in answer to another (RFC 3834), as absence notes are.
pub(super) fn is_reply(message: &Message<'_>) -> bool {
    let header = message.header("Auto-Submitted").and_then(HeaderValue::as_text);
    header.is_some_and(|value| value.trim().to_ascii_lowercase().starts_with("auto-"))
}
