//! Flows from tables and functions: rows are read as lines of a CSV file are, and the key of a table that a
//! function draws says what is in it.

use proptest::prelude::*;
use sojourn_core::Streams;
use sojourn_core::parameters::{Parameters, Setting, Table, Value, defaults};
use sojourn_core::resource::{Cells, Columns, Content, Resource, no_tables};
use sojourn_fabric::workload::{Drawn, WorkloadContext, parse_flows};
use sojourn_fabric::{FabricCase, Packets};
use std::cell::RefCell;
use std::sync::Arc;

fn texts(texts: &[&str]) -> Cells {
    let begins = texts.iter().scan(0, |begin, text| {
        *begin += text.len();
        Some(*begin)
    });
    Cells::Text(texts.concat(), std::iter::once(0).chain(begins).collect())
}

fn whole(numbers: &[i64]) -> Cells {
    Cells::Whole(numbers.to_vec(), None)
}

/// A table of these columns.
fn table(columns: Vec<(&str, Cells)>, rows: usize) -> Columns {
    let (names, columns) = columns.into_iter().map(|(name, it)| (name.to_owned(), it)).unzip();
    Columns { names, columns, rows }
}

/// A file with this in it.
fn file(name: &str, content: Content) -> Value {
    Value::File(Arc::new(Resource { content, ..Resource::text(name, "") }))
}

