//! Flows from tables and functions of Python, which a stand-in plays here: rows are read as lines of a CSV file
//! are, and the name of a kept table says what is in it.

use proptest::prelude::*;
use sojourn_core::Streams;
use sojourn_core::parameters::{Parameters, Refusal, Setting, Table, Value, defaults};
use sojourn_fabric::python::{
    Call, ControllerClass, FlowColumn, FlowColumns, Interpreter, Named, QueueClass, install,
};
use sojourn_fabric::workload::{Drawn, Workload, WorkloadContext, parse_flows};
use sojourn_fabric::{FabricCase, Packets};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The table that every file of a test holds and every function draws.
    static TABLE: RefCell<FlowColumns> = RefCell::default();
    /// What was kept.
    static KEPT: RefCell<Vec<String>> = RefCell::default();
}

/// A Python that knows files by the ends of their names.
struct Fake;

impl Interpreter for Fake {
    fn controller(&self, _: &Named<'_>) -> Result<Arc<dyn ControllerClass>, Refusal> {
        unreachable!("no study here has a transport of Python")
    }

    fn queue(&self, _: &Named<'_>) -> Result<Arc<dyn QueueClass>, Refusal> {
        unreachable!("no study here has a queue of Python")
    }

    fn sha256(&self, file: &str) -> Result<String, String> {
        match file.ends_with(".parquet") || file.ends_with(".py") {
            true => Ok(format!("{:0<64}", file.len())),
            false => Err("no such file".to_owned()),
        }
    }

    fn flows(&self, file: &str, sha256: Option<&str>) -> Result<FlowColumns, String> {
        match sha256.is_none_or(|given| Ok(given) == self.sha256(file).as_deref()) {
            true => Ok(TABLE.with_borrow(Clone::clone)),
            false => Err(format!("{file} has changed since")),
        }
    }

    fn draw(&self, call: &Call<'_>) -> Result<FlowColumns, String> {
        match call.function {
            "arrivals" => Ok(TABLE.with_borrow(Clone::clone)),
            other => Err(format!("flows.py has no function {other:?}")),
        }
    }

    fn draw_into(&self, call: &Call<'_>, folder: &str, key: &str) -> Result<(), String> {
        assert_eq!(call.rates, [10_000_000_000; 4]);
        KEPT.with_borrow_mut(|kept| kept.push(format!("{folder}/{key}")));
        Ok(())
    }

    fn drawn(&self, folder: &str, key: &str) -> Result<String, String> {
        Ok(format!("{folder}/{key}-0123.parquet"))
    }

    fn copy(&self, file: &str, _: Option<&str>, into: &str) -> Result<(), String> {
        KEPT.with_borrow_mut(|kept| kept.push(format!("{file} as {into}")));
        Ok(())
    }
}

fn texts(texts: &[&str]) -> FlowColumn {
    let begins = texts.iter().scan(0, |begin, text| {
        *begin += text.len();
        Some(*begin)
    });
    FlowColumn::Text(texts.concat(), std::iter::once(0).chain(begins).collect())
}

fn whole(numbers: &[i64]) -> FlowColumn {
    FlowColumn::Whole(numbers.to_vec(), None)
}

/// Sets the table of this test.
fn hand_over(columns: Vec<(&str, FlowColumn)>, rows: usize) {
    let (names, columns) = columns.into_iter().map(|(name, it)| (name.to_owned(), it)).unzip();
    TABLE.set(FlowColumns { names, columns, rows });
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
fn case(workload: Table) -> Result<FabricCase, Refusal> {
    install(Box::new(Fake));
    let switch = settings(&[("kind", text("single-switch")), ("hosts", Value::Int(4))]);
    let parts = [
        ("topology", Value::Table(switch)),
        ("workload", Value::Table(workload)),
        ("scheme", text("DCTCP")),
    ];
    let mut case = FabricCase::read_table(&settings(&parts)).expect("a case");
    case.load(Streams::new(1, 0))?;
    Ok(case)
}

fn table_case() -> FabricCase {
    case(settings(&[("kind", text("table")), ("file", text("a.parquet"))])).expect("a case")
}

fn function(set: &[(&str, Value)]) -> Table {
    let parts = [("kind", text("python")), ("file", text("a.py")), ("function", text("arrivals"))];
    let mut table = settings(&parts);
    table.set("set", Value::Table(settings(set)));
    table
}

fn no_files(_: &str) -> Result<String, String> {
    Err("no files".to_owned())
}

/// What the table of this test says, or what was expected of it.
fn drawn() -> Result<Drawn, String> {
    let case = table_case();
    let (graph, packets) = (case.topology.graph(), defaults::<Packets>());
    let context =
        WorkloadContext { graph: &graph, packets: &packets, read: &no_files, tell: &|_| {} };
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
            ("class", FlowColumn::Whole(class, Some(missing))), ("job", whole(&jobs)),
        ];
        hand_over(columns, count);
        prop_assert_eq!(drawn(), parse_flows(&csv, 4, u64::MAX).map_err(|error| error.what));
    }
}

