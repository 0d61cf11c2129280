//! Texts as trees of settings: TOML and JSON, with the line of each key.

use crate::parameters::{Table, Value, element};
use jsonc_parser::{ParseOptions, ast, parse_to_ast};
use std::collections::BTreeMap;
use toml_edit::{Document, Item, TableLike};

/// The keys that lead to a value.
pub type Path = Vec<String>;

/// A text as a tree of settings.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The tree.
    pub root: Table,
    /// The line of each key, from 1 on; of an element of a list only if it is a table.
    pub lines: BTreeMap<Path, usize>,
}

/// Why a text is no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The line of the mistake, from 1 on.
    pub line: usize,
    /// The mistake.
    pub fault: Fault,
}

/// A mistake in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text breaks its format's rules, in the words of the format's parser.
    Syntax(String),
    /// A whole number has more than 64 bits.
    TooLarge,
    /// The value of this key is neither a text, a number, a truth value, a list nor a table.
    NoSetting {
        /// The key.
        path: Path,
        /// The value.
        given: String,
    },
}

impl Tree {
    /// The line of `path`, or of the nearest key around it that has one.
    pub fn line(&self, path: &[String]) -> Option<usize> {
        (0..=path.len()).rev().find_map(|len| self.lines.get(&path[..len])).copied()
    }

    /// Reads TOML.
    ///
    /// # Errors
    ///
    /// See [`Fault`].
    pub fn of_toml(text: &str) -> Result<Tree, Malformed> {
        let lines = Lines::of(text);
        let toml = Document::parse(text).map_err(|error| {
            let line = lines.at(error.span().map_or(0, |span| span.start));
            let too_large = error.message().contains("integer number overflowed");
            let syntax = || Fault::Syntax(error.message().to_owned());
            Malformed { line, fault: if too_large { Fault::TooLarge } else { syntax() } }
        })?;
        let mut reading = Reading { lines, path: Path::new(), found: BTreeMap::new() };
        let root = reading.toml_table(toml.as_table())?;
        Ok(Tree { root, lines: reading.found })
    }

    /// Reads JSON, an object.
    ///
    /// # Errors
    ///
    /// See [`Fault`].
    pub fn of_json(text: &str) -> Result<Tree, Malformed> {
        let lines = Lines::of(text);
        let json = parse_to_ast(text, &Default::default(), &STRICT).map_err(|error| Malformed {
            line: lines.at(error.range().start),
            fault: Fault::Syntax(error.kind().to_string()),
        })?;
        let Some(ast::Value::Object(object)) = json.value else {
            let line = lines.at(text.len() - text.trim_start().len());
            return Err(Malformed { line, fault: Fault::Syntax("expected an object".to_owned()) });
        };
        let mut reading = Reading { lines, path: Path::new(), found: BTreeMap::new() };
        let root = reading.json_table(&object)?;
        Ok(Tree { root, lines: reading.found })
    }
}

/// JSON as RFC 8259 has it, without what its parser could read besides.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The value that a text stands for in TOML; none if it is no whole value.
pub fn toml_value(text: &str) -> Option<Value> {
    let toml = Document::parse(format!("value = {text}")).ok().filter(|toml| toml.len() == 1)?;
    let mut reading =
        Reading { lines: Lines::default(), path: Path::new(), found: BTreeMap::new() };
    reading.toml_value(toml.get("value")?).ok()
}

/// Where the lines of a text end.
#[derive(Debug, Default)]
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(end, _)| end).collect())
    }

    /// The line of an offset, from 1 on.
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}

/// A text that is being read: where in it, and the lines of keys so far.
struct Reading {
    lines: Lines,
    path: Path,
    found: BTreeMap<Path, usize>,
}

impl Reading {
    /// Reads what is under `key`, which stands at `offset`.
    fn under<R>(
        &mut self,
        key: String,
        offset: Option<usize>,
        read: impl FnOnce(&mut Reading) -> R,
    ) -> R {
        self.path.push(key);
        if let Some(offset) = offset {
            self.found.insert(self.path.clone(), self.lines.at(offset));
        }
        let read = read(self);
        self.path.pop();
        read
    }

    fn no_setting(&self, offset: usize, given: &str) -> Malformed {
        let fault = Fault::NoSetting { path: self.path.clone(), given: given.trim().to_owned() };
        Malformed { line: self.lines.at(offset), fault }
    }

    fn toml_table(&mut self, toml: &dyn TableLike) -> Result<Table, Malformed> {
        let mut table = Table::default();
        for (name, item) in toml.iter() {
            let key = toml.get_key_value(name).and_then(|(key, _)| key.span());
            let offset = key.or_else(|| item.span()).map(|span| span.start);
            let value = self.under(name.to_owned(), offset, |own| own.toml_value(item))?;
            table.set(name, value);
        }
        Ok(table)
    }

    fn toml_value(&mut self, item: &Item) -> Result<Value, Malformed> {
        if let Some(inner) = item.as_table_like() {
            return self.toml_table(inner).map(Value::Table);
        }
        let mut list = |items: &mut dyn Iterator<Item = Item>| {
            let read = |(place, item): (usize, Item)| {
                if !item.is_table_like() {
                    return self.toml_value(&item);
                }
                let offset = item.span().map(|span| span.start);
                self.under(element(place), offset, |own| own.toml_value(&item))
            };
            items.enumerate().map(read).collect::<Result<_, _>>()
        };
        match item {
            Item::Value(toml_edit::Value::String(text)) => Ok(Value::Text(text.value().clone())),
            Item::Value(toml_edit::Value::Integer(number)) => Ok(Value::Int(*number.value())),
            Item::Value(toml_edit::Value::Float(number)) => Ok(Value::Float(*number.value())),
            Item::Value(toml_edit::Value::Boolean(truth)) => Ok(Value::Bool(*truth.value())),
            Item::Value(toml_edit::Value::Array(array)) => {
                list(&mut array.iter().cloned().map(Item::Value)).map(Value::List)
            }
            Item::ArrayOfTables(tables) => {
                list(&mut tables.iter().cloned().map(Item::Table)).map(Value::List)
            }
            other => {
                let offset = other.span().map_or(0, |span| span.start);
                Err(self.no_setting(offset, &other.to_string()))
            }
        }
    }

