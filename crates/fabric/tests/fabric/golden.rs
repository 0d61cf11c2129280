//! Rows of small runs, kept as text: whatever makes the engine quicker must not change one of them.
//!
//! `UPDATE_GOLDEN=1 cargo test -p sojourn-fabric --test fabric golden` writes them anew.

use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_core::resource::no_tables;
use sojourn_core::{Execution, Streams};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::{FabricCase, Scheme};
use std::fmt::Write;
use std::path::PathBuf;

fn part(kind: &str, settings: &[(&str, Value)]) -> Value {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    for (key, value) in settings {
        table.set(key, value.clone());
    }
    Value::Table(table)
}

/// 60 flows of the web search workload at load 0.8 on a fat-tree of 16 hosts, as a readable grid.
fn grid(name: &str, scheme: &Value, threads: usize) -> String {
    let mut table = Table::default();
    table.set("topology", part("fat-tree", &[("k", Value::Int(4))]));
    let settings = [("load", Value::Float(0.8)), ("flows", Value::Int(60))];
    table.set("workload", part("poisson", &settings));
    table.set("scheme", scheme.clone());
    let case = FabricCase::read_table(&table).expect("a case");
    let ready = case.ready(Streams::new(7, 0), &no_tables).expect("flows");
    let progress = Progress::default();
    let report =
        ready.run(Execution { threads, ..Execution::new(&progress) }).expect("not cancelled");
    let columns = ["src", "dst", "size_bytes", "arrived_ps", "finished_ps", "retransmits"];
    let mut text = format!("{name}\n");
    for column in columns {
        write!(text, "{column:>15}").expect("a string");
    }
    for row in 0..report.rows.ints("job").len() {
        text.push('\n');
        for column in columns {
            write!(text, "{:>15}", report.rows.ints(column)[row]).expect("a string");
        }
    }
    for (name, value) in &report.totals {
        write!(text, "\n{name} = {value}").expect("a string");
    }
    text.push('\n');
    text
}

/// The rows of `scheme`, called `name`, are those in `file`.
fn check(file: &str, name: &str, scheme: &Value) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let file = folder.join(format!("{file}.txt"));
    let text = grid(name, scheme, 1);
    assert_eq!(grid(name, scheme, 2), text, "on two threads");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).expect("the golden folder can be written");
    }
    let golden = std::fs::read_to_string(&file).expect("UPDATE_GOLDEN=1 writes it");
    for (line, (new, old)) in (1..).zip(text.lines().zip(golden.lines())) {
        assert_eq!(new, old, "{}:{line}", file.display());
    }
    assert_eq!(text.lines().count(), golden.lines().count(), "{}", file.display());
}

#[test]
fn every_known_scheme_gives_the_rows_it_always_gave() {
    for entry in Scheme::entries() {
        let file = entry.name.to_lowercase().replace('+', "-");
        check(&file, entry.name, &Value::Text(entry.name.to_owned()));
    }
}

/// MinTCP's ports as the text of the pFabric paper has them, and its studies.
#[test]
fn the_reading_of_a_paper_gives_the_rows_it_always_gave() {
    let (mut scheme, mut queue) = (Table::default(), Table::default());
    queue.set("dequeue", Value::Text("best".to_owned()));
    scheme.set("name", Value::Text("MinTCP+pFabric".to_owned()));
    scheme.set("queue", Value::Table(queue));
    check("mintcp-pfabric-best", "MinTCP+pFabric", &Value::Table(scheme));
}
