//! A TOML text as a tree of values, the overrides of it, and where each value was set.

use crate::error::{SpecError, cut, path as key};
use sojourn_core::parameters::{Refusal, Table, Value};
pub(crate) use sojourn_core::tree::Path;
use sojourn_core::tree::{Fault, Malformed, Tree, toml_value};
use toml_edit::Item;

/// A tree of settings that remembers where each was set.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The tree, overrides applied.
    pub(crate) root: Table,
    /// The overrides, in order.
    pub(crate) overrides: Vec<Override>,
    /// The paths that the sweep sets, and where it says so.
    pub(crate) swept: Vec<(Path, String)>,
    /// Paths whose values were taken from another place of the file, and that place; of two that fit,
    /// the first counts. Messages name what the author wrote.
    pub(crate) laid: Vec<(Path, Path)>,
    /// Where each key of the file stands.
    file: Tree,
    source: String,
}

/// One `--set PATH=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) path: Path,
    pub(crate) value: Value,
    pub(crate) place: String,
}

/// The keys of a dotted path, or what is wrong with it.
pub(crate) fn keys(path: &str) -> Result<Path, &'static str> {
    /// The most keys of a path.
    const MAX_DEPTH: usize = 16;
    let keys: Path = path.split('.').map(|key| key.trim().to_owned()).collect();
    match keys.len() > MAX_DEPTH || keys.iter().any(String::is_empty) {
        true => Err("expected keys with dots between, as in workload.load"),
        false => Ok(keys),
    }
}

/// The whole numbers that TOML has.
const WHOLE: &str = "from -9223372036854775808 to 9223372036854775807";

impl Document {
    /// Reads `text` and lays `overrides` over it, (path, value) pairs.
    pub(crate) fn read(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
    ) -> Result<Document, SpecError> {
        let mut document = Document::parse(text, source)?;
        document.set_all(overrides)?;
        Ok(document)
    }

    /// Reads `text`; `source` names it in messages.
    pub(crate) fn parse(text: &str, source: &str) -> Result<Document, SpecError> {
        let mut file = Tree::of_toml(text).map_err(|Malformed { line, fault }| {
            let given = cut(text.lines().nth(line - 1).unwrap_or_default().trim());
            let what = match fault {
                Fault::TooLarge => format!("{given}, expected whole numbers {WHOLE}"),
                Fault::Syntax(words) => format!("not TOML: {given:?}: {words}"),
                Fault::NoSetting { path, given } => {
                    format!(
                        "{} = {}, expected a text in quotes, not a date",
                        key(&path),
                        cut(given)
                    )
                }
            };
            SpecError::at(format!("{source}:{line}"), what)
        })?;
        let (root, source) = (std::mem::take(&mut file.root), source.to_owned());
        let (overrides, swept, laid) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Document { root, overrides, swept, laid, file, source })
    }

    /// Lays overrides over it, (path, value) pairs.
    pub(crate) fn set_all(&mut self, overrides: &[(String, String)]) -> Result<(), SpecError> {
        overrides.iter().try_for_each(|(path, value)| self.set(path, value))
    }

    /// Sets `path` to what `text` says: a TOML value, or a bare word. What it says of the sweep is
    /// noted for [`sweep::take`](crate::sweep::take).
    pub(crate) fn set(&mut self, path: &str, text: &str) -> Result<(), SpecError> {
        let place = format!("--set {path}={text}");
        let keys = keys(path).map_err(|what| SpecError::at(&place, what))?;
        let value = toml_value(text)
            .or_else(|| is_word(text).then(|| Value::Text(text.to_owned())))
            .ok_or_else(|| {
                SpecError::at(&place, format!("{} is no whole TOML value", cut(text)))
            })?;
        if keys[0] != "sweep" {
            put(&mut self.root, &keys, value.clone())
                .map_err(|refusal| SpecError::refused(&place, &refusal))?;
        }
        self.overrides.push(Override { path: keys, value, place });
        Ok(())
    }

    /// Where `path` was set: by an override, in the sweep, in the file, or in the nearest table
    /// around it. A table that was made by setting something inside it was set there.
    pub(crate) fn place(&self, path: &[String]) -> String {
        let path = &self.origin(path)[..];
        let about = |set: &Path| is_about(set, path);
        let over = self.overrides.iter().rev().find(|over| about(&over.path));
        let swept = self.swept.iter().filter(|(set, _)| about(set));
        let set = over.map(|over| &over.place);
        let set = set.or_else(|| swept.max_by_key(|(set, _)| set.len()).map(|(_, place)| place));
        match (set, self.file.line(path)) {
            (Some(place), _) => place.clone(),
            (None, Some(line)) => format!("{}:{line}", self.source),
            (None, None) => self.source.clone(),
        }
    }

    /// The message about each setting that was refused: where it was set, and what it is called there.
    pub(crate) fn refused(&self, refusal: Refusal) -> SpecError {
        let told = |refusal: Refusal| {
            let place = self.place(&refusal.path);
            let path = self.origin(&refusal.path);
            SpecError::refused(place, &Refusal { path, ..refusal })
        };
        SpecError::all(refusal.each().into_iter().map(told)).expect("a refusal is one at least")
    }

    /// The path under which the author wrote what is at `path`: another one where it was laid there,
    /// and neither an override nor a sweep set it.
    pub(crate) fn origin(&self, path: &[String]) -> Path {
        let Some((laid, from)) = self.laid.iter().find(|(laid, _)| path.starts_with(laid)) else {
            return path.to_vec();
        };
        let inside = |set: &Path| set.len() > laid.len() && path.starts_with(set);
        let is_set = self.overrides.iter().any(|over| is_about(&over.path, path))
            || self.swept.iter().any(|(set, _)| inside(set));
        if is_set { path.to_vec() } else { [from, &path[laid.len()..]].concat() }
    }
}

