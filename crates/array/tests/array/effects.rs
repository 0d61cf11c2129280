//! No setting without effect: each parameter of random studies is changed, and the rows have to change, or
//! the study is refused, or a reason stands here.

use crate::common::text;
use sojourn_array::ArrayCase;
use sojourn_core::model::Model;
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_core::{Execution, Progress, Stream, Streams};

/// Parameters that may change nothing, by kind and key, and why they are accepted all the same.
const REASONS: &[(&str, &str, &str)] = &[
    ("array", "engine", "it says how rows are computed, and they are the same"),
    ("array", "block", "without a head or an address a block is a unit like any other"),
    ("array", "scheduling", "orders differ only where two accesses wait"),
    ("rpo", "counts", "the ways of counting differ by one job that waits"),
    ("array", "join", "an array with one disk left serves one request after the other anyway"),
    ("controller", "overhead", "a closed loop at disks that are always busy hides it"),
    ("raid1", "failed", "while both disks are busy, one of them is later each time"),
    ("erasure", "failed", "while disks are busy, those that are later each time decide"),
    ("raid5", "done", "a drive has writes in its cache before the reads beside them are done"),
    ("raid6", "done", "a drive has writes in its cache before the reads beside them are done"),
    ("hot", "start", "a part may lie elsewhere on disks that all hold of it"),
    ("rebuild", "chunk", "a rebuild that ends before the first request meets none"),
    ("rebuild", "gap", "a rebuild that ends before the first request meets none"),
    ("rebuild", "order", "a rebuild that ends before the first request meets none"),
    ("rebuild", "size", "a rebuild that ends before the first request meets none"),
];

/// The topics whose parts describe a device: it is described once, for all that may come to it.
const DEVICES: &str = "disks";

/// Another value of each parameter: the path of its part, the part's kind, the key, and the value in TOML.
const OTHERS: &[(&[&str], &str, &str, Other)] = &[
    (&[], "array", "scheduling", Other::Text("satf")),
    (&[], "array", "scheduling", Other::Text("rpo")),
    (&[], "array", "positioning", Other::Text("mechanical")),
    (&[], "array", "join", Other::Text("split-merge")),
    (&[], "array", "block", Other::Text("64KiB")),
    (&[], "array", "stripe", Other::Int(3)),
    (&[], "array", "engine", Other::Text("events")),
    (&["controller"], "controller", "overhead", Other::Text("1ms")),
    (&["controller"], "controller", "parity", Other::Text("1ms")),
    (&["rebuild"], "rebuild", "chunk", Other::Int(3)),
    (&["rebuild"], "rebuild", "gap", Other::Text("3ms")),
    (&["rebuild"], "rebuild", "size", Other::Text("2MiB")),
    (&["rebuild"], "rebuild", "order", Other::Text("in-turn")),
    (&["scheduling"], "rpo", "counts", Other::Text("others")),
    (&["positioning"], "mechanical", "spindles", Other::Text("in-step")),
    (&["layout"], "raid0", "disks", Other::Int(7)),
    (&["layout"], "raid1", "failed", Other::Int(1)),
    (&["layout"], "raid01", "disks", Other::Int(8)),
    (&["layout"], "raid01", "failed", Other::Int(2)),
    (&["layout"], "raid10", "disks", Other::Int(8)),
    (&["layout"], "raid10", "failed", Other::Int(1)),
    (&["layout"], "raid5", "disks", Other::Int(7)),
    (&["layout"], "raid5", "failed", Other::Int(1)),
    (&["layout"], "raid5", "write_start", Other::Text("first-disk")),
    (&["layout"], "raid5", "pre_read", Other::Text("seek")),
    (&["layout"], "raid5", "rewrite", Other::Text("rotation-less-transfer")),
    (&["layout"], "raid5", "done", Other::Text("second-phase")),
    (&["layout"], "raid6", "disks", Other::Int(8)),
    (&["layout"], "raid6", "failed", Other::Int(1)),
    (&["layout"], "raid6", "write_start", Other::Text("first-disk")),
    (&["layout"], "raid6", "pre_read", Other::Text("seek")),
    (&["layout"], "raid6", "rewrite", Other::Text("rotation-less-transfer")),
    (&["layout"], "raid6", "done", Other::Text("second-phase")),
    (&["layout"], "erasure", "data", Other::Int(3)),
    (&["layout"], "erasure", "parities", Other::Int(3)),
    (&["layout"], "erasure", "failed", Other::Int(1)),
    (&["layout"], "erasure", "read", Other::Text("all")),
    (&["layout"], "erasure", "extra", Other::Int(1)),
    (&["layout"], "erasure", "late", Other::Text("dropped")),
    (&["workload"], "synthetic", "requests", Other::Int(301)),
    (&["workload"], "synthetic", "warmup", Other::Int(7)),
    (&["workload"], "synthetic", "blocks", Other::Int(5)),
    (&["workload"], "synthetic", "reads", Other::Float(0.4)),
    (&["workload"], "synthetic", "places", Other::Text("sequential")),
    (&["workload"], "synthetic", "places", Other::Text("near")),
    (&["workload"], "synthetic", "places", Other::Text("hot")),
    (&["workload", "arrivals"], "poisson", "rate", Other::Text("31/s")),
    (&["workload", "arrivals"], "poisson", "batch", Other::Int(2)),
    (&["workload", "arrivals"], "poisson", "rate_counts", Other::Text("requests")),
    (&["workload", "arrivals"], "mmpp", "quiet_rate", Other::Text("7/s")),
    (&["workload", "arrivals"], "mmpp", "burst_rate", Other::Text("70/s")),
    (&["workload", "arrivals"], "mmpp", "quiet_time", Other::Text("300ms")),
    (&["workload", "arrivals"], "mmpp", "burst_time", Other::Text("300ms")),
    (&["workload", "arrivals"], "closed", "depth", Other::Int(5)),
    (&["workload", "arrivals"], "closed", "think", Other::Text("3ms")),
    (&["workload", "places"], "uniform", "align", Other::Int(8)),
    (&["workload", "places"], "sequential", "streams", Other::Int(3)),
    (&["workload", "places"], "sequential", "run", Other::Float(4.0)),
    (&["workload", "places"], "hot", "share", Other::Float(0.5)),
    (&["workload", "places"], "hot", "part", Other::Float(0.1)),
    (&["workload", "places"], "hot", "start", Other::Float(0.5)),
    (&["workload", "places"], "near", "distance", Other::Float(0.1)),
];

