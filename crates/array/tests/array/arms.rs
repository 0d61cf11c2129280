//! Disks whose arms work by themselves.

use crate::common::{half_width, mean, report, rows, sojourns, table, text};
use sojourn_core::parameters::Value;
use sojourn_core::{Report, Rows};

/// The paper's disk with several arms.
fn disk(arms: i64) -> Value {
    table(&[("kind", text("ST3500630NS")), ("actuators", Value::Int(arms))])
}

fn workload(rate: &str, blocks: i64, reads: f64) -> Value {
    table(&[
        ("kind", text("synthetic")),
        ("arrivals", table(&[("kind", text("poisson")), ("rate", text(rate))])),
        ("requests", Value::Int(200_000)),
        ("blocks", Value::Int(blocks)),
        ("reads", Value::Float(reads)),
    ])
}

fn run(arms: i64, rate: &str) -> Report {
    let layout = text("single");
    report(&[("disk", disk(arms)), ("layout", layout), ("workload", workload(rate, 1, 1.0))], 4)
}

fn total(report: &Report, name: &str) -> f64 {
    match report.totals.iter().find(|(own, _)| own == name) {
        Some((_, Value::Float(number))) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

/// Each arm has half of the requests, wherever the other is: the queue of a disk at half of the rate, which
/// the formula of Pollaczek and Khinchine has.
#[test]
fn each_of_two_arms_is_a_disk_with_half_of_the_requests() {
    let (two, one) = (run(2, "0.08/ms"), run(1, "0.04/ms"));
    let known = total(&one, "exact_mean_sojourn_ps") / 1e9;
    let times = sojourns(&two.rows);
    let (measured, within) = (mean(&times), half_width(&times));
    assert!((measured - known).abs() < within, "{measured} ± {within} for {known}");
    assert!(within < known / 25.0);
    let load = total(&one, "offered_utilisation");
    assert!((total(&two, "offered_utilisation") / load - 1.0).abs() < 1e-6);
    assert!((total(&two, "disk_utilisation") / load - 1.0).abs() < 0.02);
}

/// Four disks with two arms each under RAID 5, by both ways of positioning: rows are whole, and more arms are
/// quicker.
#[test]
fn more_arms_are_quicker_under_any_layout() {
    for positioning in ["independent", "mechanical"] {
        let of = |arms: i64| -> Rows {
            let layout = table(&[("kind", text("raid5")), ("disks", Value::Int(4))]);
            let parts = [
                ("disk", disk(arms)),
                ("layout", layout),
                ("positioning", text(positioning)),
                ("workload", workload("0.06/ms", 2, 0.6)),
            ];
            rows(&parts, 4)
        };
        let means = [1, 2, 4].map(|arms| mean(&sojourns(&of(arms))));
        assert!(means.is_sorted_by(|a, b| a > b), "{positioning}: {means:?}");
    }
}
