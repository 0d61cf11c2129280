//! What a list server can be set to.

use sojourn_core::parameters::{Entry, Parameters, Refusal, Setting, Table, Value};
use sojourn_mail_engine::Config;
use sojourn_mail_engine::policy::{CheckpointKind, OrderKind, RetryKind, SplitKind, TimeoutsKind};

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// A list server with one setting changed; `path` has dots.
fn with(path: &str, value: Value) -> Result<Config, Refusal> {
    let mut table = Table::default();
    table.set("hello", text("lists.example"));
    match path.split_once('.') {
        Some((outer, inner)) => {
            let mut nested = Table::default();
            if outer == "retry" {
                nested.set("kind", text("prompt"));
            }
            nested.set(inner, value);
            table.set(outer, Value::Table(nested));
        }
        None => table.set(path, value),
    }
    Config::read_table(&table)
}

#[test]
fn every_policy_is_selected_by_its_name() {
    fn names<K: Setting>(entries: Vec<Entry>, name: impl Fn(&K) -> &'static str) -> usize {
        for entry in &entries {
            let kind = K::read(&text(entry.name)).unwrap_or_else(|why| panic!("{why:?}"));
            assert_eq!(name(&kind), entry.name);
            assert!(!entry.summary.is_empty());
        }
        entries.len()
    }
    assert_eq!(names(SplitKind::entries(), SplitKind::name), 5);
    assert_eq!(names(OrderKind::entries(), OrderKind::name), 3);
    assert_eq!(names(TimeoutsKind::entries(), TimeoutsKind::name), 6);
    assert_eq!(names(CheckpointKind::entries(), CheckpointKind::name), 3);
    assert_eq!(names(RetryKind::entries(), RetryKind::name), 3);
}

#[test]
fn what_is_written_reads_back() {
    let config = with("split", text("chunks")).unwrap();
    assert_eq!(Config::read_table(&config.write_table()), Ok(config));
}

#[test]
fn refusals_name_the_setting() {
    for (path, value) in [
        ("hello", text("lists.example\r\nMAIL FROM:<x@y>")),
        ("hello", text("")),
        ("hello", text("two words")),
        ("limits.initial", Value::Int(21)),
        ("limits.sessions", Value::Int(0)),
        ("retry.jitter", Value::Float(1.5)),
        ("retry.first", text("10ms")),
        ("split", text("half")),
        ("tls", text("sometimes")),
    ] {
        let refusal = with(path, value.clone()).expect_err(path);
        assert_eq!((refusal.path.join("."), refusal.given), (path.to_owned(), Some(value)));
    }
}