/// Parameters that are not tried: parts of their own, names, and what only files have.
const NOT_TRIED: &[(&str, &str)] = &[
    ("array", "disk"),
    ("array", "layout"),
    ("array", "workload"),
    ("array", "controller"),
    ("array", "rebuild"),
    ("synthetic", "arrivals"),
    ("tenants", "requests"),
    ("tenants", "warmup"),
    ("tenants", "tenant"),
    ("geometric", "mean"),
    ("geometric", "least"),
    ("table", "sizes"),
    ("table", "reading"),
];

/// The formats of traces, whose parameters say how a file is read.
const TRACES: &str = "file";

#[derive(Clone, Copy, Debug)]
enum Other {
    Text(&'static str),
    Int(i64),
    Float(f64),
}

impl Other {
    fn value(self) -> Value {
        match self {
            Other::Text(own) => text(own),
            Other::Int(number) => Value::Int(number),
            Other::Float(number) => Value::Float(number),
        }
    }
}

/// Sets `path` of a table, whose parts are tables.
fn set(table: &mut Table, path: &[&str], key: &str, value: Value) {
    match path {
        [] => table.set(key, value),
        [first, rest @ ..] => {
            if let Some(Value::Table(inner)) = table.get_mut(first) {
                set(inner, rest, key, value);
            }
        }
    }
}

fn part<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(table, |table, key| match table.get(key) {
        Some(Value::Table(inner)) => Some(inner),
        _ => None,
    })
}

/// Whether a part has this value, or the variant of this name.
fn is_so(part: &Table, key: &str, other: Other) -> bool {
    match part.get(key) {
        Some(Value::Table(inner)) => inner.get("kind") == Some(&other.value()),
        value => value == Some(&other.value()),
    }
}

/// A table in one line.
fn line(table: &Table) -> String {
    let entry = |(key, value): (&str, &Value)| match value {
        Value::Table(inner) => format!("{key} = {{{}}}", line(inner)),
        value => format!("{key} = {value:?}"),
    };
    table.iter().map(entry).collect::<Vec<_>>().join(", ")
}

fn kind(name: &str, settings: &[(&str, Other)]) -> Value {
    let mut table = Table::default();
    table.set("kind", text(name));
    settings.iter().for_each(|(key, value)| table.set(key, value.value()));
    Value::Table(table)
}

fn one<T: Clone>(stream: &mut Stream, of: &[T]) -> T {
    of[stream.below(of.len() as u64) as usize].clone()
}