/// Whether setting `set` sets `path`, or something inside it.
fn is_about(set: &[String], path: &[String]) -> bool {
    path.starts_with(set) || set.starts_with(path)
}

/// Whether `text` may be a bare word: a text that begins like a table, a list or a quoted text is
/// TOML.
fn is_word(text: &str) -> bool {
    !text.starts_with(['{', '[', '"', '\''])
}

/// Sets `keys` in `table` to `value`. A name on the way ("scheme = \"DCTCP\"") becomes a table
/// with that name; nothing else on the way can be entered.
pub(crate) fn put(table: &mut Table, keys: &[String], value: Value) -> Result<(), Refusal> {
    let [key, rest @ ..] = keys else { return Ok(()) };
    let Some(next) = rest.first() else {
        table.set(key, value);
        return Ok(());
    };
    let mut inner = match table.get(key).cloned() {
        None => Table::default(),
        Some(Value::Table(inner)) => inner,
        Some(name @ Value::Text(_)) => {
            let mut inner = Table::default();
            inner.set(if key == "scheme" { "name" } else { "kind" }, name);
            inner
        }
        Some(other) => {
            let expected = format!("a table, so that {next} can be set in it");
            return Err(Refusal::value(&other, expected).under(key));
        }
    };
    put(&mut inner, rest, value).map_err(|refusal| refusal.under(key))?;
    table.set(key, Value::Table(inner));
    Ok(())
}

/// The value at `path` in `table`.
pub(crate) fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (key, rest) = path.split_first()?;
    match table.get(key)? {
        value if rest.is_empty() => Some(value),
        Value::Table(inner) => get(inner, rest),
        _ => None,
    }
}

/// All that is set in `table`, tables apart, under dotted paths.
pub(crate) fn flat(table: &Table) -> Vec<(String, Value)> {
    let mut flat = Vec::new();
    for (key, value) in table.iter() {
        match value {
            Value::Table(inner) => {
                let inner = self::flat(inner).into_iter();
                flat.extend(inner.map(|(path, value)| (format!("{key}.{path}"), value)));
            }
            plain => flat.push((key.to_owned(), plain.clone())),
        }
    }
    flat
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
        Value::File(file) => file.name.as_str().into(),
        Value::List(values) => toml_edit::Value::Array(values.iter().map(plain).collect()),
        Value::Table(table) => toml_edit::Value::InlineTable(
            table.iter().map(|(key, value)| (key.to_owned(), plain(value))).collect(),
        ),
    }
}
