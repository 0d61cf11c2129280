//! How a configuration differs from another, and what of that takes effect while a server runs.

use super::settings::Serving;
use sojourn_core::parameters::{Parameters, Table, Value};

/// Settings that take effect while the server runs: all of a table, or one key of it.
const FREE: [&str; 23] = [
    "listener",
    "certificate",
    "user",
    "submitter",
    "list",
    "dkim",
    "bounces",
    "reception.trusted",
    "reception.postmaster",
    "reception.abuse",
    "reception.repair",
    "reception.bounds",
    "reception.subscribers",
    "reception.reader_hourly",
    "reception.postmaster_hourly",
    "reception.octets_hourly",
    "network.resolvers",
    "network.question",
    "network.sources",
    "network.loopback",
    "network.families",
    "network.roots",
    "network.grace",
];

/// Whether another value of the setting at `path`, such as `reception.sessions`, takes effect at a
/// start only.
pub fn needs_restart(path: &str) -> bool {
    let (table, _) = path.split_once('.').unwrap_or((path, ""));
    let is_free = if table == "mail" { path != "mail.hello" } else { FREE.contains(&table) };
    !is_free && !FREE.contains(&path)
}

/// A setting that is another one.
pub(super) struct Change {
    pub(super) path: String,
    /// What there is to be said of it.
    pub(super) words: String,
}

/// What is another in `new` than in `old`.
pub(super) fn changes(old: &Serving, new: &Serving) -> Vec<Change> {
    let (old, new) = (old.write_table(), new.write_table());
    let mut all = Vec::new();
    for (key, before, after) in pairs(&old, &new) {
        match (before, after) {
            (Value::Table(before), Value::Table(after)) => all
                .extend(pairs(before, after).map(|(inner, ..)| changed(format!("{key}.{inner}")))),
            (Value::List(before), Value::List(after)) => {
                let words = entries(key, before, after).into_iter();
                all.extend(words.map(|words| Change { path: key.to_owned(), words }));
            }
            _ => all.push(changed(key.to_owned())),
        }
    }
    all
}

fn changed(path: String) -> Change {
    Change { words: format!("{path} changed"), path }
}

/// The keys whose values are not the same: every key is in both tables.
fn pairs<'a>(
    old: &'a Table,
    new: &'a Table,
) -> impl Iterator<Item = (&'a str, &'a Value, &'a Value)> {
    let both = new.iter().filter_map(|(key, after)| Some((key, old.get(key)?, after)));
    both.filter(|(_, before, after)| before != after)
}

/// Which entries of a list of tables came, went, or are others by the same name.
fn entries(key: &str, before: &[Value], after: &[Value]) -> Vec<String> {
    let surplus = |of: &[Value], to: &[Value]| {
        let mut rest = to.to_vec();
        let mut unknown = of.to_vec();
        unknown.retain(|entry| {
            let known = rest.iter().position(|it| it == entry);
            known.map(|place| rest.swap_remove(place)).is_none()
        });
        unknown.iter().map(|entry| name(key, entry)).collect::<Vec<_>>()
    };
    let (gone, mut come) = (surplus(before, after), surplus(after, before));
    let words = gone.into_iter().map(|name| match come.iter().position(|it| *it == name) {
        Some(place) => format!("{key} {} changed", come.remove(place)),
        None => format!("{key} {name} removed"),
    });
    let mut words: Vec<_> = words.collect();
    words.extend(come.iter().map(|name| format!("{key} {name} added")));
    words
}

/// What an entry of a list of tables is known by.
fn name(key: &str, entry: &Value) -> String {
    let Value::Table(entry) = entry else { return entry.to_string() };
    let keys: &[&str] = match key {
        "list" => &["bounces"],
        "listener" => &["address"],
        "submitter" => &["networks"],
        "dkim" => &["selector", "domain"],
        _ => &["name"],
    };
    let texts = keys.iter().filter_map(|key| entry.get(key)).map(|value| match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    });
    texts.collect::<Vec<_>>().join(" of ")
}