/// A random study, most of its parts as by default.
fn study(stream: &mut Stream) -> Table {
    let mut table = Table::default();
    let disks = [
        text("ST3500630NS"),
        text("Atlas10K"),
        kind("exponential", &[("mean", Other::Text("15ms"))]),
        kind("exponential", &[("mean", Other::Text("40ms")), ("servers", Other::Int(3))]),
        text("HS760"),
        // As slow as a disk, so that requests meet.
        kind(
            "S4500",
            &[
                ("read", Other::Text("20ms")),
                ("read_p99", Other::Text("50ms")),
                ("command", Other::Text("4ms")),
                ("depth", Other::Int(3)),
            ],
        ),
    ];
    table.set("disk", one(stream, &disks));
    let layouts =
        ["single", "raid0", "raid1", "raid01", "raid10", "raid5", "raid5", "raid6", "erasure"];
    table.set("layout", kind(one(stream, &layouts), &[]));
    if stream.below(40) == 0 {
        table.set("layout", kind("erasure", &[("read", Other::Text("all"))]));
    }
    if stream.below(3) == 0 {
        table.set("positioning", kind("mechanical", &[]));
    }
    if stream.below(4) == 0 {
        table.set("scheduling", kind("rpo", &[]));
    }
    table.set("controller", Value::Table(Table::default()));
    let arrivals = [
        kind("poisson", &[("rate", Other::Text("30/s"))]),
        kind("poisson", &[("rate", Other::Text("20/s")), ("batch", Other::Int(3))]),
        kind("closed", &[("depth", Other::Int(4))]),
        kind(
            "mmpp",
            &[
                ("quiet_rate", Other::Text("5/s")),
                ("burst_rate", Other::Text("50/s")),
                ("quiet_time", Other::Text("200ms")),
                ("burst_time", Other::Text("200ms")),
            ],
        ),
    ];
    let places = ["uniform", "uniform", "anywhere", "sequential", "hot", "near"];
    let reads = one(stream, &[0.0, 0.5, 1.0]);
    let mut workload = Table::default();
    workload.set("kind", text("synthetic"));
    workload.set("arrivals", one(stream, &arrivals));
    // Of all sizes, so that writes have whole stripes, and rests.
    workload.set("blocks", kind("geometric", &[("mean", Other::Float(6.0))]));
    workload.set("reads", Value::Float(reads));
    workload.set("requests", Value::Int(300));
    workload.set("warmup", Value::Int(0));
    workload.set("places", kind(one(stream, &places), &[]));
    table.set("workload", Value::Table(workload));
    if stream.below(3) == 0 {
        set(&mut table, &["layout"], "failed", Value::Int(0));
        let mut rebuild = Table::default();
        rebuild.set("size", text("64MiB"));
        table.set("rebuild", Value::Table(rebuild));
    }
    table
}

/// The case of a table, if none of its settings is refused.
fn accepted(table: &Table) -> Option<ArrayCase> {
    let case = ArrayCase::read_table(table).ok()?;
    (case.count().is_ok() && Model::without_effect(&case).is_empty()).then_some(case)
}

fn rows(case: &ArrayCase) -> sojourn_core::Rows {
    let run = case.run(Streams::new(1, 0), Execution::new(&Progress::default()));
    run.expect("it was accepted").expect("nothing cancels it").rows
}

#[test]
fn every_setting_has_an_effect_or_a_reason() {
    let mut stream = Streams::new(2, 0).stream("studies", 0);
    let (mut studies, mut tried) = (0, vec![0; OTHERS.len()]);
    let mut in_vain = Vec::new();
    while studies < 150 {
        let table = study(&mut stream);
        let Some(case) = accepted(&table) else { continue };
        studies += 1;
        let before = rows(&case);
        for (number, &(path, name, key, other)) in OTHERS.iter().enumerate() {
            let own = part(&table, path).filter(|own| {
                own.get("kind").is_none_or(|kind| *kind == text(name)) || path.is_empty()
            });
            if own.is_none_or(|own| is_so(own, key, other)) {
                continue;
            }
            let mut changed = table.clone();
            set(&mut changed, path, key, other.value());
            let Some(other_case) = accepted(&changed) else { continue };
            tried[number] += 1;
            let is_excused = REASONS.iter().any(|&(kind, own, _)| (kind, own) == (name, key));
            if !is_excused && rows(&other_case) == before {
                in_vain
                    .push(format!("{name}.{key} = {other:?} changes nothing of {}", line(&table)));
            }
        }
    }
    assert!(
        in_vain.is_empty(),
        "{} of them:\n{}",
        in_vain.len(),
        in_vain[..in_vain.len().min(12)].join("\n")
    );
    for (&(path, name, key, other), tried) in OTHERS.iter().zip(tried) {
        assert!(tried > 0, "{path:?} {name}.{key} = {other:?} was never accepted");
    }
}

/// Every parameter of the model is tried, or it says here why not.
#[test]
fn no_parameter_is_forgotten() {
    let mut entries = vec![ArrayCase::entry()];
    entries.push(sojourn_array::case::Controller::entry());
    entries.push(sojourn_array::case::Rebuild::entry());
    let mut known: Vec<(String, Vec<String>)> = entries
        .into_iter()
        .map(|entry| {
            let fields = entry.parameters.iter().map(|field| field.name.to_owned());
            (entry.name.to_owned(), fields.collect())
        })
        .collect();
    for topic in <ArrayCase as Model>::topics().into_iter().filter(|it| it.name != DEVICES) {
        for part in topic.parts {
            let fields = part.parameters.iter().map(|field| field.name.to_owned());
            known.push((part.name.to_owned(), fields.collect()));
        }
    }
    for (name, fields) in known {
        if fields.iter().any(|field| field == TRACES) {
            continue;
        }
        for field in fields {
            let is_tried = OTHERS.iter().any(|&(_, kind, key, _)| (kind, key) == (&name, &field));
            let is_left = NOT_TRIED.iter().any(|&(kind, key)| (kind, key) == (&name, &field));
            assert!(is_tried || is_left, "{name}.{field} is not tried");
        }
    }
    for (kind, key, reason) in REASONS {
        assert!(
            OTHERS.iter().any(|other| (other.1, other.2) == (*kind, *key)),
            "{kind}.{key}: {reason}"
        );
    }
}
