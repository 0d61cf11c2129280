//! Closed loops: mean value analysis, the operational laws, and tenants side by side.

use crate::common::{half_width, mean, report, sojourns, table, text};
use sojourn_array::exact::mean_value_analysis;
use sojourn_core::parameters::Value;
use sojourn_core::{Report, Rows};

fn exponential(servers: i64) -> Value {
    let settings =
        [("kind", text("exponential")), ("mean", text("1ms")), ("servers", Value::Int(servers))];
    table(&settings)
}

fn closed(depth: i64, think: &str) -> Value {
    table(&[("kind", text("closed")), ("depth", Value::Int(depth)), ("think", text(think))])
}

/// A run of requests of one block that read, under `arrivals`.
fn run(disk: Value, layout: Value, arrivals: Value, requests: i64) -> Report {
    let workload = table(&[
        ("kind", text("synthetic")),
        ("arrivals", arrivals),
        ("requests", Value::Int(requests)),
        ("blocks", Value::Int(1)),
    ]);
    report(&[("disk", disk), ("layout", layout), ("workload", workload)], 3)
}

fn raid0(disks: i64) -> Value {
    table(&[("kind", text("raid0")), ("disks", Value::Int(disks))])
}

fn total(report: &Report, name: &str) -> f64 {
    match report.totals.iter().find(|(own, _)| own == name) {
        Some((_, Value::Float(number))) => *number,
        Some((_, Value::Int(number))) => *number as f64,
        other => panic!("{name} is {other:?}"),
    }
}

/// Requests a millisecond: those with rows over the time in which they arrive.
fn rate(rows: &Rows) -> f64 {
    let arrived = rows.ints("arrived_ps");
    let (first, last) = (arrived[0], arrived[arrived.len() - 1]);
    (arrived.len() - 1) as f64 * 1e9 / (last - first) as f64
}

#[test]
fn exponential_disks_are_as_mean_value_analysis_has_them() {
    for (disks, depth, think, think_ms) in [
        (1, 1, "0s", 0.0),
        (1, 5, "3ms", 3.0),
        (4, 3, "0s", 0.0),
        (4, 16, "0s", 0.0),
        (7, 20, "2ms", 2.0),
    ] {
        let known = mean_value_analysis(depth, think_ms, disks, 1.0);
        let report = run(exponential(1), raid0(disks.into()), closed(depth.into(), think), 300_000);
        let times = sojourns(&report.rows);
        let (measured, within) = (mean(&times), half_width(&times));
        let what = format!("{disks} disks, depth {depth}, {think}");
        assert!((measured - known).abs() < within, "{what}: {measured} ± {within}, known {known}");
        assert!(within < known / 20.0, "{what}: ± {within}");
        let exact = total(&report, "exact_mean_sojourn_ps") / 1e9;
        assert!((exact / known - 1.0).abs() < 1e-9, "{what}: {exact} for {known}");
    }
}

/// By hand: two requests at two disks. The one that arrives finds the other at its own disk with one half.
#[test]
fn mean_value_analysis_by_hand() {
    assert_eq!(mean_value_analysis(1, 0.0, 2, 1.0), 1.0);
    assert_eq!(mean_value_analysis(2, 0.0, 2, 1.0), 1.5);
    assert!((mean_value_analysis(3, 0.0, 2, 1.0) - 2.0).abs() < 1e-12);
    // With a request and three times its service to think, the disk is busy for a quarter of the time.
    assert_eq!(mean_value_analysis(1, 3.0, 1, 1.0), 1.0);
}

/// Whatever the device and the layout: N = X (R + Z), and no disk serves more than all the time.
#[test]
fn the_operational_laws_hold_of_all() {
    let raid5 = table(&[("kind", text("raid5")), ("disks", Value::Int(4))]);
    let mirrors = table(&[("kind", text("raid01")), ("disks", Value::Int(4))]);
    let cases = [
        (text("ST3500630NS"), raid0(4), 8, "0s", 0.0),
        (text("ST3500630NS"), raid5.clone(), 32, "5ms", 5.0),
        (exponential(4), mirrors, 64, "0s", 0.0),
        (exponential(2), raid5, 3, "100us", 0.1),
    ];
    for (disk, layout, depth, think, think_ms) in cases {
        let what = format!("{disk:?}, {layout:?}, {depth}");
        let report = run(disk, layout, closed(depth, think), 60_000);
        let (times, rate) = (sojourns(&report.rows), rate(&report.rows));
        let under_way = rate * (mean(&times) + think_ms);
        assert!((under_way / depth as f64 - 1.0).abs() < 0.01, "{what}: {under_way}");
        let busiest = total(&report, "busiest_disk_utilisation");
        assert!(busiest <= 1.0 + 1e-12, "{what}: {busiest}");
        let response = rows_in_order(&report.rows, depth as usize);
        assert!(response, "{what}: never more than {depth} are under way");
    }
}