/// One flow and one change of it, with the message about it.
#[test]
fn what_is_wrong_is_named_by_row_and_column() {
    let good = || {
        let seconds = FlowColumn::Number(vec![0.5, 0.25]);
        vec![
            ("src", whole(&[0, 1])),
            ("dst", whole(&[1, 2])),
            ("size_bytes", whole(&[5, 5])),
            ("arrival_s", seconds),
        ]
    };
    hand_over(good(), 2);
    assert_eq!(drawn().expect("two flows").flows.len(), 2);
    let number = |number: f64| FlowColumn::Number(vec![0.0, number]);
    let wrong: [(usize, (&str, FlowColumn), &str); 10] = [
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
        hand_over(columns, 2);
        let expected = format!("a table of flows, but in its {message}");
        assert_eq!(drawn(), Err(expected));
    }
    hand_over(vec![("src", whole(&[0]))], 1);
    assert!(drawn().expect_err("a column").contains("but among its columns: no column \"dst\""));
    let mut columns = good();
    columns.iter_mut().for_each(|(_, column)| *column = whole(&[]));
    hand_over(columns, 0);
    assert_eq!(drawn(), Err("a table of flows, at least one row".to_owned()));
}

/// A further column is ignored, and the author of the study is told.
#[test]
fn further_columns_are_named() {
    hand_over(
        vec![
            ("src", whole(&[0])),
            ("dst", whole(&[1])),
            ("size_bytes", whole(&[5])),
            ("arrival_ns", FlowColumn::Number(vec![0.5])),
            ("pg", texts(&["3"])),
        ],
        1,
    );
    let said = RefCell::new(Vec::new());
    let tell = |note: String| said.borrow_mut().push(note);
    for kind in [table_case(), case(function(&[])).expect("a case")] {
        assert_eq!(kind.count(&no_files, &tell), Ok(1));
    }
    assert_eq!(said.into_inner(), ["flows: column \"pg\" is ignored"; 2]);
}

/// A resolved study names what a run directory has; a hash that is given has to be that of the file.
#[test]
fn a_study_names_what_is_kept() {
    let Some(Value::Table(written)) = table_case().workload.write() else { panic!("a table") };
    assert_eq!(written.get("file"), Some(&text("flows/9000000000000000.parquet")));
    let given =
        settings(&[("kind", text("table")), ("file", text("a.parquet")), ("sha256", text("0"))]);
    let other = case(given).expect("a case").count(&no_files, &|_| {}).expect_err("another file");
    assert_eq!(other.expected, "a file to read: a.parquet has changed since");
    let read = Workload::read(&Value::Table(written.clone())).expect("what was written");
    assert_eq!(read.write(), Some(Value::Table(written)));

    let drawn = case(function(&[])).expect("a case");
    let Some(Value::Table(written)) = drawn.workload.write() else { panic!("a table") };
    assert_eq!(written.get("drawn"), Some(&text("flows")));
    assert_eq!(written.get("sha256"), Some(&Value::Text(format!("{:0<64}", 4))));
}

/// The tables of cases that differ in what a function does not see are one; all others have their own.
#[test]
fn what_a_function_gets_names_its_table() {
    let kept = |case: &FabricCase, seed, replication| {
        KEPT.take();
        assert_eq!(case.keep(Streams::new(seed, replication), "out"), Ok(true));
        KEPT.take().swap_remove(0)
    };
    let half = case(function(&[("load", Value::Float(0.5))])).expect("a case");
    let mut other = half.clone();
    other.scheme = Setting::read(&text("NDP")).expect("a scheme");
    assert_eq!(kept(&half, 1, 0), kept(&other, 1, 0));
    let more = case(function(&[("load", Value::Float(0.6))])).expect("a case");
    let names = [kept(&half, 1, 0), kept(&half, 2, 0), kept(&half, 1, 1), kept(&more, 1, 0)];
    for (nth, name) in names.iter().enumerate() {
        assert!(name.starts_with("out/flows/") && !names[..nth].contains(name), "{names:?}");
    }
    let mut repeated = function(&[("load", Value::Float(0.5))]);
    repeated.set("sha256", Value::Text(format!("{:0<64}", 4)));
    repeated.set("drawn", text("there"));
    let name = names[0].trim_start_matches("out/flows/");
    let copied = format!("there/{name}-0123.parquet as out/flows/{name}-0123.parquet");
    assert_eq!(kept(&case(repeated).expect("a case"), 1, 0), copied);
}
