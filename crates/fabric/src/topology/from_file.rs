//! A graph from a file.

use super::{Graph, Listed};
use sojourn_core::parameters;
use sojourn_core::parameters::{Check, Parameters, Refusal};
use sojourn_core::resource::FileName;
use sojourn_core::tree::{Fault, Malformed, Tree};

parameters! {
    /// Any graph, from a file with the keys of `graph`: in TOML, with groups of hosts and links in `[[hosts]]` and
    /// `[[links]]`, or in JSON, an object. A file that ends in `.topo` is a topology of htsim.
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
    /// What is in the file. An object of JSON begins with a brace, with which no TOML begins.
    fn listed(&self) -> Result<Listed, Refusal> {
        let text = self.file.text().map_err(|refusal| refusal.under("file"))?;
        let refused = |expected: String| self.file.refused(expected).under("file");
        let (format, tree) = match text.trim_start().starts_with('{') {
            true => ("JSON", Tree::of_json(&text)),
            false => ("TOML", Tree::of_toml(&text)),
        };
        let tree = tree.map_err(|Malformed { line, fault }| {
            refused(match fault {
                Fault::Syntax(words) => format!("a graph in {format}, but in line {line}: {words}"),
                Fault::TooLarge => format!("a graph, but in line {line} is a number of over 64 bits"),
                Fault::NoSetting { path, given } => format!(
                    "a graph, but in line {line} {} is {given}, expected a text, a number, a list or a table",
                    shown(&path)
                ),
            })
        })?;
        Listed::read_table(&tree.root).map_err(|refusal| refused(in_words(&refusal, &tree)))
    }

    /// Lays the links.
    pub fn graph(&self) -> Graph {
        self.listed().expect("it was checked").graph()
    }
}

/// A key as messages have it.
fn shown(path: &[String]) -> String {
    path.join(".").replace(".[", "[")
}

/// What is wrong in the file. The names that would have done are few enough to be listed, or many switches.
fn in_words(refusal: &Refusal, tree: &Tree) -> String {
    const MOST_NAMES: usize = 12;
    let path = shown(&refusal.path);
    let place = tree.line(&refusal.path).map(|line| format!("in line {line} ")).unwrap_or_default();
    let names = match refusal.names.len() {
        0 => String::new(),
        1..=MOST_NAMES => format!(": {}", refusal.names.join(", ")),
        many => format!(": one of {many}"),
    };
    match &refusal.given {
        _ if refusal.unknown_key => format!("a graph, but {place}{path} is no key{names}"),
        Some(given) => {
            format!("a graph, but {place}{path} is {given}, expected {}{names}", refusal.expected)
        }
        None => {
            format!("a graph, but {place}{path} is missing, expected {}{names}", refusal.expected)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::{Table, Value};
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
                "a graph, but in line 16 links[0].to is \"rigth\", expected the name of a switch: left, right",
            ),
            (
                "count = 3",
                "cuont = 3",
                "a graph, but in line 8 hosts[0].cuont is no key: switch, count, rate, delay",
            ),
            (
                "count = 2",
                "count = 0",
                "a graph, but in line 17 links[0].count is 0, expected a whole number from 1 to 255",
            ),
            (
                "from = \"left\"\n",
                "",
                "a graph, but in line 14 links[0].from is missing, expected ",
            ),
            (
                "rate = \"100Gbps\"",
                "rate = 2026-11-29",
                "a graph, but in line 3 rate is 2026-11-29, expected a text",
            ),
            (
                "count = 3",
                "count = 99999999999999999999",
                "a graph, but in line 8 is a number of over 64",
            ),
            (
                "[[links]]",
                "[[other]]",
                "a graph, but in line 14 other is no key: switches, hosts, links, rate, delay",
            ),
        ];
        for (from, to, expected) in wrong {
            let refusal = read(&PAIR.replace(from, to)).expect_err(to);
            assert_eq!(refusal.path, ["file"]);
            assert!(refusal.expected.starts_with(expected), "{:?}", refusal.expected);
        }
    }

    const JSON: &str = r#"{
    "switches": ["left", "right"], "rate": "100Gbps", "delay": "1us",
    "hosts": [{"switch": "left", "count": 3}, {"switch": "right", "rate": "400Gbps"}],
    "links": [
        {"from": "left", "to": "right",
         "count": 2, "delay": "5us"}]
}"#;

    #[test]
    fn json_says_the_same() {
        let graph = |text| read(text).expect("a graph").listed().expect("a graph");
        assert_eq!(graph(JSON), graph(PAIR));
        let wrong = [
            (
                "\"to\": \"right\"",
                "\"to\": \"rihgt\"",
                "a graph, but in line 5 links[0].to is \"rihgt\"",
            ),
            ("\"count\": 2", "\"count\": 0", "a graph, but in line 6 links[0].count is 0"),
            ("\"count\": 2", "\"count\" 2", "a graph in JSON, but in line 6: "),
            ("\"count\": 2", "\"count\": null", "a graph, but in line 6 links[0].count is null"),
            ("\"1us\"", "\"1\"", "a graph, but in line 2 delay is \"1\""),
        ];
        for (from, to, expected) in wrong {
            let refusal = read(&JSON.replace(from, to)).expect_err(to);
            assert!(refusal.expected.starts_with(expected), "{:?}", refusal.expected);
        }
    }
}