/// Whether a request arrives only where fewer than `depth` of those before it are under way.
fn rows_in_order(rows: &Rows, depth: usize) -> bool {
    let (arrived, finished) = (rows.ints("arrived_ps"), rows.ints("finished_ps"));
    (depth..arrived.len()).all(|own| {
        let from = own.saturating_sub(50 * depth);
        let others = (from..own).filter(|&other| finished[other] > arrived[own]).count();
        others < depth
    })
}

/// With all disks busy the throughput is what they serve: four devices of two servers and 1 ms.
#[test]
fn a_deep_queue_saturates() {
    let report = run(exponential(2), raid0(4), closed(512, "0s"), 200_000);
    let rate = rate(&report.rows);
    assert!((rate / 8.0 - 1.0).abs() < 0.01, "{rate}");
    assert!(total(&report, "disk_utilisation") > 0.99);
}

/// Two tenants at one disk, the one a closed loop and the other open; each has its own size and operation.
#[test]
fn tenants_keep_their_own() {
    let tenant = |name: &str, arrivals: Value, blocks: i64, reads: f64| {
        table(&[
            ("name", text(name)),
            ("arrivals", arrivals),
            ("blocks", Value::Int(blocks)),
            ("reads", Value::Float(reads)),
        ])
    };
    let poisson = table(&[("kind", text("poisson")), ("rate", text("300/s"))]);
    let tenants = vec![tenant("backup", closed(1, "10ms"), 8, 1.0), tenant("web", poisson, 1, 0.0)];
    let workload = table(&[
        ("kind", text("tenants")),
        ("requests", Value::Int(100_000)),
        ("tenant", Value::List(tenants)),
    ]);
    let parts = [("disk", exponential(1)), ("layout", text("single")), ("workload", workload)];
    let report = report(&parts, 5);
    let (codes, names) = report.rows.names("tenant");
    assert_eq!(names, ["backup", "web"]);
    let (ops, blocks) = (report.rows.names("op").0, report.rows.ints("blocks"));
    for ((&tenant, &op), &blocks) in codes.iter().zip(ops).zip(blocks) {
        assert_eq!((op, blocks), if tenant == 0 { (0, 8) } else { (1, 1) });
    }
    // What arrives in a second: 300 of the open ones, and as many of the closed one as its cycle allows.
    let times = sojourns(&report.rows);
    let of = |tenant: u8| -> Vec<f64> {
        let own = codes.iter().zip(&times).filter(|(code, _)| **code == tenant);
        own.map(|(_, &time)| time).collect()
    };
    let (backup, web) = (of(0), of(1));
    let seconds = 100_000.0 / (rate(&report.rows) * 1e3);
    assert!((web.len() as f64 / seconds / 300.0 - 1.0).abs() < 0.02, "{}", web.len());
    let cycle = (mean(&backup) + 10.0) / 1e3;
    assert!((backup.len() as f64 * cycle / seconds - 1.0).abs() < 0.01, "{}", backup.len());
}

/// More comes than is served, and the drive's own order passes over what is far: the run ends all the same.
#[test]
fn a_run_ends_though_requests_are_always_passed() {
    let tenant = |name: &str, arrivals: Value| {
        table(&[
            ("name", text(name)),
            ("arrivals", arrivals),
            ("blocks", Value::Int(1)),
            ("places", table(&[("kind", text("near"))])),
        ])
    };
    let open = table(&[("kind", text("poisson")), ("rate", text("2000/s"))]);
    let workload = table(&[
        ("kind", text("tenants")),
        ("requests", Value::Int(500)),
        ("warmup", Value::Int(0)),
        ("tenant", Value::List(vec![tenant("open", open), tenant("loop", closed(4, "0s"))])),
    ]);
    let parts = [
        ("layout", text("single")),
        ("positioning", text("mechanical")),
        ("scheduling", text("satf")),
        ("workload", workload),
    ];
    let report = report(&parts, 1);
    assert_eq!(sojourns(&report.rows).len(), 500);
}
