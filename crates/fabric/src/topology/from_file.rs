//! A graph from a file in TOML.

use super::{Graph, Listed};
use sojourn_core::parameters;
use sojourn_core::parameters::{Check, Parameters, Refusal, Table, Value};
use sojourn_core::resource::FileName;
use toml_edit::{Document, Item, TableLike};

parameters! {
    /// Any graph, from a file in TOML: with the keys of `graph`, each on a line of its own or, for groups of hosts and
    /// links, in `[[hosts]]` and `[[links]]`.
    pub struct FromFile: "file" {
        /// The file, seen from the study's own place.
        pub file: FileName,
    }
}

impl Check for FromFile {
    fn check(&self) -> Result<(), Refusal> {
        self.listed().map(drop)
    }
}

impl FromFile {
    /// What is in the file.
    fn listed(&self) -> Result<Listed, Refusal> {
        let text = self.file.text().map_err(|refusal| refusal.under("file"))?;
        let refused = |expected: String| self.file.refused(expected).under("file");
        let toml = Document::parse(text.as_str()).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text[..start.min(text.len())].matches('\n').count() + 1;
            refused(format!("a graph in TOML, but in line {line}: {}", error.message()))
        })?;
        let table = table(toml.as_table()).map_err(|key| {
            refused(format!(
                "a graph, but {key} in it is neither a text, a number, a list nor a table"
            ))
        })?;
        Listed::read_table(&table).map_err(|refusal| refused(in_words(&refusal)))
    }

    /// Lays the links.
    pub fn graph(&self) -> Graph {
        self.listed().expect("it was checked").graph()
    }
}

/// What is wrong in the file. The names that would have done are few enough to be listed, or many switches.
fn in_words(refusal: &Refusal) -> String {
    const MOST_NAMES: usize = 12;
    let path = refusal.path.join(".").replace(".[", "[");
    let names = match refusal.names.len() {
        0 => String::new(),
        1..=MOST_NAMES => format!(": {}", refusal.names.join(", ")),
        many => format!(": one of {many}"),
    };
    match &refusal.given {
        _ if refusal.unknown_key => format!("a graph, but {path} in it is no key{names}"),
        Some(given) => {
            format!("a graph, but in it {path} is {given}, expected {}{names}", refusal.expected)
        }
        None => format!("a graph, but it lacks {path}, expected {}{names}", refusal.expected),
    }
}

/// A table as settings; or the key of what is no setting.
fn table(toml: &dyn TableLike) -> Result<Table, String> {
    let mut table = Table::default();
    for (key, item) in toml.iter() {
        table.set(key, value(item).ok_or_else(|| key.to_owned())?);
    }
    Ok(table)
}

fn value(item: &Item) -> Option<Value> {
    if let Some(inner) = item.as_table_like() {
        return table(inner).ok().map(Value::Table);
    }
    if let Some(tables) = item.as_array_of_tables() {
        let tables: Option<Vec<Value>> =
            tables.iter().map(|inner| table(inner).ok().map(Value::Table)).collect();
        return tables.map(Value::List);
    }
    match item.as_value()? {
        toml_edit::Value::String(text) => Some(Value::Text(text.value().clone())),
        toml_edit::Value::Integer(number) => Some(Value::Int(*number.value())),
        toml_edit::Value::Float(number) => Some(Value::Float(*number.value())),
        toml_edit::Value::Boolean(truth) => Some(Value::Bool(*truth.value())),
        toml_edit::Value::Array(array) => {
            let items = array.iter().map(|item| value(&Item::Value(item.clone())));
            items.collect::<Option<_>>().map(Value::List)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::resource::Resource;

    fn read(text: &str) -> Result<FromFile, Refusal> {
        let mut table = Table::default();
        table.set("file", Value::File(Resource::text("ring.toml", text).into()));
        FromFile::read_table(&table)
    }

    const PAIR: &str = "\
# Two racks, and two cables between them.
switches = [\"left\", \"right\"]
rate = \"100Gbps\"
delay = \"1us\"

[[hosts]]
switch = \"left\"
count = 3

[[hosts]]
switch = \"right\"
rate = \"400Gbps\"

[[links]]
from = \"left\"
to = \"right\"
count = 2
delay = \"5us\"
";

    #[test]
    fn a_file_says_what_a_study_could() {
        let network = read(PAIR).expect("a graph").graph().network();
        assert_eq!((network.hosts, network.switches, network.links.len()), (4, 2, 12));
        let links =
            network.path(0, 3).into_iter().map(|hop| (hop.link.rate.to_string(), hop.link.delay));
        let us = |us| sojourn_core::Span::from_us(us);
        let expected = [("100Gbps", us(1)), ("100Gbps", us(5)), ("400Gbps", us(1))];
        assert_eq!(
            links.collect::<Vec<_>>(),
            expected.map(|(rate, delay)| (rate.to_owned(), delay))
        );
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_key() {
        let wrong = [
            ("switches = [", "", "a graph in TOML, but in line 2: "),
            (
                "to = \"right\"",
                "to = \"rigth\"",
                "a graph, but in it links[0].to is \"rigth\", expected the name of a switch: left, right",
            ),
            (
                "count = 3",
                "cuont = 3",
                "a graph, but hosts[0].cuont in it is no key: switch, count, rate, delay",
            ),
            (
                "count = 2",
                "count = 0",
                "a graph, but in it links[0].count is 0, expected a whole number from 1 to 255",
            ),
            ("from = \"left\"\n", "", "a graph, but it lacks links[0].from, expected "),
            ("rate = \"100Gbps\"", "rate = 2026-11-29", "a graph, but rate in it is neither"),
        ];
        for (from, to, expected) in wrong {
            let refusal = read(&PAIR.replace(from, to)).expect_err(to);
            assert_eq!(refusal.path, ["file"]);
            assert!(refusal.expected.starts_with(expected), "{:?}", refusal.expected);
        }
    }
}
