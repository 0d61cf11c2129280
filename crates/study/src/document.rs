//! A TOML text as a tree of values, and where in the text each of them stands.

use crate::error::SpecError;
use sojourn_kernel::parameters::{Table, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use toml_edit::{Document as Toml, Item, TableLike};

/// The keys of a study that belong to no room.
pub(crate) const OWN_KEYS: [&str; 3] = ["title", "run", "sweep"];

/// The keys that lead to a value.
pub(crate) type Path = Vec<String>;

/// A tree of settings that remembers where each was set.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The tree.
    pub(crate) root: Table,
    /// What is laid over the tree and over every case of the sweep.
    pub(crate) overrides: Vec<Override>,
    /// Where each key was set: "study.toml:12".
    places: BTreeMap<Path, String>,
    source: String,
}

/// One `--set PATH=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) path: Path,
    pub(crate) value: Value,
    place: String,
}

impl Document {
    /// Reads `text`; `source` names it in messages.
    pub(crate) fn parse(text: &str, source: &str) -> Result<Document, SpecError> {
        let line = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let toml = Toml::parse(text.to_owned()).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            SpecError::at(format!("{source}:{}", line(offset)), error.message())
        })?;
        let mut places = BTreeMap::new();
        let mut note = |path: &[String], span: Option<Range<usize>>| {
            if let Some(span) = span {
                places.insert(path.to_vec(), format!("{source}:{}", line(span.start)));
            }
        };
        let root = table(toml.as_table(), &mut Vec::new(), &mut note)
            .map_err(|(offset, what)| SpecError::at(format!("{source}:{}", line(offset)), what))?;
        Ok(Document { root, overrides: Vec::new(), places, source: source.to_owned() })
    }

    /// Sets `path` to what `text` says: a TOML value, or a bare word.
    pub(crate) fn set(&mut self, path: &str, text: &str) -> Result<(), SpecError> {
        let place = format!("--set {path}={text}");
        let keys: Path = path.split('.').map(|key| key.trim().to_owned()).collect();
        if keys.iter().any(String::is_empty) {
            return Err(SpecError::at(
                place,
                "expected keys with dots between, as in workload.load",
            ));
        }
        let parsed = Toml::parse(format!("value = {text}")).ok();
        let value = parsed
            .and_then(|toml| value(toml.get("value")?, &mut Vec::new(), &mut |_, _| {}).ok())
            .unwrap_or_else(|| Value::Text(text.to_owned()));
        put(&mut self.root, &keys, value.clone());
        self.overrides.push(Override { path: keys, value, place });
        Ok(())
    }

    /// Where `path` was set, or the nearest table around it.
    pub(crate) fn place(&self, path: &[String]) -> &str {
        let over = self.overrides.iter().rev().find(|over| path.starts_with(&over.path));
        if let Some(over) = over {
            return &over.place;
        }
        (0..=path.len()).rev().find_map(|len| self.places.get(&path[..len])).unwrap_or(&self.source)
    }
}

/// Sets `keys` in `table` to `value`. A name on the way ("scheme = \"DCTCP\"") becomes a table
/// with that name.
pub(crate) fn put(table: &mut Table, keys: &[String], value: Value) {
    let [key, rest @ ..] = keys else { return };
    if rest.is_empty() {
        table.set(key, value);
        return;
    }
    let mut inner = match table.get(key).cloned() {
        Some(Value::Table(inner)) => inner,
        Some(name @ Value::Text(_)) => {
            let mut inner = Table::default();
            inner.set(if key == "scheme" { "name" } else { "kind" }, name);
            inner
        }
        _ => Table::default(),
    };
    put(&mut inner, rest, value);
    table.set(key, Value::Table(inner));
}

type Note<'a> = dyn FnMut(&[String], Option<Range<usize>>) + 'a;
type Bad = (usize, String);

fn table(toml: &dyn TableLike, path: &mut Path, note: &mut Note<'_>) -> Result<Table, Bad> {
    let mut table = Table::default();
    for (name, item) in toml.iter() {
        path.push(name.to_owned());
        let key = toml.get_key_value(name).and_then(|(key, _)| key.span());
        note(path, key.or_else(|| item.span()));
        table.set(name, value(item, path, note)?);
        path.pop();
    }
    Ok(table)
}

fn value(item: &Item, path: &mut Path, note: &mut Note<'_>) -> Result<Value, Bad> {
    if let Some(inner) = item.as_table_like() {
        return table(inner, path, note).map(Value::Table);
    }
    let offset = item.span().map_or(0, |span| span.start);
    let strange =
        |what: &str| Err((offset, format!("{} is {what}, which no setting is", path.join("."))));
    match item {
        Item::Value(toml_edit::Value::Array(array)) => {
            let items = array.iter().map(|element| {
                let item = Item::Value(element.clone());
                value(&item, path, &mut |_, _| {})
            });
            items.collect::<Result<_, _>>().map(Value::List)
        }
        Item::Value(toml_edit::Value::String(text)) => Ok(Value::Text(text.value().clone())),
        Item::Value(toml_edit::Value::Integer(number)) => Ok(Value::Int(*number.value())),
        Item::Value(toml_edit::Value::Float(number)) => Ok(Value::Float(*number.value())),
        Item::Value(toml_edit::Value::Boolean(truth)) => Ok(Value::Bool(*truth.value())),
        Item::Value(toml_edit::Value::Datetime(_)) => strange("a date"),
        Item::ArrayOfTables(_) => strange("a list of tables"),
        _ => strange("nothing"),
    }
}

/// Writes a tree as TOML.
pub(crate) fn write(root: &Table) -> String {
    let mut document = toml_edit::DocumentMut::new();
    for (key, value) in root.iter() {
        document[key] = match value {
            Value::Table(inner) => {
                let mut table = toml_edit::Table::new();
                for (key, value) in inner.iter() {
                    table[key] = Item::Value(plain(value));
                }
                Item::Table(table)
            }
            other => Item::Value(plain(other)),
        };
    }
    document.to_string()
}

fn plain(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(truth) => (*truth).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(values) => toml_edit::Value::Array(values.iter().map(plain).collect()),
        Value::Table(table) => toml_edit::Value::InlineTable(
            table.iter().map(|(key, value)| (key.to_owned(), plain(value))).collect(),
        ),
    }
}
