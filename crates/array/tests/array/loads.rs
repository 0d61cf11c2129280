//! The load that is computed of disks, against the time for which they are busy.

use crate::common::{report, table, text};
use sojourn_core::Report;
use sojourn_core::parameters::Value;

fn total(report: &Report, name: &str) -> f64 {
    match report.totals.iter().find(|(own, _)| own == name) {
        Some((_, Value::Float(number))) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

fn layout(kind: &str, failed: Option<i64>) -> Value {
    let failed = failed.map(|disk| ("failed", Value::Int(disk)));
    let settings = [Some(("kind", text(kind))), failed];
    table(&settings.into_iter().flatten().collect::<Vec<_>>())
}

fn run(disk: Value, layout: Value, rate: &str, reads: f64) -> Report {
    let arrivals = table(&[("kind", text("poisson")), ("rate", text(rate))]);
    let workload = table(&[
        ("kind", text("synthetic")),
        ("arrivals", arrivals),
        ("requests", Value::Int(60_000)),
        ("blocks", Value::Int(1)),
        ("reads", Value::Float(reads)),
    ]);
    let block = text("4KiB");
    report(&[("disk", disk), ("layout", layout), ("workload", workload), ("block", block)], 6)
}

/// With parity writes, failed disks and queues inside of a drive too. Where a disk has failed, the one beside it
/// is busier than the others.
#[test]
fn disks_are_as_busy_as_is_computed() {
    let exponential = || {
        table(&[("kind", text("exponential")), ("mean", text("1ms")), ("servers", Value::Int(4))])
    };
    let cases = [
        (exponential(), layout("raid10", None), "6/ms", 0.7),
        (exponential(), layout("raid10", Some(0)), "5/ms", 0.7),
        (exponential(), layout("raid5", None), "3/ms", 0.5),
        (exponential(), layout("raid6", Some(1)), "2/ms", 0.8),
        (exponential(), layout("erasure", None), "2/ms", 0.8),
        (text("PM9A3"), layout("raid10", Some(0)), "900/ms", 1.0),
        (text("PM9A3"), layout("raid5", None), "300/ms", 0.5),
        (text("S4500"), layout("raid6", None), "30/ms", 0.6),
        (table(&[("kind", text("PM9A3")), ("depth", Value::Int(1))]), text("single"), "9/ms", 1.0),
    ];
    for (disk, layout, rate, reads) in cases {
        let what = format!("{disk:?}, {layout:?}");
        let report = run(disk, layout, rate, reads);
        for (computed, measured) in [
            ("offered_utilisation", "disk_utilisation"),
            ("busiest_offered_utilisation", "busiest_disk_utilisation"),
        ] {
            let (computed, measured) = (total(&report, computed), total(&report, measured));
            let off = measured / computed - 1.0;
            assert!(off.abs() < 0.04, "{what}: {measured} for {computed}");
        }
    }
}

/// A rebuild that goes on when the last request is done is not counted beyond that.
#[test]
fn no_disk_is_busy_for_longer_than_the_run() {
    let workload = table(&[
        ("kind", text("synthetic")),
        ("arrivals", table(&[("kind", text("poisson")), ("rate", text("50/s"))])),
        ("requests", Value::Int(300)),
        ("blocks", Value::Int(1)),
    ]);
    let rebuild = table(&[("size", text("1GB")), ("chunk", Value::Int(4096))]);
    let parts =
        [("layout", layout("raid1", Some(0))), ("workload", workload), ("rebuild", rebuild)];
    let busiest = total(&report(&parts, 1), "busiest_disk_utilisation");
    assert!(busiest <= 1.0, "{busiest}");
}
