//! The lines of the socket.

use serde_json::{Value, json};
use sojourn_mail_engine::{Counts, MessageId, Operation, Selection, Shaping};
use sojourn_smtp::Address;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request {
    Operate(Operation, Selection),
    /// To take on its configuration anew, which the asker believes to be this file, of this text: the
    /// server may have no right to read it.
    Reload(String, String),
    /// The limits of a domain.
    Shaping(String),
}

const OPERATIONS: [(&str, Operation); 6] = [
    ("count", Operation::Count),
    ("hold", Operation::Hold),
    ("release", Operation::Release),
    ("delete", Operation::Delete),
    ("flush", Operation::Flush),
    ("requeue", Operation::Requeue),
];

impl Request {
    pub(super) fn write(&self) -> String {
        let (operation, selection) = match self {
            Request::Reload(config, text) => {
                return json!({"do": "reload", "config": config, "text": text}).to_string();
            }
            Request::Shaping(domain) => {
                return json!({"do": "shaping", "domain": domain}).to_string();
            }
            Request::Operate(operation, selection) => (operation, selection),
        };
        let name = OPERATIONS.iter().find(|it| it.1 == *operation).expect("each has a name").0;
        json!({
            "do": name,
            "messages": selection.messages.iter().map(|id| id.0).collect::<Vec<_>>(),
            "lists": selection.lists.iter().map(Address::as_str).collect::<Vec<_>>(),
            "domains": selection.domains,
            "addresses": selection.addresses,
        })
        .to_string()
    }

    /// Reads a line; why it is no request.
    pub(super) fn read(line: &[u8]) -> Result<Request, String> {
        let asked: Value = serde_json::from_slice(line).map_err(|why| why.to_string())?;
        let name = asked["do"].as_str().ok_or("no \"do\"")?;
        if name == "reload" {
            let part = |key: &str| asked[key].as_str().map(str::to_owned);
            let given = part("config").zip(part("text"));
            let (config, text) = given.ok_or("no \"config\", or no \"text\" of it")?;
            return Ok(Request::Reload(config, text));
        }
        if name == "shaping" {
            let domain = asked["domain"].as_str().ok_or("no \"domain\"")?;
            return Ok(Request::Shaping(domain.to_lowercase()));
        }
        let operation = OPERATIONS.iter().find(|it| it.0 == name);
        let operation = operation.ok_or_else(|| format!("no operation {name:?}"))?.1;
        // A condition that cannot be read must not make the selection larger.
        let all = |key: &str| asked[key].as_array().ok_or_else(|| format!("{key}: no list"));
        let bad = |key: &str| format!("{key}: not what belongs there");
        let texts = |key: &str| {
            let texts = all(key)?.iter().map(|it| it.as_str().ok_or_else(|| bad(key)));
            texts.collect::<Result<Vec<_>, _>>()
        };
        let lower = |texts: Vec<&str>| texts.into_iter().map(str::to_ascii_lowercase).collect();
        let ids = all("messages")?.iter().map(|it| it.as_u64().map(MessageId));
        let lists = texts("lists")?.into_iter().map(|it| it.parse::<Address>().ok());
        let selection = Selection {
            messages: ids.collect::<Option<_>>().ok_or_else(|| bad("messages"))?,
            lists: lists.collect::<Option<_>>().ok_or_else(|| bad("lists"))?,
            domains: lower(texts("domains")?),
            addresses: lower(texts("addresses")?),
        };
        Ok(Request::Operate(operation, selection))
    }
}

/// An answer: counts, the notices of a reload, or a list of limits; or why it is not done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Done(Counts),
    Reloaded(Vec<String>),
    Shaping(Value),
    Refused(String),
}

impl Answer {
    pub(super) fn write(&self) -> String {
        let line = match self {
            Answer::Done(Counts { messages, recipients, under_way }) => {
                json!({"messages": messages, "recipients": recipients, "under_way": under_way})
            }
            Answer::Reloaded(notices) => json!({"notices": notices}),
            Answer::Shaping(limits) => json!({"shaping": limits}),
            Answer::Refused(why) => json!({"error": why}),
        };
        line.to_string()
    }

    pub(super) fn read(line: &[u8]) -> Result<Answer, String> {
        let told: Value = serde_json::from_slice(line).map_err(|why| why.to_string())?;
        if let Some(why) = told["error"].as_str() {
            return Ok(Answer::Refused(why.to_owned()));
        }
        if let Some(notices) = told["notices"].as_array() {
            let notices = notices.iter().filter_map(|it| it.as_str().map(str::to_owned));
            return Ok(Answer::Reloaded(notices.collect()));
        }
        if told["shaping"].is_array() {
            return Ok(Answer::Shaping(told["shaping"].clone()));
        }
        let count = |key: &str| told[key].as_u64().ok_or_else(|| format!("{key}: no number"));
        Ok(Answer::Done(Counts {
            messages: count("messages")?,
            recipients: count("recipients")?,
            under_way: count("under_way")?,
        }))
    }
}

/// Limits as JSON.
pub(crate) fn limits(all: &[Shaping]) -> Value {
    let line = |it: &Shaping| {
        json!({
            "by": it.by.to_string(),
            "name": &*it.name,
            "open": it.open,
            "sessions": it.sessions,
            "per_minute": it.per_minute,
            "per_session": it.per_session,
            "slowed": it.slowed,
        })
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read() {
        let selection = Selection {
            messages: [MessageId(7)].into(),
            lists: vec!["news-bounces@lists.example".parse().unwrap()],
            domains: ["x.example".to_owned()].into(),
            addresses: ["a@x.example".to_owned()].into(),
        };
        for (_, operation) in OPERATIONS {
            let request = Request::Operate(operation, selection.clone());
            assert_eq!(Request::read(request.write().as_bytes()), Ok(request));
        }
        let reload = Request::Reload("/etc/lists.toml".into(), "[mail]\n".into());
        assert_eq!(Request::read(reload.write().as_bytes()), Ok(reload));
        let shaping = Request::Shaping("x.example".into());
        assert_eq!(Request::read(shaping.write().as_bytes()), Ok(shaping));
    }

    /// What is wrong with a condition never leads to a larger selection.
    #[test]
    fn what_cannot_be_read_is_refused() {
        let good = Request::Operate(Operation::Delete, Selection::default()).write();
        assert!(Request::read(good.as_bytes()).is_ok());
        for (from, to) in [
            ("\"messages\":[]", "\"messages\":[\"7\"]"),
            ("\"messages\":[]", "\"message\":[]"),
            ("\"lists\":[]", "\"lists\":[\"nowhere\"]"),
            ("\"domains\":[]", "\"domains\":\"x.example\""),
            ("\"addresses\":[]", "\"addresses\":[1]"),
            ("delete", "destroy"),
            ("{", ""),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert!(Request::read(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_answered_is_read() {
        let counts = Counts { messages: 1, recipients: 2, under_way: 3 };
        for answer in [
            Answer::Done(counts),
            Answer::Reloaded(vec!["fewer sessions".into()]),
            Answer::Shaping(json!([{"by": "domain"}])),
            Answer::Refused("no".into()),
        ] {
            assert_eq!(Answer::read(answer.write().as_bytes()), Ok(answer));
        }
    }
}