fn settings(settings: &[(&str, Value)]) -> Table {
    let mut table = Table::default();
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    table
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A case of four hosts with this workload.
fn case(workload: Table) -> FabricCase {
    let switch = settings(&[("kind", text("single-switch")), ("hosts", Value::Int(4))]);
    let parts = [
        ("topology", Value::Table(switch)),
        ("workload", Value::Table(workload)),
        ("scheme", text("DCTCP")),
    ];
    FabricCase::read_table(&settings(&parts)).expect("a case")
}

fn table_case(table: Columns) -> FabricCase {
    let file = file("a.parquet", Content::Columns(Arc::new(table)));
    case(settings(&[("kind", text("table")), ("file", file)]))
}

fn function(folder: Option<&str>, set: &[(&str, Value)]) -> FabricCase {
    let file = file("a.py", Content::Functions(folder.map(str::to_owned)));
    let parts = [("kind", text("python")), ("file", file), ("function", text("arrivals"))];
    let mut table = settings(&parts);
    table.set("set", Value::Table(settings(set)));
    case(table)
}

/// What a table says, or what was expected of it.
fn drawn(table: Columns) -> Result<Drawn, String> {
    let case = table_case(table);
    let (graph, packets) = (case.topology.graph(), defaults::<Packets>());
    let context =
        WorkloadContext { graph: &graph, packets: &packets, tables: &no_tables, tell: &|_| {} };
    case.workload.draw(&context, Streams::new(1, 0)).map_err(|refusal| refusal.expected)
}

proptest! {
    /// A table and the CSV file with the same cells are the same flows, whatever waits for what.
    #[test]
    fn a_table_is_read_as_its_csv(
        rows in prop::collection::vec(
            (0i64..4, 1i64..4, 1i64..100_000, 0i64..1_000_000, any::<bool>(), 0i64..8), 1..20),
    ) {
        let count = rows.len();
        let src: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let dst: Vec<i64> = rows.iter().map(|row| (row.0 + row.1) % 4).collect();
        let size: Vec<i64> = rows.iter().map(|row| row.2).collect();
        let arrival: Vec<i64> = rows.iter().map(|row| row.3).collect();
        // A flow waits for one before it that ends where it begins, if there is such.
        let parent = |row: usize| (0..row).rev().find(|&it| rows[row].4 && dst[it] == src[row]);
        let after: Vec<String> =
            (0..count).map(|row| parent(row).map_or(String::new(), |it| it.to_string())).collect();
        let missing: Vec<bool> = rows.iter().map(|row| row.5 == 7).collect();
        let class: Vec<i64> = rows.iter().map(|row| row.5).collect();
        let mut csv = "src,dst,size_bytes,arrival_ps,after,class,job\n".to_owned();
        for row in 0..count {
            let class = if missing[row] { String::new() } else { class[row].to_string() };
            csv += &format!("{},{},{},{},{},{class},{}\n",
                src[row], dst[row], size[row], arrival[row], after[row], row % 3);
        }
        let jobs: Vec<i64> = (0..count as i64).map(|row| row % 3).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let columns = vec![
            ("src", whole(&src)), ("dst", whole(&dst)), ("size_bytes", whole(&size)),
            ("arrival_ps", whole(&arrival)), ("after", texts(&after)),
            ("class", Cells::Whole(class, Some(missing))), ("job", whole(&jobs)),
        ];
        let table = table(columns, count);
        prop_assert_eq!(drawn(table), parse_flows(&csv, 4, u64::MAX).map_err(|error| error.what));
    }
}

/// One flow and one change of it, with the message about it.
#[test]
fn what_is_wrong_is_named_by_row_and_column() {
    let good = || {
        let seconds = Cells::Number(vec![0.5, 0.25]);
        vec![
            ("src", whole(&[0, 1])),
            ("dst", whole(&[1, 2])),
            ("size_bytes", whole(&[5, 5])),
            ("arrival_s", seconds),
        ]
    };
    assert_eq!(drawn(table(good(), 2)).expect("two flows").flows.len(), 2);
    let number = |number: f64| Cells::Number(vec![0.0, number]);
    let wrong: [(usize, (&str, Cells), &str); 10] = [
        (0, ("src", whole(&[0, 4])), "row 1: src 4, expected a host from 0 to 3"),
        (0, ("src", whole(&[0, -1])), "row 1: src -1, expected a host from 0 to 3"),
        (
            0,
            ("src", number(1.0)),
            "row 0: src 0.0, expected a host from 0 to 3, in a column of whole numbers",
        ),
        (0, ("src", whole(&[0, 2])), "row 1: a flow from host 2 to itself, expected two hosts"),
        (1, ("dst", texts(&["1", ""])), "row 1: dst missing, expected a host from 0 to 3"),
        (2, ("size_bytes", whole(&[0, 1])), "row 0: size_bytes 0, expected 1 to 1000000000000"),
        (
            3,
            ("arrival_s", number(f64::NAN)),
            "row 1: arrival_s missing, expected seconds such as 0.25, at most 36000s",
        ),
        (
            3,
            ("arrival_s", number(f64::INFINITY)),
            "row 1: arrival_s inf, expected seconds such as 0.25, at most 36000s",
        ),
        (
            3,
            ("arrival_s", number(-1.0)),
            "row 1: arrival_s -1.0, expected seconds such as 0.25, at most 36000s",
        ),
        (
            3,
            ("arrival", number(1.0)),
            "row 0: arrival 0.0, expected a time such as 12us, at most 36000s; numbers stand in arrival_s, arrival_ms, arrival_us, arrival_ns or arrival_ps",
        ),
    ];
    for (place, column, message) in wrong {
        let mut columns = good();
        columns[place] = column;
        let expected = format!("a table of flows, but in its {message}");
        assert_eq!(drawn(table(columns, 2)), Err(expected));
    }
    let one = table(vec![("src", whole(&[0]))], 1);
    assert!(drawn(one).expect_err("a column").contains("but among its columns: no column \"dst\""));
    let mut columns = good();
    columns.iter_mut().for_each(|(_, column)| *column = whole(&[]));
    assert_eq!(drawn(table(columns, 0)), Err("a table of flows, at least one row".to_owned()));
}

/// A further column is ignored, and the author of the study is told.
#[test]
fn further_columns_are_named() {
    let further = || {
        table(
            vec![
                ("src", whole(&[0])),
                ("dst", whole(&[1])),
                ("size_bytes", whole(&[5])),
                ("arrival_ns", Cells::Number(vec![0.5])),
                ("pg", texts(&["3"])),
            ],
            1,
        )
    };
    let said = RefCell::new(Vec::new());
    let tell = |note: String| said.borrow_mut().push(note);
    let tables = |_: &str| Ok(Arc::new(further()));
    for kind in [table_case(further()), function(None, &[])] {
        assert_eq!(kind.count(Streams::new(1, 0), &tables, &tell), Ok(1));
    }
    assert_eq!(said.into_inner(), ["flows: column \"pg\" is ignored"; 2]);
}

/// A table that was not drawn is refused, by the function or by the folder of those drawn before.
#[test]
fn a_table_that_is_missing_is_refused() {
    let refusal = |case: FabricCase| {
        case.count(Streams::new(1, 0), &no_tables, &|_| {}).expect_err("no table")
    };
    let (called, kept) = (refusal(function(None, &[])), refusal(function(Some("there"), &[])));
    assert_eq!(called.path, ["workload", "function"]);
    assert_eq!(called.expected, "a function that draws flows: no table was drawn");
    assert_eq!((kept.path.concat(), kept.given), ("workloaddrawn".to_owned(), Some(text("there"))));
}

/// The tables of cases that differ in what a function does not see are one; all others have their own.
#[test]
fn what_a_function_gets_names_its_table() {
    let call = |case: &FabricCase, seed, replication| {
        case.calls(Streams::new(seed, replication)).expect("a call").swap_remove(0)
    };
    let half = function(None, &[("load", Value::Float(0.5))]);
    assert_eq!(call(&half, 1, 0).rates, [10_000_000_000; 4]);
    let mut other = half.clone();
    other.scheme = Setting::read(&text("NDP")).expect("a scheme");
    assert_eq!(call(&half, 1, 0), call(&other, 1, 0));
    let more = function(None, &[("load", Value::Float(0.6))]);
    let calls = [call(&half, 1, 0), call(&half, 2, 0), call(&half, 1, 1), call(&more, 1, 0)];
    for (nth, one) in calls.iter().enumerate() {
        assert!(calls[..nth].iter().all(|other| other.key != one.key), "{calls:?}");
    }
    let again = function(Some("there"), &[("load", Value::Float(0.5))]);
    assert_eq!(call(&again, 1, 0).key, calls[0].key);
}