    fn json_table(&mut self, object: &ast::Object<'_>) -> Result<Table, Malformed> {
        let mut table = Table::default();
        for ast::ObjectProp { range, name, value } in &object.properties {
            let name = name.as_str();
            if table.get(name).is_some() {
                let fault = Fault::Syntax(format!("{name:?} again, expected once"));
                return Err(Malformed { line: self.lines.at(range.start), fault });
            }
            let value =
                self.under(name.to_owned(), Some(range.start), |own| own.json_value(value))?;
            table.set(name, value);
        }
        Ok(table)
    }

    fn json_value(&mut self, value: &ast::Value<'_>) -> Result<Value, Malformed> {
        match value {
            ast::Value::Object(object) => self.json_table(object).map(Value::Table),
            ast::Value::Array(array) => {
                let read = |(place, value): (usize, &ast::Value<'_>)| match value {
                    ast::Value::Object(object) => {
                        let at = Some(object.range.start);
                        self.under(element(place), at, |own| own.json_value(value))
                    }
                    _ => self.json_value(value),
                };
                array
                    .elements
                    .iter()
                    .enumerate()
                    .map(read)
                    .collect::<Result<_, _>>()
                    .map(Value::List)
            }
            ast::Value::StringLit(text) => Ok(Value::Text(text.value.clone().into_owned())),
            ast::Value::BooleanLit(truth) => Ok(Value::Bool(truth.value)),
            ast::Value::NumberLit(number) => {
                let whole = number.value.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
                let value = match whole {
                    true => number.value.parse().ok().map(Value::Int),
                    false => number.value.parse().ok().map(Value::Float),
                };
                let line = self.lines.at(number.range.start);
                value.ok_or(Malformed { line, fault: Fault::TooLarge })
            }
            ast::Value::NullKeyword(null) => Err(self.no_setting(null.range.start, "null")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "rate = \"10Gbps\"\nswitches = [\"a\", \"b\"]\n\n[[links]]\nfrom = \"a\"\ncount = 2\n[[links]]\nshare = 0.5\nup = true\n";
    const JSON: &str = "{\"rate\": \"10Gbps\", \n\"switches\": [\"a\", \"b\"],\n\n\"links\": [\n{\"from\": \"a\",\n\"count\": 2},\n{\"share\": 0.5,\n\"up\": true}]}\n";

    fn path(keys: &[&str]) -> Path {
        keys.iter().map(|&key| key.to_owned()).collect()
    }

    #[test]
    fn both_formats_give_the_same_tree() {
        let (toml, json) = (Tree::of_toml(TOML).expect("TOML"), Tree::of_json(JSON).expect("JSON"));
        assert_eq!(toml.root, json.root);
        for (keys, in_toml, in_json) in [
            (&["rate"][..], 1, 1),
            (&["links", "[0]", "count"], 6, 6),
            (&["links", "[1]", "up"], 9, 8),
            (&["links", "[1]", "delay"], 7, 7),
        ] {
            assert_eq!(toml.line(&path(keys)), Some(in_toml), "{keys:?}");
            assert_eq!(json.line(&path(keys)), Some(in_json), "{keys:?}");
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let json = |text: &str| Tree::of_json(text).expect_err(text);
        let toml = |text: &str| Tree::of_toml(text).expect_err(text);
        let syntax = |found: Malformed| match found {
            Malformed { line, fault: Fault::Syntax(words) } => (line, words),
            other => panic!("{other:?}"),
        };
        assert_eq!(syntax(json("{\"a\": 1,\n\"b\" 2}")).0, 2);
        assert_eq!(syntax(json("\n[1]")), (2, "expected an object".to_owned()));
        assert_eq!(
            syntax(json("{\"a\": 1,\n\"a\": 2}")),
            (2, "\"a\" again, expected once".to_owned())
        );
        for text in ["{\"a\": 1,}", "{a: 1}", "{\"a\": 'b'}", "{\"a\": 1} // b", "{\"a\": .5}", ""]
        {
            assert_eq!(syntax(json(text)).0, 1, "{text}");
        }
        assert_eq!(syntax(toml("a = 1\nb = [")).0, 2);
        let deep = format!("{{\"a\": {}", "[".repeat(100_000));
        assert_eq!(syntax(json(&deep)).0, 1);
        let large = "99999999999999999999";
        let too_large = Malformed { line: 2, fault: Fault::TooLarge };
        assert_eq!(json(&format!("{{\"a\":\n{large}}}")), too_large);
        assert_eq!(toml(&format!("\na = {large}")), too_large);
        let fault = |given: &str| Fault::NoSetting { path: path(&["a"]), given: given.to_owned() };
        assert_eq!(json("{\n\"a\": null}"), Malformed { line: 2, fault: fault("null") });
        let date = Malformed { line: 1, fault: fault("2026-11-29") };
        assert_eq!(toml("a = 2026-11-29"), date);
    }
}
