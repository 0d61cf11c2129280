//! Lines of JSON: journal entries, lines that a container's log encloses, records of KumoMTA.

use crate::mailer::KumoRecord;
use serde_json::{Map, Value};

/// What an object is.
pub(crate) enum Json {
    /// A journal entry, as its fields (journalctl --output=json).
    Entry(Vec<(String, Vec<u8>)>),
    /// A line of another log.
    Line(Vec<u8>),
    /// A record of KumoMTA, and when it was made, in seconds since 1970.
    Kumo(i64),
    /// Something else.
    Other,
}

/// Names that collectors of logs give to a line: Docker, Fluentd, Logstash, Loki, Splunk, Google.
const LINES: [&str; 7] = ["log", "message", "msg", "line", "MESSAGE", "event", "textPayload"];

/// Reads an object; nothing where it is damaged.
pub(crate) fn read(text: &[u8]) -> Option<Json> {
    if let Some(record) = KumoRecord::parse(text) {
        return Some(Json::Kumo(record.timestamp));
    }
    let object: Map<String, Value> = serde_json::from_slice(text).ok()?;
    if object.contains_key("__REALTIME_TIMESTAMP") {
        let field = |(name, value)| Some((name, octets(&value)?));
        return Some(Json::Entry(object.into_iter().filter_map(field).collect()));
    }
    let line = LINES.iter().find_map(|name| octets(object.get(*name)?));
    Some(line.map_or(Json::Other, |mut line| {
        line.truncate(line.trim_ascii_end().len());
        Json::Line(line)
    }))
}

/// A text, or the octets of what is no text; of a field that occurs more than once, the first one.
fn octets(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(all) if all.first().is_some_and(Value::is_number) => {
            all.iter().map(|octet| octet.as_u64().and_then(|it| it.try_into().ok())).collect()
        }
        Value::Array(all) => all.first().and_then(octets),
        _ => None,
    }
}
