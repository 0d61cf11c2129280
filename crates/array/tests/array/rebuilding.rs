//! Spares that are filled while the array serves.

use crate::common::{file, table, text};
use sojourn_array::ArrayCase;
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_core::{Execution, Progress, Report, Streams};

/// A run of an array of disks whose every access takes a millisecond.
fn run(layout: Value, rate: &str, requests: i64, more: &[(&str, Value)]) -> Report {
    let arrivals = table(&[("kind", text("poisson")), ("rate", text(rate))]);
    let workload = table(&[
        ("kind", text("synthetic")),
        ("arrivals", arrivals),
        ("blocks", Value::Int(1)),
        ("requests", Value::Int(requests)),
        ("warmup", Value::Int(0)),
        ("places", text("anywhere")),
    ]);
    let disk = table(&[("kind", text("empirical")), ("file", file("op,service\nread,1ms"))]);
    let mut parts = Table::default();
    for (part, value) in [("disk", disk), ("layout", layout), ("workload", workload)] {
        parts.set(part, value);
    }
    for (part, value) in more {
        parts.set(part, value.clone());
    }
    let case = ArrayCase::read_table(&parts).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let run = case.run(Streams::new(1, 0), Execution::new(&Progress::default()));
    run.unwrap().unwrap()
}

fn raid(kind: &str, failed: Value) -> Value {
    let mut settings = vec![("kind", text(kind)), ("failed", failed)];
    if kind != "raid1" {
        settings.push(("disks", Value::Int(6)));
    }
    table(&settings)
}

fn figure(report: &Report, name: &str) -> Option<i64> {
    let found = report.totals.iter().find(|(key, _)| key == name)?;
    match found.1 {
        Value::Int(count) => Some(count),
        _ => None,
    }
}

/// 100 chunks: each is read in a millisecond and written in another. The next one is read after a pause
/// of 3, while that goes on, or after it.
#[test]
fn an_idle_array_is_rebuilt_as_fast_as_it_can_be() {
    for (order, ends_ms) in [("overlapping", 99 * 4 + 2), ("in-turn", 99 * 5 + 2)] {
        rebuilt_in(order, "3ms", ends_ms);
    }
    // Without a pause one chunk is read while another one is written.
    rebuilt_in("overlapping", "0ms", 101);
    rebuilt_in("in-turn", "0ms", 200);
}

fn rebuilt_in(order: &str, gap: &str, ends_ms: i64) {
    let rebuild = table(&[
        ("chunk", Value::Int(8)),
        ("gap", text(gap)),
        ("order", text(order)),
        ("size", text("104726528B")),
    ]);
    for (layout, accesses) in [
        (raid("raid1", Value::Int(1)), 200),
        (raid("raid10", Value::Int(4)), 200),
        (raid("raid01", Value::Int(4)), 600),
        (raid("raid5", Value::Int(2)), 600),
        (raid("raid6", Value::Int(2)), 500),
        (raid("raid6", Value::List(vec![Value::Int(0), Value::Int(5)])), 600),
    ] {
        let report = run(layout.clone(), "0.001/s", 10, &[("rebuild", rebuild.clone())]);
        // The last chunk is one block short; its accesses take as long.
        assert_eq!(figure(&report, "rebuilt_blocks"), Some(799), "{layout:?}");
        assert_eq!(figure(&report, "rebuild_accesses"), Some(accesses), "{layout:?}");
        let ended = figure(&report, "rebuild_ended_ps");
        assert_eq!(ended, Some(ends_ms * 1_000_000_000), "{layout:?}, {order}, {gap}");
    }
}

/// While disk 0 is out, a sixth of reads need all the others; afterwards none does. Nobody waits for
/// the rebuild longer than for the one access that it has at a disk.
#[test]
fn requests_meet_a_whole_array_afterwards() {
    let layout = raid("raid5", Value::Int(0));
    let accesses = |more: &[(&str, Value)]| {
        let report = run(layout.clone(), "1/s", 20_000, more);
        let all = figure(&report, "accesses").unwrap();
        let longest = report.rows.ints("sojourn_ps").iter().max().copied().unwrap();
        let ended = figure(&report, "rebuild_ended_ps");
        (all - figure(&report, "rebuild_accesses").unwrap_or(0), longest, ended)
    };
    let (degraded, ..) = accesses(&[]);
    // Five reads instead of one for a sixth of them.
    assert!((32_500..34_200).contains(&degraded), "{degraded}");
    let quick = table(&[("size", text("100MB"))]);
    let (after, longest, ended) = accesses(&[("rebuild", quick)]);
    assert!(ended.is_some() && after < 20_050, "{ended:?} {after}");
    assert!(longest < 6_000_000_000, "{longest}");
    // Half of the disk at the end: three quarters of it are out on average.
    let slow =
        table(&[("chunk", Value::Int(1)), ("gap", text("998ms")), ("size", text("5242880KB"))]);
    let (meanwhile, _, ended) = accesses(&[("rebuild", slow)]);
    let share = (meanwhile - 20_000) as f64 / (degraded - 20_000) as f64;
    assert!(ended.is_none() && (share - 0.75).abs() < 0.04, "{share}");
}

/// Under a load that leaves little time the rebuild goes on, and takes longer.
#[test]
fn requests_go_first() {
    let rebuild = table(&[("chunk", Value::Int(8)), ("size", text("1GB"))]);
    let ended = |rate: &str, requests| {
        let report =
            run(raid("raid10", Value::Int(0)), rate, requests, &[("rebuild", rebuild.clone())]);
        (figure(&report, "rebuild_ended_ps"), figure(&report, "rebuilt_blocks"))
    };
    let (idle, blocks) = ended("0.01/s", 100);
    assert_eq!(blocks, Some(1_000_000_000u64.div_ceil(131_072) as i64));
    let (busy, _) = ended("2.7/ms", 100_000);
    assert!(busy.unwrap() > 2 * idle.unwrap(), "{busy:?} {idle:?}");
}
