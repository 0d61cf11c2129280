//! KumoMTA: a record of JSON for each recipient of each attempt.
//!
//! Source: KumoMTA's reference, "Log Record".

use super::{Mailer, Said};
use crate::event::{Attempt, Dsn, Event, MessageInfo, Outcome, Part};
use crate::problems::Why;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) static KUMOMTA: Mailer =
    Mailer { name: "kumomta", owns, says_removed: false, has_lists: true, read };

/// A record; texts as they are written, in quotes.
#[derive(Deserialize)]
pub(crate) struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a RawValue,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    sender: Option<&'a RawValue>,
    #[serde(borrow)]
    recipient: &'a RawValue,
    size: Option<u64>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    #[serde(borrow)]
    peer_address: Option<Peer<'a>>,
    /// Seconds since 1970.
    pub(crate) timestamp: i64,
    created: Option<i64>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    enhanced_code: Option<Status>,
}

#[derive(Deserialize)]
struct Status {
    class: u8,
    subject: u16,
    detail: u16,
}

#[derive(Deserialize)]
struct Peer<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    addr: Option<&'a RawValue>,
}

/// The first second of the year 10000.
const LATEST: i64 = 253_402_300_800;

impl<'a> Record<'a> {
    /// A record, if this line of JSON is one, with times of the years 1970 to 9999.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Record<'a>> {
        let record: Record<'a> = serde_json::from_slice(line).ok()?;
        let is_time = |seconds: &i64| (0..LATEST).contains(seconds);
        (is_time(&record.timestamp) && record.created.iter().all(is_time)).then_some(record)
    }
}

fn owns(program: &[u8]) -> bool {
    program == b"kumomta"
}

fn read(text: &[u8]) -> Result<Said<'_>, Why> {
    let record = Record::parse(text).ok_or("a record without type, id, recipient or timestamp")?;
    let id = inner(record.id);
    let kind = inner(record.kind);
    let outcome = match kind {
        b"Reception" => {
            let info = MessageInfo {
                accepted: true,
                sender: record.sender.map(inner),
                size: record.size,
                recipients: Some(1),
                ..MessageInfo::default()
            };
            return Ok(Some((id, Event::MessageInfo(info))));
        }
        b"Delivery" => Outcome::Delivered,
        b"TransientFailure" => Outcome::Deferred,
        b"Bounce" => Outcome::Bounced,
        b"Expiration" | b"AdminBounce" => Outcome::Bounced,
        _ => return Ok(Some((id, Event::NoDelivery))),
    };
    // no host is tried when a message's time is over
    let part = if kind == b"Expiration" { Part::More } else { Part::Unmarked };
    let mut attempt = Attempt::new(inner(record.recipient), outcome, part);
    attempt.text = reply(&record);
    attempt.delay = record.created.map(|created| (record.timestamp - created) * 1_000_000);
    let status = record.response.and_then(|response| response.enhanced_code);
    attempt.dsn = status.map(|it| Dsn(it.class, it.subject, it.detail));
    if let Some(peer) = record.peer_address {
        let name = peer.name.map(inner).unwrap_or_default();
        attempt.relay = Some(name.strip_suffix(b".").unwrap_or(name));
        attempt.address = peer.addr.map(inner).unwrap_or_default();
    }
    let is_deleted = kind == b"AdminBounce";
    Ok(Some((id, if is_deleted { Event::Deleted(attempt) } else { Event::Attempt(attempt) })))
}

fn reply<'a>(record: &Record<'a>) -> &'a [u8] {
    let content = record.response.as_ref().and_then(|response| response.content);
    content.map(inner).unwrap_or_default()
}

/// A text without its quotes; of a list what is in the brackets; of `null` nothing.
fn inner(value: &RawValue) -> &[u8] {
    match value.get().as_bytes() {
        [b'"', text @ .., b'"'] | [b'[', text @ .., b']'] => text,
        b"null" => b"",
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: &str) -> String {
        format!(
            r#"{{"type":"{kind}","id":"d7ef1","sender":"a@x","recipient":"b@y","queue":"y",
            "size":1047,"response":{{"code":250,"enhanced_code":{{"class":2,"subject":0,"detail":0}},
            "content":"OK \"id\"","command":null}},"peer_address":{{"name":"mx.y.","addr":"192.0.2.1"}},
            "timestamp":1795341660,"created":1795341600,"num_attempts":0,"nodeid":"n","meta":{{}}}}"#
        )
    }

    #[test]
    fn attempts() {
        let attempt = Attempt {
            relay: Some(b"mx.y"),
            address: b"192.0.2.1",
            delay: Some(60_000_000),
            dsn: Some(Dsn(2, 0, 0)),
            text: br#"OK \"id\""#,
            ..Attempt::new(b"b@y", Outcome::Delivered, Part::Unmarked)
        };
        assert_eq!(KUMOMTA.attempted(&record("Delivery")), attempt);
        for (kind, outcome) in
            [("TransientFailure", Outcome::Deferred), ("Bounce", Outcome::Bounced)]
        {
            assert_eq!(KUMOMTA.attempted(&record(kind)).outcome, outcome);
        }
        let several = record("Delivery").replace(r#""b@y""#, r#"["b@y","c@y"]"#);
        assert_eq!(KUMOMTA.attempted(&several).recipients, br#""b@y","c@y""#);
        let bare = r#"{"type":"TransientFailure","id":"1","sender":null,"recipient":"b@y",
            "response":{"code":400,"enhanced_code":null,"content":"no"},"peer_address":null,
            "timestamp":1}"#;
        let bare = KUMOMTA.attempted(bare);
        assert_eq!((bare.relay, bare.delay, bare.dsn), (None, None, None));
    }

    #[test]
    fn other_records() {
        let reception = record("Reception");
        let Ok(Some(Event::MessageInfo(info))) = KUMOMTA.event(&reception) else {
            panic!("a reception")
        };
        assert_eq!((info.sender, info.size), (Some(&b"a@x"[..]), Some(1047)));
        let expiry = record("Expiration");
        let expiry = KUMOMTA.attempted(&expiry);
        assert_eq!((expiry.outcome, expiry.part), (Outcome::Bounced, Part::More));
        assert!(matches!(KUMOMTA.event(&record("AdminBounce")), Ok(Some(Event::Deleted(_)))));
        assert_eq!(KUMOMTA.event(&record("Feedback")), Ok(Some(Event::NoDelivery)));
    }

    #[test]
    fn what_is_damaged() {
        KUMOMTA.refuses(&["{", "{}", r#"{"type":"Delivery","id":"1","timestamp":1}"#]);
        // Times that no record has: their difference would be no number of microseconds.
        for (time, other) in
            [("1795341600", "-9000000000000000000"), ("1795341660", "253402300800")]
        {
            KUMOMTA.refuses(&[&record("Delivery").replace(time, other)]);
        }
    }
}
